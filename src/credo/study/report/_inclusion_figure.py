"""Inclusion probabilities in sentences and in a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots import shorten
from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._inclusion import LEFT, draw_entrances
from credo.plots._style import ALERT, MUTED, canvas, name_axis
from credo.study.report._inclusions import (
    CERTAIN,
    IMPROBABLE,
    PROBABLE,
    Alternatives,
    Copies,
    Dependent,
    Inclusions,
    Prior,
)
from credo.study.report._numbers import (
    MAX_BARS,
    Figure,
    about,
    count,
    figure,
    listing,
    number,
    percent,
    spelled,
    whole_percent,
)

# How many inputs a part of the sentence names; more than the second number of irrelevant ones are only counted.
_NAMED, _NAMED_OUT = 6, 4
# Prior odds that are this many times larger or smaller are as reasonable; with such odds an input is likelier.
_OTHER_ODDS = 4.0
# Up to this many inputs are a few.
_FEW = 3.0
# The right end of the bars' scale, with room for the last number, and room for brackets beside it.
_END, _BRACKET = 1.12, 0.3
# Characters of a bar's name.
_NAME = 28
_ZONES = (
    (0.0, IMPROBABLE, "probably\nirrelevant"),
    (IMPROBABLE, PROBABLE, "uncertain"),
    (PROBABLE, CERTAIN, "probably\nrelevant"),
)
_LASSO = (
    "Dots: the penalty, as a share of the largest, at which the lasso includes an input (further right: earlier; "
    "hollow: not included down to 1 %). "
)


def inclusion_sentence(fact: Inclusions, *, linear: bool) -> str:
    """Which inputs almost certainly matter, which probably, which are uncertain, and which probably don't.

    `linear` says whether the selected model is linear, as the models behind these probabilities are.
    """
    text = _which(fact, among="" if linear else " in linear models")
    if fact.converged:
        return text
    by = f" (± {number(100 * fact.error, digits=2)} percentage points or worse)" if fact.error > 0 else ""
    return f"{text} The search over subsets has not converged: these probabilities are approximate{by}."


def _which(fact: Inclusions, *, among: str) -> str:
    n = fact.n_of(fact.names)
    grouped = {name for group in fact.groups for name in group.names}
    certain, likely, uncertain, out = (
        [name for name in fact.between(low, high) if name not in grouped]
        for low, high in ((CERTAIN, 2.0), (PROBABLE, CERTAIN), (IMPROBABLE, PROBABLE), (0.0, IMPROBABLE))
    )
    above, below = f"({whole_percent(CERTAIN)} or more)", whole_percent(IMPROBABLE)
    if len(certain) == n:
        every = "Both inputs" if n == 2 else f"All {spelled(n)} inputs"
        return f"{every} almost certainly matter{among} {above}."
    if len(out) == len(fact.names):
        none = "Neither of the two inputs" if n == 2 else f"None of the {spelled(n)} inputs"
        if fact.wide:
            return f"{none} has an inclusion probability above {below}{among}."
        return f"{none} is likely to matter{among} (each below {below})."
    one, several = len(certain) == 1, any(group.share >= CERTAIN for group in fact.dependent) or fact.alternatives
    parts = [f"{_listed(certain, fact)} almost certainly matter{'s' * one} {above}"] if certain else []
    parts += [] if certain or several else [f"none has an inclusion probability of {whole_percent(CERTAIN)} or more"]
    parts += [_dependent(group, fact) for group in fact.dependent]
    parts += [_alternatives(group, fact) for group in fact.alternatives]
    parts += (
        [f"{_listed(likely, fact)} probably matter{'s' * (len(likely) == 1)} ({_range(likely, fact)})"]
        if likely
        else []
    )
    if uncertain:
        are = "is" if len(uncertain) == 1 else "are"
        parts.append(f"{_listed(uncertain, fact)} {are} uncertain ({_range(uncertain, fact)})")
    parts += [_improbable(out, fact)] if out else []
    return f"Of the {spelled(n)} inputs{among}, {'; '.join(parts)}."


def _alternatives(group: Alternatives, fact: Inclusions) -> str:
    """Correlated inputs: any one of them is enough, or one is likelier."""
    two, who = len(group.names) == 2, _listed(group.names, fact)
    both = f"; {'both' if two else 'several'}: {whole_percent(group.both)}" if group.both >= 0.01 else ""
    likelier = _likelier(group, fact)
    if likelier:
        return f"one of {who} almost certainly matters ({_share(group.one)}{both}){likelier}"
    return f"{'either' if two else 'any one'} of {who} is enough (at least one: {_share(group.one)}{both})"


def _dependent(group: Dependent, fact: Inclusions) -> str:
    """Linear combinations of each other: how many of them matter, and that the data don't determine which."""
    who, n = _listed(group.names, fact), len(group.names)
    given = f"given {listing([shorten(name) for name in group.given], at_most=_NAMED)}, " if group.given else ""
    if group.rank < n - 1:
        why = f"{given}some of them are linear combinations of the others"
    elif n == 2:
        why = f"{given}either of them determines the other"
    else:
        why = f"{given}any {spelled(group.rank)} of them determine all {spelled(n)}"
    share = f"({_share(group.share) if group.share >= CERTAIN else chance(group.share)})"
    matter = f"almost certainly matter{'s' if group.needed == 1 else ''} {share}"
    if group.needed == group.rank and group.share >= CERTAIN:
        return f"{spelled(group.needed)} of {who} {matter}: {why}, so the data don't determine which"
    blur = f"{_likelier(group, fact)}: {why}, so the data hardly determine which"
    if group.share >= CERTAIN:
        return f"at least {spelled(group.needed)} of {who} {matter}{blur}"
    if group.share >= PROBABLE:
        return f"at least one of {who} probably matters {share}{blur}"
    return f"it is uncertain whether any of {who} matters {share}: {why}"


