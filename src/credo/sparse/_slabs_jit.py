"""The evidence of a subset and the moments of its coefficients under each slab, compiled.

These are the only formulas for the evidence: enumeration, sampler and arrays (`Slab.score`) all call them. Plain twins,
from densities and quadrature: `tests/reference/slabs.py`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]

# A fit that leaves a smaller share of the variation of y counts as perfect.
FLOOR = 1e-24
# Forms of the evidence; see `log_evidence`.
LOG, LINEAR, LOCAL, TABLE = 0, 1, 2, 3
# Cells of the splines for each unit of −ln(1 − R²).
CELLS = 16
# ln 2 in two parts: the first ends in zeros, so that its products with exponents are exact.
_LN2, _LN2_REST = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
# A double has 52 bits of fraction, then the exponent, of which 1023 is zero; 2^52 + i has the integer i as last bits.
_FRACTION, _ZERO, _INTEGER, _INTEGER_BITS = np.uint64(52), np.uint64(1023), 2.0**52, np.uint64((1023 + 52) << 52)
# Added to the bits of x, it carries into the exponent from √½·2^e on: then the fraction is between √½ and √2.
_TO_MIDDLE = np.uint64((1023 << 52) - int(np.float64(math.sqrt(0.5)).view(np.int64)))


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
def log_evidence(f: Formula, k: int, rest: float, logdet: float) -> float:
    """ln p(y | γ) for k columns with rest = 1 − R² and logdet = ln|A|.

    LOG: base + slope·ln(shift + factor·rest) + volume·logdet; LINEAR: base + slope·rest + volume·logdet; LOCAL: the
    g-prior at g = max(F − 1, 0); TABLE: a spline in −ln(rest).
    """
    base = f.base[k]
    rest = min(max(rest, FLOOR), 1.0)
    if f.form == LOG:
        value = base + f.slope * math.log(f.shift + f.factor * rest)
        return value + f.volume * logdet if f.volume != 0.0 else value
    if base == -math.inf or k == 0:
        return base + (f.slope if f.form == LINEAR else 0.0)
    if f.form == LINEAR:
        return base + f.slope * rest + f.volume * logdet
    if f.form == LOCAL:
        g = local_g(f.n, k, rest)
        return base + 0.5 * (f.n - 1 - k) * math.log1p(g) - 0.5 * (f.n - 1) * math.log1p(g * rest)
    x = -math.log(rest)
    return base + spline(f.table[0, k], x) + 0.5 * (f.n - 1) * x


@njit(cache=True, nogil=True)
def log_evidences(f: Formula, k: NDArray[np.int64], rest: Array, logdet: Array, out: Array) -> None:
    """The same for arrays."""
    for i in range(len(out)):
        out[i] = log_evidence(f, k[i], rest[i], logdet[i])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def equal_sizes(f: Formula, k: int, rest: Array, logdet: Array) -> None:
    """The same for arrays and one size, with fast logarithms; replaces `rest` by the log evidences."""
    if f.form != LOG:
        for i in range(len(rest)):
            rest[i] = log_evidence(f, k, rest[i], logdet[i])
        return
    for i in range(len(rest)):
        share = rest[i] if rest[i] > FLOOR else FLOOR
        rest[i] = f.shift + f.factor * (share if share < 1.0 else 1.0)
    logs(rest)
    for i in range(len(rest)):
        rest[i] = f.base[k] + f.slope * rest[i] + f.volume * logdet[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def logs(x: Array) -> None:
    """Replace positive normal numbers by their logarithms: in vector instructions, four times as fast as `math.log`.

    With x = 2^e m and s = (m − 1)/(m + 1), |s| < 0.172, ln x = e ln 2 + 2s(1 + s²/3 + s⁴/5 + …).
    """
    exponents, fractions, bits = np.empty(len(x), np.uint64), np.empty(len(x), np.uint64), x.view(np.uint64)
    exponent, fraction = exponents.view(np.float64), fractions.view(np.float64)
    for i in range(len(x)):
        e = (bits[i] + _TO_MIDDLE) >> _FRACTION
        exponents[i], fractions[i] = e | _INTEGER_BITS, bits[i] - ((e - _ZERO) << _FRACTION)
    for i in range(len(x)):
        e, s = exponent[i] - (_INTEGER + 1023.0), (fraction[i] - 1.0) / (fraction[i] + 1.0)
        z = s * s
        series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0)))
        series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))
        series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * series)
        x[i] = e * _LN2 + (2.0 * s + (2.0 * s * z * series + e * _LN2_REST))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def exps(x: Array) -> None:
    """Replace numbers that aren't positive by their exponentials, in the same way; below e^−708 by zero.

    With e the integer nearest to x/ln 2 and r = x − e ln 2, |r| < 0.347, e^x = 2^e (1 + r + r²/2! + …).
    """
    powers, rests = np.empty(len(x)), np.empty(len(x))
    bits, signed = powers.view(np.uint64), 1.5 * _INTEGER
    for i in range(len(x)):
        value = x[i] if x[i] > -708.0 else -708.0
        powers[i] = value * (1.0 / math.log(2.0)) + signed
        e = powers[i] - signed
        rests[i] = (value - e * _LN2) - e * _LN2_REST
    for i in range(len(x)):
        bits[i] = (bits[i] + _ZERO) << _FRACTION
    for i in range(len(x)):
        r = rests[i]
        series = 1.0 / 39916800.0 + r * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
        series = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * series))
        series = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * series))
        series = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * series))
        x[i] = powers[i] * (1.0 + r * (1.0 + r * series)) if x[i] > -708.0 else 0.0


@njit(cache=True, nogil=True)
def local_g(n: float, k: int, rest: float) -> float:
    """The g that maximizes the evidence of a subset: max(F − 1, 0) (Liang et al. 2008, eq. 9)."""
    return max((1.0 - rest) * (n - 1 - k) / (k * rest) - 1.0, 0.0)


@njit(cache=True, nogil=True)
def shrinkage(f: Formula, k: int, rest: float) -> tuple[float, float, float]:
    """1 − E[s], E[s] and E[s²] given a subset."""
    rest = min(max(rest, FLOOR), 1.0)
    lost = f.lost
    if k == 0:
        lost = 0.0
    elif f.form == LOCAL:
        lost = 1.0 / (1.0 + local_g(f.n, k, rest))
    elif f.form == TABLE:
        x = -math.log(rest)
        first = spline(f.table[1, k], x)
        return 1.0 - first, first, spline(f.table[2, k], x)
    return lost, 1.0 - lost, (1.0 - lost) * (1.0 - lost)


@njit(cache=True, nogil=True)
def spread(f: Formula, k: int, rest: float) -> tuple[float, float, float, float]:
    """E[s], E[s²], the factor of A⁻¹ in the coefficients' covariance, and the predictive variance of the noise."""
    width = f.width[k]
    if f.form == LINEAR:
        return 1.0, 1.0, width, width
    lost, first, second = shrinkage(f, k, rest)
    rest = min(max(rest, FLOOR), 1.0)
    return first, second, width * (first - second + second * rest), width * (lost + first * rest)


@njit(cache=True, nogil=True)
def spline(coefs: Array, x: float) -> float:
    """A piecewise polynomial of degree five at x, by Horner's rule."""
    place = CELLS * x
    cell = min(int(place), len(coefs) - 1)
    rest = place - cell
    value = coefs[cell, 5]
    for order in range(4, -1, -1):
        value = value * rest + coefs[cell, order]
    return value
