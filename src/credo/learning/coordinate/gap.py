"""Duality gaps: upper bounds on the distance of an objective from its optimum, and screening by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.learning.coordinate._jit import shrunken_gap

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """Of a residual r: its inner product with each column, ‖r‖², and rᵀy."""

    slopes: Array
    square: float
    inner: float


@dataclass(frozen=True)
class Gap:
    """`value` bounds the objective's distance from its optimum; `pressure` is |x_jᵀr − l2 w_j| of each column, and
    `excluded` the columns whose optimal coefficient is proven to be zero."""

    value: float
    pressure: Array
    excluded: NDArray[np.bool_]


def least_squares_gap(w: Array, standing: Standing, squares: Array, l1: float, l2: float) -> Gap:
    """The gap of ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖² at w, with the shrunken residual as dual point.

    θ = share·r is dual feasible where share = min(1, l1/max_j |x_jᵀr − l2 w_j|). An optimal dual point lies within
    √(2 gap) of θ, so that |x_jᵀθ| + √(2 gap)‖x_j‖ < l1 proves w_j = 0 (Ndiaye et al. 2017, eq. 7 and theorem 6); with
    l2 > 0 the same holds of the columns with √l2 I below them.
    """
    pressure = np.abs(standing.slopes - l2 * w) if l2 > 0.0 else np.abs(standing.slopes)
    pressure[squares == 0.0] = 0.0
    steepest = float(pressure.max(initial=0.0))
    share = min(1.0, l1 / steepest) if steepest > 0.0 else 1.0
    active = w[np.flatnonzero(w)]
    square = standing.square + float((l2 * active) @ active)
    value = max(shrunken_gap(square, standing.inner, float(np.abs(active).sum()), steepest, l1), 0.0)
    excluded = share * pressure + np.sqrt(2.0 * value) * np.sqrt(squares + l2) < l1
    return Gap(value, pressure, excluded)
