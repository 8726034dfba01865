"""Whether a maximum of the likelihood exists: labels that linear scores tell apart without error have none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.learning.separation import margin, separation
from credo.linear._softmax import Point, Task

Array = NDArray[np.float64]

CURE = "Use alpha>0, for example alpha=1, which has a maximum."
COMPLETE = (
    "the likelihood has no maximum, because the classes are perfectly separated: larger coefficients always fit "
    f"better. {CURE} The coefficients define a separating boundary, but their size is arbitrary"
)
SEPARABLE = (
    "the likelihood has no maximum, because the classes are linearly separable: larger coefficients always fit better. "
    f"{CURE} The size of the coefficients is arbitrary"
)
TIED = (
    "the likelihood has no maximum, because the classes are quasi-separated (with ties on the boundary): larger "
    f"coefficients always fit better. {CURE} The size of the coefficients is arbitrary"
)
ENDLESS = (
    "the likelihood probably has no maximum: the coefficients keep growing while the likelihood hardly changes, as "
    f"with separable classes. {CURE} The size of the coefficients is arbitrary"
)
# Doubt begins after this many steps, when scores still grow by this much where the curvature has gone.
_PATIENCE, _GROWTH, _FLAT = 8, 0.5, 1e-3
# Steps that a climb gets to find what is known to be there.
_FURTHER = 40
# Linear programs in more dimensions take too long.
_LARGEST = 400
# Without one, this much of the curvature must have gone.
_GONE = 1e-7


class SeparationWatch:
    """Looks at each step of a climb; says in words that there is no maximum once that is certain."""

    def __init__(self) -> None:
        self._decided = False
        # The step at which all rows were known to be separable: the climb goes on until it separates them.
        self._known: int | None = None

    def __call__(self, task: Task, point: Point, step: Array, square: float, n_iter: int) -> str:
        if point.least_lead > 0:
            return COMPLETE
        if self._known is not None:
            return SEPARABLE if n_iter >= self._known + _FURTHER or square < _GONE else ""
        if self._decided or n_iter < _PATIENCE:
            return ""
        moves = scores(task, step)
        flat = 0.25 * float(task.weight @ np.square(moves).sum(axis=1))
        if np.abs(moves).max(initial=0.0) < _GROWTH or square > _FLAT * flat:
            return ""
        if step.size > _LARGEST:
            return ENDLESS if square < _GONE * flat else ""
        self._decided = True
        constraints = _Constraints(task)
        found = separation(constraints.leads, constraints.at, constraints.total())
        if found.direction is None:
            return ""
        if margin(constraints.leads, constraints.at, found.direction) > 0:
            self._known = n_iter
            return ""
        return TIED


def separable(X: Any, codes: NDArray[np.intp], *, n_classes: int, intercept: bool) -> bool | None:
    """Whether linear scores tell the classes apart without error, ties left aside; None where that stays undecided."""
    center = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    task = Task(X, codes, np.ones(len(codes)), n_classes, center, 0.0, intercept)
    if np.prod(task.shape) > _LARGEST:
        return None
    constraints = _Constraints(task)
    found = separation(constraints.leads, constraints.at, constraints.total())
    return found.direction is not None if found.decided else None


def scores(task: Task, theta: Array) -> Array:
    """Θφ for all rows, (n_samples, n_contrasts)."""
    parts = [rows @ theta.T for rows, _ in task.blocks((0, task.X.shape[0]))]
    return np.concatenate(parts)


class _Constraints:
    """The aᵢ of `credo.learning.separation`: a row's own class must not fall behind any of its rivals."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._all = (0, task.X.shape[0])
        squares = [np.square(rows).sum(axis=0) for rows, _ in task.blocks(self._all)]
        scale = np.sqrt(np.sum(squares, axis=0))
        self._scale = np.where(scale > 0, scale, 1.0)
        others = [[k for k in range(task.n_classes) if k != own] for own in range(task.n_classes)]
        C = task.contrasts
        # Cᵀ(e_own − e_rival), of shape (n_samples, n_rivals, n_contrasts).
        self._pairs = C[task.codes][:, None, :] - C[np.array(others)[task.codes]]
        size = [np.sqrt(np.square(rows / self._scale).sum(axis=1)) for rows, _ in task.blocks(self._all)]
        length = np.concatenate(size)[:, None] * np.sqrt(np.square(self._pairs).sum(axis=2))
        self._length = np.where(length > 0, length, 1.0)

    def leads(self, d: Array) -> Array:
        values = scores(self._task, d.reshape(self._task.shape) / self._scale)
        return (np.einsum("im,irm->ir", values, self._pairs) / self._length).ravel()

    def at(self, places: NDArray[np.intp]) -> Array:
        i, r = np.unravel_index(places, self._length.shape)
        rows = np.vstack([next(self._task.blocks((k, k + 1)))[0] for k in i]) / self._scale
        table = np.einsum("im,ij->imj", self._pairs[i, r], rows)
        return table.reshape(len(i), -1) / self._length[i, r][:, None]

    def total(self) -> Array:
        table = np.zeros(self._task.shape)
        for rows, part in self._task.blocks(self._all):
            table += np.einsum("irm,ir->mi", self._pairs[part], 1.0 / self._length[part]) @ (rows / self._scale)
        return table.ravel()