def _likelier(group: Alternatives | Dependent, fact: Inclusions) -> str:
    """The most probable member of a group, if its odds are much better than those of the next."""
    first, second, *more = sorted(group.names, key=lambda name: -fact.value(name))
    if fact.value(first) < _with_odds(fact.value(second), _OTHER_ODDS):
        return ""
    most = f"likely {shorten(first)} ({chance(fact.value(first))})"
    return f", most {most}" if more else f", more {most} than {shorten(second)} ({chance(fact.value(second))})"


def _improbable(names: list[str], fact: Inclusions) -> str:
    below = f"below {whole_percent(IMPROBABLE)})"
    if len(names) <= _NAMED_OUT:
        return f"{_listed(names, fact)} probably {'does' if len(names) == 1 else 'do'}n't matter ({below}"
    there_are_others = len(names) < len(fact.names)
    rest = f"{'other ' * there_are_others}{spelled(fact.n_of(names))}"
    if fact.wide:
        return f"none of the {rest} has a high inclusion probability (each {below}"
    return f"{'the ' * there_are_others}{rest} probably don't matter ({below}"


def prior_text(prior: Prior) -> str:
    """The prior over subsets in words."""
    if not isinstance(prior.subsets.inclusion, tuple):
        return (
            f"each input is included with probability {whole_percent(prior.subsets.mean)}, independently of the others"
        )
    if prior.subsets.inclusion == (1.0, 1.0):
        return "every number of included inputs is equally probable"
    expected = float(prior.shares.sum())
    if expected <= _FEW:
        return "a few inputs are expected to matter"
    return f"about {about(expected)} of the {spelled(len(prior.shares))} inputs are expected to matter"


