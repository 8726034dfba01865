"""Student's t distribution, in its location-scale form."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, zeta

from credo.distributions import _point, _t_table
from credo.distributions import _validation as valid
from credo.distributions._distribution import Distribution
from credo.distributions._t_tail import FAR, NORMAL, gamma_step, log_tail, two_sided

# What ∫F² may be, in scales, of a tail that quadrature leaves out.
_BEYOND_REACH = 1e-13


class StudentT(Distribution):
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
    >>> dist = StudentT(3.0, [0.0, 1.0], 2.0)
    >>> dist.std.round(3)
    array([3.464, 3.464])
    >>> dist.interval(0.95)[1].round(3)
    array([6.365, 7.365])
    """

    _shown = ("df", "loc", "scale")
    _df: NDArray[np.float64]
    _loc: NDArray[np.float64]
    _scale: NDArray[np.float64]

    def __init__(self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        df, loc, scale = valid.rows(df=df, loc=loc, scale=scale)
        valid.refuse(df <= 0, df, "df must be positive")
        valid.refuse(scale < 0, scale, "scale must not be negative")
        vars(self).update(_df=df, _loc=loc, _scale=scale)

    @property
    def df(self) -> NDArray[np.float64]:
        """The degrees of freedom of each row."""
        return self._df

    @property
    def loc(self) -> NDArray[np.float64]:
        """The centre of each row, which is its median."""
        return self._loc

    @property
    def scale(self) -> NDArray[np.float64]:
        """The scale of each row; not its standard deviation."""
        return self._scale

    @property
    def mean(self) -> NDArray[np.float64]:
        return np.where((self._df > 1) | self._atoms(), self._loc, np.nan)

    @property
    def std(self) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            std = np.where(self._df > 1, self._scale * np.sqrt(t_variance(self._df)), np.nan)
        return np.where(self._atoms(), 0.0, std)

    def __len__(self) -> int:
        return self._df.size

    def _cdf(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return _cdf(_point.standardize(y, self._loc, self._scale), self._df)

    def _tail(self, y: NDArray[np.float64], upper: NDArray[np.bool_]) -> NDArray[np.float64]:
        z = _point.standardize(y, self._loc, self._scale)
        return _cdf(np.where(upper, -z, z), self._df)

    def _log_prob(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        # Γ((ν+1)/2)/Γ(ν/2) goes by `_gamma_step`, which keeps its digits at any ν.
        with np.errstate(all="ignore"):
            peak = gamma_step(self._df / 2) - 0.5 * np.log(self._df * np.pi) - np.log(self._scale)
            density = peak - (self._df + 1) / 2 * self._log_spread(y)
        return _point.log_prob(density, y, self._loc, self._scale)

    def _crps(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        # Jordan, Krüger & Lerch (2019), appendix A, regrouped so that ν = 1 is no singularity: with ε = (ν−1)/2,
        # L = ln(1+z²/ν), B = B(1/2, ν/2) and ρ = ln B(1/2, ν−1/2) − ln B, the score of the standard t is
        #     z(2F(z)−1) + √ν/B · (exp(−εL) − exp(ρ))/ε,
        # which is analytic in ν down to 1/2, where ∫F² stops converging.
        df = np.maximum(self._df, 0.5 + 1e-12)
        half = (df - 1) / 2
        with np.errstate(all="ignore"):
            distance = np.abs(y - self._loc)
            tail = _cdf(-np.abs(_point.standardize(y, self._loc, self._scale)), df)
            log_spread, slope = self._log_spread(y), _log_beta_slope(df)
            ratio = np.exp(half * slope) * _expm1_over(-log_spread - slope, half)
            peak = np.sqrt(df / np.pi) * np.exp(gamma_step(df / 2)) * ratio
            score = distance * (1 - 2 * tail) + self._scale * peak
        score = np.where(np.isinf(distance) | self._heavy(), np.inf, score)
        return np.where(self._atoms(), distance, score)

    def _quantile(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return _point.quantile(self._standard_quantile(q), self._loc, self._scale)

    def _exceeded(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return _point.quantile(-self._standard_quantile(p), self._loc, self._scale)

    def _standard_quantile(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return _quantile(q[None, :], _shared(self._df)[:, None])

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._loc + self._scale * rng.standard_t(self._df, (n, len(self)))

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self._df[rows], self._loc[rows], self._scale[rows])

    def _atoms(self) -> NDArray[np.bool_]:
        return self._scale == 0

    def _heavy(self) -> NDArray[np.bool_]:
        return (self._df <= 0.5) & (self._scale > 0)

    def _tail_index(self) -> NDArray[np.float64]:
        return np.where(self._atoms(), np.inf, self._df)

    def _knots(self) -> NDArray[np.float64]:
        return self._loc[None]

    def _grain(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # The cdf is analytic up to ±i√ν. Its tail is less than that of the power law: ∫F² beyond √ν·r is less than
        # √ν exp(−2 ln((ν/2) B)) r^(1−2ν) / (4(2ν−1)), and less still for larger ν.
        df = np.clip(self._df, 0.5 + 1e-3, 25.0)
        log_r = (0.5 * np.log(df) - np.log(4 * _BEYOND_REACH * (2 * df - 1)) - 2 * log_tail(df)) / (2 * df - 1)
        with np.errstate(over="ignore"):
            reach = self._scale * np.exp(0.5 * np.log(df) + log_r)
        return (self._scale * np.sqrt(np.minimum(df / 5, 1.0)))[None], reach[None]

    def _log_spread(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(1 + z²/ν), from the log of |z| so that no square overflows."""
        log_z = np.log(np.abs(y - self._loc)) - np.log(self._scale)
        return np.logaddexp(0.0, 2 * log_z - np.log(self._df))


def _cdf(z: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    df, size = _shared(df), np.abs(z)
    if len(df) == 1 and z.size >= _t_table.WORTH and _t_table.LEAST <= df[0] <= NORMAL:
        tail = _t_table.read(size, float(df[0]))
    else:
        tail = two_sided(size, df)
    return np.where(z < 0, tail / 2, 1 - tail / 2)


def _quantile(q: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `_cdf`, odd about q = 1/2."""
    tail = np.minimum(q, 1 - q)
    with np.errstate(all="ignore"):
        near = np.where(tail > 0.25, betaincinv(0.5, df / 2, 1 - 2 * tail), betainccinv(0.5, df / 2, 2 * tail))
        far = betaincinv(df / 2, 0.5, 2 * tail)
        ratio = np.sqrt(np.where(near < 0.5, near / (1 - near), (1 - far) / far))
        beyond = np.exp(-(np.log(2 * tail) + log_tail(df)) / df)
        return np.copysign(np.sqrt(df) * np.where(beyond < FAR, ratio, beyond), q - 0.5)


def _shared(df: NDArray[np.float64]) -> NDArray[np.float64]:
    """A single df if all rows have the same, as in least squares, so that what depends on it alone is computed once."""
    return df[:1] if (df == df[:1]).all() else df


def _log_beta_slope(df: NDArray[np.float64]) -> NDArray[np.float64]:
    """ρ/ε of the CRPS: (ln B(1/2, ν−1/2) − ln B(1/2, ν/2)) / ((ν−1)/2), smooth through ν = 1."""
    half = (df - 1) / 2
    small = np.abs(half) < 1e-3
    e = np.where(small, half, 0.0)
    # Taylor in ε: the k-th coefficient is (−1)^k (2^k−1)(2^k−2) ζ(k)/k, and −2 ln 2 for k = 1.
    series = np.full_like(e, -2 * np.log(2))
    for k in range(2, 8):
        series += (-1) ** k * (2**k - 1) * (2**k - 2) * zeta(k) / k * e ** (k - 1)
    direct = (gamma_step(df / 2) - gamma_step(df - 0.5)) / np.where(small, 1.0, half)
    return np.where(small, series, direct)


def _expm1_over(a: NDArray[np.float64], e: NDArray[np.float64]) -> NDArray[np.float64]:
    """(exp(a·e) − 1) / e, which is a at e = 0."""
    return np.where(e == 0, a, np.expm1(a * e) / np.where(e == 0, 1.0, e))


def t_variance(df: Any) -> Any:
    """The variance of Student's t distribution of unit scale: df/(df − 2), infinite for df ≤ 2 and 1 for the normal.

    >>> float(t_variance(4.0)), float(t_variance(np.inf))
    (2.0, 1.0)
    """
    excess = np.asarray(df, dtype=np.float64) - 2.0
    return np.where(excess > 0, 1.0 + 2.0 / np.where(excess > 0, excess, 1.0), np.inf)[()]
