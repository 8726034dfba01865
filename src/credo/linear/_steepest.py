"""Steepest ascent with backtracking, step by step on record.

    Θ ← Θ + η D⁻¹g

D is the diagonal of the curvature at the start, that is the columns' variances: steepest ascent on columns of one size.
Newton's method differs by its other entries, and by following the curvature as it changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.linear._conjugate import WideTask
from credo.linear._newton import Summit, Watch, advance
from credo.linear._rows import EPS
from credo.linear._softmax import Point, Task

Array = NDArray[np.float64]

# Steepest ascent is content sooner than Newton's method.
_LOOSER = 1e3


@dataclass(frozen=True)
class Path:
    """The way of a climb: weights, intercepts and the objective, first at the start and then after each step."""

    coef: Array
    intercept: Array
    objective: Array

    def __len__(self) -> int:
        return len(self.objective)


def ascend(task: Task, *, tol: float, max_iter: int, watch: Watch | None) -> tuple[Summit, list[Point]]:
    """Where steepest ascent ends, and all points on the way."""
    point, metric = _first(task)
    visited, length = [point], 1.0
    for n_iter in range(max_iter + 1):
        step = point.gradient / metric
        slope = float(np.vdot(point.gradient, step))
        end = Summit(point, None, n_iter, False, float(np.sqrt(slope)))
        if watch is not None and (obstacle := watch(task, point, step, slope, n_iter)):
            return replace(end, obstacle=obstacle), visited
        if slope <= (_LOOSER * tol) ** 2 * task.total:
            return replace(end, converged=True), visited
        if n_iter == max_iter:
            break
        # Twice the last step is on trial, so that steps can grow again.
        ahead = advance(task, point, step, slope, curvature=False, length=2.0 * length, rounding=EPS)
        if ahead is None:
            return end, visited
        moved = float(np.abs(ahead.theta - point.theta).max())
        length = moved / float(np.abs(step).max())
        point = ahead
        visited.append(point)
    return end, visited


def _first(task: Task) -> tuple[Point, Array]:
    """The start and the diagonal of its curvature."""
    if isinstance(task, WideTask):
        point = task.evaluate(task.start())
        diagonal = task.product(point.theta)[1]
    else:
        point = task.evaluate(task.start())
        assert point.curvature is not None
        diagonal = np.diagonal(point.curvature).reshape(task.shape)
    return point, np.where(diagonal > 0, diagonal, 1.0)
