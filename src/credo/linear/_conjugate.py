"""Newton's method where the curvature is too large to write down: its products with vectors are enough.

    H v = Φᵀ(M ∘ Φv) + αv

The system H s = g is solved by conjugate gradients as far as the step deserves (Dembo, Eisenstat & Steihaug 1982), with
the diagonal of H as preconditioner. Sparse rows stay sparse: centring is done on the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.linear._newton import Summit, Watch, advance
from credo.linear._rows import is_sparse
from credo.linear._softmax import Point, Sums, Task, multinomial_terms

Array = NDArray[np.float64]

_MOST_PRODUCTS = 500


@dataclass(frozen=True)
class WideTask(Task):
    """A task whose rows are read by matrix products."""

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, without curvature."""
        value, pull, least = self._terms(self._images(theta), slice(None))
        return self._joined(theta, [Sums(value, self._pulled(pull), None, least)])

    def product(self, theta: Array) -> tuple[Callable[[Array], Array], Array]:
        """v ↦ Hv at Θ, and the diagonal of H."""
        C = self.contrasts
        *_, P = multinomial_terms(C, self._images(theta), self.codes, self.weight)
        n_features = self.X.shape[1]
        pull = self.weight[:, None] * (P @ np.square(C) - np.square(P @ C))
        diagonal = self._squares(pull)
        diagonal[:, :n_features] += self.penalty

        def times(v: Array) -> Array:
            if len(v) == 1:
                out = self._pulled(pull * self._images(v))
            else:
                move = self._images(v) @ C.T
                spread = P * (move - np.einsum("ij,ij->i", P, move)[:, None])
                out = self._pulled((self.weight[:, None] * spread) @ C)
            out[:, :n_features] += self.penalty * v[:, :n_features]
            return out

        return times, diagonal

    def _images(self, theta: Array) -> Array:
        """Θφ for all rows."""
        W = theta[:, : self.X.shape[1]]
        level = -self.center @ W.T
        if self.intercept:
            level = level + theta[:, -1]
        return np.asarray(self.X @ W.T) + level

    def _pulled(self, pull: Array) -> Array:
        """Σ pullᵢ φᵢᵀ, (n_contrasts, width)."""
        total = pull.sum(axis=0)
        by_feature = np.asarray(self.X.T @ pull).T - np.outer(total, self.center)
        return np.column_stack([by_feature, total]) if self.intercept else by_feature

    def _squares(self, pull: Array) -> Array:
        """Σ pullᵢ φᵢ∘φᵢ, never negative."""
        total = pull.sum(axis=0)
        square: Any = self.X.multiply(self.X).tocsr() if is_sparse(self.X) else np.square(self.X)
        by_feature = np.asarray(square.T @ pull).T - 2 * np.asarray(self.X.T @ pull).T * self.center
        by_feature = np.maximum(by_feature + np.outer(total, np.square(self.center)), 0.0)
        return np.column_stack([by_feature, total]) if self.intercept else by_feature


def climb(
    task: WideTask, *, start: Array | None = None, tol: float = 1e-8, max_iter: int = 100, watch: Watch | None = None
) -> Summit:
    """The maximum of the task's objective; see `credo.linear._newton.climb`."""
    point = task.evaluate(task.start() if start is None else start)
    mean_weight = task.total / len(task.weight)
    first = 0.0
    for n_iter in range(max_iter + 1):
        times, diagonal = task.product(point.theta)
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        slope = float(np.sqrt(np.vdot(point.gradient, point.gradient / diagonal)))
        first = first or slope
        forcing = min(0.5, np.sqrt(slope / first)) if slope > 0 else 0.5
        step = conjugate_gradients(times, point.gradient, diagonal, forcing * slope)
        square = max(float(np.vdot(step, point.gradient)), 0.0)
        end = Summit(point, None, n_iter, False, float(np.sqrt(square)))
        if watch is not None and (obstacle := watch(task, point, step, square, n_iter)):
            return replace(end, obstacle=obstacle)
        if square <= tol**2 * mean_weight:
            return replace(end, converged=True)
        ahead = advance(task, point, step, square, curvature=False)
        if ahead is None:
            return replace(end, converged=square <= 1e-10 * max(abs(point.value), 1.0))
        point = ahead
    return end


def conjugate_gradients(times: Callable[[Array], Array], b: Array, diagonal: Array, target: float) -> Array:
    """H⁻¹b by preconditioned conjugate gradients, until the residual's norm is at the target."""
    x = np.zeros_like(b)
    r = b.copy()
    z = r / diagonal
    d, old = z.copy(), float(np.vdot(r, z))
    for _ in range(_MOST_PRODUCTS):
        if np.sqrt(old) <= target or old == 0.0:
            break
        Hd = times(d)
        bend = float(np.vdot(d, Hd))
        if bend <= 0.0:
            break
        a = old / bend
        x += a * d
        r -= a * Hd
        z = r / diagonal
        new = float(np.vdot(r, z))
        d = z + (new / old) * d
        old = new
    # The slope itself where not one product was worth it.
    return x if x.any() else b / diagonal
