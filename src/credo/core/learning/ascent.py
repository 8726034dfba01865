"""Maximization: of a function of one variable, and of an objective by one run of L-BFGS or of Fisher scoring.

In one variable, a scan finds every local maximum that is wider than the grid spacing, and root finding of the
derivative refines it.

Fisher scoring is Newton's method with the Fisher information in place of the second derivatives (Guinness 2021 for
Vecchia's approximation). The information at the start is enough: from there on, each step corrects the inverse by what
the gradient says about the curvature, as in BFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from credo.core.deadlines import check

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Peak:
    """The position of the maximum, the number of iterations, and the `kind` of maximum.

    "inner": the only local maximum. "several": the highest of several. "low" and "high": an end of the range. "flat":
    the range is a single point.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import maximize_scalar
    >>> maximize_scalar(np.sin, np.cos, np.linspace(0.0, 7.0, 12)).kind
    'inner'
    >>> maximize_scalar(np.sin, np.cos, np.linspace(0.0, 9.0, 12)).kind
    'several'
    """

    place: float
    n_iter: int
    kind: str


def maximize_scalar(
    value: Callable[[Array], Array], slope: Callable[[float], float], grid: Array, *, precision: float = 1e-14
) -> Peak:  # fmt: skip
    """The maximum between the ends of an increasing grid.

    Parameters
    ----------
    value : callable, the function at an array of points
    slope : callable, its derivative at one point
    grid : array of increasing points to scan
    precision : float
        Accuracy of the maximum's position.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import maximize_scalar
    >>> maximize_scalar(np.sin, np.cos, np.linspace(0.0, 7.0, 12)).place  # π/2
    1.5707963267948966
    """
    if grid[-1] <= grid[0]:
        return Peak(float(grid[-1]), 0, "flat")
    heights, slope = value(grid), cache(slope)
    tops = []
    for i in 1 + np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])):
        left, right = grid[i : i + 2].tolist() if slope(float(grid[i])) > 0 else grid[i - 1 : i + 1].tolist()
        # Otherwise the local maximum is a rounding error on a plateau.
        if slope(left) > 0 > slope(right):
            root, outcome = brentq(slope, left, right, xtol=precision, rtol=8.9e-16, full_output=True)
            tops.append((float(root), int(outcome.iterations)))
    ends = max(heights[0], heights[-1])
    found = value(np.array([root for root, _ in tops]))
    if len(tops) and found.max() >= ends:
        root, n_iter = tops[int(np.argmax(found))]
        return Peak(root, n_iter, "several" if len(tops) > 1 else "inner")
    best = int(np.argmax(heights))
    if heights[best] - ends > 1e-10 * abs(heights[best]):
        # The derivative changes its sign more than once between grid points, so the grid point itself is the result.
        return Peak(float(grid[best]), 0, "inner")
    # The function is monotone, or constant towards the end of the range.
    return Peak(float(grid[0]), 0, "low") if heights[0] > heights[-1] else Peak(float(grid[-1]), 0, "high")


def refined_maximum(grid: Array, heights: Array) -> float:
    """The position of the maximum on an even grid, by a parabola through the largest height and its neighbors."""
    i = int(np.argmax(heights))
    if i in (0, len(heights) - 1):
        return float(grid[i])
    before, here, after = heights[i - 1 : i + 2]
    curvature = before - 2 * here + after
    shift = 0.5 * (before - after) / curvature if curvature < 0 else 0.0
    return float(grid[i] + shift * (grid[1] - grid[0]))


# Value and gradient at a vector; the value is −inf if the model can't be evaluated.
Objective = Callable[[Array], tuple[float, Array]]

# A failed run of L-BFGS is restarted where it ended, as long as each restart gains this many nats.
RESTART_GAIN = 1.0


@dataclass(frozen=True)
class Maximum:
    """Where a search ended, the gradient there, and whether the limit on evaluations ended it.

    `inverse` is that of the curvature there, after Fisher scoring.
    """

    vector: Array
    value: float
    n_evaluations: int
    converged: bool
    trace: tuple[Array, ...] = ()
    slope: Array | None = None
    limited: bool = False
    inverse: Array | None = None


class _Stalled(Exception):
    """The last evaluations gained nothing."""


class Cancelled(Exception):
    """Another thread of the search has failed, or the user interrupted it."""


def refine(
    objective: Objective,
    start: Array,
    *,
    tolerance: float,
    max_evaluations: int,
    metric: Array | None = None,
    inverse: Array | None = None,
) -> Maximum:
    """The maximum near a start, by Fisher scoring if possible, otherwise or if that fails by `maximize`.

    `metric` is that of `maximize`, and `inverse` the one of an earlier run of Fisher scoring that ended at the start.
    """
    lbfgs = partial(maximize, objective, tolerance=tolerance, metric=metric)
    if inverse is None:
        # The Fisher information, a positive definite approximation of the curvature, if the objective has it.
        of = getattr(objective, "information", None)
        information = None if of is None else of(start)
        if information is None:
            return lbfgs(start, max_evaluations=max_evaluations)
        root = inverse_root(information, 1.0)
        inverse = root @ root.T
    end = fisher_scoring(objective, start, inverse, tolerance=tolerance, max_evaluations=max_evaluations)
    left = max_evaluations - end.n_evaluations
    if end.converged or left <= 0:
        return end
    again = joined(end, lbfgs(end.vector, max_evaluations=left))
    return again if again.value >= end.value else replace(end, n_evaluations=again.n_evaluations)


def fisher_scoring(
    objective: Objective, start: Array, inverse: Array, *, tolerance: float, max_evaluations: int
) -> Maximum:
    """The maximum that Newton steps reach from a start; steps that gain nothing are halved.

    Parameters
    ----------
    inverse : array of shape (n, n)
        The inverse of the Fisher information at the start.
    tolerance : float
        The search ends when a step is expected to gain less than this share of the value.
    max_evaluations : int
        After this many evaluations the search ends with ``limited=True``.
    """
    vector, trace = start, [start]
    value, slope = objective(start)
    n_evaluations = 1
    while np.isfinite(value):
        step = inverse @ slope
        promise = float(slope @ step)
        if 0.5 * promise <= tolerance * max(1.0, abs(value)):
            return Maximum(vector, value, n_evaluations, True, tuple(trace), slope, inverse=inverse)
        # No parameter moves by more than two e-foldings.
        length = min(1.0, 2.0 / float(np.abs(step).max()))
        while length >= 1e-3 and n_evaluations < max_evaluations:
            check()
            n_evaluations += 1
            ahead, by_ahead = objective(vector + length * step)
            if ahead >= value + 1e-4 * length * promise and np.isfinite(by_ahead).all():
                break
            length *= 0.5
        else:
            break
        moved, gradient_change = length * step, slope - by_ahead
        vector, value, slope = vector + moved, ahead, by_ahead
        trace.append(vector)
        if moved @ gradient_change > 0.0:
            # Nocedal & Wright 6.17: the nearest inverse that explains this change of the gradient.
            turn = np.eye(len(start)) - np.outer(moved, gradient_change) / (moved @ gradient_change)
            inverse = turn @ inverse @ turn.T + np.outer(moved, moved) / (moved @ gradient_change)
    return Maximum(vector, value, n_evaluations, False, tuple(trace), slope, n_evaluations >= max_evaluations)


def maximize(
    objective: Objective,
    start: Array,
    *,
    tolerance: float,
    max_evaluations: int,
    metric: Array | None = None,
) -> Maximum:
    """The maximum that L-BFGS reaches from a start.

    If the line search fails away from a maximum, for example by rounding errors, it is restarted there.

    Parameters
    ----------
    tolerance : float
        Relative change of the value at which the search ends; a gradient below 10⁵ times this value also ends it.
    max_evaluations : int
        After this many evaluations the search ends with ``limited=True``.
    metric : array of shape (n, n), optional
        The search runs in u, with vector = start + metric·u. A root of the inverse curvature at the maximum makes the
        objective nearly isotropic in u.
    """
    return Ascent(lambda _: objective, start, tolerance, max_evaluations, metric).run()


@dataclass(frozen=True)
class Ascent:
    """A search by L-BFGS, whose objective is made from its start when it runs; see `maximize`.

    It ends with `Cancelled` as soon as the event is set.
    """

    factory: Callable[[Array], Objective]
    start: Array
    tolerance: float
    max_evaluations: int
    metric: Array | None = None
    cancelled: Event | None = None

    def run(self) -> Maximum:
        """The maximum."""
        objective = self.factory(self.start)
        axes = np.eye(len(self.start)) if self.metric is None else self.metric
        options: Any = {"ftol": self.tolerance, "gtol": 1e5 * self.tolerance, "maxcor": 12}
        end: Maximum | None = None
        for _ in range(4):
            left = self.max_evaluations - (0 if end is None else end.n_evaluations)
            cost = _Cost(objective, self.start if end is None else end.vector, axes, self.cancelled)
            try:
                options["maxfun"] = left
                found = minimize(cost, np.zeros_like(self.start), jac=True, method="L-BFGS-B", options=options)
                again = cost.maximum(int(found.status))
            except _Stalled:
                again = cost.maximum(status=2)
            gain = np.inf
            if end is not None:
                again = joined(end, again)
                gain = again.value - end.value
            end = again if end is None or gain > 0 else replace(end, n_evaluations=again.n_evaluations)
            done = end.converged or end.limited or end.n_evaluations >= self.max_evaluations
            if done or gain < RESTART_GAIN or not np.isfinite(end.value):
                break
        assert end is not None
        return end


class _Cost:
    """−objective in u for L-BFGS, with vector = start + axes·u, and the best of all evaluations."""

    def __init__(self, objective: Objective, start: Array, axes: Array, cancelled: Event | None) -> None:
        self._objective, self._start, self._axes, self._cancelled = objective, start, axes, cancelled
        self._visited: list[Array] = [start]
        self._value, self._vector, self._slope = -np.inf, start, np.full(len(start), np.inf)
        self._n_evaluations = 0
        # The value and the number of evaluations at the last gain that isn't negligible.
        self._mark, self._since = -np.inf, 0

    def __call__(self, u: Array) -> tuple[float, Array]:
        # Twelve evaluations in a row gained almost nothing.
        if np.isfinite(self._mark) and self._n_evaluations - self._since >= 12:
            raise _Stalled
        if self._cancelled is not None and self._cancelled.is_set():
            raise Cancelled
        check()
        self._n_evaluations += 1
        vector = self._start + self._axes @ u
        # A step may move a parameter by twelve e-foldings at most.
        inside = np.abs(vector - self._start).max(initial=0.0) <= 12.0
        value, gradient = self._objective(vector) if inside else (-np.inf, np.zeros_like(vector))
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            # A gradient towards the best vector so far makes the line search turn back.
            gap = vector - self._vector
            height = max(1.0, abs(self._value)) if np.isfinite(self._value) else 1.0
            return height * (2.0 + float(gap @ gap)), 2.0 * height * self._axes.T @ gap
        if value > self._value:
            self._value, self._vector, self._slope = value, vector, gradient
            self._visited.append(vector)
        if value > self._mark + max(1e-4, 1e-7 * abs(value)):
            self._mark, self._since = value, self._n_evaluations
        return -value, -self._axes.T @ gradient

    def maximum(self, status: int) -> Maximum:
        """Where the search ended with this status of L-BFGS."""
        # If the line search fails or gains nothing and the gradient is zero up to rounding, this is the maximum.
        # In nats for an e-folding of a parameter, or as a share of the value.
        level = bool(np.abs(self._slope).max(initial=0.0) < max(0.01, 1e-6 * abs(self._value)))
        converged, limited = status == 0 or (status == 2 and level), status == 1
        trace = tuple(self._visited)
        return Maximum(self._vector, self._value, self._n_evaluations, converged, trace, self._slope, limited)


def joined(first: Maximum, last: Maximum) -> Maximum:
    """Combine two consecutive parts of one run."""
    return replace(last, n_evaluations=first.n_evaluations + last.n_evaluations, trace=first.trace + last.trace)


def metric_at(objective: Objective, vector: Array) -> Array:
    """A root of the inverse curvature of −objective, from differences of its gradient."""
    return inverse_root(curvature_at(objective, vector), 1.0)


def curvature_at(objective: Objective, vector: Array, step: float = 1e-3) -> Array:
    """The matrix of second derivatives of −objective, from differences of its gradient."""
    n = len(vector)
    rows = []
    for i in range(n):
        ahead, behind = (objective(vector + s * step * np.eye(n)[i])[1] for s in (1, -1))
        rows.append((behind - ahead) / (2 * step))
    return np.array(rows).reshape(n, n)


def inverse_root(curvature: Array, growth: float) -> Array:
    """A root of the inverse of growth·curvature; the identity if the curvature isn't finite."""
    if not np.isfinite(curvature).all():
        return np.eye(len(curvature))
    values, axes = np.linalg.eigh(growth * 0.5 * (curvature + curvature.T))
    # A flat direction gets one unit of curvature, so that it can move by a few e-foldings at once.
    return axes / np.sqrt(np.maximum(np.abs(values), 1.0))
