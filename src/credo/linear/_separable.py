"""Whether the likelihood has a maximum: it has none if the classes are linearly separable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.core.learning.separation import margin, separation
from credo.linear._softmax import Objective, Point

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
# Parameters up to which a linear program decides; beyond, the curvature must have fallen to this share.
_MAX_PARAMETERS = 400
_VANISHED = 1e-7


class SeparationMonitor:
    """Follows the steps of an ascent, and says so when there is certainly no maximum.

    Not `exact`: without the linear program, which needs all rows; the rows of the objective are then a sample.
    """

    def __init__(self, *, exact: bool = True) -> None:
        self._exact, self._decided = exact, False
        # The step at which the classes were found to be separable; the ascent goes on until it has separated them.
        self._known: int | None = None

    def __call__(self, objective: Objective, point: Point, step: Array, slope: float, n_iter: int) -> str:
        if point.min_margin > 0:
            return COMPLETE
        if self._known is not None:
            # A boundary exists, and further steps find it.
            return SEPARABLE if n_iter >= self._known + 40 or slope < _VANISHED else ""
        if self._decided or n_iter < 8:
            return ""
        moves = scores(objective, step)
        flat = 0.25 * float(objective.weight @ np.square(moves).sum(axis=1))
        # Steps still change scores, although the curvature has nearly vanished.
        if np.abs(moves).max(initial=0.0) < 0.5 or slope > 1e-3 * flat:
            return ""
        if step.size > _MAX_PARAMETERS or not self._exact:
            return ENDLESS if slope < _VANISHED * flat else ""
        self._decided = True
        constraints = _Constraints(objective)
        found = separation(constraints.leads, constraints.at, constraints.total())
        if found.direction is None:
            return ""
        if margin(constraints.leads, constraints.at, found.direction) > 0:
            self._known = n_iter
            return ""
        return TIED


def scores(objective: Objective, theta: Array) -> Array:
    """Θφ for all rows, (n_samples, n_contrasts)."""
    parts = [rows @ theta.T for rows, _ in objective.blocks((0, objective.X.shape[0]))]
    return np.concatenate(parts)


class _Constraints:
    """The aᵢ of `credo.core.learning.separation`: the logit of a row's class must not be below any other."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._all = (0, objective.X.shape[0])
        squares = [np.square(rows).sum(axis=0) for rows, _ in objective.blocks(self._all)]
        scale = np.sqrt(np.sum(squares, axis=0))
        self._scale = np.where(scale > 0, scale, 1.0)
        others = [[k for k in range(objective.n_classes) if k != own] for own in range(objective.n_classes)]
        C = objective.contrasts
        # Cᵀ(e_own − e_rival), of shape (n_samples, n_rivals, n_contrasts).
        self._pairs = C[objective.codes][:, None, :] - C[np.array(others)[objective.codes]]
        size = [np.sqrt(np.square(rows / self._scale).sum(axis=1)) for rows, _ in objective.blocks(self._all)]
        length = np.concatenate(size)[:, None] * np.sqrt(np.square(self._pairs).sum(axis=2))
        self._length = np.where(length > 0, length, 1.0)

    def leads(self, d: Array) -> Array:
        values = scores(self._objective, d.reshape(self._objective.shape) / self._scale)
        return (np.einsum("im,irm->ir", values, self._pairs) / self._length).ravel()

    def at(self, places: NDArray[np.intp]) -> Array:
        i, r = np.unravel_index(places, self._length.shape)
        rows = np.vstack([next(self._objective.blocks((k, k + 1)))[0] for k in i]) / self._scale
        table = np.einsum("im,ij->imj", self._pairs[i, r], rows)
        return table.reshape(len(i), -1) / self._length[i, r][:, None]

    def total(self) -> Array:
        table = np.zeros(self._objective.shape)
        for rows, part in self._objective.blocks(self._all):
            table += np.einsum("irm,ir->mi", self._pairs[part], 1.0 / self._length[part]) @ (rows / self._scale)
        return table.ravel()
