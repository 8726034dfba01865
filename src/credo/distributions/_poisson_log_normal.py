"""The distribution of a count whose log rate is normal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, gammaln, ndtr, ndtri, wrightomega

from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, Distribution

# Integrals over the log rate are sums of Gauss–Legendre rules between edges, these numbers of widths from a center.
_SPANS = np.array([-8.5, -5.5, -3.5, -1.7, 0.0, 1.7, 3.5, 5.5, 8.5])[:, None]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# A smaller standard deviation of the log rate gives the same result up to rounding.
_MIN_STD = 1e-7
# The logarithms of larger counts are as good as normal, to a relative error of 1/√count.
_MAX_COUNT = 1e15
# CRPS: counts that are summed one by one, and quantiles between which the sum over larger ones is an integral.
_SUMMED_COUNTS = 500
_LEVELS = np.array([1e-9, 1e-6, 1e-3, 0.03, 0.2, 0.5, 0.8, 0.97, 1 - 1e-3, 1 - 1e-5, 1 - 1e-7, 1 - 1e-9])


class PoissonLogNormal(Distribution):
    """A count y = 0, 1, 2, … of rate e^g with g ~ N(loc, scale²), for each row.

        P(y) = ∫ e^(gy − e^g)/y! N(g | loc, scale²) dg

    The integral is computed numerically, to about ten digits. `log_prob` and `crps` raise an error for outcomes that
    aren't counts. Rates beyond 1e18 are drawn as 1e18. The CRPS is Σ_k (F(k) − 1{y ≤ k})²; for counts beyond 500, it
    has about four digits if the scale is below 6.

    Parameters
    ----------
    loc : float or array of shape (n_rows,)
        Mean of the log rate.
    scale : float or array of shape (n_rows,), default 0.0
        Standard deviation of the log rate; zero is the Poisson distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import PoissonLogNormal
    >>> dist = PoissonLogNormal(np.log([2.0, 2.0]), [0.0, 0.5])
    >>> dist.mean.round(3), dist.quantile(0.95)
    (array([2.   , 2.266]), array([5., 6.]))
    >>> np.exp(dist.log_prob(0)).round(4)
    array([0.1353, 0.1639])
    """

    _shown = ("loc", "scale")
    _discrete = True
    _loc: Array
    _scale: Array

    def __init__(self, loc: ArrayLike, scale: ArrayLike = 0.0) -> None:
        scalar = valid.are_scalars(loc, scale)
        loc, scale = valid.rows(loc=loc, scale=scale)
        valid.reject(scale < 0, scale, "scale must not be negative")
        vars(self).update(_loc=loc, _scale=scale, _scalar=scalar)

    @property
    def loc(self) -> Array:
        """The mean of each row's log rate."""
        return self._unless_scalar(self._loc)

    @property
    def scale(self) -> Array:
        """The standard deviation of each row's log rate."""
        return self._unless_scalar(self._scale)

    @property
    def _mean(self) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self._loc + 0.5 * self._scale**2)

    @property
    def _std(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            root = np.hypot(np.sqrt(self._mean), self._mean * np.sqrt(np.expm1(self._scale**2)))
        return np.where(np.isnan(root), np.inf, root)

    def __len__(self) -> int:
        return self._loc.size

    def _cdf(self, y: Array) -> Array:
        """E Q(y + 1, e^g), which is the probability of at most y for a whole y."""
        return self._continuous_cdf(np.floor(y))

    def _continuous_cdf(self, y: Array) -> Array:
        count = np.clip(y, 0.0, _MAX_COUNT)
        shape = self._shape(y.shape)

        def density(g: Array, gap: Array, k: Array, scale: Array) -> Array:
            below = gammaincc(k + 1.0, np.exp(np.minimum(g, 700.0)))
            return below * np.exp(-0.5 * np.square(gap / scale)) / (np.sqrt(2 * np.pi) * scale)

        # Q falls from one to zero around ln(y + ½), over a few times 1/√(y + 1).
        steep = np.log(count + 0.5) - self._loc
        found = self._integral(density, count, np.zeros(shape), steep, 1.0 / np.sqrt(count + 1.0))
        large = ndtr((np.log(np.maximum(y, _MAX_COUNT)) - self._loc) / np.hypot(self._scale, 1.0 / np.sqrt(_MAX_COUNT)))
        return np.where(y > _MAX_COUNT, large, np.where(y >= 0, np.minimum(found, 1.0), 0.0))

    def _log_prob(self, y: Array) -> Array:
        _reject_others(y)
        scale = np.maximum(self._scale, _MIN_STD)
        # The mode solves y − e^g = (g − loc)/scale²: with u = scale²·e^g, u + ln u is known.
        u = wrightomega(self._loc + y * scale**2 + 2.0 * np.log(scale))
        shift = np.where(u > 1.0, np.log(np.maximum(u, 1.0) / scale**2) - self._loc, y * scale**2 - u)
        top = _log_joint(self._loc + shift, shift, y, scale)

        def density(g: Array, gap: Array, k: Array, scale: Array, top: Array) -> Array:
            # Nowhere above the mode, but for rounding errors at huge rates.
            return np.exp(np.minimum(_log_joint(g, gap, k, scale) - top, 0.0))

        return top + np.log(self._integral(density, y, shift, shift, scale / np.sqrt(1.0 + u), top))

    def _integral(self, density: Any, y: Array, center: Array, steep: Array, width: Array, *more: Array) -> Array:
        """∫ dg of a function of g, g − loc, y and scale.

        Edges are `scale` apart around `center` and, within their range, `width` apart around `steep`, where the
        function changes fast. Both points are relative to `loc`, so that they stay apart even if the scale is small.
        """
        shape = self._shape(y.shape)
        columns = (y, center, steep, width, self._loc, np.maximum(self._scale, _MIN_STD), *more)
        flat = [np.broadcast_to(values, shape).ravel() for values in columns]
        total, step = np.empty(len(flat[0])), max(1, 2**20 // (2 * len(_SPANS) * len(_NODES)))
        for start in range(0, len(total), step):
            count, middle, near, narrow, loc, scale, *rest = (values[start : start + step] for values in flat)
            wide = _SPANS * scale
            edges = np.sort(np.concatenate([wide, np.clip(near - middle + _SPANS * narrow, wide[0], wide[-1])]), axis=0)
            half = 0.5 * np.diff(edges, axis=0)[:, None]
            gap = middle + (0.5 * (edges[1:] + edges[:-1])[:, None] + half * _NODES[:, None])
            values = _WEIGHTS[:, None] * half * density(loc + gap, gap, count, scale, *rest)
            total[start : start + step] = values.sum(axis=(0, 1))
        return total.reshape(shape)

    def _crps(self, y: Array) -> Array:
        _reject_others(y)
        last = 1.0 + np.maximum(self._quantile(_LEVELS[-1:])[:, 0], y)
        score = [
            self[place[-1] % len(self)]._score(float(y[place]), float(last[place])) for place in np.ndindex(y.shape)
        ]
        return np.array(score).reshape(y.shape)

    def _score(self, y: float, last: float) -> float:
        """The CRPS of one row: small counts are summed over, and the sum over others up to `last` is an integral.

        Σ G(k) is ∫ G from k − ½ to k + ½, with a cdf that is continued between the counts.
        """
        k = np.arange(min(last, _SUMMED_COUNTS))
        score = float(np.square(np.cumsum(np.exp(self._log_prob(k))) - (k >= y)).sum())
        if last <= _SUMMED_COUNTS or np.isinf(last):
            return score if last <= _SUMMED_COUNTS else np.inf
        more = np.geomspace(_SUMMED_COUNTS, last, 2 + int(np.log(last / _SUMMED_COUNTS)))
        edges = np.unique(np.clip(np.append(self._quantile(_LEVELS)[0], [y, *more]), _SUMMED_COUNTS, last)) - 0.5
        # Over ln x, on which the cdf is smooth for any scale.
        half = 0.5 * np.diff(np.log(edges))[:, None]
        x = edges[:-1, None] * np.exp(half * (1.0 + _NODES))
        gap = self._continuous_cdf(x.ravel()).reshape(x.shape) - (x >= y - 0.5)
        return score + float((half * _WEIGHTS * x * gap**2).sum())

    def _quantile(self, q: Array) -> Array:
        level, shape = q[:, None], (len(q), len(self))
        inner = (level > 0) & (level < 1)
        spread = np.sqrt(self._scale**2 + 1.0 / (1.0 + np.exp(np.minimum(self._loc, 700.0))))
        z = ndtri(np.where(inner, level, 0.5))
        with np.errstate(over="ignore"):
            large = np.exp(self._loc + np.hypot(self._scale, 1.0 / np.sqrt(_MAX_COUNT)) * z)
        guess = np.exp(np.minimum(self._loc + spread * z, np.log(_MAX_COUNT)))
        inner = inner & (large <= _MAX_COUNT)
        # From a bracket around the guess that is widened until it holds the quantile, by bisection.
        width = np.ceil(0.1 * guess) + 1.0
        low, high = np.maximum(np.floor(guess) - width, -1.0), np.floor(guess) + width
        while (wrong := inner & (self._cdf(high) < level)).any():
            low, high = np.where(wrong, high, low), np.where(wrong, 2.0 * high + 1.0, high)
        while (wrong := inner & (low >= 0) & (self._cdf(low) >= level)).any():
            low, high = np.where(wrong, np.floor(0.5 * low) - 1.0, low), np.where(wrong, low, high)
        while (inner & ((middle := np.floor(0.5 * (low + high))) > low) & (middle < high)).any():
            reached = (self._cdf(middle) >= level) & (middle > low)
            low, high = np.where(reached | (middle == low), low, middle), np.where(reached, middle, high)
        found = np.where(level <= 0, 0.0, np.where(level >= 1, np.inf, np.where(inner, high, large)))
        return np.broadcast_to(found, shape).T.copy()

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        g = self._loc + self._scale * rng.standard_normal((n, len(self)))
        return rng.poisson(np.exp(np.minimum(g, np.log(1e18))))

    def _atoms(self) -> NDArray[np.bool_]:
        return np.ones(len(self), dtype=bool)

    def _knots(self) -> Array:
        last = float(self._quantile(np.array([1.0 - 1e-14])).max(initial=0.0))
        counts = np.unique(np.linspace(0.0, last, int(min(last, 5000.0)) + 1).round())
        return np.broadcast_to(counts[:, None], (len(counts), len(self)))


def _log_joint(g: Array, gap: Array, y: Array, scale: Array) -> Array:
    """The log density of the log rate g = loc + gap and the log probability of y given it."""
    log_normal = -0.5 * np.square(gap / scale) - np.log(scale) - 0.5 * np.log(2 * np.pi)
    return y * g - np.exp(np.minimum(g, 700.0)) - gammaln(y + 1.0) + log_normal


def _reject_others(y: Array) -> None:
    bad = (y < 0) | (y != np.floor(y)) | np.isinf(y)
    valid.reject(bad, y, "outcomes of a PoissonLogNormal must be counts 0, 1, 2, …")
