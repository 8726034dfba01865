"""Least squares with an ℓ₁ and an ℓ₂ penalty, for one penalty or along a path.

    min ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖²

The working set has the columns that violate the optimality conditions most, in a number that grows with the support
(Massias, Gramfort & Salmon 2018). Columns whose optimal coefficient is zero by the duality gap are screened out
(gap-safe spheres: Fercoq, Gramfort & Salmon 2015). The duality gap over all columns is the stopping criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

from credo.core.deadlines import check
from credo.core.estimator import is_sparse
from credo.core.learning.coordinate.rows import (
    Gap,
    ResidualProducts,
    Rows,
    WorkingSet,
    blas_threads_for,
    least_squares_gap,
)
from credo.core.linalg import EPS, NotPositiveDefiniteError, factorize

Array = NDArray[np.float64]

# Sparse tables with more entries (64 MB) are not made dense.
_MAX_DENSE_ENTRIES = 8_000_000
# With a larger support, a factorization costs more than passes of coordinate descent.
MAX_NEWTON_SUPPORT = 2000


@dataclass(frozen=True)
class Ridge:
    """min ½‖y − Xw‖² + ½ l2‖w‖²; for l2 = 0 the solution of smallest norm."""

    rows: Rows

    def solve(self, l2: float) -> tuple[Array, float, float]:
        """Coefficients, a bound on the objective's distance from its minimum, and the effective degrees of freedom."""
        if is_sparse(self.rows.X) and np.prod(self.rows.X.shape) > _MAX_DENSE_ENTRIES:
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
        keep = s > EPS * max(self._columns.shape) * s.max(initial=0.0)
        return U[:, keep], s[keep], Vt[keep].T

    @cached_property
    def _least_squares(self) -> tuple[Array, Array, Array]:
        """The SVD of columns scaled to unit length, if they are independent: their units don't decide the rank."""
        varies = self.rows.squares > 0.0
        length = np.sqrt(self.rows.squares[varies])
        U, s, Vt = np.linalg.svd(self._columns[:, varies] / length, full_matrices=False)
        if not len(s) or len(s) < len(length) or s[-1] <= EPS * max(self._columns.shape) * s[0]:
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
    """Newton steps on the support of w, each until the first coefficient changes its sign.

    With fixed signs the objective is quadratic, so each step lowers it (Lee, Battle, Raina & Ng 2006). Used if
    correlated columns make coordinate descent slow.
    """
    w = w.copy()
    active = np.flatnonzero(w)
    if not 0 < len(active) <= MAX_NEWTON_SUPPORT:
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
        new[crossing & (np.abs(new) <= 4 * EPS * np.abs(old))] = 0.0
        w[active] = new
        kept = new != 0.0
        # Jitter makes a step too short along the directions of the smallest eigenvalues, which the next one corrects.
        exact = not factor.jitter or np.abs(step).max() <= 1e-12 * np.abs(old).max()
        if (length == 1.0 and exact) or (length < 1.0 and kept.all()) or not kept.any():
            break
        if not kept.all():
            active, K, factor = active[kept], K[np.ix_(kept, kept)], None
    return w


# After this many passes the columns are strongly correlated, and Newton steps are faster.
_SLOW_PASSES = 300


@dataclass(frozen=True)
class Solution:
    """The coefficients for one penalty, with the duality gap of the objective above.

    `effective` are the effective degrees of freedom, if they aren't the number of nonzero coefficients.
    """

    w: Array
    gap: float
    n_passes: int
    converged: bool
    effective: float | None = None


def elastic_net_path(
    working_set: WorkingSet, penalties: Array, *, l1_ratio: float, tol: float, max_passes: int
) -> Iterator[Solution]:
    """The optimum for each penalty (best from the largest down), to a gap of tol·‖y‖², with warm starts."""
    rows = working_set.rows
    products, ridge = working_set.residual_products(), Ridge(rows)
    for penalty in penalties:
        l1, l2 = penalty * l1_ratio, penalty * (1.0 - l1_ratio)
        if l1 == 0.0:
            w, gap, effective = ridge.solve(l2)
            yield Solution(w, gap, 1, gap <= tol * rows.yy, effective)
            continue
        with blas_threads_for(rows.X):
            solution, products = _solve(working_set, products, l1, l2, tol * rows.yy, max_passes)
        yield solution


