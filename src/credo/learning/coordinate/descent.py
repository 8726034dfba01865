"""Least squares with an ℓ₁ and an ℓ₂ penalty, for one penalty or along a path of them.

    min ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖²

The working set has the columns that violate the optimality conditions most, in a number that grows with the support
(Massias, Gramfort & Salmon 2018). Columns whose coefficient is zero by the duality gap are screened out (gap-safe
spheres: Fercoq, Gramfort & Salmon 2015). The duality gap over all columns is the stopping criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.learning.coordinate.blocks import Block
from credo.learning.coordinate.gap import Gap, Standing, least_squares_gap
from credo.learning.coordinate.quadratic import Quadratic, orthant_minimum
from credo.learning.coordinate.rows import undivided

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Columns that may come to work at once, however few there are.
_FEW = 32
# The columns at work are brought this far below the gap that is asked of all.
_INNER = 0.95
# Where a gap among them this much smaller doesn't do, rounding errors are all that is left.
_FINEST = 1e-6
# Passes after which the weights at work are solved for by Newton steps, where columns are strongly correlated.
_SLOW = 300


@dataclass(frozen=True)
class Step:
    """The solution for one penalty; the gap is that of the objective above."""

    w: Array
    gap: float
    n_passes: int
    converged: bool
    # Effective number of weights, where it isn't the number that aren't zero.
    effective: float | None = None


def descend(block: Block, penalties: Array, *, l1_ratio: float, tol: float, max_passes: int) -> Iterator[Step]:
    """The optimum for each penalty (best from the largest down), to a gap of tol·‖y‖², with warm starts."""
    standing, quadratic = block.standing(), Quadratic(block.rows)
    for penalty in penalties:
        l1, l2 = penalty * l1_ratio, penalty * (1.0 - l1_ratio)
        if l1 == 0.0:
            w, gap, effective = quadratic.solve(l2)
            yield Step(w, gap, 1, gap <= tol * block.rows.yy, effective)
            continue
        with undivided(block.rows.X):
            step, standing = _solve(block, standing, l1, l2, tol * block.rows.yy, max_passes)
        yield step


def _solve(
    block: Block, standing: Standing, l1: float, l2: float, target: float, max_passes: int
) -> tuple[Step, Standing]:
    alive = block.rows.squares > 0.0
    inner, passes, fresh = _INNER * target, 0, True
    block.begin()
    # A round takes at least one pass, unless nothing but rounding errors is left to lower.
    for rounds in range(max_passes + 1):
        check()
        gap = least_squares_gap(block.w, standing, block.rows.squares, l1, l2)
        met = gap.value <= target
        # NaN is never larger than the target.
        if not gap.value > target or max(passes, rounds) >= max_passes or inner < _FINEST * target:
            break
        alive &= ~gap.excluded
        chosen = _chosen(block, gap, alive, l1)
        block.admit(chosen)
        if not fresh and not len(chosen):
            inner *= 0.1
            block.refresh()
        fresh = False
        limit = min(_SLOW, max_passes - passes)
        taken = block.descend(l1=l1, l2=l2, target=inner, max_passes=limit)
        passes += taken
        if taken >= _SLOW:
            block.w[:] = orthant_minimum(block.rows, block.w, l1=l1, l2=l2)
            block.refresh()
        standing = block.standing()
    return Step(block.w.copy(), gap.value, passes, met), standing


def _chosen(block: Block, gap: Gap, alive: Mask, l1: float) -> NDArray[np.intp]:
    """Columns outside the working set that violate optimality; those with the largest gradient if there are many."""
    waiting = alive & (gap.pressure > l1)
    waiting[block.working()] = False
    found = np.flatnonzero(waiting)
    most = max(_FEW, int(np.count_nonzero(block.w)) // 2)
    if len(found) > most:
        found = found[np.argpartition(-gap.pressure[found], most)[:most]]
    return found
