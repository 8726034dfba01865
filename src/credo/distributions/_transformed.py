"""The distribution of a target whose transform has a known distribution."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1, log_ndtr, ndtr

from credo.distributions import distribution as valid
from credo.distributions import numeric as _quadrature
from credo.distributions._mixture import Mixture
from credo.distributions._normal import Normal
from credo.distributions._transform import Identity, Log, Transform
from credo.distributions.distribution import Array, Derived, Distribution, standardize
from credo.distributions.numeric import InverseCdf

# Knots around each of the base's, in units of its width.
_OFFSETS = np.arange(-8.0, 9.0, 2.0)[:, None, None]


class _Mass(NamedTuple):
    """The base's probability below, above and inside the image of the transform."""

    below: Array
    above: Array
    inside: Array


class Transformed(Derived):
    """The distribution of y if g(y) has the distribution `base`, for each row.

        p(y) = p_base(g(y)) g'(y) / P_base(z is in the image of g)

    Quantiles, intervals, the cdf, the density and draws are exact. If the image of g is bounded, as for Box–Cox with λ
    ≠ 0, the base is truncated to it, so that the density integrates to one. Mean, standard deviation and CRPS have
    closed forms for the log of a normal, and are otherwise integrated numerically, accurate to about 1e-8 (less if
    tails are so heavy that they barely exist).

    A base with Student-t tails has no mean after a log: the mean is then infinite (NaN where both tails diverge), and
    so are standard deviation and CRPS. The median always exists.

    Parameters
    ----------
    base : Distribution
        The distribution of g(y); continuous, not over classes.
    transform : Transform
        g.

    Examples
    --------
    >>> from credo.distributions import Log, Normal, Transformed
    >>> dist = Transformed(Normal([0.0, 1.0], 0.5), Log())
    >>> dist.quantile(0.5).round(3)
    array([1.   , 2.718])
    >>> dist.mean.round(3)
    array([1.133, 3.08 ])
    >>> dist.interval(0.95)[0].round(3)
    array([0.375, 1.02 ])
    """

    base: Distribution
    transform: Transform

    def __init__(self, base: Distribution, transform: Transform) -> None:
        if not isinstance(base, Distribution) or base._discrete:
            raise TypeError(f"base must be a distribution with a density; got {base!r}")
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a Transform, such as Log(); got {transform!r}")
        vars(self).update(base=base[:] if base._scalar else base, transform=transform, _scalar=base._scalar)

    def __repr__(self) -> str:
        return f"Transformed({self.base!r}, {self.transform!r})"

    def _cdf(self, y: Array) -> Array:
        return self._tail(y, np.zeros(y.shape, dtype=bool))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        lower, higher = self.transform.domain
        inside = self._conditional(self._forward(y), upper)
        return np.where(y < lower, np.where(upper, 1.0, 0.0), np.where(y > higher, np.where(upper, 0.0, 1.0), inside))

    def _log_prob(self, y: Array) -> Array:
        lower, upper = self.transform.domain
        z = self._forward(y)
        with np.errstate(all="ignore"):
            density = self.base._log_prob(z) + self.transform.log_derivative(y) - np.log(self._mass.inside)
        return np.where((y > lower) & (y < upper) & ~self._degenerate, density, -np.inf)

    def _crps(self, y: Array) -> Array:
        if isinstance(self.transform, Identity):
            return self.base._crps(y)
        if y.shape != (len(self),):
            rows = np.broadcast_to(np.arange(len(self)), y.shape)
            return self._take(rows.ravel())._crps(y.ravel()).reshape(y.shape)
        if isinstance(self.transform, Log) and isinstance(self.base, Normal):
            score = _lognormal_crps(self.base, y)
        else:
            score, rows = np.full(len(self), np.inf), np.flatnonzero(self._tail_index() > 0.5)
            score[rows] = self._take(rows)._integrated_crps(y[rows])
        with np.errstate(invalid="ignore"):
            score = np.where(self._degenerate, np.abs(y - self._bound), score)
        return np.where(np.isinf(y) | (self._tail_index() <= 0.5), np.inf, np.maximum(score, 0.0))

    def _quantile(self, q: Array) -> Array:
        return self._values(self.base._quantile(q), q, 1 - q)

    def _isf(self, p: Array) -> Array:
        return self._values(self.base._isf(p), 1 - p, p)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        draws = self.transform.inverse(self.base._sample(n, rng))
        rows = np.flatnonzero(self._truncated)
        if n and len(rows):
            uniform = rng.uniform(np.finfo(np.float64).tiny, 1.0, (n, len(rows)))
            draws[:, rows] = self._take(rows)._solve(uniform, 1 - uniform)
        return draws

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self.transform)

    def _atoms(self) -> NDArray[np.bool_]:
        return self.base._atoms() | self._degenerate

    def _tail_index(self) -> Array:
        return np.minimum(*self.transform._tail_index(self.base._tail_index()))

    def _knots(self) -> Array:
        return self.transform.inverse(self._base_knots()[0])

    def _widths(self) -> tuple[Array, Array]:
        z, width, reach = self._base_knots()
        y = self.transform.inverse(z)
        with np.errstate(all="ignore"):
            # An infinite width belongs to a component without weight, which has no knots.
            length = np.where(np.isinf(width), np.inf, width * self.transform._slope(z, y))
            ends = [np.abs(self.transform.inverse(z + side * reach) - y) for side in (-1, 1)]
        return length, np.where(np.isfinite(reach), np.maximum(*ends), reach)

    def _base_knots(self) -> Array:
        """The base's knots and some around each, with their widths and reaches, on the scale of the base."""
        knots, (width, reach) = self.base._knots(), self.base._widths()
        step = np.where(np.isfinite(width), width, 0.0)
        stack = np.stack(np.broadcast_arrays(knots + _OFFSETS * step, width, reach))
        return stack.reshape(3, len(_OFFSETS) * len(knots), len(self))

    def _forward(self, y: Array) -> Array:
        """g(y), exact where y comes from an atom of the base."""
        z = self.transform.forward(y)
        if self.base._atoms().any():
            for knot in self.base._knots():
                z = np.where(y == self.transform.inverse(knot), knot, z)
        return z

    @cached_property
    def _mass(self) -> _Mass:
        """The base's probabilities outside and inside the image."""
        base, image = self.base, self.transform.image
        lower, upper = (np.full(len(base), end) for end in image)
        no, yes = np.zeros(len(base), dtype=bool), np.ones(len(base), dtype=bool)
        below = base._tail(lower, no) if np.isfinite(image[0]) else np.zeros(len(base))
        above = base._tail(upper, yes) if np.isfinite(image[1]) else np.zeros(len(base))
        inside = 1 - below - above
        # If one is near 1, the difference from 1 has lost its digits and is computed from the complement.
        if (below > 0.5).any():
            inside = np.where(below > 0.5, base._tail(lower, yes) - above, inside)
        if (above > 0.5).any():
            inside = np.where(above > 0.5, base._tail(upper, no) - below, inside)
        return _Mass(below, above, inside)

    @cached_property
    def _truncated(self) -> NDArray[np.bool_]:
        """Which rows of the base have some probability outside of the image, and some inside."""
        return (self._mass.below + self._mass.above > 1e-20) & ~self._degenerate

    @cached_property
    def _degenerate(self) -> NDArray[np.bool_]:
        """Which rows of the base have no probability inside the image: their y is the end of its domain."""
        return self._mass.inside <= 0

    @cached_property
    def _bound(self) -> Array:
        """The y of a degenerate row."""
        return self.transform.inverse(np.where(self._mass.below > 0.5, *self.transform.image))

    def _conditional(self, z: Array, upper: NDArray[np.bool_]) -> Array:
        """The base's cdf at z, or its complement where `upper`, given that it lies in the image."""
        tail, mass = self.base._tail(z, upper), self._mass
        if self._truncated.any():
            with np.errstate(all="ignore"):
                inside = np.clip((tail - np.where(upper, mass.above, mass.below)) / mass.inside, 0.0, 1.0)
            tail = np.where(self._truncated, inside, tail)
        if self._degenerate.any():
            reached = (self.transform.inverse(z) >= self._bound) != upper
            tail = np.where(self._degenerate, reached.astype(np.float64), tail)
        return tail

    def _values(self, z: Array, q: Array, complement: Array) -> Array:
        """The quantiles at q = 1 − complement, given those of the base."""
        values = self.transform.inverse(z)
        values[self._degenerate] = self._bound[self._degenerate, None]
        rows, inner = np.flatnonzero(self._truncated), (q > 0) & (complement > 0)
        if len(rows) and inner.any():
            found = self._take(rows)._solve(q[inner, None], complement[inner, None])
            values[np.ix_(rows, inner)] = found.T
            order = np.argsort(q)
            values[:, order] = np.maximum.accumulate(values[:, order], axis=1)
        return values

    def _solve(self, q: Array, complement: Array) -> Array:
        """The quantiles at q = 1 − complement, of shape (k, 1) or (k, n_rows), by a search for those of the base."""
        low, high = self._ends(np.finfo(np.float64).tiny)
        shape = np.broadcast_shapes(q.shape, low.shape)
        inverse = InverseCdf(self._conditional, q, complement, smooth=~self.base._atoms())
        return self.transform.inverse(inverse.between(np.broadcast_to(low, shape), np.broadcast_to(high, shape)))

    def _ends(self, p: float) -> tuple[Array, Array]:
        """The ends of the base within the image, leaving out a probability of at most p on either side."""
        parts = [(np.ones(len(self), dtype=bool), self.base)]
        if isinstance(self.base, Mixture):
            parts = [(weight > 0, part) for weight, part in self.base._parts()]
        level = np.array([p])
        low = np.min([np.where(used, part._quantile(level)[:, 0], np.inf) for used, part in parts], axis=0)
        high = np.max([np.where(used, part._isf(level)[:, 0], -np.inf) for used, part in parts], axis=0)
        image = self.transform.image
        return np.clip(low, *image), np.clip(high, *image)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and standard deviation."""
        if isinstance(self.transform, Identity):
            mean, std = self.base.mean, self.base.std
        elif isinstance(self.transform, Log) and isinstance(self.base, Normal):
            mean, std = _lognormal_moments(self.base)
        else:
            mean, std = self._numeric_moments()
        return valid.frozen(mean), valid.frozen(std)

    def _mesh(self, *jumps: Array) -> Array:
        """The edges of panels on the scale of the base, with the given points among them."""
        transform, base = self.transform, self.base
        smallest, largest = transform.domain
        ends = transform.forward([1e-300 if smallest == 0 else -1e150, min(largest, 1e150)])
        # Without a probability of 1e-45 on either side, and values whose squares would overflow.
        low, high = (np.clip(end, *ends) for end in self._ends(1e-45))
        kinks = [np.full(len(self), kink) for kink in transform._kinks()]
        extra = np.clip(np.stack([*jumps, *kinks]), low, high)
        width = np.concatenate([base._widths()[0], np.zeros(extra.shape)])
        knots = np.concatenate([base._knots(), extra])
        # Near the end of an image, panels would shrink indefinitely; they may get very small if y is infinite there.
        least = 1e-3 if np.isinf(transform._tail_index(np.array(np.inf))).all() else 1e-12
        floor = least * np.where((width > 0) & np.isfinite(width), width, np.inf).min(axis=0)
        floor = np.where(np.isfinite(floor), floor, 1e-3 * (high - low))
        return _quadrature.panels(
            low, high, knots, width, growth=1.0, widest=lambda z: np.maximum(transform._panel(z), floor)
        )

    def _numeric_moments(self) -> tuple[Array, Array]:
        """Mean and standard deviation by quadrature, where they exist."""
        lower, upper = self.transform._tail_index(self.base._tail_index())
        mean = np.where(upper <= 1, np.where(lower <= 1, np.nan, np.inf), -np.inf)
        std = np.where(np.isnan(mean), np.nan, np.inf)
        rows = np.flatnonzero(np.minimum(lower, upper) > 1)
        mean[rows], std[rows] = self._take(rows)._integrated_moments()
        std[np.minimum(lower, upper) <= 2] += np.inf
        return np.where(self._degenerate, self._bound, mean), np.where(self._degenerate, 0.0, std)

    def _integrated_moments(self) -> tuple[Array, Array]:
        # E(y − y₀) = ∫ (1 − F) dy above y₀ less ∫ F dy below it, and E(y − y₀)² = 2∫ |y − y₀| (1 − F or F) dy.
        center = self.base.mean
        center = np.where(np.isfinite(center), center, self.base._knots()[0])
        edges = self._mesh(center)
        center = np.clip(center, edges[0], edges[-1])
        middle = self.transform.inverse(center)

        def integrand(z: Array, rows: NDArray[np.intp]) -> Array:
            upper, y = z > center[rows], self.transform.inverse(z)
            tail = self._take(rows)._conditional(z, upper) * self.transform._slope(z, y)
            return np.stack([np.where(upper, tail, -tail), 2 * np.abs(y - middle[rows]) * tail])

        with np.errstate(all="ignore"):
            first, second = np.reshape(_quadrature.integral(edges, integrand), (2, len(self)))
            return middle + first, np.sqrt(np.maximum(second - first * first, 0.0))

    def _integrated_crps(self, y: Array) -> Array:
        place = np.nan_to_num(self.transform.forward(y))
        edges = self._mesh(place)
        place = np.clip(place, edges[0], edges[-1])

        def integrand(z: Array, rows: NDArray[np.intp]) -> Array:
            tail = self._take(rows)._conditional(z, z > place[rows])
            return tail * tail * self.transform._slope(z, self.transform.inverse(z))

        with np.errstate(all="ignore"):
            # Beyond the ends of the quadrature F is 0 or 1.
            return _quadrature.integral(edges, integrand) + np.abs(y - self.transform.inverse(place))


def _lognormal_moments(base: Normal) -> tuple[Array, Array]:
    """exp(μ + σ²/2), and √(exp σ² − 1) times that, by logs so that no factor overflows alone."""
    with np.errstate(all="ignore"):
        log_mean, square = base.mean + base.var / 2, base.var
        log_spread = np.where(square > 1, square + np.log1p(-np.exp(-square)), np.log(expm1(np.minimum(square, 1.0))))
        return np.exp(log_mean), np.exp(log_mean + log_spread / 2)


def _lognormal_crps(base: Normal, y: Array) -> Array:
    """y(2Φ(ω) − 1) − 2 exp(μ + σ²/2) (Φ(ω − σ) − Φ(−σ/√2)) with ω = (ln y − μ)/σ (Baran & Lerch 2015)."""
    with np.errstate(all="ignore"):
        omega = standardize(np.log(np.maximum(y, 0.0)), base.mean, base.std)
        log_mean = base.mean + base.var / 2
        inner = np.exp(log_mean + log_ndtr(omega - base.std)) - np.exp(log_mean + log_ndtr(-base.std / np.sqrt(2)))
        score = np.where(np.isinf(y), np.inf, y * (2 * ndtr(omega) - 1)) - 2 * inner
        return np.where(base.std > 0, score, np.abs(y - np.exp(base.mean)))