def _solve(
    working_set: WorkingSet, products: ResidualProducts, l1: float, l2: float, target: float, max_passes: int
) -> tuple[Solution, ResidualProducts]:
    rows = working_set.rows
    candidates = rows.squares > 0.0
    # The gap over the working set must be a little below that over all columns.
    inner, passes, taken, first = 0.95 * target, 0, 0, True
    working_set.begin()
    # A round takes at least one pass, unless nothing but rounding errors is left to reduce.
    for rounds in range(max_passes + 1):
        check()
        gap = least_squares_gap(working_set.w, products, rows.squares, l1, l2)
        met = gap.value <= target
        # Negated, so that NaN ends the loop too. With an inner gap this small, only rounding errors are left.
        if not gap.value > target or max(passes, rounds) >= max_passes or inner < 1e-6 * target:
            break
        candidates &= ~gap.screened
        violating = _violating(working_set, gap, candidates, l1)
        working_set.add(violating)
        stalled = not first and not len(violating)
        if stalled:
            # Slow descent still gains by Newton steps on changing supports.
            inner *= 0.5 if taken >= _SLOW_PASSES else 0.1
            working_set.refresh()
        first = False
        limit = min(_SLOW_PASSES, max_passes - passes)
        taken = working_set.descend(l1=l1, l2=l2, target=inner, max_passes=limit)
        passes += taken
        if taken >= _SLOW_PASSES or stalled:
            working_set.w[:] = newton_on_support(rows, working_set.w, l1=l1, l2=l2)
            working_set.refresh()
        products = working_set.residual_products()
    return Solution(working_set.w.copy(), gap.value, passes, met), products


def _violating(
    working_set: WorkingSet, gap: Gap, candidates: NDArray[np.bool_], l1: float
) -> NDArray[np.intp]:  # fmt: skip
    """Columns outside the working set that violate optimality; those with the largest gradient if there are many."""
    outside = candidates & (gap.abs_gradient > l1)
    outside[working_set.members()] = False
    found = np.flatnonzero(outside)
    most = max(32, int(np.count_nonzero(working_set.w)) // 2)
    if len(found) > most:
        found = found[np.argpartition(-gap.abs_gradient[found], most)[:most]]
    return found


def polish(rows: Rows, solution: Solution, *, l1: float, l2: float) -> Solution:
    """The solution to full precision, if solving for its coefficients reduces the gap; otherwise unchanged.

    On the support A with signs s the optimum is (X_AᵀX_A + l2 I) w_A = X_Aᵀy − l1 s. A coefficient that changes its
    sign leaves the support.
    """
    best, active = solution, np.flatnonzero(solution.w)
    if l1 == 0.0 or not solution.converged or len(active) > MAX_NEWTON_SUPPORT:
        return solution
    # Each round removes a coefficient, or reduces the rounding error of the round before.
    for _ in range(8):
        if not len(active):
            break
        w = _solved_on_support(rows, best.w, active, l1, l2)
        same = np.sign(w[active]) == np.sign(best.w[active])
        if not same.all():
            active = active[same]
            continue
        gap = least_squares_gap(w, rows.residual_products(rows.residual(w)), rows.squares, l1, l2).value
        if not gap < best.gap:
            break
        best = Solution(w, gap, solution.n_passes, True)
    return best


def _solved_on_support(rows: Rows, w: Array, active: NDArray[np.intp], l1: float, l2: float) -> Array:
    """The solution on the support for the signs of w, zero elsewhere, computed as a step from w."""
    found, part = np.zeros_like(w), rows.part(active)
    found[active] = w[active]
    K = part.gram()
    K[np.diag_indices_from(K)] += l2
    correlations = part.correlations(rows.residual(found))
    with suppress(NotPositiveDefiniteError):
        found[active] += factorize(K).solve(correlations - l2 * w[active] - l1 * np.sign(w[active]))
    return found
