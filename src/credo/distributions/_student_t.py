"""Student's t distribution, in its location-scale form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, zeta

from credo.distributions import _student_t_cdf as standard
from credo.distributions import _validation as valid
from credo.distributions._distribution import Array, LocationScale, standardize
from credo.distributions._student_t_cdf import gamma_ratio, log_tail

# Quadrature leaves out tails in which ∫F², in units of the scale, is less than this.
_NEGLIGIBLE = 1e-13


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
        valid.refuse(df <= 0, df, "df must be positive")
        valid.refuse(scale < 0, scale, "scale must not be negative")
        vars(self).update(_df=df, _loc=loc, _scale=scale, _scalar=scalar)

    @property
    def df(self) -> Array:
        """The degrees of freedom of each row."""
        return self._unless_scalar(self._df)

    @property
    def loc(self) -> Array:
        """The centre of each row, which is its median."""
        return self._unless_scalar(self._loc)

    @property
    def scale(self) -> Array:
        """The scale of each row; not its standard deviation."""
        return self._unless_scalar(self._scale)

    @property
    def _mean(self) -> Array:
        return np.where((self._df > 1) | self._atoms(), self._loc, np.nan)

    @property
    def _std(self) -> Array:
        with np.errstate(all="ignore"):
            std = np.where(self._df > 1, self._scale * np.sqrt(t_variance(self._df)), np.nan)
        return np.where(self._atoms(), 0.0, std)

    def _standard_cdf(self, z: Array) -> Array:
        return standard.cdf(z, self._df)

    def _standard_quantile(self, q: Array) -> Array:
        return standard.quantile(q[None, :], standard.common_df(self._df)[:, None])

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
            tail = standard.cdf(-np.abs(standardize(y, self._loc, self._scale)), df)
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
        log_r = (0.5 * np.log(df) - np.log(4 * _NEGLIGIBLE * (2 * df - 1)) - 2 * log_tail(df)) / (2 * df - 1)
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
