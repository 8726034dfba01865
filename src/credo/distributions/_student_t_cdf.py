"""The cdf of Student's t with its tails accurate to rounding error, and its inverse."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammaln

from credo.distributions._distribution import Array

# From here on the power law of the tail is exact to rounding error (its next term is of order 1/r²).
_FAR = 1e12
# Above _ROUGH degrees of freedom the tail depends on how 1/(1 + z²/ν) is rounded, which is corrected up to _NORMAL.
_ROUGH, _NORMAL = 50.0, 1e8
# The least number of values for which a table is used, and the least degrees of freedom for which it is accurate.
TABLE_SIZE, _TABLE_DF = 256, 5.0
# Its cells have the width 1/_CELLS and end at z = _END.
_CELLS, _END = 64, 16


def cdf(z: Array, df: Array) -> Array:
    """P(t ≤ z), for df of shape (n_rows,) or (1,)."""
    df, size = common_df(df), np.abs(z)
    if len(df) == 1 and z.size >= TABLE_SIZE and _TABLE_DF <= df[0] <= _NORMAL:
        tail = _interpolated(size, float(df[0]))
    else:
        tail = two_sided(size, df)
    return np.where(z < 0, tail / 2, 1 - tail / 2)


def quantile(q: Array, df: Array) -> Array:
    """The inverse of `cdf`, odd about q = 1/2."""
    tail = np.minimum(q, 1 - q)
    with np.errstate(all="ignore"):
        near = np.where(tail > 0.25, betaincinv(0.5, df / 2, 1 - 2 * tail), betainccinv(0.5, df / 2, 2 * tail))
        far = betaincinv(df / 2, 0.5, 2 * tail)
        ratio = np.sqrt(np.where(near < 0.5, near / (1 - near), (1 - far) / far))
        beyond = np.exp(-(np.log(2 * tail) + log_tail(df)) / df)
        return np.copysign(np.sqrt(df) * np.where(beyond < _FAR, ratio, beyond), q - 0.5)


def common_df(df: Array) -> Array:
    """A single df if all rows have the same, as in least squares, so that what depends on it alone is computed once."""
    return df[:1] if (df == df[:1]).all() else df


def two_sided(z: Array, df: Array) -> Array:
    """P(|t| > z) for z ≥ 0, by whichever incomplete beta function is small."""
    with np.errstate(all="ignore"):
        ratio = z / np.sqrt(df)
        square = np.square(ratio)
        inner, far, light = z < 1, ratio >= _FAR, (df > _NORMAL) & (ratio < 1)
        outer = ~(inner | far | light)
        tail = betainc(df / 2, 0.5, 1 / (1 + square), out=np.zeros(ratio.shape), where=outer)
        if (df > _ROUGH).any():
            tail = np.where(outer & (df > _ROUGH) & (ratio < 1), tail * _rounding_factor(df, square, tail), tail)
        rest = square / (1 + square)
        central = betainc(0.5, df / 2, rest, out=np.zeros(ratio.shape), where=inner)
        tail = np.where(inner, 1 - central, tail)
        if light.any():
            # Some ten times slower than betainc.
            betaincc(0.5, df / 2, rest, out=tail, where=light & ~inner)
        if far.any():
            tail = np.where(far, np.exp(-df * np.log(ratio) - log_tail(df)), tail)
    return tail


def log_tail(df: Array) -> Array:
    """ln((ν/2) B(ν/2, 1/2)), the constant of the tail's power law: ln P(|t| > √ν r) is −ν ln r less this."""
    return np.log(df / 2) + 0.5 * np.log(np.pi) - gamma_ratio(df / 2)


def gamma_ratio(x: Array) -> Array:
    """ln Γ(x+1/2) − ln Γ(x); by its asymptotic series where the two would cancel."""
    u = 1 / np.maximum(x, 30.0)
    series = -0.5 * np.log(u) + u * (
        -1 / 8 + u**2 * (1 / 192 + u**2 * (-1 / 640 + u**2 * (17 / 14336 - u**2 * 31 / 18432)))
    )
    return np.where(x > 30, series, gammaln(x + 0.5) - gammaln(x))


def _rounding_factor(df: Array, square: Array, tail: Array) -> Array:
    """The factor that corrects a tail I_x(ν/2, ½) for the rounding of x = 1/(1 + square).

    ln I changes by I'/I times the rounding error of x, which is known because 1 − x is exact in floats.
    """
    rest = square / (1 + square)
    lost = (1 - 1 / (1 + square)) - rest
    density = (df / 2 - 1) * np.log1p(-rest) - 0.5 * np.log(rest) - 0.5 * np.log(np.pi) + gamma_ratio(df / 2)
    return np.exp(np.where(tail > 0, lost * np.exp(density) / tail, 0.0))


def _interpolated(z: Array, df: float) -> Array:
    """P(|t| > z) for z ≥ 0 from a table, several times faster than an incomplete beta function.

    ln P(|t| > z) is nearly a parabola of z. On cells of width 1/64, the polynomial of degree five that has its value,
    slope and curvature at both ends is off by less than 1e-14 from 5 degrees of freedom on.
    """
    place = np.minimum(z, float(_END)) * _CELLS
    cell = np.minimum(place.astype(np.intp), _CELLS * _END - 1)
    rest = place - cell
    coefs = _table(df)
    power = coefs[5].take(cell)
    for order in range(4, -1, -1):
        power *= rest
        power += coefs[order].take(cell)
    values = np.exp(power, out=power)
    beyond = ~(z <= _END)
    if beyond.any():
        values[beyond] = two_sided(z[beyond], np.array([df]))
    return values


@lru_cache(maxsize=64)
def _table(df: float) -> Array:
    """The coefficients of each cell's polynomial in z·64 − cell, lowest first: shape (6, cells)."""
    z = np.arange(_CELLS * _END + 1) / _CELLS
    value = two_sided(z, np.array([df]))
    log_peak = gamma_ratio(np.array(df / 2)) - 0.5 * np.log(df * np.pi)
    density = np.exp(log_peak - (df + 1) / 2 * np.log1p(z * z / df))
    # With r = 2f/P, where f is the density: (ln P)' = −r and (ln P)'' = −r (f'/f + r).
    rate = 2 * density / value
    slope = -rate / _CELLS
    curve = -rate * (rate - (df + 1) * z / (df + z * z)) / _CELLS**2
    level = np.log(value)
    a, b, c = level[:-1], slope[:-1], curve[:-1] / 2
    # The three highest powers match what the parabola leaves of value, slope and curvature at the cell's end.
    up, steep, bent = level[1:] - a - b - c, slope[1:] - b - 2 * c, curve[1:] - 2 * c
    return np.array(
        [a, b, c, 10 * up - 4 * steep + bent / 2, 7 * steep - 15 * up - bent, 6 * up - 3 * steep + bent / 2]
    )
