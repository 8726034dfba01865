"""Maximising a log posterior over hyperparameters: L-BFGS from several starts, first on a few rows, then on all.

The objective is handed over as a function of the flat, unconstrained vector of a `ParameterTree`. A start costs little
on a subset of the rows, and the best end there is a few steps away from a maximum on all of them.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from credo.linalg import n_threads, one_blas_thread

Array = NDArray[np.float64]
# value and gradient at a vector; value −inf where the model can't be evaluated
Objective = Callable[[Array], tuple[float, Array]]
# An objective for one climb, which may remember where that climb has been.
Fresh = Callable[[], Objective]

# Two ends are the same maximum when their values differ by less than this.
_SAME = 0.05
# With many starts each first climbs this far, and only the best share of them climbs on.
_HEAT, _FINALISTS = 30, 1 / 3
# Further than this many e-foldings from where it began a parameter may be on a plateau; there it is as well nearer.
_FAR, _AS_WELL = 2.5, 0.2
# Nats for which a climb is taken up again, and those that no plateau can hide.
_WORTH, _TOO_GOOD = 0.01, 3.0
# A slope of less than this for an e-folding of a parameter is level ground.
_LEVEL = 0.01
# A step of more than this many e-foldings in one parameter is a leap into the dark.
_BOX = 12.0


@dataclass(frozen=True)
class Maximum:
    """Where a search ended, and the slope that was left there."""

    vector: Array
    value: float
    n_evaluations: int
    converged: bool
    trace: tuple[Array, ...] = ()
    slope: Array | None = None


def climb(
    objective: Objective,
    start: Array,
    *,
    tolerance: float,
    max_evaluations: int,
    metric: Array | None = None,
) -> Maximum:
    """The maximum that L-BFGS reaches from a start.

    Parameters
    ----------
    metric : array of shape (n, n), optional
        The search runs in u, with vector = start + metric·u; a root of the inverse curvature makes the summit round.
    """
    axes = np.eye(len(start)) if metric is None else metric
    visited: list[Array] = [start]
    best_value, best_vector, best_slope = -np.inf, start, np.full(len(start), np.inf)
    n_evaluations = 0

    def cost(u: Array) -> tuple[float, Array]:
        nonlocal best_value, best_vector, best_slope, n_evaluations
        n_evaluations += 1
        vector = start + axes @ u
        inside = np.abs(vector - start).max(initial=0.0) <= _BOX
        value, gradient = objective(vector) if inside else (-np.inf, np.zeros_like(vector))
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            # A slope back to the best place so far, down which the line search turns round.
            gap = vector - best_vector
            height = max(1.0, abs(best_value)) if np.isfinite(best_value) else 1.0
            return height * (2.0 + float(gap @ gap)), 2.0 * height * axes.T @ gap
        if value > best_value:
            best_value, best_vector, best_slope = value, vector, gradient
            visited.append(vector)
        return -value, -axes.T @ gradient

    found = minimize(
        cost,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": tolerance, "gtol": 1e5 * tolerance, "maxfun": max_evaluations, "maxcor": 12},
    )
    # A line search that fails where the ground is level has come to the last digit, not to a wall.
    level = found.status == 2 and np.abs(best_slope).max(initial=0.0) < _LEVEL
    return Maximum(best_vector, best_value, n_evaluations, bool(found.status == 0 or level), tuple(visited), best_slope)


@dataclass(frozen=True)
class Search:
    """The best maximum, how far below the best the other summits are that were found."""

    best: Maximum
    gaps: tuple[float, ...]


def search(
    objective: Fresh,
    starts: Sequence[Array],
    *,
    rehearsal: Fresh | None = None,
    growth: float = 1.0,
    tolerance: float = 1e-9,
    max_evaluations: int = 200,
    small: bool = False,
) -> Search:
    """The highest maximum over several starts, which climb in parallel.

    Parameters
    ----------
    objective : callable() -> (callable(vector) -> value, gradient)
        Makes the objective of one climb. Several climb at once, each in a thread of its own.
    starts : sequence of vectors
    rehearsal : callable, optional
        The same on fewer rows: all starts climb it first, and only the best end climbs the objective itself, in the
        metric of the curvature that the rehearsal found there.
    growth : float
        How many times more rows the objective has than the rehearsal, and so how much more curvature.
    tolerance : float
        Relative change of the value at which a climb on the objective ends; a slope of 10⁵ times it ends it too.
    max_evaluations : int
        For each climb.
    small : bool
        Whether the objective's matrices are too small for more than one thread; a rehearsal's always are.
    """
    if rehearsal is None:
        with one_blas_thread() if small else nullcontext():
            ends = _ends(objective, starts, tolerance, max_evaluations, parallel=small)
        return Search(ends[0], _gaps(ends))
    with one_blas_thread():
        ends = _ends(rehearsal, starts, 1e-7, max_evaluations, parallel=True)
        rehearsed, few = ends[0], rehearsal()
        begin = _nearer(few, rehearsed, starts[0])
        metric = metric_at(few, begin, growth=growth)
    ahead = partial(climb, objective(), tolerance=tolerance, max_evaluations=max_evaluations, metric=metric)
    best = ahead(begin)
    back = _called_back(best, starts[0])
    if back is not None:
        again = ahead(back)
        best = _joined(best, again) if again.value > best.value else best
    return Search(replace(best, trace=rehearsed.trace + best.trace), _gaps(ends))


def _ends(
    objective: Fresh, starts: Sequence[Array], tolerance: float, max_evaluations: int, *, parallel: bool
) -> list[Maximum]:
    """Where the starts end, the highest first; of many, only those that look best after a heat climb on."""

    def ahead(start: Array, tolerance: float = tolerance, max_evaluations: int = max_evaluations) -> Maximum:
        return climb(objective(), start, tolerance=tolerance, max_evaluations=max_evaluations)

    with ThreadPoolExecutor(n_threads() if parallel else 1, thread_name_prefix="credo-starts") as pool:
        ends = list(starts)
        heats: list[Maximum] = []
        if len(starts) > 1 / _FINALISTS:
            heat = partial(ahead, tolerance=1e3 * tolerance, max_evaluations=_HEAT)
            heats = sorted(pool.map(heat, starts), key=lambda end: -end.value)
            heats = heats[: max(2, round(_FINALISTS * len(starts)))]
            ends = [end.vector for end in heats]
        finals = list(pool.map(ahead, ends))
    if heats:
        finals = [_joined(first, last) for first, last in zip(heats, finals, strict=True)]
    return sorted(finals, key=lambda end: -end.value)


def _joined(first: Maximum, last: Maximum) -> Maximum:
    """Two stretches of one climb."""
    return replace(last, n_evaluations=first.n_evaluations + last.n_evaluations, trace=first.trace + last.trace)


def _nearer(objective: Objective, end: Maximum, origin: Array) -> Array:
    """The end of a climb, with what strayed onto a plateau brought back to where a slope can be felt.

    A length scale a thousand times the spread of its column costs nothing on a few rows; the slope on all of them that
    would call it back is lost in the last digits out there.
    """
    vector = end.vector
    for i in np.flatnonzero(np.abs(vector - origin) > _FAR):
        back = vector.copy()
        back[i] = origin[i] + np.clip(vector[i] - origin[i], -_FAR, _FAR)
        if objective(back)[0] > end.value - _AS_WELL:
            vector = back
    return vector


def _called_back(end: Maximum, origin: Array) -> Array | None:
    """The end with what strayed too far brought back; None where nothing did.

    Out on a plateau the value differs from its limit by a multiple of 1/ℓ², so that however small a slope is, it tells
    what there is to gain nearer to the origin: half of it, e² times as much for each e-folding.
    """
    gap = end.vector - origin
    assert end.slope is not None
    gain = -0.5 * np.sign(gap) * end.slope * np.exp(np.minimum(2.0 * (np.abs(gap) - _FAR), 60.0))
    lost = (np.abs(gap) > _FAR + 1.0) & (gain > _WORTH) & (gain < _TOO_GOOD)
    return np.where(lost, origin + np.clip(gap, -_FAR, _FAR), end.vector) if lost.any() else None


def metric_at(objective: Objective, vector: Array, *, growth: float = 1.0, step: float = 1e-3) -> Array:
    """A root of the inverse curvature of −growth·objective, from differences of its gradient."""
    n = len(vector)
    curvature = np.empty((n, n))
    for i in range(n):
        ahead, behind = (objective(vector + s * step * np.eye(n)[i])[1] for s in (1, -1))
        curvature[i] = (behind - ahead) / (2 * step)
    if not np.isfinite(curvature).all():
        return np.eye(n)
    values, axes = np.linalg.eigh(growth * 0.5 * (curvature + curvature.T))
    # A flat direction is given one unit of curvature, which lets it move by a few e-foldings at once.
    return axes / np.sqrt(np.maximum(np.abs(values), 1.0))


def _gaps(ends: Sequence[Maximum]) -> tuple[float, ...]:
    """How far below the first the others are, those that aren't the same summit again."""
    kept = [ends[0].value]
    for end in ends[1:]:
        if np.isfinite(end.value) and all(abs(end.value - value) > _SAME for value in kept):
            kept.append(end.value)
    return tuple(kept[0] - value for value in kept[1:])
