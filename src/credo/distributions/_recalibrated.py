"""Distributions whose probabilities are changed by a monotone map of the cdf."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri

from credo.core.linalg import EPS
from credo.distributions import distribution as valid
from credo.distributions import numeric as _quadrature
from credo.distributions.distribution import Array, Derived, Distribution
from credo.distributions.numeric import InverseCdf

# No probability of the base is taken to be smaller: a map with a or b below 1 has an infinite density there.
_MIN_PROBABILITY = 1e-300
_FARTHEST = np.array([1e-300])
# So many draws of each row are searched at once.
_DRAWS = 64


class _MappedCdf(Derived):
    """The cdf G(F(y)) for that of a base, F, and an increasing map G of the unit interval onto itself.

    Mean, standard deviation and CRPS are integrated numerically.
    """

    base: Distribution

    @abstractmethod
    def _mapped(self, tail: Array, upper: NDArray[np.bool_]) -> Array:
        """The tail probabilities that belong to those of the base."""

    @abstractmethod
    def _level(self, q: Array) -> Array:
        """The probability of the base that belongs to q."""

    @abstractmethod
    def _log_slope(self, below: Array, above: Array) -> Array:
        """ln G′ where F and 1 − F have these values."""

    def _cdf(self, y: Array) -> Array:
        return self._tail(y, np.zeros(y.shape, dtype=bool))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        return self._mapped(self.base._tail(y, upper), upper)

    def _log_prob(self, y: Array) -> Array:
        return self._log_factor(y) + self.base._log_prob(y)

    def _log_factor(self, y: Array) -> Array:
        """ln of G′, and where F jumps of its mean over the jump, by the tail in which G is."""
        below, above = (np.maximum(self.base._tail(y, np.full(y.shape, up)), _MIN_PROBABILITY) for up in (False, True))
        slope = self._log_slope(below, above)
        if not self.base._atoms().any():
            return slope
        before = np.nextafter(y, -np.inf)
        upper = self._tail(before, np.zeros(y.shape, dtype=bool)) > 0.5
        first, last = self.base._tail(before, upper), self.base._tail(y, upper)
        jump, rise = np.abs(last - first), np.abs(self._mapped(last, upper) - self._mapped(first, upper))
        # A smaller difference has lost more digits than the derivative is in error by.
        jumps = (jump > np.sqrt(EPS) * np.maximum(first, last)) & (rise > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(jumps, np.log(rise) - np.log(jump), slope)

    def _log_far_mass(self, low: Array, high: Array) -> Array:
        mean = self.base._mean
        near = np.where(np.isinf(low) | (mean >= high), high, low)
        return self._log_factor(near) + self.base._log_mass(low, high)

    def _atoms(self) -> NDArray[np.bool_]:
        return self.base._atoms()

    def _knots(self) -> Array:
        return self.base._knots()

    def _widths(self) -> tuple[Array, Array]:
        return self.base._widths()

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Those of the base, corrected by integrals of the difference between the cdfs."""
        base, index = self.base, self._tail_index()
        center, edges = base.mean, _quadrature.mesh(self._knots(), *self._widths())

        def integrand(x: Array, rows: NDArray[np.intp]) -> Array:
            upper = x > center[rows]
            other = base[rows]._tail(x, upper)
            own = self._take(rows)._mapped(other, upper)
            gap = np.where(upper, own - other, other - own)
            return np.stack([gap, 2 * (x - center[rows]) * gap])

        with np.errstate(all="ignore"):
            first, second = np.reshape(_quadrature.integral(edges, integrand), (2, len(self)))
            variance = base.std**2 + second - first**2
        # A map can make tails so heavy that there are no moments.
        mean = np.where(index > 1, center + first, np.nan)
        std = np.where(index > 2, np.sqrt(np.maximum(variance, 0.0)), np.inf)
        flat = base._std == 0
        return valid.frozen(np.where(flat, base.mean, mean)), valid.frozen(np.where(flat, base.std, std))

    def _ends(self) -> tuple[Array, Array]:
        """The ends of a search, of shape (n_rows, 1)."""
        return np.broadcast_to(self.base._quantile(_FARTHEST), (len(self), 1)), self.base._isf(_FARTHEST)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        uniform, found = np.maximum(rng.random((n, len(self))), _MIN_PROBABILITY), np.empty((n, len(self)))
        if not found.size:
            return found
        if self._atoms().any():
            levels = self._level(uniform)
            for i in range(len(self)):
                found[:, i] = self.base[[i]]._quantile(levels[:, i])[0]
            return found
        low, high = (end.T for end in self._ends())
        for start in range(0, n, _DRAWS):
            q = uniform[start : start + _DRAWS]
            inverse = InverseCdf(self._tail, q, 1.0 - q, smooth=~self._atoms())
            found[start : start + _DRAWS] = inverse.between(*(np.broadcast_to(end, q.shape) for end in (low, high)))
        return found

    def _crps(self, y: Array) -> Array:
        if y.shape != (len(self),):
            rows = np.broadcast_to(np.arange(len(self)), y.shape)
            return self._take(rows.ravel())._crps(y.ravel()).reshape(y.shape)
        width, reach = self._widths()
        knots, zero = np.concatenate([self._knots(), y[None]]), np.zeros((1, len(self)))
        edges = _quadrature.mesh(knots, np.concatenate([width, zero]), np.concatenate([reach, zero]))

        def integrand(x: Array, rows: NDArray[np.intp]) -> Array:
            return self._take(rows)._tail(x, x > y[rows]) ** 2

        with np.errstate(all="ignore"):
            return np.where((self._tail_index() > 0.5) & np.isfinite(y), _quadrature.integral(edges, integrand), np.inf)


