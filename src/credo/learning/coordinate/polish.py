"""Solving to full precision: once the support and the signs are known, the problem is linear."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from credo.learning.coordinate.descent import Step
from credo.learning.coordinate.gap import least_squares_gap
from credo.learning.coordinate.quadratic import LARGEST_SUPPORT
from credo.learning.coordinate.rows import Rows
from credo.linalg import NotPositiveDefiniteError, factorize

Array = NDArray[np.float64]

# Each round sends weights to zero, or takes the rounding error of the one before down.
_ROUNDS = 8


def polished(rows: Rows, step: Step, *, l1: float, l2: float) -> Step:
    """The step with its coefficients solved for, if that makes the gap smaller; otherwise unchanged.

    On the support A with signs s the optimum is (X_AᵀX_A + l2 I) w_A = X_Aᵀy − l1 s. A coefficient that changes its
    sign leaves the support.
    """
    best, active = step, np.flatnonzero(step.w)
    if l1 == 0.0 or not step.converged or len(active) > LARGEST_SUPPORT:
        return step
    for _ in range(_ROUNDS):
        if not len(active):
            break
        w = _solved(rows, best.w, active, l1, l2)
        same = np.sign(w[active]) == np.sign(best.w[active])
        if not same.all():
            active = active[same]
            continue
        gap = least_squares_gap(w, rows.standing(rows.residual(w)), rows.squares, l1, l2).value
        if not gap < best.gap:
            break
        best = Step(w, gap, step.n_passes, True)
    return best


def _solved(rows: Rows, w: Array, active: NDArray[np.intp], l1: float, l2: float) -> Array:
    """The solution on the support for these signs, zero elsewhere, computed as a step from w."""
    found, part = np.zeros_like(w), rows.part(active)
    found[active] = w[active]
    K = part.gram()
    K[np.diag_indices_from(K)] += l2
    slopes = part.slopes(rows.residual(found))
    with suppress(NotPositiveDefiniteError):
        found[active] += factorize(K).solve(slopes - l2 * w[active] - l1 * np.sign(w[active]))
    return found
