"""Student's t distribution in its location-scale form; its cdf is accurate to rounding error in the tails."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv, exprel, gammaln, zeta

from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, LocationScale, standardize

# From here on the power law of the tail is exact to rounding error (its next term is of order 1/r²).
_TAIL_RATIO = 1e12
# From the first number of degrees of freedom on, the tail depends on how 1/(1 + z²/ν) is rounded, which is corrected up
# to the second.
_ROUNDED_DF, _NORMAL_DF = 50.0, 1e8
# The least number of values for which a table is used, and the least degrees of freedom for which it is accurate.
MIN_TABLE_VALUES, _MIN_TABLE_DF = 256, 5.0
# Its cells have the width 1/_CELLS_PER_UNIT and end at z = _TABLE_END.
_CELLS_PER_UNIT, _TABLE_END = 64, 16
# exp(−_UNDERFLOW) is zero in floats.
_UNDERFLOW = 746.0


def cdf(z: Array, df: Array) -> Array:
    """P(t ≤ z), for df of shape (n_rows,) or (1,)."""
    df, size = common_df(df), np.abs(z)
    if len(df) == 1 and z.size >= MIN_TABLE_VALUES and _MIN_TABLE_DF <= df[0] <= _NORMAL_DF:
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
        return np.copysign(np.sqrt(df) * np.where(beyond < _TAIL_RATIO, ratio, beyond), q - 0.5)


def common_df(df: Array) -> Array:
    """A single df if all rows have the same, as in least squares, so that terms in df are computed once."""
    return df[:1] if (df == df[:1]).all() else df


def two_sided(z: Array, df: Array) -> Array:
    """P(|t| > z) for z ≥ 0, by whichever incomplete beta function is small."""
    with np.errstate(all="ignore"):
        ratio = z / np.sqrt(df)
        square = np.square(ratio)
        inner, far, light = z < 1, ratio >= _TAIL_RATIO, (df > _NORMAL_DF) & (ratio < 1)
        outer = ~(inner | far | light)
        tail = betainc(df / 2, 0.5, 1 / (1 + square), out=np.zeros(ratio.shape), where=outer)
        if (df > _ROUNDED_DF).any():
            tail = np.where(outer & (df > _ROUNDED_DF) & (ratio < 1), tail * _rounding_factor(df, square, tail), tail)
        rest = square / (1 + square)
        central = betainc(0.5, df / 2, rest, out=np.zeros(ratio.shape), where=inner)
        tail = np.where(inner, 1 - central, tail)
        if light.any():
            # About ten times slower than betainc.
            betaincc(0.5, df / 2, rest, out=tail, where=light & ~inner)
        if far.any():
            tail = np.where(far, np.exp(-df * np.log(ratio) - log_tail(df)), tail)
    return tail


def log_tail(df: Array) -> Array:
    """ln((ν/2) B(ν/2, 1/2)), the constant of the tail's power law: ln P(|t| > √ν r) is −ν ln r less this."""
    return np.log(df / 2) + 0.5 * np.log(np.pi) - gamma_ratio(df / 2)


def gamma_ratio(x: Array) -> Array:
    """ln Γ(x+1/2) − ln Γ(x); by its asymptotic series if the two would cancel."""
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
    inside = z <= _TABLE_END
    if inside.all():
        return _from_table(z, df)
    # P(|t| > z) ≤ 2 f(z) (1 + z²/ν)/z, for the derivative of f(z) (1 + z²/ν)/z is −f(z) (1 + 1/z²).
    end = np.sqrt(df * np.expm1(min(2 * _UNDERFLOW / (df - 1), 700.0)))
    beyond = ~(inside | (z > end))
    values = np.zeros(z.shape)
    values[inside] = _from_table(z[inside], df)
    values[beyond] = two_sided(z[beyond], np.array([df]))
    return values


