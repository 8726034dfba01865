"""Sentences about inputs without coefficients: what matters, how a process bends, what a curve does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from credo.metrics import Influence
from credo.plots import shorten
from credo.report._curves import Curve
from credo.report._inputs import Process
from credo.report._numbers import datum, listing, number, spelled
from credo.report._sentences import capital

# An input with less than this share of the largest influence hardly matters, and along one with less than this share
# of the strongest bend the function hardly does.
_HARDLY = 0.05
_STRAIGHT = 0.1
# A turn of less than this share of a curve's height is no turn.
_TURN = 0.1

_SMOOTHNESS = {
    "RBF": "a very smooth function",
    "Matern52": "a smooth function",
    "Matern32": "a function with some roughness",
    "Exponential": "a rough function",
}


def influences(fact: Influence, *, best: str, target: str) -> str:
    """Which columns move the prediction most, for the headline."""
    bound = " ".join(
        f"{listing([shorten(name) for name in members], at_most=8)} go together in these rows, which don't tell what "
        "one of them does alone."
        for members in fact.together
    )
    order = fact.order
    if not len(order) or not fact.values[order[0]] > 0:
        return f"{bound} No input changes what {best} predicts.".strip()
    return f"{bound} {_most(fact, order, target=target)}".strip()


def entry(members: Sequence[str]) -> str:
    """An input by its name; of several that go together, the first and how many go with it.

    >>> entry(["froude"]), entry(["wall", "roof"]), entry(["wall", "roof", "height"])
    ('froude', 'wall together with roof', 'wall and the two that go with it')
    """
    first = shorten(members[0])
    if len(members) == 2:
        return f"{first} together with {shorten(members[1])}"
    return first if len(members) == 1 else f"{first} and the {spelled(len(members) - 1)} that go with it"


def bar_name(members: Sequence[str], *, width: int = 28) -> str:
    """The same beside a bar.

    >>> bar_name(["X1_compactness", "X2_surface", "X3_wall"])
    'X1_compactness + 2 together'
    """
    more = f" + {len(members) - 1} together" if len(members) > 1 else ""
    return f"{shorten(members[0], width=width - len(more))}{more}"


def _most(fact: Influence, order: NDArray[np.intp], *, target: str) -> str:
    names, values = [entry(fact.members[i]) for i in order], fact.values[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    some = int(np.sum(values >= _HARDLY * values[0]))
    text = (
        f"What matters most: {listing(names[:strong], at_most=4)}. "
        f"{capital(_change(fact, order[0]))} changes the predicted {target} by "
        f"{number(float(values[0]), digits=2)} (root mean square over the rows)"
    )
    if strong < some:
        text += f", {_change(fact, order[strong])} by {number(float(values[strong]), digits=2)}"
    return f"{text}{_hardly(names[some:], there_are_others=strong < some)}."


def _change(fact: Influence, i: int) -> str:
    name = entry(fact.members[i])
    if len(fact.members[i]) > 1:
        return f"another row's {name}"
    return f"one standard deviation of {name}" if fact.measured[i] else f"another value of {name}"


def _hardly(names: list[str], *, there_are_others: bool) -> str:
    """The end of a sentence about inputs of little influence."""
    if not names:
        return ""
    if len(names) == 1:
        return f"; {names[0]} hardly matters"
    if not there_are_others:
        return f"; the other {spelled(len(names))} hardly matter"
    return f"; {listing(names) if len(names) <= 4 else f'{spelled(len(names))} others'} hardly matter"


def process(fact: Process, *, target: str, spread: float) -> str:
    """What a kernel says: how smooth the function is, and how much it leaves to noise."""
    kind = _SMOOTHNESS.get(fact.kernel, "a function")
    inputs = "its one input" if len(fact.names) == 1 else f"its {spelled(len(fact.names))} inputs"
    share = fact.noise / spread if spread > 0 else 0.0
    # Noise below this is what a search that ran off to zero leaves, not a measurement's.
    left = "plus next to no noise" if share < 1e-3 else f"plus noise of standard deviation {number(fact.noise)}"
    return f"{fact.model} takes {target} for {kind} of {inputs}, {left}."


def bends(fact: Process) -> str:
    """Along which columns a process bends, and along which it hardly does."""
    assert fact.bends is not None
    order = np.argsort(-fact.bends, kind="stable")
    names = [shorten(fact.names[i]) for i in order]
    values = fact.bends[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    hardly = [name for name, value in zip(names, values, strict=True) if value < _STRAIGHT * values[0]]
    text = f"The function bends most along {listing(names[:strong], at_most=4)}"
    if len(hardly) > 4:
        return f"{text}, and hardly along {spelled(len(hardly))} of its {spelled(len(names))} inputs."
    return f"{text}, and hardly along {listing(hardly)}." if hardly else f"{text}."


def curve(fact: Curve, *, enlarged: float = 1.0, write: Callable[[float], str] = number) -> str:
    """What a curve does, whether it can be told from a level line, and whether its picture is enlarged.

    It can where the difference between its highest and its lowest place is surely none; of a model that doesn't say
    how places vary together, where no level line stays inside the band, whose highest lower end is then above its
    lowest upper end. `write` turns the curve's values into text.
    """
    size = f" Enlarged {enlarged:.0f} times." if enlarged > 1 else ""
    return f"{_shape(fact, write)}{size}"


def _shape(fact: Curve, write: Callable[[float], str]) -> str:
    mean, lower, upper = fact.mean, fact.lower, fact.upper
    span = float(np.ptp(mean))
    # Beside the curve's height, what rounding leaves of a zero is nothing.
    low, high = (write(end if abs(end) > 1e-4 * span else 0.0) for end in (float(mean.min()), float(mean.max())))
    if upper.max() <= lower.min():
        return "Doesn't change."
    fits_level = bool(lower.max() <= upper.min())
    if fact.level or (fact.level is None and fits_level):
        return "Could as well be level." if fact.level else "A level line stays inside the band."
    tolerance = _TURN * span
    turns = _turns(mean, tolerance)
    if fact.ticks is not None or (fits_level and turns):
        lowest, highest = (_place(fact, int(i)) for i in (mean.argmin(), mean.argmax()))
        return f"Lowest at {lowest} ({low}), highest at {highest} ({high})."
    # A line that never falls stays inside the band if no upper end lies below a lower one to its left. Without a band,
    # what is no turn doesn't count; and in a band that a level line fits, rising and falling ones do alike.
    way = np.sign(mean[-1] - mean[0]) if not turns and (fits_level or not (upper > lower).any()) else 0
    if way > 0 or (way == 0 and (np.maximum.accumulate(lower) <= upper).all()):
        return f"Rises{' on the whole' if turns else ''}, from {low} to {high}."
    if way < 0 or (np.minimum.accumulate(upper) >= lower).all():
        return f"Falls{' on the whole' if turns else ''}, from {high} to {low}."
    if turns == 1 and mean.max() - max(mean[0], mean[-1]) > tolerance:
        return f"Rises to {high} at {_place(fact, int(mean.argmax()))}, then falls."
    if turns == 1:
        return f"Falls to {low} at {_place(fact, int(mean.argmin()))}, then rises."
    return f"Goes up and down between {low} and {high}."


def _place(fact: Curve, i: int) -> str:
    return datum(float(fact.x[i])) if fact.ticks is None else fact.ticks[i]


def _turns(mean: NDArray[np.float64], tolerance: float) -> int:
    """How often a curve turns by more than a tolerance."""
    turns, direction, extreme = 0, 0, float(mean[0])
    for value in mean.tolist():
        falls, rises = value < extreme - tolerance, value > extreme + tolerance
        if (direction >= 0 and falls) or (direction <= 0 and rises):
            turns += direction != 0
            direction, extreme = (1 if rises else -1), value
        elif direction:
            extreme = max(extreme, value) if direction > 0 else min(extreme, value)
    return turns
