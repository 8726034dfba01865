"""The predictive distribution that held-out residuals give: exact intervals, and a smooth distribution beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from credo.distributions import Shape, Shaped
from credo.distributions import _validation as valid
from credo.estimator import check_places, check_positive, check_shapes

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# More residuals than this are replaced by as many of their quantiles.
MOST = 2000
_KNOTS = 401
# The most numbers of residuals times rows at once.
_BLOCK = 2**21


@dataclass(frozen=True)
class Residuals:
    """Held-out residuals (in units of the learned spread, if any), with the fold of each and its weight.

    The points of a new row are μ_k(x) + s_k(x) · residual for every residual, k being its fold.
    """

    values: Array
    fold: Index
    weight: Array

    def _check_state(self) -> None:
        check_shapes(self, values="n", fold="n", weight="n")
        check_positive(self, "weight")
        check_places(self, "fold", 10**6)
        if len(np.unique(self.fold)) != self.fold.max() + 1:
            raise ValueError("every fold must have a residual")

    @classmethod
    def of(cls, values: Array, fold: Index, weight: Array) -> Self:
        """Residuals, or quantiles of them within each fold if they are many."""
        if len(values) <= MOST:
            return cls(values, fold, weight)
        parts = []
        for k in np.unique(fold):
            own = np.flatnonzero(fold == k)
            own = own[np.argsort(values[own], kind="stable")]
            count = max(1, round(MOST * weight[own].sum() / weight.sum()))
            level = (np.cumsum(weight[own]) - weight[own] / 2) / weight[own].sum()
            kept = np.interp((np.arange(count) + 0.5) / count, level, values[own])
            parts.append((kept, np.full(count, k), np.full(count, weight[own].sum() / count)))
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    def moments(self, center: Array, spread: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the points of each row; both arguments are of shape (n_folds, n_rows)."""
        total = np.bincount(self.fold, self.weight)
        mean = np.bincount(self.fold, self.weight * self.values) / total
        var = np.bincount(self.fold, self.weight * (self.values - mean[self.fold]) ** 2) / total
        share = (total / total.sum())[:, None]
        middle = center + spread * mean[:, None]
        loc = (share * middle).sum(axis=0)
        return loc, np.sqrt((share * (spread**2 * var[:, None] + (middle - loc) ** 2)).sum(axis=0))

    def shape(self) -> Shape:
        """The smoothed distribution of the residuals, in units of their standard deviation around their mean.

        A kernel density of asinh(residual), whose bandwidth grows with the size of a residual, with Silverman's
        bandwidth and the points shrunk so that the variance stays. As one new residual in n + 1 exceeds, in rank, all
        that were seen on a given side, a share of 1/(n + 1) has a broad distribution.
        """
        n = self.weight.sum()
        share = self.weight / n
        mean = share @ self.values
        std = np.sqrt(share @ (self.values - mean) ** 2)
        z = (self.values - mean) / std if std > 0 else np.zeros(len(self.values))
        core = _spread(z, share) or 1.0
        u = np.arcsinh(z / core)
        center, size = share @ u, np.sqrt(share @ (u - share @ u) ** 2) or 1.0
        h = 0.9 * min(size, _spread(u, share) or size) * n**-0.2
        u = center + (u - center) / np.sqrt(1 + (h / size) ** 2)
        broad = max(1.0, (np.abs(u).max() + 4 * h) / 5)
        grid = np.linspace(-5 * broad, 5 * broad, _KNOTS)
        heights = np.array([share @ ndtr((g - u) / h) for g in grid])
        heights = (n * heights + ndtr(grid / broad)) / (n + 1)
        # Of very many residuals, the outermost heights are rounded to 0 and 1.
        used = np.append(True, np.diff(heights) > 0) & (heights > 0) & (heights < 1)
        return Shape(core * np.sinh(grid)[used], heights[used])


def _spread(values: Array, share: Array) -> float:
    """The weighted interquartile range in units of a normal's standard deviation; zero if it is rounding error."""
    low, high = quantiles(values, share, [0.25, 0.75])
    found = float(high - low) / 1.349
    return found if found > np.finfo(np.float64).eps * np.abs(values).max() else 0.0


def quantiles(values: Array, weight: Array, levels: list[float]) -> Array:
    """The mean of the smallest value that reaches a level and of the smallest beyond it, as in a median.

    Values with a weight of k count as k copies.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    goal = np.asarray(levels) * reached[-1]
    low, high = (np.searchsorted(reached, goal * (1 + side * 1e-12), "left") for side in (-1, 1))
    return np.asarray(0.5 * (values[order][low] + values[order][high]))


class ConformalDist(Shaped):
    """The smooth distribution of each row, with the intervals of CV+.

    Of the n points of a row, sorted, the interval of level 1 − α goes from the one of rank ⌊(n + 1) α/2⌋ to that of
    rank ⌈(n + 1)(1 − α/2)⌉ (Barber, Candès, Ramdas & Tibshirani 2021, with signed residuals). Where there is no such
    rank, it ends at the smooth distribution's quantile, or at the extreme point if that is farther out.
    """

    residuals: Residuals
    center: Array
    spread: Array

    def __init__(self, residuals: Residuals, shape: Shape, center: Array, spread: Array) -> None:
        super().__init__(*residuals.moments(center, spread), shape)
        vars(self).update(residuals=residuals, center=valid.frozen(center), spread=valid.frozen(spread))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The interval of CV+, which contains a new observation with probability near `level`: lower and upper ends."""
        tail = (1 - valid.fraction("level", level)) / 2
        n = self.residuals.weight.sum()
        # Up to rounding.
        low, high = np.floor((n + 1) * tail + 1e-9), np.ceil((n + 1) * (1 - tail) - 1e-9)
        lower, upper = self._ranked([max(low, 1.0), min(high, n)])
        ends = self.quantile([tail, 1 - tail])
        if low < 1:
            lower = np.minimum(lower, ends[:, 0])
        if high > n:
            upper = np.maximum(upper, ends[:, 1])
        return lower, upper

    def _ranked(self, ranks: list[float]) -> tuple[Array, Array]:
        """The points of these two ranks of each row; a point of weight w has w ranks."""
        values, fold, weight = self.residuals.values, self.residuals.fold, self.residuals.weight
        found = np.empty((2, len(self)))
        step = max(1, _BLOCK // len(values))
        even = bool((weight == 1).all())
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            points = self.center[fold, rows] + self.spread[fold, rows] * values[:, None]
            if even:
                places = [int(rank) - 1 for rank in ranks]
                found[:, rows] = np.partition(points, places, axis=0)[places]
                continue
            order = np.argsort(points, axis=0)
            reached = np.cumsum(weight[order], axis=0)
            for i, rank in enumerate(ranks):
                place = np.minimum((reached < rank - 1e-9 * rank).sum(axis=0), len(values) - 1)
                found[i, rows] = np.take_along_axis(points, np.take_along_axis(order, place[None], axis=0), axis=0)[0]
        return found[0], found[1]

    def _take(self, rows: NDArray[Any]) -> Self:
        return type(self)(self.residuals, self.shape, self.center[:, rows], self.spread[:, rows])
