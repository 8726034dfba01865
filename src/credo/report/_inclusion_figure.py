"""The picture of which inputs matter: how probable it is that each is in a linear model of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._inclusion import LEFT, draw_entrances
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ALERT, MUTED, canvas
from credo.report import _inclusion_sentences as words
from credo.report._assumption import Assumption
from credo.report._figures import MAX_COEFFICIENTS, Figure, figure
from credo.report._inclusions import Inclusions
from credo.report._numbers import count, percent, spelled
from credo.report._stand_ins import IN, OUT, SURE, Either

# Of the width of the scale from 0 to 1: room for the last bar's number, and for brackets beside it.
_END, _BRACKET = 1.12, 0.3
# Beside brackets the scale is short, and the names of its parts would touch.
_APART = 0.03
# Characters of a bar's name.
_NAME = 28
_BESIDE = (
    "Dots: the penalty, as a share of the largest, at which the lasso includes an input (further right: earlier; "
    "hollow: not included down to 1 %). "
)
_ZONES = ((0.0, OUT, "probably\nirrelevant"), (OUT, IN, "uncertain"), (IN, SURE, "probably\nrelevant"))


def inclusion_figure(found: Inclusions, *, best: str, linear: bool) -> Figure:
    """Inclusion probabilities by the columns of the table, the largest first."""
    n_rows = min(len(found.names), MAX_COEFFICIENTS)
    whose = "" if found.model == best else f", by {found.model},"
    beside = "" if found.path is None else _BESIDE
    swayed = words.swayed(found)
    before = "" if found.assumed is None else _before(found.assumed, is_told=bool(swayed))
    copies = " Copies of an input share one bar." * bool(found.copies)
    joined = (
        "A bracket joins inputs that can replace each other, with the probability that so many of them are included. "
        if found.groups
        else ""
    )
    return figure(
        "inclusions",
        "Which inputs matter?",
        lambda ax: _draw(ax, found),
        f"{words.inclusions(found, linear=linear)} {swayed}".strip(),
        f"Bars: the posterior probability{whose} that a linear model includes this input, averaged over all subsets of "
        f"inputs. A categorical column counts as included if any of its levels is.{copies} {joined}{before}{beside}"
        "Nonlinear effects and interactions are not considered. Associations, not causes.",
        size=((4.7 if found.path is None else 5.4) + 0.5 * bool(found.groups), 1.0 + 0.24 * n_rows),
    )


def _before(assumed: Assumption, *, is_told: bool) -> str:
    """What the line in each row is; with what was assumed, unless that is told already."""
    same = np.ptp(assumed.shares) < 1e-12
    share = f" ({percent(float(assumed.shares[0]))})" if same else ""
    law = "" if is_told else f": {words.held(assumed)}"
    return f"Orange line: prior probability{share}{law}. "


def _draw(ax: Any, found: Inclusions) -> None:
    order = _order(found)
    rows, rest = order[:MAX_COEFFICIENTS], order[MAX_COEFFICIENTS:]
    shown = found.values[rows]
    right = _END + _BRACKET * bool(found.groups)
    with canvas(ax) as ax:
        draw_bars(ax, shown, filled=shown >= 0.5, texts=[_text(value) for value in shown])
        name_rows(ax, [_name(found, found.names[i]) for i in rows])
        ax.set_xlim(0.0, right if found.path is None else right / LEFT)
        _brackets(ax, found, [found.names[i] for i in rows])
        if found.assumed is not None:
            height = np.arange(len(rows))
            ax.vlines(found.assumed.shares[rows], height - 0.5, height + 0.5, color=ALERT, linewidth=0.9, zorder=2)
        for end in (OUT, IN, SURE):
            ax.axvline(end, color=MUTED, linewidth=0.7, dashes=(4, 2.5), zorder=0)
        for low, high, word in _ZONES:
            ax.text(
                (low + high) / 2, 1.0, word, transform=ax.get_xaxis_transform(), ha="center", va="bottom", color=MUTED,
                fontsize=7.5,
            )  # fmt: skip
        apart = _APART if found.groups else 0.0
        ax.text(
            SURE + apart, 1.0, "almost\ncertain", transform=ax.get_xaxis_transform(), ha="left", va="bottom",
            color=MUTED, fontsize=7.5,
        )  # fmt: skip
        name_axis(ax.xaxis, "inclusion probability")
        ax.set_xticks([0.0, OUT, 0.5, IN, 1.0], ["0", "¼", "½", "¾", "1"])
        ax.spines["bottom"].set_bounds(0.0, 1.0)
        if len(rest):
            remark(ax, f"{count(len(rest))} more, at most {percent(float(found.values[rest].max()))}")
        if found.path is not None:
            ax.xaxis.label.set_x(0.5 * LEFT / right)
            draw_entrances(ax, found.path, rows)
            ax.child_axes[0].set_xlabel("share of the largest penalty\nat which the lasso includes it", linespacing=1.5)


def _order(found: Inclusions) -> NDArray[np.intp]:
    """The inputs by their probability, where those of a group stand below the first of them."""
    group = {name: other.names for other in found.groups for name in other.names}
    order: list[int] = []
    for i in found.order.tolist():
        if i not in order:
            # Those that share a probability differ by rounding alone.
            members = [found.names.index(name) for name in group.get(found.names[i], [found.names[i]])]
            order += sorted(members, key=lambda j: (-round(float(found.values[j]), 6), j))
    return np.array(order, dtype=np.intp)


def _name(found: Inclusions, name: str) -> str:
    """An input with its copies, or how many there are where their names are too long."""
    names = next((group.names for group in found.copies if group.names[0] == name), (name,))
    whole = " or ".join(names)
    if len(names) == 1 or len(whole) <= _NAME:
        return whole
    more = f" or {count(len(names) - 1)} cop{'y' if len(names) == 2 else 'ies'}"
    return f"{shorten(name, width=_NAME - len(more))}{more}"


def _brackets(ax: Any, found: Inclusions, names: list[str]) -> None:
    """A bracket at the right of each group's bars, with the probability that so many of it are in."""
    for group in found.groups:
        rows = [row for row, name in enumerate(names) if name in group.names]
        if len(rows) < 2:
            continue
        n, share = (1, group.one) if isinstance(group, Either) else (group.needed, group.share)
        left, tip, top, bottom = _END - 0.03, _END, rows[0] - 0.3, rows[-1] + 0.3
        ax.plot([left, tip, tip, left], [top, top, bottom, bottom], color=MUTED, linewidth=0.9, zorder=2)
        text = f"{spelled(n)} in:\n{_text(min(share, 0.9999))}"
        ax.text(tip + 0.02, (top + bottom) / 2, text, color=MUTED, fontsize=7.5, va="center", ha="left")


def _text(value: float) -> str:
    return "< 1 %" if 0 < value < 0.01 else "> 99 %" if 0.99 < value < 1 else words.chance(float(value))
