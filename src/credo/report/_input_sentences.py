"""Sentences about inputs without coefficients: what matters, how a process bends, what a curve does."""

import numpy as np
from numpy.typing import NDArray

from credo.plots import shorten
from credo.report._curves import Curve
from credo.report._inputs import Influence, Process
from credo.report._numbers import datum, listing, number, spelled
from credo.report._sentences import capital

# An input with less than this share of the largest influence hardly matters, and along one with less than this share
# of the largest relevance the function hardly bends.
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
    bound = [shorten(name) for name in fact.together]
    together = ""
    if bound:
        go = "goes together with other inputs" if len(bound) == 1 else "go together"
        each = "it" if len(bound) == 1 else "one of them"
        together = f"{listing(bound)} {go} in these rows, which don't tell what {each} does alone."
    order = fact.order
    if not len(order):
        return together
    if not fact.values[order[0]] > 0:
        return f"{together} No {'other ' if bound else ''}input changes what {best} predicts.".strip()
    return f"{together} {_most(fact, order, target=target, others=bool(bound))}".strip()


def _most(fact: Influence, order: NDArray[np.intp], *, target: str, others: bool) -> str:
    names, values = [shorten(fact.names[i]) for i in order], fact.values[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    some = int(np.sum(values >= _HARDLY * values[0]))
    text = (
        f"What matters most{' of the others' if others else ''}: {listing(names[:strong], at_most=4)}. "
        f"{capital(_change(fact, order[0]))} changes the predicted {target} by "
        f"{number(float(values[0]), digits=2)} (root mean square over the rows)"
    )
    if strong < some:
        text += f", {_change(fact, order[strong])} by {number(float(values[strong]), digits=2)}"
    return f"{text}{_hardly(names[some:], there_are_others=strong < some)}."


def _change(fact: Influence, i: int) -> str:
    name = shorten(fact.names[i])
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
    assert fact.relevance is not None
    order = np.argsort(-fact.relevance, kind="stable")
    names = [shorten(fact.names[i]) for i in order]
    values = fact.relevance[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    hardly = [name for name, value in zip(names, values, strict=True) if value < _STRAIGHT * values[0]]
    text = f"The function bends most along {listing(names[:strong], at_most=4)}"
    if len(hardly) > 4:
        return f"{text}, and hardly along {spelled(len(hardly))} of its {spelled(len(names))} inputs."
    return f"{text}, and hardly along {listing(hardly)}." if hardly else f"{text}."


def curve(fact: Curve, *, enlarged: float = 1.0) -> str:
    """What a curve does, whether it can be told from a level line, and whether its picture is enlarged.

    A level line stays inside the band everywhere if the highest lower end is below the lowest upper end.
    """
    size = f" Enlarged {enlarged:.0f} times." if enlarged > 1 else ""
    return f"{_shape(fact)}{size}"


def _shape(fact: Curve) -> str:
    mean, lower, upper = fact.mean, fact.lower, fact.upper
    span = float(np.ptp(mean))
    # Beside the curve's height, what rounding leaves of a zero is nothing.
    low, high = (number(end if abs(end) > 1e-4 * span else 0.0) for end in (float(mean.min()), float(mean.max())))
    if lower.max() <= upper.min():
        return "A level line stays inside the band."
    if fact.ticks is not None:
        return f"Lowest at {fact.ticks[mean.argmin()]} ({low}), highest at {fact.ticks[mean.argmax()]} ({high})."
    tolerance = _TURN * span
    turns = _turns(mean, tolerance)
    # A line that never falls stays inside the band if no upper end lies below a lower one to its left.
    if (np.maximum.accumulate(lower) <= upper).all():
        return f"Rises{' on the whole' if turns else ''}, from {low} to {high}."
    if (np.minimum.accumulate(upper) >= lower).all():
        return f"Falls{' on the whole' if turns else ''}, from {high} to {low}."
    if turns == 1 and mean.max() - max(mean[0], mean[-1]) > tolerance:
        return f"Rises to {high} at {datum(float(fact.x[mean.argmax()]))}, then falls."
    if turns == 1:
        return f"Falls to {low} at {datum(float(fact.x[mean.argmin()]))}, then rises."
    return f"Goes up and down between {low} and {high}."


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