class Recalibrated(_MappedCdf):
    """The distribution with the cdf B(F(y)), where F is that of the base and B the cdf of a beta distribution.

        p(y) = p_base(y) F(y)ᵃ⁻¹ (1 − F(y))ᵇ⁻¹ / Beta(a, b)

    If the base is calibrated, its PIT values F(y) are uniform, and a = b = 1. Otherwise a beta distribution is fitted
    to the PIT values of held-out rows: a, b > 1 makes distributions narrower, a, b < 1 wider, and a ≠ b moves them. For
    a mixture this is the beta-transformed linear pool (Ranjan & Gneiting 2010).

    Parameters
    ----------
    base : Distribution
    a, b : float

    Examples
    --------
    >>> from credo.distributions import Normal, Recalibrated
    >>> dist = Recalibrated(Normal([0.0, 5.0], 1.0), 2.0, 2.0)
    >>> dist.interval(0.95)[1].round(2), dist.mean.round(6)
    (array([1.31, 6.31]), array([0., 5.]))
    """

    a: float
    b: float

    def __init__(self, base: Distribution, a: float, b: float) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"base must be a distribution of numbers; got {base!r}")
        for name, value in (("a", a), ("b", b)):
            if not 0 < value < np.inf:
                raise ValueError(f"{name} must be a positive number; got {value!r}")
        vars(self).update(
            base=base[:] if base._scalar else base, a=float(a), b=float(b), _scalar=base._scalar,
            _discrete=base._discrete,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Recalibrated({self.base!r}, {self.a:.4g}, {self.b:.4g})"

    def _mapped(self, tail: Array, upper: NDArray[np.bool_]) -> Array:
        return np.where(upper, betainc(self.b, self.a, tail), betainc(self.a, self.b, tail))

    def _level(self, q: Array) -> Array:
        return np.asarray(betaincinv(self.a, self.b, q), dtype=np.float64)

    def _log_slope(self, below: Array, above: Array) -> Array:
        return (self.a - 1) * np.log(below) + (self.b - 1) * np.log(above) - betaln(self.a, self.b)

    def _quantile(self, q: Array) -> Array:
        return self._values(betaincinv(self.a, self.b, q), betaincinv(self.b, self.a, 1 - q), q)

    def _isf(self, p: Array) -> Array:
        return self._values(betaincinv(self.a, self.b, 1 - p), betaincinv(self.b, self.a, p), 1 - p)

    def _values(self, below: Array, above: Array, q: Array) -> Array:
        """The base's quantiles, each from the tail that it is in."""
        values = np.where(below < 0.5, self.base._quantile(below), self.base._isf(above))
        order = np.argsort(q)
        values[:, order] = np.maximum.accumulate(values[:, order], axis=1)
        return values

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self.a, self.b)

    def _tail_index(self) -> Array:
        # A tail t^−k becomes t^−ka below and t^−kb above.
        return self.base._tail_index() * min(self.a, self.b)


