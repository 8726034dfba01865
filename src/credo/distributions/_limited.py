"""Distributions of a target whose possible values are known: counts, amounts that are never negative, shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.linalg import EPS
from credo.distributions import distribution as valid
from credo.distributions import numeric as _quadrature
from credo.distributions.distribution import Array, Derived, Distribution

# A tail probability beyond which nothing is summed.
_TAIL = np.array([1e-9])
# A probability beyond an end that changes mean and CRPS by less than about 1e-4 standard deviations.
_NEGLIGIBLE = 1e-4
# With standard deviations of more steps, a sum over the possible values differs from the integral by less than 1e-4 of
# it. Tables reach as many standard deviations to either side, and farther for counts, whose tails are exponential; what
# is beyond is integrated if its probability isn't negligible.
_COARSE, _WIDTHS, _COUNT_WIDTHS = 30.0, 8.0, 16.0
_MISSED = 1e-6
_MAX_DOUBLINGS = 200
# Mean, standard deviation and CRPS.
Moments = tuple[Array, Array, Array]


class _Table(NamedTuple):
    """Possible values of some rows, and their probabilities of at most these and of more; of shape (k, n_rows)."""

    rows: NDArray[np.intp]
    values: Array
    below: Array
    above: Array


@dataclass(frozen=True)
class Support:
    """The possible values of a number: from `low` to `high`, and multiples of `step` unless it is 0.

    Examples
    --------
    >>> from credo.distributions import Support
    >>> counts = Support(low=0.0, step=1.0)
    >>> counts.words, counts.nearest([-0.3, 1.7]).tolist()
    ('whole numbers from 0', [0.0, 2.0])
    """

    low: float = -np.inf
    high: float = np.inf
    step: float = 0.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low must be below high; got {self.low:g} and {self.high:g}")
        if not 0 <= self.step < np.inf:
            raise ValueError(f"step must be 0 or a positive number; got {self.step:g}")
        for name, end in (("low", self.low), ("high", self.high)):
            if self.step and np.isfinite(end) and float(self._multiple(np.asarray(end))) != end:
                raise ValueError(f"{name} must be a multiple of the step {self.step:g}; got {end:g}")

    @property
    def is_real_line(self) -> bool:
        """Whether every number is possible."""
        return self.step == 0 and np.isinf(self.low) and np.isinf(self.high)

    @property
    def words(self) -> str:
        """What the values are."""
        what = "whole numbers" if self.step == 1 else f"multiples of {self.step:g}" if self.step else "numbers"
        low = f" from {self.low:g}" if np.isfinite(self.low) else ""
        high = f" {'to' if low else 'up to'} {self.high:g}" if np.isfinite(self.high) else ""
        return what + low + high

    def nearest(self, y: ArrayLike) -> Array:
        """The possible values nearest to these."""
        values = np.asarray(y, dtype=np.float64)
        return np.clip(self._multiple(values) if self.step else values, self.low, self.high) + 0.0

    def _multiple(self, y: Array, shift: float = 0.0) -> Array:
        """The multiple of the step nearest to y, or `shift` steps further; of a step of 0.1 the decimal number."""
        parts = np.round(1.0 / self.step)
        if parts > 1 and abs(parts * self.step - 1.0) <= EPS:
            return (np.round(y * parts) + shift) / parts
        return self.step * (np.round(y / self.step) + shift)

    def _border(self, y: Array) -> Array:
        """The middle between the largest multiple of the step that is at most y, and the next one."""
        return np.where(self._multiple(y) <= y, self._multiple(y, 0.5), self._multiple(y, -0.5))

    def limit(self, dist: Distribution) -> Distribution:
        """The distribution of the possible value nearest to a number with this distribution."""
        return dist if self.is_real_line else Limited(dist, self)


# Every number is possible.
REAL_LINE = Support()


class Limited(Derived):
    """The distribution of the possible value nearest to x, where x has the distribution `base`.

    With a step, outcomes have probabilities F(y + step/2) − F(y − step/2) instead of densities. All probability of the
    base beyond an end of the support is at this end, as in a Tobit model.

    Parameters
    ----------
    base : Distribution
        Of numbers.
    support : Support

    Examples
    --------
    >>> from credo.distributions import Limited, Normal, Support
    >>> counts = Limited(Normal([0.2, 5.0], 1.0), Support(low=0.0, step=1.0))
    >>> counts.interval(0.95)
    (array([0., 3.]), array([2., 7.]))
    >>> counts.log_prob(0).round(3)
    array([ -0.481, -12.592])
    """

    base: Distribution
    support: Support

    def __init__(self, base: Distribution, support: Support) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"base must be a distribution of numbers; got {base!r}")
        if not isinstance(support, Support):
            raise TypeError(f"support must be a Support; got {support!r}")
        discrete = support.step > 0
        vars(self).update(
            base=base[:] if base._scalar else base, support=support, _scalar=base._scalar, _discrete=discrete
        )

    def __repr__(self) -> str:
        return f"Limited({self.base!r}, {self.support!r})"

    def _cdf(self, y: Array) -> Array:
        return self._tail(y, np.zeros(y.shape, dtype=bool))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        low, high, step = self.support.low, self.support.high, self.support.step
        inside = self.base._tail(self.support._border(y) if step else y, upper)
        return np.where(y < low, upper, np.where(y >= high, ~upper, inside)).astype(np.float64)

    def _log_prob(self, y: Array) -> Array:
        low, high, step = self.support.low, self.support.high, self.support.step
        if step:
            # Outcomes between possible values, which were rounded in the training rows, count as the nearest one.
            y = np.where((y < low - step / 2) | (y > high + step / 2), np.nan, self.support.nearest(y))
            edges = np.where(y == low, -np.inf, y - step / 2), np.where(y == high, np.inf, y + step / 2)
        else:
            edges = np.where(y == low, -np.inf, y), np.where(y == high, np.inf, y)
        with np.errstate(invalid="ignore", divide="ignore"):
            outside = np.isnan(y) | (y < low) | (y > high)
            masses = ~outside & (edges[0] < edges[1])
            found = np.where(outside, -np.inf, self.base._log_prob(np.where(outside, 0.0, y)) if not step else 0.0)
            if masses.any():
                rows = np.broadcast_to(np.arange(len(self)), y.shape)[masses]
                found[masses] = self.base[rows]._log_mass(edges[0][masses], edges[1][masses])
        return found

    def _crps(self, y: Array) -> Array:
        if y.shape != (len(self),):
            rows = np.broadcast_to(np.arange(len(self)), y.shape)
            return self._take(rows.ravel())._crps(y.ravel()).reshape(y.shape)
        found, near = np.empty(len(self)), np.where(np.isinf(y), self._middle, y)
        for table in self._tables:
            found[table.rows] = self._sums(table, near[table.rows])[2]
        for rows, method in self._methods:
            part = self._take(rows)
            found[rows] = part.base._crps(near[rows]) if method is None else method(part, near[rows])[2]
        return np.where(np.isinf(y), np.inf, found)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        mean, std = np.empty(len(self)), np.empty(len(self))
        for table in self._tables:
            mean[table.rows], std[table.rows] = self._sums(table, table.values[0])[:2]
        for rows, method in self._methods:
            part = self._take(rows)
            found = (part.base._mean, part.base._std) if method is None else method(part, part._middle)
            mean[rows], std[rows] = found[:2]
        return valid.frozen(mean), valid.frozen(std)

    @cached_property
    def _middle(self) -> Array:
        """A possible value near the mean of each row."""
        mean = self.base._mean
        return self.support.nearest(np.where(np.isfinite(mean), mean, self.base._knots()[0]))

    @cached_property
    def _tables(self) -> list[_Table]:
        """The cdf at all values that are at most some standard deviations away, for rows in which these are few."""
        step = self.support.step
        if not step:
            return []
        spread = np.where(np.isfinite(self.base._std), self.base._std, 0.0)
        # Between two ends there may be few values, whatever the base's standard deviation is.
        spread = np.minimum(spread, self.support.high - self.support.low)
        rows = np.flatnonzero(spread <= _COARSE * step)
        reach = (_COUNT_WIDTHS if self.base._discrete else _WIDTHS) * (spread[rows] + step)
        first, last = (self.support.nearest(self._middle[rows] + sign * reach) for sign in (-1.0, 1.0))
        length = np.ceil(np.log2((last - first) / step + 1.0))
        found = []
        # Rows of similar length share a table.
        for value in np.unique(length):
            mine = length == value
            count = np.round((last - first)[mine].max() / step) + 1.0
            x = self.support._multiple(first[mine] + step * np.arange(count)[:, None])
            part = self._take(rows[mine])
            tails = (part._tail(x, np.full(x.shape, upper)) for upper in (False, True))
            found.append(_Table(rows[mine], x, *tails))
        return found

    @cached_property
    def _methods(self) -> list[tuple[NDArray[np.intp], Callable[[Limited, Array], Moments] | None]]:
        """How mean, standard deviation and CRPS of other rows are found; None if they are those of the base."""
        rest = np.ones(len(self), dtype=bool)
        for table in self._tables:
            rest[table.rows] = False
        low, high = self.support.low, self.support.high
        beyond = np.zeros(len(self), dtype=bool)
        for end, upper in ((low, False), (high, True)):
            if np.isfinite(end):
                beyond |= self.base._tail(np.full(len(self), end), np.full(len(self), upper)) > _NEGLIGIBLE
        # Between two ends, the corrections may be far larger than what is left.
        light = (self.base._tail_index() > 2) & (np.isinf(low) or np.isinf(high))
        every = (
            (rest & beyond & light, Limited._corrected), (rest & beyond & ~light, Limited._integrals),
            (rest & ~beyond, None),
        )  # fmt: skip
        return [(np.flatnonzero(used), method) for used, method in every if used.any()]

    def _sums(self, table: _Table, y: Array) -> Moments:
        """Sums over a table, E(Y − a) = Σ (1 − F) for its least value a, and integrals over the tails beyond it."""
        part, step, x = self._take(table.rows), self.support.step, table.values
        first, last = x[0], x[-1] + step
        mean = step * table.above.sum(axis=0)
        square = step * ((2.0 * (x - first) + step) * table.above).sum(axis=0)
        score = step * np.square(np.where(x >= y, table.above, table.below)).sum(axis=0)
        before = part._tail(first - step, np.zeros(len(y), dtype=bool))
        for upper, missed in (
            (False, (before > _MISSED) | (y < first)),
            (True, (table.above[-1] > _MISSED) | (y > last)),
        ):
            rows = np.flatnonzero(missed)
            if not len(rows):
                continue
            far = part._take(rows)
            end = far._end_of_tail(last[rows] if upper else first[rows], upper=upper)
            if upper:
                low, high = last[rows], np.maximum(end, y[rows])
            else:
                low, high = np.minimum(end, y[rows]), first[rows]
            one, two, gap = far._integral(low, high, first[rows], y[rows], upper=upper)
            sign = 1.0 if upper else -1.0
            mean[rows], square[rows], score[rows] = (
                mean[rows] + sign * one,
                square[rows] + sign * two,
                score[rows] + gap,
            )
        return first + mean, np.sqrt(np.maximum(square - mean**2, 0.0)), score

    def _end_of_tail(self, start: Array, *, upper: bool) -> Array:
        """Where a tail of the base is negligible, by doubling the distance from the start; within the support."""
        bound = self.support.high if upper else self.support.low
        sign, end, distance = 1.0 if upper else -1.0, np.array(start), self.support.step * np.ones(len(start))
        for _ in range(_MAX_DOUBLINGS):
            going = (self.base._tail(end, np.full(len(end), upper)) > _TAIL) & (end != bound)
            if not going.any():
                break
            end[going] = np.clip(end + sign * distance, self.support.low, self.support.high)[going]
            distance *= 2.0
        return end

    def _integrals(self, y: Array) -> Moments:
        """E(Y − a) = ∫ (1 − F(x)) dx above the least value a."""
        low = np.minimum(self._reached(self.base._quantile(_TAIL))[:, 0], y)
        high = np.maximum(self._reached(self.base._isf(_TAIL))[:, 0], y)
        mean, square, score = self._integral(low, high, low, y)
        return low + mean, np.sqrt(np.maximum(square - mean**2, 0.0)), score

    def _corrected(self, y: Array) -> Moments:
        """Those of the base, less the integrals beyond the ends."""
        center, variance, score = self.base._mean, np.square(self.base._std), self.base._crps(y)
        mean = np.array(center)
        for end, upper in ((self.support.low, False), (self.support.high, True)):
            far = (self.base._isf if upper else self.base._quantile)(_TAIL)[:, 0]
            rows = np.flatnonzero(far > end if upper else far < end)
            if len(rows):
                edge = np.full(len(rows), end)
                low, high = (edge, far[rows]) if upper else (far[rows], edge)
                one, two, gap = self._take(rows)._integral(low, high, center[rows], edge, upper=upper)
                sign = -1.0 if upper else 1.0
                mean[rows], variance[rows] = mean[rows] + sign * one, variance[rows] + sign * two
                score[rows] -= gap
        return mean, np.sqrt(np.maximum(variance - np.square(mean - center), 0.0)), np.maximum(score, 0.0)

    def _integral(self, low: Array, high: Array, center: Array, y: Array, *, upper: bool = True) -> Array:
        """∫ T, 2∫ (x − center) T and ∫ (F − 1{y ≤ x})² from low to high; T is 1 − F of the base if `upper`, else F."""
        width, _ = self.base._widths()
        knots = np.clip(np.concatenate([self.base._knots(), y[None]]), low, high)
        edges = _quadrature.panels(low, high, knots, np.concatenate([width, np.zeros((1, len(y)))]))

        def integrand(x: Array, rows: NDArray[np.intp]) -> Array:
            tail = self.base[rows]._tail(x, np.full(x.shape, upper))
            gap = np.where((x > y[rows]) == upper, tail, 1.0 - tail)
            return np.stack([tail, 2.0 * (x - center[rows]) * tail, np.square(gap)])

        return np.reshape(_quadrature.integral(edges, integrand), (3, len(y)))

    def _quantile(self, q: Array) -> Array:
        return self._looked_up(q, lambda table, level: table.below < level, lambda part: part._quantile(q))

    def _isf(self, p: Array) -> Array:
        return self._looked_up(p, lambda table, level: table.above > level, lambda part: part._isf(p))

    def _looked_up(
        self,
        levels: Array,
        is_short: Callable[[_Table, float], NDArray[np.bool_]],
        of_base: Callable[[Distribution], Array],
    ) -> Array:
        """The least values whose cdf reaches the levels, from the tables or, beyond them, from the base."""
        found, unknown = np.empty((len(self), levels.size)), np.ones(len(self), dtype=bool)
        for table in self._tables:
            place = np.empty((len(table.rows), levels.size), dtype=np.intp)
            for j, level in enumerate(levels.tolist()):
                place[:, j] = is_short(table, level).sum(axis=0)
            inside = ((place > 0) | (table.values[0] <= self.support.low)[:, None]) & (place < len(table.values))
            inside |= (place == len(table.values)) & (table.values[-1] >= self.support.high)[:, None]
            found[table.rows] = table.values[0][:, None] + self.support.step * place
            unknown[table.rows] = ~inside.all(axis=1)
        if unknown.any():
            found[unknown] = of_base(self.base[unknown])
        return self._reached(found)

    def _reached(self, x: Array) -> Array:
        """The least possible value whose cdf reaches that of the base at x."""
        support = self.support
        if support.step:
            # Half a step below a multiple belongs to the one before.
            x = np.where(support._multiple(x, -0.5) >= x, support._multiple(x, -1.0), support._multiple(x))
        return np.clip(x, support.low, support.high) + 0.0

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.support.nearest(self.base._sample(n, rng))

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self.support)

    def _atoms(self) -> NDArray[np.bool_]:
        if self._discrete:
            return np.ones(len(self), dtype=bool)
        edges = [(end, up) for end, up in ((self.support.low, False), (self.support.high, True)) if np.isfinite(end)]
        beyond = [self.base._tail(np.full(len(self), end), np.full(len(self), up)) > 0 for end, up in edges]
        return np.any([self.base._atoms(), *beyond], axis=0)

    def _tail_index(self) -> Array:
        both = np.isfinite(self.support.low) and np.isfinite(self.support.high)
        return np.full(len(self), np.inf) if both else self.base._tail_index()

    def _knots(self) -> Array:
        if self._discrete and sum(len(table.rows) for table in self._tables) == len(self):
            longest = max(len(table.values) for table in self._tables)
            found = np.empty((longest, len(self)))
            for table in self._tables:
                found[: len(table.values), table.rows] = table.values
                found[len(table.values) :, table.rows] = table.values[-1]
            return self.support.nearest(found)
        return np.clip(self.base._knots(), self.support.low, self.support.high)

    def _widths(self) -> tuple[Array, Array]:
        return self.base._widths()
