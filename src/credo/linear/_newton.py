"""Newton's method with a line search, which is iterated reweighted least squares (Bishop 4.92), on linear logits.

    s = H⁻¹g,    λ² = gᵀs,    Θ ← Θ + t s with t = 1, ½, ¼, … until the objective rises enough

λ, the Newton decrement, is the distance to the maximum in standard deviations of the Gaussian that the objective looks
like from here, whatever the units of the columns. The pass over the rows that judges a step also brings the slope and
the curvature for the next one, so that an iteration is one pass. Where rows are many, a tenth of them tells the start
and the curvature well enough for the first steps on all, which then need the slope only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.linalg import Factor, factorize
from credo.linear._rows import EPS
from credo.linear._softmax import Point, Task

Array = NDArray[np.float64]

# A step must bring this share of what the slope promises (Armijo); below the second number, relative to the value, a
# difference of two values is rounding.
_SUFFICIENT, _ROUNDING = 1e-4, 1e-12
# Tables with this many times more rows than parameters are first fitted on every tenth row.
_MANY_ROWS, _EVERY = 400, 10
_REHEARSAL_TOL, _REHEARSAL_STEPS = 1.0, 10
# A curvature serves for further steps as long as each takes λ² down to this share.
_POOR = 0.1
# A new one costs as much as this many such steps.
_FEW_STEPS = 3
# Columns that the others explain but for this share of their square depend on them, as far as a Gram matrix can tell.
_DEPENDENT = 1e-9
DEPENDENT = "the columns depend on one another"


@dataclass(frozen=True)
class Curvature:
    """H = D A D with a factored A of unit diagonal, which makes the units of the columns harmless."""

    scale: Array
    factor: Factor

    @classmethod
    def of(cls, H: Array) -> Curvature:
        diagonal = np.diagonal(H)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        A = H / scale[:, None]
        A /= scale
        np.fill_diagonal(A, 1.0)
        return cls(scale, factorize(A, overwrite=True, assume_symmetric=True))

    @property
    def weakest(self) -> float:
        """The smallest share of a column that the columns before it don't explain."""
        return float(np.square(np.diagonal(self.factor.L)).min(initial=1.0))

    @property
    def logdet(self) -> float:
        """ln det H."""
        return self.factor.logdet + 2.0 * float(np.log(self.scale).sum())

    def solve(self, b: Array) -> Array:
        """H⁻¹b for a vector."""
        return self.factor.solve(b / self.scale) / self.scale

    def inverse(self) -> Array:
        """H⁻¹, the covariance of the estimates."""
        return self.factor.inverse() / np.outer(self.scale, self.scale)


@dataclass(frozen=True)
class Summit:
    """Where a climb ended."""

    point: Point
    curvature: Curvature | None
    n_iter: int
    converged: bool
    decrement: float
    # "" or what stands in the way of a maximum.
    obstacle: str = ""


# Looks at a point and the step from there, and says in words why there is no maximum, if there is none.
Watch = Callable[[Task, Point, Array, float, int], str]


def climb(
    task: Task,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    watch: Watch | None = None,
    independent: bool = False,
    curved: bool = True,
) -> Summit:
    """The maximum of the task's objective.

    Ends when the decrement is below `tol`, for rows of unit weight on average, or at an obstacle: the first that the
    watch sees, or columns that depend on one another, unless they are known to be `independent`. With `curved`, the
    summit's curvature is that of the summit itself, else it may be that of a point close by.
    """
    begin, guess = rehearsed(task) if start is None else (start, None)
    thrifty, independent = guess is not None, independent or guess is not None
    point, before = task.evaluate(begin, curvature=not thrifty), np.inf
    goal = tol**2 * task.total / len(task.weight)
    for n_iter in range(max_iter + 1):
        check()
        fresh = point.curvature is not None
        curvature = guess if point.curvature is None else Curvature.of(point.curvature)
        assert curvature is not None
        step = curvature.solve(point.gradient.ravel()).reshape(point.theta.shape)
        square = max(float(np.vdot(step, point.gradient)), 0.0)
        near = square <= goal
        if not fresh and (square > _POOR * before or (near and curved)):
            point, before = task.evaluate(point.theta), np.inf
            continue
        end = Summit(point, curvature, n_iter, False, float(np.sqrt(square)))
        if n_iter == 0 and not independent and _is_dependent(task, point.curvature, curvature):
            return replace(end, obstacle=DEPENDENT)
        if watch is not None and (obstacle := watch(task, point, step, square, n_iter)):
            return replace(end, obstacle=obstacle)
        if near:
            return replace(end, converged=True)
        renew = not thrifty or (not fresh and _is_long(square, before, goal))
        ahead = advance(task, point, step, square, curvature=renew)
        if ahead is None:
            # No step along a direction of ascent rises: the last digit is reached.
            return replace(end, converged=square <= _ROUNDING * max(abs(point.value), 1.0))
        if ahead.curvature is None and not thrifty:
            ahead = task.evaluate(ahead.theta)
        point, before, guess = ahead, square, curvature
    return end


def advance(
    task: Task,
    point: Point,
    step: Array,
    slope: float,
    *,
    curvature: bool,
    length: float = 1.0,
    rounding: float = _ROUNDING,
) -> Point | None:
    """The first point along the step that rises enough, or None; the full step is tried with its curvature."""
    full, rounding = length, rounding * abs(point.value)
    while length > 1e-10 * full:
        ahead = task.evaluate(point.theta + length * step, curvature=curvature and length == full)
        gain = ahead.value - point.value
        if gain >= _SUFFICIENT * length * slope - rounding:
            return ahead if gain > 0 or length == full else None
        length /= 2
    return None


def rehearsed(task: Task) -> tuple[Array, Curvature | None]:
    """Where to start: at no weights, or where a tenth of the rows would end, with the curvature that they promise."""
    n_samples, size = task.X.shape[0], int(np.prod(task.shape))
    if n_samples < _MANY_ROWS * size or np.unique(task.codes[::_EVERY]).size < task.n_classes:
        return task.start(), None
    few = replace(
        task,
        X=task.X[::_EVERY],
        codes=task.codes[::_EVERY],
        weight=task.weight[::_EVERY],
        penalty=task.penalty / _EVERY,
    )
    end = climb(few, start=few.start(), tol=_REHEARSAL_TOL, max_iter=_REHEARSAL_STEPS)
    H = end.point.curvature
    if not end.converged or end.point.least_lead > 0 or H is None:
        return task.start(), None
    return end.point.theta, Curvature.of(_EVERY * H)


def _is_long(square: float, before: float, goal: float) -> bool:
    """Whether a curvature that takes λ² from `before` to `square` in a step has too many steps to go from there."""
    known = 0.0 < square < before < np.inf
    return known and bool(np.log(goal / square) < _FEW_STEPS * np.log(square / before))


def _is_dependent(task: Task, H: Array | None, curvature: Curvature) -> bool:
    assert H is not None
    if curvature.weakest < _DEPENDENT:
        return True
    diagonal = np.diagonal(H).reshape(task.shape)
    mass = diagonal[:, -1:] if task.intercept else 0.0
    # A constant column differs from its mean by rounding only.
    rounding = np.square(16 * EPS * task.center) * mass
    return bool((diagonal[:, : len(task.center)] <= rounding).any())