class GivenGroup(_MappedCdf):
    """The distribution of an outcome given others of its group, if the normal scores of a group are jointly normal.

        F(y | group) = Φ((Φ⁻¹(F(y)) − location) / scale)

    F is the distribution for a new group. For one whose outcomes are known, the normal score Φ⁻¹(F(y)) has the mean
    `location` and the standard deviation `scale` (a Gaussian copula). A base that is normal stays so.

    Parameters
    ----------
    base : Distribution
    location, scale : float or array of shape (n_rows,)

    Examples
    --------
    >>> from credo.distributions import GivenGroup, Normal
    >>> dist = GivenGroup(Normal([10.0, 10.0], 2.0), [0.0, 1.5], [1.0, 0.5])
    >>> dist.mean.round(6), dist.std.round(6)
    (array([10., 13.]), array([2., 1.]))
    """

    location: Array
    scale: Array

    _shown = ("base", "location", "scale")

    def __init__(self, base: Distribution, location: ArrayLike, scale: ArrayLike) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"base must be a distribution of numbers; got {base!r}")
        center, width = valid.rows(location=location, scale=scale)
        valid.reject(width <= 0, width, "scale must be positive")
        if center.size not in (1, len(base)):
            raise ValueError(f"location and scale must have one value, or one for each of the {len(base)} rows")
        location, scale = (valid.frozen(np.broadcast_to(values, len(base))) for values in (center, width))
        vars(self).update(
            base=base[:] if base._scalar else base, location=location, scale=scale, _scalar=base._scalar,
            _discrete=base._discrete,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"GivenGroup({self.base!r}, <{len(self)} rows>)"

    def _mapped(self, tail: Array, upper: NDArray[np.bool_]) -> Array:
        z = ndtri(tail)
        return ndtr((z + np.where(upper, self.location, -self.location)) / self.scale)

    def _level(self, q: Array) -> Array:
        return np.asarray(ndtr(self.location + self.scale * ndtri(q)), dtype=np.float64)

    def _log_slope(self, below: Array, above: Array) -> Array:
        z = np.where(below < 0.5, ndtri(below), -ndtri(above))
        return 0.5 * (z**2 - ((z - self.location) / self.scale) ** 2) - np.log(self.scale)

    def _quantile(self, q: Array) -> Array:
        return self._search(q, 1.0 - q)

    def _isf(self, p: Array) -> Array:
        return self._search(1.0 - p, p)

    def _search(self, q: Array, complement: Array) -> Array:
        """The quantiles at q = 1 − complement, whose levels of the base differ between the rows."""
        found, inner = np.empty((len(self), q.size)), (q > 0) & (complement > 0)
        if len(self) and inner.any():
            # The same ends for every level, so that a row's quantiles don't depend on the other rows.
            inverse = InverseCdf(self._tail, q[inner, None], complement[inner, None], smooth=~self._atoms())
            low, high = (np.broadcast_to(end.T, (int(inner.sum()), len(self))) for end in self._ends())
            found[:, inner] = inverse.between(low, high).T
        outer = np.flatnonzero(~inner)
        found[:, outer] = self.base._quantile(q[outer])
        order = np.argsort(q)
        found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
        return found

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self.location[rows], self.scale[rows])

    def _tail_index(self) -> Array:
        # P(|Y| > t) ~ t^−a becomes about t^−(a/scale²).
        return self.base._tail_index() / self.scale**2
