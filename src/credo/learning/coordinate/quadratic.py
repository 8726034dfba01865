"""Problems that need no coordinate descent: without an ℓ₁ penalty, or with known signs of the coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

from credo.estimator import is_sparse
from credo.learning.coordinate.rows import Rows
from credo.linalg import NotPositiveDefiniteError, factorize

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# Sparse tables with more entries (64 MB) are not made dense.
_DENSE_ENTRIES = 8_000_000
# With a larger support, a factorization costs more than passes of coordinate descent.
LARGEST_SUPPORT = 2000
# Newton steps of a smaller relative size are rounding errors.
_SMALL_STEP = 1e-12


@dataclass(frozen=True)
class Ridge:
    """min ½‖y − Xw‖² + ½ l2‖w‖²; for l2 = 0 the solution of smallest norm."""

    rows: Rows

    def solve(self, l2: float) -> tuple[Array, float, float]:
        """Coefficients, a bound on the objective's distance from its minimum, and the effective degrees of freedom."""
        if is_sparse(self.rows.X) and np.prod(self.rows.X.shape) > _DENSE_ENTRIES:
            return self._iterated(l2)
        U, s, V = self._svd if l2 > 0 else self._least_squares
        w = V @ (s / (s * s + l2) * (U.T @ self.rows.target))
        slope = V.T @ (self.rows.correlations(self.rows.residual(w)) - l2 * w)
        return w, 0.5 * float(np.square(slope) @ (1.0 / (s * s + l2))), float((s * s / (s * s + l2)).sum())

    @cached_property
    def _columns(self) -> Array:
        return self.rows.columns(np.arange(self.rows.X.shape[1])).T

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        U, s, Vt = np.linalg.svd(self._columns, full_matrices=False)
        keep = s > _EPS * max(self._columns.shape) * s.max(initial=0.0)
        return U[:, keep], s[keep], Vt[keep].T

    @cached_property
    def _least_squares(self) -> tuple[Array, Array, Array]:
        """The SVD of columns scaled to unit length, if they are independent: their units don't decide the rank."""
        varies = self.rows.squares > 0.0
        length = np.sqrt(self.rows.squares[varies])
        U, s, Vt = np.linalg.svd(self._columns[:, varies] / length, full_matrices=False)
        if not len(s) or len(s) < len(length) or s[-1] <= _EPS * max(self._columns.shape) * s[0]:
            return self._svd
        V = np.zeros((len(varies), len(s)))
        V[varies] = Vt.T / length[:, None]
        return U, s, V

    def _iterated(self, l2: float) -> tuple[Array, float, float]:
        rows = self.rows
        operator = LinearOperator(
            rows.X.shape,
            matvec=lambda w: rows.target - rows.residual(np.ravel(w)),
            rmatvec=lambda r: np.where(rows.squares > 0.0, rows.correlations(np.ravel(r)), 0.0),
            dtype=np.float64,
        )
        w, _, _, _, _, size, condition, _ = lsmr(
            operator, rows.target, damp=np.sqrt(l2), atol=1e-14, btol=1e-14, conlim=0, maxiter=10 * min(rows.X.shape)
        )
        slope = rows.correlations(rows.residual(w)) - l2 * w
        slope[rows.squares == 0.0] = 0.0
        lowest = l2 if l2 > 0 else (size / condition) ** 2
        return w, 0.5 * float(slope @ slope) / lowest, float(np.count_nonzero(w))


def newton_on_support(rows: Rows, w: Array, *, l1: float, l2: float, rounds: int = 50) -> Array:
    """Newton steps on the support of w, each up to where the first coefficient changes its sign.

    With fixed signs the objective is quadratic, so each step lowers it (Lee, Battle, Raina & Ng 2006). Used where
    correlated columns make coordinate descent slow.
    """
    w = w.copy()
    active = np.flatnonzero(w)
    if not 0 < len(active) <= LARGEST_SUPPORT:
        return w
    K, factor = rows.part(active).gram(), None
    K[np.diag_indices_from(K)] += l2
    for _ in range(rounds):
        old = w[active]
        slope = rows.part(active).correlations(rows.residual(w)) - l2 * old - l1 * np.sign(old)
        try:
            factor = factorize(K) if factor is None else factor
        except NotPositiveDefiniteError:
            break
        step = factor.solve(slope)
        crossing = old * (old + step) < 0
        length = float(np.min(-old[crossing] / step[crossing], initial=1.0))
        new = old + length * step
        new[crossing & (np.abs(new) <= 4 * _EPS * np.abs(old))] = 0.0
        w[active] = new
        kept = new != 0.0
        # Jitter makes a step too short along the directions of the smallest eigenvalues, which the next one corrects.
        exact = not factor.jitter or np.abs(step).max() <= _SMALL_STEP * np.abs(old).max()
        if (length == 1.0 and exact) or (length < 1.0 and kept.all()) or not kept.any():
            break
        if not kept.all():
            active, K, factor = active[kept], K[np.ix_(kept, kept)], None
    return w
