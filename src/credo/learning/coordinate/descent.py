"""Least squares with an ℓ₁ and an ℓ₂ penalty, for one penalty or along a path of them.

    min ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖²

The working set has the columns that violate the optimality conditions most, in a number that grows with the support
(Massias, Gramfort & Salmon 2018). Columns whose optimal coefficient is zero by the duality gap are screened out
(gap-safe spheres: Fercoq, Gramfort & Salmon 2015). The duality gap over all columns is the stopping criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.learning.coordinate.gap import Gap, ResidualProducts, least_squares_gap
from credo.learning.coordinate.quadratic import LARGEST_SUPPORT, Ridge, newton_on_support
from credo.learning.coordinate.rows import Rows, blas_threads_for
from credo.learning.coordinate.working_sets import WorkingSet
from credo.linalg import NotPositiveDefiniteError, factorize

Array = NDArray[np.float64]

# The fewest columns that may be added to the working set at once.
_FEW = 32
# The gap over the working set is brought this far below the target for all columns.
_INNER = 0.95
# If a gap this much smaller over the working set doesn't do, only rounding errors are left.
_FINEST = 1e-6
# After this many passes the columns are strongly correlated, and Newton steps are faster.
_SLOW = 300
# Each round of `polish` either removes a coefficient or reduces the rounding error of the round before.
_POLISH_ROUNDS = 8


@dataclass(frozen=True)
class Solution:
    """The coefficients for one penalty, with the duality gap of the objective above.

    `effective` are the effective degrees of freedom, where they aren't the number of nonzero coefficients.
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
    inner, passes, taken, first = _INNER * target, 0, 0, True
    working_set.begin()
    # A round takes at least one pass, unless nothing but rounding errors is left to reduce.
    for rounds in range(max_passes + 1):
        check()
        gap = least_squares_gap(working_set.w, products, rows.squares, l1, l2)
        met = gap.value <= target
        # Negated, so that NaN ends the loop too.
        if not gap.value > target or max(passes, rounds) >= max_passes or inner < _FINEST * target:
            break
        candidates &= ~gap.screened
        violating = _violating(working_set, gap, candidates, l1)
        working_set.add(violating)
        stalled = not first and not len(violating)
        if stalled:
            # Slow descent still gains by Newton steps on changing supports.
            inner *= 0.5 if taken >= _SLOW else 0.1
            working_set.refresh()
        first = False
        limit = min(_SLOW, max_passes - passes)
        taken = working_set.descend(l1=l1, l2=l2, target=inner, max_passes=limit)
        passes += taken
        if taken >= _SLOW or stalled:
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
    most = max(_FEW, int(np.count_nonzero(working_set.w)) // 2)
    if len(found) > most:
        found = found[np.argpartition(-gap.abs_gradient[found], most)[:most]]
    return found


def polish(rows: Rows, solution: Solution, *, l1: float, l2: float) -> Solution:
    """The solution to full precision, if solving for its coefficients reduces the gap; otherwise unchanged.

    On the support A with signs s the optimum is (X_AᵀX_A + l2 I) w_A = X_Aᵀy − l1 s. A coefficient that changes its
    sign leaves the support.
    """
    best, active = solution, np.flatnonzero(solution.w)
    if l1 == 0.0 or not solution.converged or len(active) > LARGEST_SUPPORT:
        return solution
    for _ in range(_POLISH_ROUNDS):
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
