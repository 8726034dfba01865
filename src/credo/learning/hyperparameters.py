"""Maximising a log posterior over hyperparameters: L-BFGS from several starts, first on a few rows, then on all.

The objective is handed over as a function of the flat, unconstrained vector of a `ParameterTree`. A start costs little
on a subset of the rows, and the best end there is a few steps away from a maximum on all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
# value and gradient at a vector; value −inf where the model can't be evaluated
Objective = Callable[[Array], tuple[float, Array]]

# Two ends are the same maximum when their values differ by less than this.
_SAME = 0.05
# A step of more than this many e-foldings in one parameter is a leap into the dark.
_BOX = 12.0


@dataclass(frozen=True)
class Maximum:
    """Where a search ended."""

    vector: Array
    value: float
    n_evaluations: int
    converged: bool
    trace: tuple[Array, ...] = ()


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
    best_value, best_vector = -np.inf, start
    n_evaluations = 0

    def cost(u: Array) -> tuple[float, Array]:
        nonlocal best_value, best_vector, n_evaluations
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
            best_value, best_vector = value, vector
            visited.append(vector)
        return -value, -axes.T @ gradient

    found = minimize(
        cost,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": tolerance, "gtol": 1e5 * tolerance, "maxfun": max_evaluations, "maxcor": 12},
    )
    return Maximum(best_vector, best_value, n_evaluations, bool(found.status == 0), tuple(visited))


@dataclass(frozen=True)
class Search:
    """The best maximum, and how far below the best the other summits are that were found."""

    best: Maximum
    gaps: tuple[float, ...]


def search(
    objective: Objective,
    starts: Sequence[Array],
    *,
    rehearsal: Objective | None = None,
    growth: float = 1.0,
    tolerance: float = 1e-9,
    max_evaluations: int = 200,
) -> Search:
    """The highest maximum over several starts.

    Parameters
    ----------
    objective : callable(vector) -> value, gradient
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
    """
    first = objective if rehearsal is None else rehearsal
    precision = tolerance if rehearsal is None else 1e-7
    ends = [climb(first, start, tolerance=precision, max_evaluations=max_evaluations) for start in starts]
    ends.sort(key=lambda end: -end.value)
    if rehearsal is None:
        return Search(ends[0], _gaps(ends))
    metric = _metric(rehearsal, ends[0].vector, growth)
    best = climb(objective, ends[0].vector, tolerance=tolerance, max_evaluations=max_evaluations, metric=metric)
    return Search(best, _gaps(ends))


def _metric(objective: Objective, vector: Array, growth: float, step: float = 1e-3) -> Array:
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
