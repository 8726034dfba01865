"""How much of the spread of bagged members belongs to a prediction, learned from the rows out of bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.ensemble._bootstrap import Bag
from credo.learning.ascent import maximize

Array = NDArray[np.float64]

# In units of the root mean squared error out of bag, for added noise: the limits, and the prior of all logs. A member
# that predicts the target exactly, as is common with whole numbers, doesn't make the likelihood infinite.
_LOW, _HIGH = np.log([1 / 3, 1 / 3, 0.1]), np.log([3.0, 3.0, 3.0])
_CENTER, _PRIOR_SD = np.log([1.0, 1.0, 0.3]), np.array([0.5, 0.5, 1.0])
# They are learned from about this many rows.
_ROWS = 2000


@dataclass(frozen=True)
class OutOfBag:
    """What members predict for the rows that they weren't fitted to, one entry for each pair, sorted by rows.

    `error` is y minus the mean of the row's members, `gap` the prediction of a member minus that mean, and `std` its
    standard deviation. `start` has the first entry of each row, `weight` the weight of each row, and `order` the place
    of each entry among those of the members one after the other.
    """

    rows: NDArray[np.intp]
    start: NDArray[np.intp]
    order: NDArray[np.intp]
    error: Array
    gap: Array
    std: Array
    weight: Array

    @classmethod
    def of(cls, bags: Sequence[Bag], y: Array, weight: Array | None) -> OutOfBag:
        """Of all rows that some member leaves out; members that predict numbers only have standard deviations of 0."""
        rows = np.concatenate([bag.rows for bag in bags])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        start = np.flatnonzero(np.diff(rows, prepend=-1))
        seen, count = rows[start], np.diff(start, append=len(rows))
        predicted = np.concatenate([bag.predicted for bag in bags])[order]
        mean = np.repeat(np.add.reduceat(predicted, start) / count, count) if len(rows) else predicted
        own = np.concatenate([np.zeros(len(bag.rows)) if bag.std is None else bag.std for bag in bags])[order]
        share = np.ones(len(seen)) if weight is None else weight[seen]
        return cls(seen, start, order, y[rows] - mean, predicted - mean, own, share)

    @property
    def count(self) -> NDArray[np.intp]:
        """How many members leave out each row."""
        return np.diff(self.start, append=len(self.error))

    def sums(self, values: Array) -> Array:
        """The sum of the entries of each row."""
        return np.add.reduceat(values, self.start) if len(values) else np.empty(0)

    def log_means(self, values: Array) -> Array:
        """ln of the mean of exp(value) of each row, for the values of the members one after the other."""
        return np.logaddexp.reduceat(values[self.order], self.start) - np.log(self.count) if len(values) else values

    def some(self) -> OutOfBag:
        """Every so many rows."""
        used = np.arange(len(self.rows)) % max(1, len(self.rows) // _ROWS) == 0
        count = self.count[used]
        kept = np.repeat(used, self.count)
        start = np.cumsum(count) - count
        order, error, gap, std = (values[kept] for values in (self.order, self.error, self.gap, self.std))
        return OutOfBag(self.rows[used], start, order, error, gap, std, self.weight[used])

    @property
    def size(self) -> float:
        """The root mean squared error of the means of the members; 0 without any row."""
        if not len(self.rows):
            return 0.0
        return float(np.sqrt(np.average(self.error[self.start] ** 2, weights=self.weight)))

    def log_score(self, within: float, between: float, noise: float) -> tuple[Array, Array]:
        """The log density of each row's target under the mixture of normals, and its gradient by the logs of all three.

        ln (1/m) Σ_m N(error | between · gap_m, (within · std_m)² + noise²)
        """
        shift, own = between * self.gap, (within * self.std) ** 2
        variance = own + noise**2
        squares = (self.error - shift) ** 2 / variance
        each = -0.5 * (squares + np.log(2 * np.pi * variance))
        top = np.maximum.reduceat(each, self.start)
        share = np.exp(each - np.repeat(top, self.count))
        total = self.sums(share)
        share /= np.repeat(total, self.count)
        slopes = (
            (squares - 1) * own / variance,
            (self.error - shift) * shift / variance,
            (squares - 1) * noise**2 / variance,
        )
        return top + np.log(total / self.count), np.column_stack([self.sums(share * slope) for slope in slopes])

    def best(self, *, calibrate: bool) -> tuple[float, float, float]:
        """The factors within and between members and the added noise with the highest log score.

        Without `calibrate`, both factors are 1.
        """
        part, unit = self.some(), self.size
        free = np.array([calibrate, calibrate, True], dtype=np.float64)
        units = np.array([1.0, 1.0, unit])

        def objective(theta: Array) -> tuple[float, Array]:
            used = np.clip(theta, _LOW, _HIGH)
            score, slope = part.log_score(*units * np.exp(used))
            gap = (used - _CENTER) / _PRIOR_SD
            inside = free * ((theta > _LOW) & (theta < _HIGH))
            return float(part.weight @ score - 0.5 * gap @ gap), inside * (part.weight @ slope - gap / _PRIOR_SD)

        found = maximize(objective, _CENTER, tolerance=1e-8, max_evaluations=60).vector
        within, between, noise = units * np.exp(np.clip(found, _LOW, _HIGH))
        return float(within), float(between), float(noise)