def prior_sentence(fact: Inclusions) -> str:
    """The prior, and the inputs that other prior odds would move across a boundary; empty if there are none."""
    low, high = _with_odds(IMPROBABLE, 1 / _OTHER_ODDS), _with_odds(PROBABLE, _OTHER_ODDS)
    certain = {name for group in fact.dependent if group.share >= CERTAIN for name in group.names}
    names = [shorten(name) for name in fact.between(low, high) if name not in certain]
    if fact.prior is None or not names:
        return ""
    who = listing(names) if len(names) <= _NAMED_OUT else f"{spelled(len(names))} of these probabilities"
    return f"Prior: {prior_text(fact.prior)}. Another prior could change {who} considerably."


def chance(value: float) -> str:
    """A probability in whole per cent, with a decimal if rounding would lift it to a boundary.

    >>> chance(0.434), chance(0.247), chance(0.2499), chance(0.25)
    ('43 %', '24.7 %', '24.9 %', '25 %')
    """
    text = whole_percent(value)
    is_below = any(value < end and text == whole_percent(end) for end in (IMPROBABLE, PROBABLE, CERTAIN))
    return f"{math.floor(1000 * value) / 10:.1f} %" if is_below else text


def _with_odds(share: float, factor: float) -> float:
    """The probability whose odds are `factor` times those of another.

    >>> round(_with_odds(0.25, 4.0), 4)
    0.5714
    """
    return factor * share / (1 - share + factor * share)


def _share(value: float) -> str:
    return "over 99 %" if value > 0.99 else whole_percent(value)


def _range(names: list[str], fact: Inclusions) -> str:
    values = [fact.value(name) for name in names]
    low, high = chance(min(values)), chance(max(values))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _listed(names: Sequence[str], fact: Inclusions) -> str:
    """Names, each with its copies."""
    copies = {group.names[0]: group for group in fact.copies}
    return listing([_with_copies(name, copies.get(name)) for name in names], at_most=_NAMED)


def _with_copies(name: str, group: Copies | None) -> str:
    """
    >>> _with_copies("warmth", Copies(("warmth", "fahrenheit")))
    'warmth (or its copy fahrenheit)'
    """
    if group is None:
        return shorten(name)
    others = [shorten(other) for other in group.names[1:]]
    kind = f"{'near ' if group.nearly else ''}{'copy' if len(others) == 1 else 'copies'}"
    return f"{shorten(name)} (or its {kind} {listing(others, at_most=_NAMED)})"


def inclusion_figure(found: Inclusions, *, best: str, linear: bool) -> Figure:
    """Inclusion probabilities by the columns of the table, the largest first."""
    whose = "" if found.model == best else f", by {found.model},"
    sensitivity, before = prior_sentence(found), ""
    if found.prior is not None:
        shares = found.prior.shares
        share = f" ({percent(float(shares[0]))})" if np.ptp(shares) < 1e-12 else ""
        before = f"Orange line: prior probability{share}{'' if sensitivity else f': {prior_text(found.prior)}'}. "
    copies = " Copies of an input share one bar." * bool(found.copies)
    brackets = (
        "A bracket joins inputs that can replace each other, with the probability that so many of them are included. "
    ) * bool(found.groups)
    return figure(
        "inclusions",
        "Which inputs matter?",
        lambda ax: draw_inclusions(ax, found),
        f"{inclusion_sentence(found, linear=linear)} {sensitivity}".strip(),
        f"Bars: the posterior probability{whose} that a linear model includes this input, averaged over all subsets of "
        f"inputs. A categorical column counts as included if any of its levels is.{copies} {brackets}{before}"
        f"{'' if found.path is None else _LASSO}Nonlinear effects and interactions are not considered. Associations, "
        "not causes.",
        size=(
            (4.7 if found.path is None else 5.4) + 0.5 * bool(found.groups),
            1.0 + 0.24 * min(len(found.names), MAX_BARS),
        ),
    )


