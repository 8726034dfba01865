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
    objective: Objective, start: Array, *, tolerance: float, max_evaluations: int, trace: bool = False
) -> Maximum:
    """The maximum that L-BFGS reaches from a start."""
    visited: list[Array] = [start]
    best_value, best_vector = -np.inf, start
    n_evaluations = 0

    def cost(vector: Array) -> tuple[float, Array]:
        nonlocal best_value, best_vector, n_evaluations
        n_evaluations += 1
        value, gradient = objective(vector)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            # A slope back to the best place so far, down which the line search turns round.
            gap = vector - best_vector
            height = max(1.0, abs(best_value)) if np.isfinite(best_value) else 1.0
            return height * (2.0 + float(gap @ gap)), 2.0 * height * gap
        if value > best_value:
            best_value, best_vector = value, vector.copy()
        return -value, -gradient

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(s - _BOX, s + _BOX) for s in start],
        callback=(lambda x: visited.append(x.copy())) if trace else None,
        options={"ftol": tolerance, "gtol": 1e5 * tolerance, "maxfun": max_evaluations, "maxcor": 12},
    )
    converged = bool(found.status == 0)
    return Maximum(best_vector, best_value, n_evaluations, converged, tuple(visited))


@dataclass(frozen=True)
class Search:
    """The best maximum, and the different ones that were found beside it."""

    best: Maximum
    others: tuple[Maximum, ...]


def search(
    objective: Objective,
    starts: Sequence[Array],
    *,
    rehearsal: Objective | None = None,
    tolerance: float = 1e-9,
    max_evaluations: int = 200,
) -> Search:
    """The highest maximum over several starts.

    Parameters
    ----------
    objective : callable(vector) -> value, gradient
    starts : sequence of vectors
    rehearsal : callable, optional
        The same on fewer rows: all starts climb it first, and only the best end climbs the objective itself.
    tolerance : float
        Relative change of the value at which a climb on the objective ends; a slope of 10⁵ times it ends it too.
    max_evaluations : int
        For each climb.
    """
    if rehearsal is None:
        ends = [
            climb(objective, start, tolerance=tolerance, max_evaluations=max_evaluations, trace=True)
            for start in starts
        ]
        ends.sort(key=lambda end: -end.value)
        return Search(ends[0], _different(ends))
    tries = [climb(rehearsal, start, tolerance=1e-6, max_evaluations=max_evaluations) for start in starts]
    tries.sort(key=lambda end: -end.value)
    best = climb(objective, tries[0].vector, tolerance=tolerance, max_evaluations=max_evaluations, trace=True)
    return Search(best, _different(tries))


def _different(ends: Sequence[Maximum]) -> tuple[Maximum, ...]:
    """Ends that aren't the best one again."""
    kept: list[Maximum] = [ends[0]]
    for end in ends[1:]:
        if np.isfinite(end.value) and all(abs(end.value - other.value) > _SAME for other in kept):
            kept.append(end)
    return tuple(kept[1:])
