"""The distribution of y if its latent value is normal: ∫ p(y | f) N(f | mean, std²) df."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, Distribution
from credo.distributions.numeric import InverseCdf

# Gauss–Hermite nodes: the integrand is smooth in f on the scale of the posterior's standard deviation.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Levels between whose quantiles the CRPS is integrated piece by piece.
_LEVELS = np.array([1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 1 - 1e-7, 1 - 1e-10])
_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(12)
# Counts up to this many are tabulated, so many entries at once.
_TABULATED_COUNTS, _BLOCK_ENTRIES = 5000, 2_000_000
# Amounts are at least this, and at most its inverse.
_LEAST = 1e-300
# The sum over counts of a CRPS is a sum up to this many, and an integral beyond.
_SUMMED_COUNTS = 2000


class Marginal(Distribution):
    """y | f ~ likelihood with f ~ N(loc, scale²) in each row; with probability `zero`, y is 0 instead.

    The likelihood has `mean(f)`, `variance(f)`, `tail(y, f, upper)`, `draw(f, rng)`, `support` and `is_discrete`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gamma, Marginal
    >>> dist = Marginal(Gamma(4.0), np.log([2.0]), [0.0])
    >>> dist.mean.round(6), dist.std.round(6)
    (array([2.]), array([1.]))
    """

    likelihood: Any
    _loc: Array
    _scale: Array
    _zero: Array

    def __init__(self, likelihood: Any, loc: ArrayLike, scale: ArrayLike, zero: ArrayLike = 0.0) -> None:
        scalar = valid.are_scalars(loc, scale, zero)
        loc, scale, zero = valid.rows(loc=loc, scale=scale, zero=zero)
        valid.reject(scale < 0, scale, "scale must not be negative")
        valid.reject((zero < 0) | (zero > 1), zero, "zero must be a probability")
        vars(self).update(
            likelihood=likelihood, _loc=loc, _scale=scale, _zero=zero, _scalar=scalar, _discrete=likelihood.is_discrete
        )

    def __len__(self) -> int:
        return self._loc.size

    def __repr__(self) -> str:
        return f"Marginal({self.likelihood!r}, <{len(self)} rows>)"

    def _latents(self, n_axes: int = 1) -> Array:
        """Nodes of f, with the axis of the nodes first and that of the rows last."""
        return (self._loc + self._scale * _NODES[:, None]).reshape(-1, *(1,) * (n_axes - 1), len(self))

    def _average(self, values: Array) -> Array:
        return np.tensordot(_WEIGHTS, values, axes=1)

    @property
    def _mean(self) -> Array:
        return (1.0 - self._zero) * self._average(self.likelihood.mean(self._latents()))

    @property
    def _std(self) -> Array:
        f = self._latents()
        mean = self.likelihood.mean(f)
        center = self._average(mean)
        spread = self._average(self.likelihood.variance(f) + (mean - center) ** 2)
        return np.sqrt((1.0 - self._zero) * (spread + self._zero * center**2))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        # An incomplete beta or gamma function costs about as much as 70 probabilities of counts.
        top = float(y.max(initial=0.0))
        if not self._discrete or y.shape[-1] != len(self) or top > min(70 * y.size / len(self), _TABULATED_COUNTS):
            return self._exact_tail(y, upper)
        last = int(top)
        probs, place = self._probabilities(last), np.maximum(np.floor(y), 0.0).astype(np.intp).reshape(-1, len(self))
        below = np.take_along_axis(np.cumsum(probs, axis=0), place, axis=0).reshape(y.shape)
        tail = np.minimum(np.where(y < 0, 0.0, below), 1.0)
        if upper.any():
            # Summed from the far end: 1 − F has no digits there.
            at, everywhere = np.full((1, len(self)), float(last)), np.ones((1, len(self)), dtype=bool)
            beyond = self._exact_tail(at, everywhere)
            sums = np.cumsum(np.concatenate([beyond, probs[:0:-1]]), axis=0)[::-1]
            above = np.where(y < 0, 1.0, np.take_along_axis(sums, place, axis=0).reshape(y.shape))
            tail = np.where(upper, np.minimum(above, 1.0), tail)
        return tail

    def _cumulated(self, top: int) -> Array:
        """The cdf at the counts 0 to top, of shape (top + 1, n_rows)."""
        return np.minimum(np.cumsum(self._probabilities(top), axis=0), 1.0)

    def _probabilities(self, top: int) -> Array:
        """Those of the counts 0 to top, of shape (top + 1, n_rows)."""
        block = max(1, _BLOCK_ENTRIES // (len(_NODES) * len(self)))
        probs = np.empty((top + 1, len(self)))
        for start in range(0, top + 1, block):
            k = np.arange(start, min(start + block, top + 1), dtype=np.float64)[:, None]
            probs[start : start + block] = np.exp(self._log_prob(np.broadcast_to(k, (len(k), len(self)))))
        return probs

    def _exact_tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        # A search may begin at the largest float.
        with np.errstate(over="ignore"):
            above = self._average(self.likelihood.tail(y[None], self._latents(y.ndim), np.asarray(upper)[None]))
        # Rounded weights may sum to more than one.
        above, share = np.minimum(above, 1.0), 1.0 - self._zero
        return np.where(
            upper,
            np.where(y < 0, 1.0, share * above),
            np.where(y < 0, 0.0, np.minimum(self._zero + share * above, 1.0)),
        )

    def _cdf(self, y: Array) -> Array:
        found = np.minimum(self._tail(y, np.zeros(y.shape, dtype=bool)), 1.0)
        return np.where(y >= self.likelihood.support[1], 1.0, found)

    def _log_prob(self, y: Array) -> Array:
        low, high = self.likelihood.support
        with np.errstate(all="ignore"):
            logs = self.likelihood.log_prob(np.broadcast_to(y[None], (len(_NODES), *y.shape)), self._latents(y.ndim))
            top = logs.max(axis=0)
            found = top + np.log(self._average(np.exp(logs - top))) + np.log1p(-self._zero)
            outside = (y < low) | (y > high) | (self._discrete & (y != np.floor(y)))
            found = np.where(outside | np.isnan(found), -np.inf, found)
            return np.where((y == 0) & (self._zero > 0), np.log(self._zero), found)

    def _quantile(self, q: Array) -> Array:
        if not self._discrete or not len(self):
            return self._solved(q)
        found, inner = np.empty((len(self), q.size)), q[(q > 0) & (q < 1)]
        found[:, q <= 0], found[:, q >= 1] = 0.0, self.likelihood.support[1]
        rest, top = np.arange(len(self)), 64
        while len(rest) and inner.size:
            if top > _TABULATED_COUNTS:
                found[np.ix_(rest, (q > 0) & (q < 1))] = self._take(rest)._searched(inner)
                break
            table = self._take(rest)._cumulated(top)
            known = table[-1] >= inner.max()
            place = np.stack([(table[:, known] < level).sum(axis=0) for level in inner.tolist()], axis=1)
            found[np.ix_(rest[known], (q > 0) & (q < 1))] = place
            rest, top = rest[~known], 8 * top
        return found

    def _searched(self, q: Array) -> Array:
        """Quantiles of large counts, by bisection: of their logs while the ends are far apart."""
        level, shape = q[:, None], (len(q), len(self))
        inner = np.broadcast_to((level > 0) & (level < 1), shape)
        start = np.full(shape, -1.0)
        end = np.floor(np.clip(np.broadcast_to(self._mean + self._std, shape), 1.0, 1 / _LEAST)) + 1.0
        while (short := inner & (end < 1 / _LEAST) & (self._cdf(end) < level)).any():
            end = np.where(short, np.minimum(np.square(np.minimum(end, 1e150)), 1 / _LEAST), end)
        while True:
            far = end > 4.0 * (start + 2.0)
            middle = np.floor(np.where(far, np.sqrt(start + 2.0) * np.sqrt(end), 0.5 * (start + end)))
            open_ = (start < middle) & (middle < end)
            if not open_.any():
                break
            reached = self._cdf(middle) >= level
            start, end = np.where(open_ & ~reached, middle, start), np.where(open_ & reached, middle, end)
        return np.where(level >= 1, self.likelihood.support[1], np.where(level <= 0, 0.0, end)).T.copy()

    def _solved(self, q: Array) -> Array:
        """Quantiles of a density beside a probability of zero; those of amounts on the log scale."""
        part, last = type(self)(self.likelihood, self._loc, self._scale), self.likelihood.support[1]
        # The levels of the density, and what is above them.
        share = np.maximum(1.0 - self._zero, _LEAST)
        level, complement = (q[:, None] - self._zero) / share, (1.0 - q[:, None]) / share
        inner = (level > 0) & (complement > 0)
        level, complement = np.where(inner, level, 0.5), np.where(inner, complement, 0.5)
        smooth = np.ones(len(self), dtype=bool)
        if np.isfinite(last):
            inverse = InverseCdf(part._exact_tail, level, complement, smooth=smooth)
            found = inverse.between(np.full(level.shape, _LEAST), np.full(level.shape, last))
        else:

            def tail(t: Array, upper: NDArray[np.bool_]) -> Array:
                return part._exact_tail(np.exp(t), upper)

            start = np.broadcast_to(np.clip(np.log(part._mean), np.log(_LEAST), -np.log(_LEAST)), level.shape)
            low = _reached(lambda t: tail(t, np.zeros(t.shape, dtype=bool)) < level, start, -1.0)
            high = _reached(lambda t: tail(t, np.ones(t.shape, dtype=bool)) <= complement, start, 1.0)
            found = np.exp(InverseCdf(tail, level, complement, smooth=smooth).between(low, high))
        return np.where(inner, found, np.where(q[:, None] >= 1, last, 0.0)).T.copy()

    def _crps(self, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        knots = self._ranks
        last = np.maximum(knots[-1], y)
        if self._discrete and float(last.max(initial=0.0)) <= _SUMMED_COUNTS:
            k = np.arange(float(last.max(initial=0.0)) + 1.0)
            heights = self._cdf(np.broadcast_to(k[:, None], (len(k), len(self))))
            k = k.reshape(-1, *(1,) * y.ndim)
            return np.square(heights.reshape(len(k), *(1,) * (y.ndim - 1), len(self)) - (k >= y)).sum(axis=0)
        shape = (len(knots), *(1,) * (y.ndim - 1), len(self))
        edges = np.broadcast_to(knots.reshape(shape), (len(knots), *y.shape))
        edges = np.sort(np.concatenate([np.zeros((1, *y.shape)), edges, y[None]]), axis=0)
        total = np.zeros(y.shape)
        for low, high in pairwise(edges):
            half = 0.5 * (high - low)
            for node, weight in zip(_PANEL_NODES, _PANEL_WEIGHTS, strict=True):
                x = low + half * (1.0 + node)
                total += weight * half * np.square(self._cdf(x) - (x >= y))
        return total

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        f = self._loc + self._scale * rng.standard_normal((n, len(self)))
        return np.where(rng.random(f.shape) < self._zero, 0.0, self.likelihood.draw(f, rng))

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.likelihood, self._loc[rows], self._scale[rows], self._zero[rows])

    def to_fields(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"likelihood": self.likelihood, "loc": self._loc, "scale": self._scale, "zero": self._zero}

    def _atoms(self) -> NDArray[np.bool_]:
        return np.full(len(self), self._discrete) | (self._zero > 0)

    def _knots(self) -> Array:
        return self._ranks

    @cached_property
    def _ranks(self) -> Array:
        """The quantiles at fixed levels."""
        return valid.frozen(self._quantile(_LEVELS).T)

    def _widths(self) -> tuple[Array, Array]:
        knots = self._knots()
        width = np.zeros(knots.shape) if self._discrete else np.broadcast_to(0.25 * self._std, knots.shape)
        return width, np.zeros(knots.shape)


def _reached(holds: Callable[[Array], Any], start: Array, step: float) -> Array:
    """The first t = start, start + step, start + 3 step, … at which a condition holds, or the log of the last float."""
    t, limit = start, -np.log(_LEAST)
    while (far := ~holds(t) & (np.abs(t) < limit)).any():
        t, step = np.where(far, np.clip(t + step, -limit, limit), t), 2.0 * step
    return t