def draw_inclusions(ax: Any, found: Inclusions) -> None:
    """Bars with the prior, the zones of certainty, brackets around groups and the lasso path beside them."""
    order = _order(found)
    rows, rest = order[:MAX_BARS], order[MAX_BARS:]
    shown = found.values[rows]
    right = _END + _BRACKET * bool(found.groups)
    with canvas(ax) as ax:
        draw_bars(ax, shown, filled=shown >= 0.5, texts=[_text(value) for value in shown])
        name_rows(ax, [_name(found, found.names[i]) for i in rows])
        ax.set_xlim(0.0, right if found.path is None else right / LEFT)
        _brackets(ax, found, [found.names[i] for i in rows])
        if found.prior is not None:
            height = np.arange(len(rows))
            ax.vlines(found.prior.shares[rows], height - 0.5, height + 0.5, color=ALERT, linewidth=0.9, zorder=2)
        for end in (IMPROBABLE, PROBABLE, CERTAIN):
            ax.axvline(end, color=MUTED, linewidth=0.7, dashes=(4, 2.5), zorder=0)
        above = {"transform": ax.get_xaxis_transform(), "va": "bottom", "color": MUTED, "fontsize": 7.5}
        for low, high, word in _ZONES:
            ax.text((low + high) / 2, 1.0, word, ha="center", **above)
        # Beside brackets the scale is short, and the names of its parts would touch.
        ax.text(CERTAIN + 0.03 * bool(found.groups), 1.0, "almost\ncertain", ha="left", **above)
        name_axis(ax.xaxis, "inclusion probability")
        ax.set_xticks([0.0, IMPROBABLE, 0.5, PROBABLE, 1.0], ["0", "¼", "½", "¾", "1"])
        ax.spines["bottom"].set_bounds(0.0, 1.0)
        if len(rest):
            remark(ax, f"{count(len(rest))} more, at most {percent(float(found.values[rest].max()))}")
        if found.path is not None:
            ax.xaxis.label.set_x(0.5 * LEFT / right)
            draw_entrances(ax, found.path, rows)
            ax.child_axes[0].set_xlabel("share of the largest penalty\nat which the lasso includes it", linespacing=1.5)


def _order(found: Inclusions) -> NDArray[np.intp]:
    """The inputs by their probability, the members of a group below its first one."""
    group = {name: other.names for other in found.groups for name in other.names}
    order: list[int] = []
    for i in found.order.tolist():
        if i not in order:
            members = [found.names.index(name) for name in group.get(found.names[i], [found.names[i]])]
            # Equal probabilities may differ by rounding.
            order += sorted(members, key=lambda j: (-round(float(found.values[j]), 6), j))
    return np.array(order, dtype=np.intp)


def _name(found: Inclusions, name: str) -> str:
    """An input with its copies, or with their number if their names are too long."""
    names = next((group.names for group in found.copies if group.names[0] == name), (name,))
    whole = " or ".join(names)
    if len(names) == 1 or len(whole) <= _NAME:
        return whole
    more = f" or {count(len(names) - 1)} cop{'y' if len(names) == 2 else 'ies'}"
    return f"{shorten(name, width=_NAME - len(more))}{more}"


def _brackets(ax: Any, found: Inclusions, names: list[str]) -> None:
    """A bracket to the right of each group, with the probability that so many of it are included."""
    for group in found.groups:
        rows = [row for row, name in enumerate(names) if name in group.names]
        if len(rows) < 2:
            continue
        n, share = (1, group.one) if isinstance(group, Alternatives) else (group.needed, group.share)
        left, tip, top, bottom = _END - 0.03, _END, rows[0] - 0.3, rows[-1] + 0.3
        ax.plot([left, tip, tip, left], [top, top, bottom, bottom], color=MUTED, linewidth=0.9, zorder=2)
        text = f"{spelled(n)} in:\n{_text(min(share, 0.9999))}"
        ax.text(tip + 0.02, (top + bottom) / 2, text, color=MUTED, fontsize=7.5, va="center", ha="left")


def _text(value: float) -> str:
    return "< 1 %" if 0 < value < 0.01 else "> 99 %" if 0.99 < value < 1 else chance(float(value))
