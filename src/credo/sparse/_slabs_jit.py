"""The evidence of a subset and the moments of its coefficients under each slab, compiled.

These are the only formulas for the evidence: enumeration, sampler and arrays (`Slab.score`) all call them. Plain twins,
from densities and quadrature: `tests/reference/slabs.py`.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]

# A fit with a smaller 1 − R² counts as perfect.
FLOOR = 1e-24
# Forms of the evidence; see `log_evidence`.
LOG: Final = 0
LINEAR: Final = 1
TABLE: Final = 2
# Cells of the splines for each unit of −ln(1 − R²).
CELLS = 16


class Formula(NamedTuple):
    """A slab for subsets of 0, 1, 2, … columns.

    `base` and `width` have an entry for each size: the constant of the log evidence, and the predictive variance of
    the noise at R² = 0. `lost` is 1 − s, with s the shrinkage of the coefficients; `table` holds splines.
    """

    form: int
    base: Array
    width: Array
    slope: float
    shift: float
    factor: float
    volume: float
    lost: float
    n: float
    table: Array


@njit(cache=True, nogil=True)
def log_evidence(f: Formula, k: int, one_minus_r2: float, logdet: float) -> float:
    """ln p(y | γ) for k columns, with u = 1 − R² and logdet = ln|A|.

    LOG: base + slope·ln(shift + factor·u) + volume·logdet; LINEAR: base + slope·u + volume·logdet; TABLE: a spline in
    −ln u.
    """
    base = f.base[k]
    one_minus_r2 = min(max(one_minus_r2, FLOOR), 1.0)
    if f.form == LOG:
        value = base + f.slope * math.log(f.shift + f.factor * one_minus_r2)
        return value + f.volume * logdet if f.volume != 0.0 else value
    if base == -math.inf or k == 0:
        return base + (f.slope if f.form == LINEAR else 0.0)
    if f.form == LINEAR:
        return base + f.slope * one_minus_r2 + f.volume * logdet
    x = -math.log(one_minus_r2)
    return base + spline(f.table[0, k], x) + 0.5 * (f.n - 1) * x


@njit(cache=True, nogil=True)
def log_evidences(f: Formula, k: NDArray[np.int64], one_minus_r2: Array, logdet: Array, out: Array) -> None:
    """The same for arrays."""
    for i in range(len(out)):
        out[i] = log_evidence(f, k[i], one_minus_r2[i], logdet[i])


@njit(cache=True, nogil=True)
def shrinkage(f: Formula, k: int, one_minus_r2: float) -> tuple[float, float, float]:
    """1 − E[s], E[s] and E[s²] given a subset."""
    one_minus_r2 = min(max(one_minus_r2, FLOOR), 1.0)
    lost = f.lost
    if k == 0:
        lost = 0.0
    elif f.form == TABLE:
        x = -math.log(one_minus_r2)
        first = spline(f.table[1, k], x)
        return 1.0 - first, first, spline(f.table[2, k], x)
    return lost, 1.0 - lost, (1.0 - lost) * (1.0 - lost)


@njit(cache=True, nogil=True)
def spread(f: Formula, k: int, one_minus_r2: float) -> tuple[float, float, float, float]:
    """E[s], E[s²], the factor of A⁻¹ in the coefficients' covariance, and the predictive variance of the noise."""
    width = f.width[k]
    if f.form == LINEAR:
        return 1.0, 1.0, width, width
    lost, first, second = shrinkage(f, k, one_minus_r2)
    one_minus_r2 = min(max(one_minus_r2, FLOOR), 1.0)
    return first, second, width * (first - second + second * one_minus_r2), width * (lost + first * one_minus_r2)


@njit(cache=True, nogil=True)
def spline(coefs: Array, x: float) -> float:
    """A piecewise polynomial of degree five at x, by Horner's rule."""
    place = CELLS * x
    cell = min(int(place), len(coefs) - 1)
    offset = place - cell
    value = coefs[cell, 5]
    for order in range(4, -1, -1):
        value = value * offset + coefs[cell, order]
    return value
