"""What models of each size are like at one power of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Means by size follow bends over about this part of all sizes: finer ones are noise of chains that stay at one model.
_FINEST = 1 / 25


@dataclass(frozen=True)
class Feel:
    """What replicas felt: for each size up to the last, the sums of steps, time, time × fit and time × fit²."""

    sums: Array

    @classmethod
    def of(cls, notes: Array, lift: Array, last: int) -> Feel:
        """From their notes: fit, log weight, size."""
        rows = notes.reshape(-1, notes.shape[-1])
        rows = rows[np.isfinite(rows[:, 1]) & (rows[:, 2] <= last)]
        fit, size = rows[:, 0], rows[:, 2].astype(np.intp)
        # One over the sum of the rates.
        time = np.exp(rows[:, 1] + lift[size])
        parts = np.ones(len(rows)), time, time * fit, time * fit**2
        return cls(np.stack([np.bincount(size, part, last + 1) for part in parts]))

    def after(self, earlier: Feel) -> Feel:
        """With half of what was felt earlier: of sizes that weren't visited since, that is all there is to know."""
        return Feel(self.sums + earlier.sums / 2)

    @property
    def fit(self) -> Array:
        """The mean by size, smoothed."""
        steps, time, total, _ = self.sums
        return _smooth(steps, total / np.where(steps > 0, time, 1.0))

    @property
    def log_rate(self) -> Array:
        """At which models of a size are left, smoothed."""
        steps, time = self.sums[:2]
        return _smooth(steps, np.log(np.where(steps > 0, steps, 1.0) / np.where(steps > 0, time, 1.0)))

    @property
    def spread(self) -> float:
        """The standard deviation of the fit among models of a size."""
        seen = self.sums[:, self.sums[0] > 1]
        if not seen.size:
            return 0.0
        steps, time, total, square = seen
        return float(np.sqrt(np.average(np.maximum(square / time - (total / time) ** 2, 0.0), weights=steps)))


def blended(feels: Sequence[Feel], places: Array) -> list[Feel]:
    """What would be felt between powers: place 1.5 is half way from the second to the third."""
    sums = np.stack([feel.sums for feel in feels])
    lower = np.minimum(places.astype(np.intp), len(feels) - 2)
    share = (places - lower)[:, None, None]
    return [Feel(part) for part in (1.0 - share) * sums[lower] + share * sums[lower + 1]]


def _smooth(weight: Array, value: Array) -> Array:
    """Values with as little bend as their weights allow (Whittaker 1923); straight on where there are none.

    What a bend costs is in observations: a fourth power of the length, in sizes, that it takes.
    """
    bend, stiff = np.diff(np.eye(len(weight)), 2, axis=0), max(weight.mean(), 1.0) * (_FINEST * len(weight)) ** 4
    return np.asarray(np.linalg.solve(np.diag(weight) + stiff * bend.T @ bend, weight * value), dtype=np.float64)