def _from_table(z: Array, df: float) -> Array:
    place = z * _CELLS_PER_UNIT
    cell = np.minimum(place.astype(np.intp), _CELLS_PER_UNIT * _TABLE_END - 1)
    rest = place - cell
    coefs = _table(df)
    power = coefs[5].take(cell)
    for order in range(4, -1, -1):
        power *= rest
        power += coefs[order].take(cell)
    return np.exp(power, out=power)


@lru_cache(maxsize=64)
def _table(df: float) -> Array:
    """The coefficients of each cell's polynomial in z·64 − cell, lowest first: shape (6, cells)."""
    z = np.arange(_CELLS_PER_UNIT * _TABLE_END + 1) / _CELLS_PER_UNIT
    value = two_sided(z, np.array([df]))
    log_peak = gamma_ratio(np.array(df / 2)) - 0.5 * np.log(df * np.pi)
    density = np.exp(log_peak - (df + 1) / 2 * np.log1p(z * z / df))
    # With r = 2f/P, where f is the density: (ln P)' = −r and (ln P)'' = −r (f'/f + r).
    rate = 2 * density / value
    slope = -rate / _CELLS_PER_UNIT
    curve = -rate * (rate - (df + 1) * z / (df + z * z)) / _CELLS_PER_UNIT**2
    level = np.log(value)
    a, b, c = level[:-1], slope[:-1], curve[:-1] / 2
    # The three highest powers match what the parabola leaves of value, slope and curvature at the cell's end.
    up, steep, bent = level[1:] - a - b - c, slope[1:] - b - 2 * c, curve[1:] - 2 * c
    return np.array(
        [a, b, c, 10 * up - 4 * steep + bent / 2, 7 * steep - 15 * up - bent, 6 * up - 3 * steep + bent / 2]
    )


