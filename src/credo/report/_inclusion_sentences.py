"""Sentences about which inputs matter, from inclusion probabilities and from weights that are zero."""

import math
from collections.abc import Sequence

from credo.plots import shorten
from credo.report._assumption import Assumption
from credo.report._inclusions import IN, OUT, SURE, Either, Inclusions
from credo.report._numbers import about, listing, number, spelled, whole_percent

# So many names a part of the sentence holds; of more that don't matter, only their number is told.
_NAMED, _NAMED_OUT = 6, 4
# Prior odds so many times larger or smaller are another assumption that one could make as well.
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
    rough = f"The search over subsets had not settled: these probabilities are rough{by}."
    return f"{_which(fact, linear=linear)} {rough}"


def held(fact: Assumption) -> str:
    """What was held of the inputs before the rows were seen."""
    if not isinstance(fact.law.inclusion, tuple):
        return f"each input was taken to be in with {whole_percent(fact.law.mean)}, whatever the others"
    expected = float(fact.shares.sum())
    if fact.law.inclusion == (1.0, 1.0):
        return "any share of the inputs was as likely as any other"
    if expected <= _FEW:
        return "a few inputs were expected"
    return f"about {about(expected)} of the {spelled(len(fact.shares))} inputs were expected"


def swayed(fact: Inclusions) -> str:
    """Which inputs another assumption would move, with the one that was made; empty where none would be.

    These are the ones that other prior odds take from one side of a boundary to the other.
    """
    low, high = (_moved(end, odds) for end, odds in ((OUT, 1 / _OTHER_ODDS), (IN, _OTHER_ODDS)))
    open_to = fact.between(low, high)
    if fact.assumed is None or not open_to:
        return ""
    who = _listed(open_to) if len(open_to) <= _NAMED_OUT else f"{spelled(len(open_to))} of these probabilities"
    return f"Beforehand {held(fact.assumed)}. That is an assumption; another could move {who} a good deal."


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


def kept(best: str, names: Sequence[str], n_weights: int) -> str:
    """How many weights a penalty has left, and whose; `names` come by the size of what they do, the largest first."""
    if not names:
        return f"{best} has set every weight to zero: it predicts the same for all rows."
    if len(names) == n_weights:
        return f"None of the {spelled(n_weights)} weights of {best} is zero."
    some = listing([shorten(name) for name in names], at_most=_NAMED)
    are = _are(list(names))
    some_of = spelled(len(names)).capitalize()
    return f"{some_of} of the {spelled(n_weights)} weights {are} other than zero in {best}: {some}."


def _which(fact: Inclusions, *, linear: bool) -> str:
    n = len(fact.names)
    grouped = {name for group in fact.either for name in group.names}
    sure, out = fact.between(SURE, 2.0), [name for name in fact.between(0.0, OUT) if name not in grouped]
    likely, undecided = (
        [name for name in fact.between(low, high) if name not in grouped] for low, high in ((IN, SURE), (OUT, IN))
    )
    every = "both inputs" if n == 2 else f"all {spelled(n)} inputs"
    among = "" if linear else " in linear models"
    if len(sure) == n:
        return f"{every[:1].upper()}{every[1:]} almost surely matter{among} ({_from(SURE)})."
    if len(out) == n:
        none = "Neither of the two" if n == 2 else f"None of the {spelled(n)}"
        if fact.wide:
            return f"{none} inputs is needed by itself{among} (each below {whole_percent(OUT)})."
        return f"{none} inputs seems to matter{among}: each is probably out (below {whole_percent(OUT)})."
    parts = [_sure(sure)]
    parts += [_one_of(group) for group in fact.either]
    parts += [f"{_listed(likely)} probably {_do(likely)} ({_range(likely, fact)})"] if likely else []
    parts += [f"{_listed(undecided)} {_are(undecided)} undecided ({_range(undecided, fact)})"] if undecided else []
    parts += [_out(out, wide=fact.wide, there_are_others=len(out) < n)] if out else []
    return f"Of the {spelled(n)} inputs{among}, {'; '.join(parts)}."


def _sure(names: list[str]) -> str:
    if not names:
        return "none matters almost surely"
    return f"{_listed(names)} almost surely matter{_s(names)} ({_from(SURE)})"


def _one_of(group: Either) -> str:
    either = "either" if len(group.names) == 2 else "any one"
    together = f", and {'both' if len(group.names) == 2 else 'several'} with {whole_percent(group.both)}"
    return (
        f"{either} of {_listed(group.names)} will do (one of them is in with {whole_percent(group.one)}"
        f"{together if group.both >= 0.01 else ''})"
    )


def _range(names: list[str], fact: Inclusions) -> str:
    values = [float(fact.values[fact.names.index(name)]) for name in names]
    low, high = chance(min(values)), chance(max(values))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _out(names: list[str], *, wide: bool, there_are_others: bool) -> str:
    below = f"(below {whole_percent(OUT)})"
    if len(names) <= _NAMED_OUT:
        return f"{_listed(names)} probably {_do(names)}n't {below}"
    rest = f"{'other ' if there_are_others else ''}{spelled(len(names))}"
    if wide:
        return f"none of the {rest} is needed by itself {below.replace('(', '(each ')}"
    return f"{'the ' if there_are_others else ''}{rest} probably don't {below}"


def _listed(names: list[str]) -> str:
    return listing([shorten(name) for name in names], at_most=_NAMED)


def _from(share: float) -> str:
    return f"{whole_percent(share)} or more"


def _s(names: list[str]) -> str:
    return "s" if len(names) == 1 else ""


def _do(names: list[str]) -> str:
    return "does" if len(names) == 1 else "do"


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
