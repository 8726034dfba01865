"""Sentences about inputs without coefficients: what matters, how nonlinear a process is, what a curve does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from credo.metrics import Influence
from credo.plots import shorten
from credo.report._curves import Curve
from credo.report._inputs import Process
from credo.report._numbers import datum, day, listing, number, spelled
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
        f"{listing([shorten(name) for name in members], at_most=8)} vary together or determine each other: these rows "
        "can't separate their effects."
        for members in fact.together
    )
    order = fact.order
    if not len(order) or not fact.values[order[0]] > 0:
        return f"No input changes the predictions of {best}. {bound}".strip()
    return f"{_most(fact, order, target=target)} {bound}".strip()


def entry(members: Sequence[str]) -> str:
    """An input by its name; of several that go together, the first and how many go with it.

    >>> entry(["froude"]), entry(["wall", "roof"]), entry(["wall", "roof", "height"])
    ('froude', 'wall (with roof)', 'wall (with two correlated inputs)')
    """
    first = shorten(members[0])
    if len(members) == 2:
        return f"{first} (with {shorten(members[1])})"
    return first if len(members) == 1 else f"{first} (with {spelled(len(members) - 1)} correlated inputs)"


def bar_name(members: Sequence[str], *, width: int = 28) -> str:
    """The same beside a bar.

    >>> bar_name(["X1_compactness", "X2_surface", "X3_wall"])
    'X1_compa…ness + 2 correlated'
    """
    more = f" + {len(members) - 1} correlated" if len(members) > 1 else ""
    return f"{shorten(members[0], width=width - len(more))}{more}"


def _most(fact: Influence, order: NDArray[np.intp], *, target: str) -> str:
    names, values = [entry(fact.members[i]) for i in order], fact.values[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    some = int(np.sum(values >= _HARDLY * values[0]))
    first = _change(fact, order[0], name="it" if strong == 1 else names[0])
    text = (
        f"Most influential: {listing(names[:strong], at_most=4)}. {capital(first)} changes the predicted {target} by "
        f"{number(float(values[0]), digits=2)} (root mean square over the rows)"
    )
    if strong < some:
        text += f", {_change(fact, order[strong], name=names[strong])} by {number(float(values[strong]), digits=2)}"
    return f"{text}.{_hardly(names[some:], there_are_others=strong < some)}"


def _change(fact: Influence, i: int, *, name: str) -> str:
    if len(fact.members[i]) > 1:
        return f"exchanging {'them' if name == 'it' else name} between rows"
    return f"one standard deviation of {name}" if fact.measured[i] else f"another value of {name}"


def _hardly(names: list[str], *, there_are_others: bool) -> str:
    """A sentence about inputs of little influence."""
    if not names:
        return ""
    if len(names) == 1:
        who = names[0]
    elif not there_are_others:
        who = f"the other {spelled(len(names))}"
    else:
        who = listing(names) if len(names) <= 4 else f"{spelled(len(names))} others"
    return f" Little influence: {who}."


def process(fact: Process, *, target: str, spread: float) -> str:
    """What a kernel says: how smooth the function is, and how much it leaves to noise."""
    kind = _SMOOTHNESS.get(fact.kernel, "a function")
    inputs = "its only input" if len(fact.names) == 1 else f"its {spelled(len(fact.names))} inputs"
    share = fact.noise / spread if spread > 0 else 0.0
    # Noise below this is what a search that ran off to zero leaves, not a measurement's.
    left = "almost no noise" if share < 1e-3 else f"noise of standard deviation {number(fact.noise)}"
    return f"{fact.model} models {target} as {kind} of {inputs} plus {left}."


def bends(fact: Process) -> str:
    """Along which columns the function of a process is curved, and along which it is nearly linear."""
    assert fact.bends is not None
    order = np.argsort(-fact.bends, kind="stable")
    names = [shorten(fact.names[i]) for i in order]
    values = fact.bends[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    hardly = [name for name, value in zip(names, values, strict=True) if value < _STRAIGHT * values[0]]
    text = f"Most nonlinear along {listing(names[:strong], at_most=4)}"
    if len(hardly) > 4:
        return f"{text}; nearly linear along {spelled(len(hardly))} of {spelled(len(names))} inputs."
    return f"{text}; nearly linear along {listing(hardly)}." if hardly else f"{text}."


def curve(fact: Curve, *, enlarged: float = 1.0, write: Callable[[float], str] = number) -> str:
    """What a curve does, whether it has a clear effect, and whether its axis is zoomed.

    The effect is clear where the difference between its highest and its lowest place is surely none; of a model that
    doesn't say how places vary together, where no level line stays inside the band, whose highest lower end is then
    above its lowest upper end. `write` turns the curve's values into text.
    """
    size = f" (y-axis zoomed {enlarged:.0f}×)" if enlarged > 1 else ""
    return f"{_classes(fact) if fact.classes else _shape(fact, write)}{size}."


def _classes(fact: Curve) -> str:
    """Which class is the most likely where."""
    best = fact.mean.argmax(axis=1)
    names = [shorten(name, width=24) for name in fact.classes]
    if (best == best[0]).all():
        return f"{names[best[0]]} is the most likely class throughout"
    if fact.ticks is not None:
        parts = [
            f"{names[k]} at {listing([fact.ticks[i] for i in np.flatnonzero(best == k)], at_most=4)}"
            for k in dict.fromkeys(best.tolist())
        ]
        return f"Most likely: {', '.join(parts)}"
    ends = np.flatnonzero(np.diff(best)).tolist()
    if len(ends) > 3:
        return f"The most likely class changes {len(ends)} times"
    parts = [f"{names[best[i]]} up to {_place(fact, i)}" for i in ends]
    return f"Most likely: {', '.join(parts)}, then {names[best[-1]]}"


def _shape(fact: Curve, write: Callable[[float], str]) -> str:
    mean, lower, upper = fact.mean, fact.lower, fact.upper
    span = float(np.ptp(mean))
    # Beside the curve's height, what rounding leaves of a zero is nothing.
    low, high = (write(end if abs(end) > 1e-4 * span else 0.0) for end in (float(mean.min()), float(mean.max())))
    if upper.max() <= lower.min():
        return "No effect"
    fits_level = bool(lower.max() <= upper.min())
    if fact.level or (fact.level is None and fits_level):
        return "No clear effect"
    tolerance = _TURN * span
    turns = _turns(mean, tolerance)
    if fact.ticks is not None or (fits_level and turns):
        lowest, highest = (_place(fact, int(i)) for i in (mean.argmin(), mean.argmax()))
        return f"Lowest at {lowest} ({low}), highest at {highest} ({high})"
    # A line that never falls stays inside the band if no upper end lies below a lower one to its left. Without a band,
    # what is no turn doesn't count; and in a band that a level line fits, rising and falling ones do alike.
    way = np.sign(mean[-1] - mean[0]) if not turns and (fits_level or not (upper > lower).any()) else 0
    if way > 0 or (way == 0 and (np.maximum.accumulate(lower) <= upper).all()):
        return f"Rises{' overall' if turns else ''} from {low} to {high}"
    if way < 0 or (np.minimum.accumulate(upper) >= lower).all():
        return f"Falls{' overall' if turns else ''} from {high} to {low}"
    if turns == 1 and mean.max() - max(mean[0], mean[-1]) > tolerance:
        return f"Rises to {high} at {_place(fact, int(mean.argmax()))}, then falls"
    if turns == 1:
        return f"Falls to {low} at {_place(fact, int(mean.argmin()))}, then rises"
    return f"Rises and falls between {low} and {high}"


def _place(fact: Curve, i: int) -> str:
    if fact.ticks is not None:
        return fact.ticks[i]
    return day(float(fact.x[i])) if fact.dates else datum(float(fact.x[i]))


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