class StudentT(LocationScale):
    """loc + scale·t for each row, where t has df degrees of freedom.

    The mean is NaN for df ≤ 1, the standard deviation NaN for df ≤ 1 and infinite for 1 < df ≤ 2. The CRPS
    exists for df > 1/2, where its integral converges although the mean may not exist; below, it is infinite.

    Parameters
    ----------
    df : float or array of shape (n_rows,)
        Positive, finite.
    loc : float or array of shape (n_rows,), default 0.0
    scale : float or array of shape (n_rows,), default 1.0
        A scale of exactly zero is a point mass.

    Examples
    --------
    >>> from credo.distributions import StudentT
    >>> dist = StudentT(3.0, [0.0, 1.0], 2.0)
    >>> dist.std.round(3)
    array([3.464, 3.464])
    >>> dist.interval(0.95)[1].round(3)
    array([6.365, 7.365])
    """

    _shown = ("df", "loc", "scale")
    _df: Array

    def __init__(self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        scalar = valid.are_scalars(df, loc, scale)
        df, loc, scale = valid.rows(df=df, loc=loc, scale=scale)
        valid.reject(df <= 0, df, "df must be positive")
        valid.reject(scale < 0, scale, "scale must not be negative")
        vars(self).update(_df=df, _loc=loc, _scale=scale, _scalar=scalar)

    @property
    def df(self) -> Array:
        """The degrees of freedom of each row."""
        return self._unless_scalar(self._df)

    @property
    def _mean(self) -> Array:
        return np.where((self._df > 1) | self._atoms(), self._loc, np.nan)

    @property
    def _std(self) -> Array:
        with np.errstate(all="ignore"):
            std = np.where(self._df > 1, self._scale * np.sqrt(t_variance(self._df)), np.nan)
        return np.where(self._atoms(), 0.0, std)

    def _standard_cdf(self, z: Array) -> Array:
        return cdf(z, self._df)

    def _standard_quantile(self, q: Array) -> Array:
        return quantile(q[None, :], common_df(self._df)[:, None])

    def _log_density(self, y: Array) -> Array:
        # Γ((ν+1)/2)/Γ(ν/2) by `gamma_ratio`, which keeps its digits at any ν.
        peak = gamma_ratio(self._df / 2) - 0.5 * np.log(self._df * np.pi) - np.log(self._scale)
        return peak - (self._df + 1) / 2 * self._log_spread(y)

    def _crps(self, y: Array) -> Array:
        # Jordan, Krüger & Lerch (2019), appendix A, regrouped so that ν = 1 is no singularity: with ε = (ν−1)/2,
        # L = ln(1+z²/ν), B = B(1/2, ν/2) and ρ = ln B(1/2, ν−1/2) − ln B, the score of the standard t is
        #     z(2F(z)−1) + √ν/B · (exp(−εL) − exp(ρ))/ε,
        # which is analytic in ν down to 1/2, where ∫F² stops converging.
        df = np.maximum(self._df, 0.5 + 1e-12)
        half = (df - 1) / 2
        with np.errstate(all="ignore"):
            distance = np.abs(y - self._loc)
            tail = cdf(-np.abs(standardize(y, self._loc, self._scale)), df)
            log_spread, slope = self._log_spread(y), _log_beta_slope(df)
            power = -log_spread - slope
            ratio = np.exp(half * slope) * power * exprel(power * half)
            peak = np.sqrt(df / np.pi) * np.exp(gamma_ratio(df / 2)) * ratio
            score = distance * (1 - 2 * tail) + self._scale * peak
        score = np.where(np.isinf(distance) | (self._tail_index() <= 0.5), np.inf, score)
        return np.where(self._atoms(), distance, score)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._loc + self._scale * rng.standard_t(self._df, (n, len(self)))

    def _tail_index(self) -> Array:
        return np.where(self._atoms(), np.inf, self._df)

    def _widths(self) -> tuple[Array, Array]:
        # The cdf is analytic up to ±i√ν. Its tail is less than that of the power law: ∫F² beyond √ν·r is less than
        # √ν exp(−2 ln((ν/2) B)) r^(1−2ν) / (4(2ν−1)), and less still for larger ν.
        df = np.clip(self._df, 0.5 + 1e-3, 25.0)
        # A tail is left out where ∫F², in units of the scale, is below 1e-13.
        log_r = (0.5 * np.log(df) - np.log(4 * 1e-13 * (2 * df - 1)) - 2 * log_tail(df)) / (2 * df - 1)
        with np.errstate(over="ignore"):
            reach = self._scale * np.exp(0.5 * np.log(df) + log_r)
        return (self._scale * np.sqrt(np.minimum(df / 5, 1.0)))[None], reach[None]

    def _log_spread(self, y: Array) -> Array:
        """ln(1 + z²/ν), from the log of |z| so that no square overflows."""
        log_z = np.log(np.abs(y - self._loc)) - np.log(self._scale)
        return np.logaddexp(0.0, 2 * log_z - np.log(self._df))


def _log_beta_slope(df: Array) -> Array:
    """ρ/ε of the CRPS: (ln B(1/2, ν−1/2) − ln B(1/2, ν/2)) / ((ν−1)/2), smooth through ν = 1."""
    half = (df - 1) / 2
    small = np.abs(half) < 1e-3
    e = np.where(small, half, 0.0)
    # Taylor in ε: the k-th coefficient is (−1)^k (2^k−1)(2^k−2) ζ(k)/k, and −2 ln 2 for k = 1.
    series = np.full_like(e, -2 * np.log(2))
    for k in range(2, 8):
        series += (-1) ** k * (2**k - 1) * (2**k - 2) * zeta(k) / k * e ** (k - 1)
    direct = (gamma_ratio(df / 2) - gamma_ratio(df - 0.5)) / np.where(small, 1.0, half)
    return np.where(small, series, direct)


def t_variance(df: Any) -> Any:
    """The variance of Student's t distribution of unit scale: df/(df − 2), infinite for df ≤ 2 and 1 for the normal.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import t_variance
    >>> float(t_variance(4.0)), float(t_variance(np.inf))
    (2.0, 1.0)
    """
    excess = np.asarray(df, dtype=np.float64) - 2.0
    return np.where(excess > 0, 1.0 + 2.0 / np.where(excess > 0, excess, 1.0), np.inf)[()]
