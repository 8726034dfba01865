"""The distribution of what is observed of a time that may be right-censored."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import distribution as valid
from credo.distributions import numeric as _quadrature
from credo.distributions.distribution import Array, Derived, Distribution

_TAIL = np.array([1e-9])


class RightCensored(Derived):
    """min(x, limit) in each row, where x has the distribution `base`.

    The probability of a larger x is at the limit, so that `log_prob` of the limit is ln P(x ≥ limit), and scores are
    those of what was observed of a time: the event, or that it had not happened by the limit. An infinite limit stands
    for a row that isn't censored.

    Parameters
    ----------
    base : Distribution
        Of numbers, with a density.
    limit : float or array of shape (n_rows,)
        Infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Normal, RightCensored
    >>> dist = RightCensored(Normal([0.0, 0.0], 1.0), [0.0, np.inf])
    >>> dist.log_prob([0.0, 0.0]).round(3), dist.mean.round(3)
    (array([-0.693, -0.919]), array([-0.399,  0.   ]))
    """

    base: Distribution
    limit: Array

    def __init__(self, base: Distribution, limit: ArrayLike) -> None:
        ends = np.atleast_1d(valid.numbers("limit", limit))
        if ends.shape not in ((1,), (len(base),)):
            raise ValueError(
                f"limit must be one number, or one for each of the {len(base)} rows; got shape {ends.shape}"
            )
        valid.reject(ends == -np.inf, ends, "limit must be a number, or infinite where there is none")
        ends = np.broadcast_to(ends, len(base))
        vars(self).update(base=base[:] if base._scalar else base, limit=valid.frozen(ends), _scalar=base._scalar)

    def __repr__(self) -> str:
        return f"RightCensored({self.base!r}, {valid.text(self.limit)})"

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """E(Y − m) = ∫ G and E(Y − m)² = 2∫ (x − m) G, with the median m, G = −F below it and 1 − F above."""
        mean, std = np.array(self.base._mean), np.array(self.base._std)
        rows = np.flatnonzero(np.isfinite(self.limit))
        if len(rows):
            part, middle = self.base[rows], self._quantile(np.array([0.5]))[rows, 0]
            edges = self._edges(rows, middle)

            def integrand(x: Array, own: NDArray[np.intp]) -> Array:
                upper, m = x > middle[own], middle[own]
                tail = part[own]._tail(x, upper)
                return np.stack([np.where(upper, tail, -tail), 2.0 * np.abs(x - m) * tail])

            first, second = np.reshape(_quadrature.integral(edges, integrand), (2, len(rows)))
            mean[rows], std[rows] = middle + first, np.sqrt(np.maximum(second - first**2, 0.0))
        return valid.frozen(mean), valid.frozen(std)

    def _edges(self, rows: NDArray[np.intp], y: Array) -> Array:
        """Panels from the lower tail of the base to the limit, with an edge at y."""
        part, end = self.base[rows], self.limit[rows]
        low = np.minimum(part._quantile(_TAIL)[:, 0], np.minimum(y, end))
        width, _ = part._widths()
        knots = np.clip(np.concatenate([part._knots(), y[None]]), low, end)
        return _quadrature.panels(low, end, knots, np.concatenate([width, np.zeros((1, len(y)))]))

    def _cdf(self, y: Array) -> Array:
        return np.where(y >= self.limit, 1.0, self.base._cdf(y))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        return np.where(y >= self.limit, ~upper, self.base._tail(y, upper)).astype(np.float64)

    def _log_prob(self, y: Array) -> Array:
        inside, ends = np.minimum(y, self.limit), np.broadcast_to(self.limit, y.shape)
        found = np.where(y > self.limit, -np.inf, self.base._log_prob(inside))
        at = (y == self.limit) & np.isfinite(self.limit)
        if at.any():
            rows = np.broadcast_to(np.arange(len(self)), y.shape)[at]
            found[at] = self.base[rows]._log_mass(ends[at], np.full(len(rows), np.inf))
        return found

    def _crps(self, y: Array) -> Array:
        if y.shape != (len(self),):
            rows = np.broadcast_to(np.arange(len(self)), y.shape)
            return self._take(rows.ravel())._crps(y.ravel()).reshape(y.shape)
        found = np.array(self.base._crps(y))
        rows = np.flatnonzero(np.isfinite(self.limit))
        if len(rows):
            part, end = self.base[rows], self.limit[rows]
            own_y = np.where(np.isinf(y[rows]), end, y[rows])

            def integrand(x: Array, own: NDArray[np.intp]) -> Array:
                return np.square(part[own]._cdf(x) - (x >= own_y[own]))

            # Above the limit, the cdf is 1.
            edges = self._edges(rows, np.minimum(own_y, end))
            found[rows] = _quadrature.integral(edges, integrand) + np.maximum(own_y - end, 0.0)
        return np.where(np.isinf(y), np.inf, found)

    def _quantile(self, q: Array) -> Array:
        return np.minimum(self.base._quantile(q), self.limit[:, None])

    def _isf(self, p: Array) -> Array:
        return np.minimum(self.base._isf(p), self.limit[:, None])

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.minimum(self.base._sample(n, rng), self.limit)

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self.limit[rows])

    def to_fields(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"base": self.base, "limit": self.limit}

    def _atoms(self) -> NDArray[np.bool_]:
        return self.base._atoms() | np.isfinite(self.limit)

    def _tail_index(self) -> Array:
        return self.base._tail_index()

    def _knots(self) -> Array:
        return np.minimum(self.base._knots(), self.limit)

    def _widths(self) -> tuple[Array, Array]:
        return self.base._widths()
