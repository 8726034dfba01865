"""Sentences about which inputs matter, from inclusion probabilities and from coefficients that are zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

from credo.plots import shorten
from credo.report._alike import Copies
from credo.report._assumption import Assumption
from credo.report._inclusions import Inclusions
from credo.report._numbers import about, listing, number, spelled, whole_percent
from credo.report._stand_ins import IN, OUT, SURE, Either, Some

# So many names a part of the sentence holds; of more that don't matter, only their number is told.
_NAMED, _NAMED_OUT = 6, 4
# Prior odds so many times larger or smaller are another assumption that one could make as well; and an input with
# such odds against another's is likelier.
_OTHER_ODDS = 4.0
# Up to so many inputs are a few.
_FEW = 3.0


def inclusions(fact: Inclusions, *, linear: bool) -> str:
    """Which inputs almost surely or probably matter, which are undecided, and which probably don't, for the headline.

    `linear` says whether the model that is taken is as linear as those that these probabilities are of.
    """
    if fact.settled:
        return _which(fact, linear=linear)
    by = f" (± {number(100 * fact.error, digits=2)} percentage points or worse)" if fact.error > 0 else ""
    rough = f"The search over subsets has not converged: these probabilities are approximate{by}."
    return f"{_which(fact, linear=linear)} {rough}"


def held(fact: Assumption) -> str:
    """What was held of the inputs before the rows were seen."""
    if not isinstance(fact.law.inclusion, tuple):
        return f"each input is included with probability {whole_percent(fact.law.mean)}, independently of the others"
    expected = float(fact.shares.sum())
    if fact.law.inclusion == (1.0, 1.0):
        return "every number of included inputs is equally probable"
    if expected <= _FEW:
        return "a few inputs are expected to matter"
    return f"about {about(expected)} of the {spelled(len(fact.shares))} inputs are expected to matter"


def swayed(fact: Inclusions) -> str:
    """Which inputs another assumption would move, with the one that was made; empty where none would be.

    These are the ones that other prior odds take from one side of a boundary to the other. What is told of weighted
    sums of each other is of all of them.
    """
    low, high = (_moved(end, odds) for end, odds in ((OUT, 1 / _OTHER_ODDS), (IN, _OTHER_ODDS)))
    sure = {name for group in fact.some if group.share >= SURE for name in group.names}
    open_to = [name for name in fact.between(low, high) if name not in sure]
    if fact.assumed is None or not open_to:
        return ""
    names = listing([shorten(name) for name in open_to], at_most=_NAMED)
    who = names if len(open_to) <= _NAMED_OUT else f"{spelled(len(open_to))} of these probabilities"
    return f"Prior: {held(fact.assumed)}. Another prior could change {who} considerably."


def chance(value: float) -> str:
    """A probability in whole per cent, unless that would be a boundary which it is below.

    >>> chance(0.434), chance(0.247), chance(0.2499), chance(0.25)
    ('43 %', '24.7 %', '24.9 %', '25 %')
    """
    text = whole_percent(value)
    is_below = any(value < end and text == whole_percent(end) for end in (OUT, IN, SURE))
    return f"{math.floor(1000 * value) / 10:.1f} %" if is_below else text


def _moved(share: float, odds: float) -> float:
    """A probability whose odds are so many times as large.

    >>> round(_moved(0.25, 4.0), 4)
    0.5714
    """
    return odds * share / (1 - share + odds * share)


def kept(model: str, names: Sequence[str], n_weights: int) -> str:
    """How many weights a penalty has left, and whose; `names` come by the size of what they do, the largest first."""
    if not names:
        return f"Every coefficient of {model} is zero: it predicts the same value for all rows."
    if len(names) == n_weights:
        if n_weights == 1:
            return f"The only coefficient of {model} is non-zero."
        every = "Both" if n_weights == 2 else f"All {spelled(n_weights)}"
        return f"{every} coefficients of {model} are non-zero."
    some = listing([shorten(name) for name in names[:_NAMED]])
    are = _are(list(names))
    whose = f": {some}" if len(names) <= _NAMED else f"; the largest are those of {some}"
    some_of = spelled(len(names)).capitalize()
    return f"{some_of} of {spelled(n_weights)} coefficients {are} non-zero in {model}{whose}."


def _which(fact: Inclusions, *, linear: bool) -> str:
    n = fact.n_inputs
    grouped = {name for group in fact.groups for name in group.names}
    sure, likely, undecided, out = (
        [name for name in fact.between(low, high) if name not in grouped]
        for low, high in ((SURE, 2.0), (IN, SURE), (OUT, IN), (0.0, OUT))
    )
    every = "both inputs" if n == 2 else f"all {spelled(n)} inputs"
    among = "" if linear else " in linear models"
    if len(sure) == n:
        return f"{every[:1].upper()}{every[1:]} almost certainly matter{among} ({_from(SURE)})."
    if len(out) == len(fact.names):
        none = "Neither of the two" if n == 2 else f"None of the {spelled(n)}"
        if fact.wide:
            return f"{none} inputs has an inclusion probability above {whole_percent(OUT)}{among}."
        return f"{none} inputs is likely to matter{among} (each below {whole_percent(OUT)})."
    is_sure = any(group.share >= SURE for group in fact.some) or bool(fact.either)
    parts = [f"{_listed(sure, fact)} almost certainly matter{_s(sure)} ({_from(SURE)})"] if sure else []
    parts += [] if sure or is_sure else ["none almost certainly matters"]
    parts += [_some_of(group, fact) for group in fact.some]
    parts += [_one_of(group, fact) for group in fact.either]
    parts += [f"{_listed(likely, fact)} probably {_do(likely)} ({_range(likely, fact)})"] if likely else []
    if undecided:
        parts.append(f"{_listed(undecided, fact)} {_are(undecided)} uncertain ({_range(undecided, fact)})")
    parts += [_out(out, fact)] if out else []
    return f"Of the {spelled(n)} inputs{among}, {'; '.join(parts)}."


def _one_of(group: Either, fact: Inclusions) -> str:
    """Inputs that are correlated: which one is in is open, or one is likelier."""
    two, who = len(group.names) == 2, _listed(group.names, fact)
    together = f"; {'both' if two else 'several'}: {whole_percent(group.both)}" if group.both >= 0.01 else ""
    likelier = _likelier(group, fact)
    if likelier:
        return f"one of {who} almost certainly matters ({_share(group.one)}{together}){likelier}"
    either = "either" if two else "any one"
    return f"{either} of {who} is enough (at least one: {_share(group.one)}{together})"


def _some_of(group: Some, fact: Inclusions) -> str:
    """Weighted sums of each other, of which the rows tell at most how many matter."""
    who, why = _listed(group.names, fact), _why(group)
    if group.needed == group.rank and group.share >= SURE:
        verb = f"almost certainly matter{'s' if group.needed == 1 else ''}"
        return f"{spelled(group.needed)} of {who} {verb} ({_share(group.share)}): {why}, so the data can't tell which"
    blur = f"{_likelier(group, fact)}: {why}, so the data can hardly tell which"
    if group.share >= SURE:
        verb = f"almost certainly matter{'s' if group.needed == 1 else ''}"
        return f"at least {spelled(group.needed)} of {who} {verb} ({_share(group.share)}){blur}"
    if group.share >= IN:
        return f"at least one of {who} probably matters ({chance(group.share)}){blur}"
    return f"it is uncertain whether any of {who} matters ({chance(group.share)}): {why}"


def _why(group: Some) -> str:
    """Which of them tell the others."""
    beside = f"given {listing([shorten(name) for name in group.given], at_most=_NAMED)}, " if group.given else ""
    n = len(group.names)
    if group.rank < n - 1:
        return f"{beside}some of them are linear combinations of the others"
    if n == 2:
        return f"{beside}either of them determines the other"
    return f"{beside}any {spelled(group.rank)} of them determine all {spelled(n)}"


def _likelier(group: Either | Some, fact: Inclusions) -> str:
    """The first of a group where its odds are much better than those of the next."""
    order = sorted(group.names, key=lambda name: -fact.value(name))
    most, next_most = fact.value(order[0]), fact.value(order[1])
    if most < _moved(next_most, _OTHER_ODDS):
        return ""
    if len(order) == 2:
        return f", more likely {shorten(order[0])} ({chance(most)}) than {shorten(order[1])} ({chance(next_most)})"
    return f", most likely {shorten(order[0])} ({chance(most)})"


def _share(value: float) -> str:
    """The probability of a group, which is seldom certain to the last digit."""
    return "over 99 %" if value > 0.99 else whole_percent(value)


def _range(names: list[str], fact: Inclusions) -> str:
    values = [fact.value(name) for name in names]
    low, high = chance(min(values)), chance(max(values))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _out(names: list[str], fact: Inclusions) -> str:
    below = f"(below {whole_percent(OUT)})"
    if len(names) <= _NAMED_OUT:
        return f"{_listed(names, fact)} probably {_do(names)}n't {below}"
    there_are_others = len(names) < len(fact.names)
    rest = f"{'other ' if there_are_others else ''}{spelled(fact.n_of(names))}"
    if fact.wide:
        return f"none of the {rest} has a high inclusion probability {below.replace('(', '(each ')}"
    return f"{'the ' if there_are_others else ''}{rest} probably don't {below}"


def _listed(names: list[str], fact: Inclusions) -> str:
    """Names, each with its copies."""
    copies = {group.names[0]: group for group in fact.copies}
    return listing([_with_copies(name, copies.get(name)) for name in names], at_most=_NAMED)


def _with_copies(name: str, group: Copies | None) -> str:
    """An input and those that stand beside it in the table and say the same.

    >>> _with_copies("warmth", Copies(("warmth", "fahrenheit")))
    'warmth (or its copy fahrenheit)'
    """
    if group is None:
        return shorten(name)
    others = [shorten(other) for other in group.names[1:]]
    one = len(others) == 1
    kind = f"{'near ' if group.nearly else ''}{'copy' if one else 'copies'}"
    return f"{shorten(name)} (or its {kind} {listing(others, at_most=_NAMED)})"


def _from(share: float) -> str:
    return f"{whole_percent(share)} or more"


def _s(names: list[str]) -> str:
    return "s" if len(names) == 1 else ""


def _do(names: list[str]) -> str:
    return "does" if len(names) == 1 else "do"


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
