"""Duality gaps: upper bounds on the distance of an objective from its optimum, and the columns that they rule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.learning.coordinate._jit import screen

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ResidualProducts:
    """Inner products of a residual r: with each column, with itself, and with y."""

    columns: Array
    squared_norm: float
    target: float


@dataclass(frozen=True)
class Gap:
    """`value` bounds the objective's distance from its optimum, `abs_gradient` is that of the smooth part for each
    column, and `screened` are the columns whose optimal coefficient is proven to be zero."""

    value: float
    abs_gradient: Array
    screened: NDArray[np.bool_]


def least_squares_gap(w: Array, products: ResidualProducts, squares: Array, l1: float, l2: float) -> Gap:
    """The gap of ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖² at w, with the rescaled residual as dual point.

    θ = scale·r is dual feasible for scale = min(1, l1/max_j |x_jᵀr − l2 w_j|). An optimal dual point lies within
    √(2 gap) of θ, so that |x_jᵀθ| + √(2 gap)‖x_j‖ < l1 proves w_j = 0 (Ndiaye et al. 2017, eq. 7 and theorem 6); with
    l2 > 0 the same holds for the columns of X stacked on √l2 I.
    """
    abs_gradient, screened = products.columns.copy(), np.empty(len(w), dtype=np.bool_)
    value = screen(w, abs_gradient, products.squared_norm, products.target, squares, float(l1), float(l2), screened)
    return Gap(value, abs_gradient, screened)
