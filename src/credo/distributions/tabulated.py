"""Distributions of one shape for all rows, given by a table of its cdf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from credo.core.fields import Axes, Increasing, check_fields, each
from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, LocationScale, standardize

# Beyond the table, P(|Z| > t) falls like t^−_POWER.
_POWER = 5.0


@dataclass(frozen=True)
class Tabulated:
    """A distribution of a number: its cdf at some points, linear between them, with power tails beyond.

    With p the probability beyond the last point, z beyond it by d has 1 − F = p (1 + d/b)⁻⁵, and likewise on the other
    side; b makes the density continuous. So no outcome has density zero, and mean and variance exist.

    Parameters
    ----------
    points : array of shape (m,), increasing, of at least two
    heights : array of shape (m,), increasing, strictly between 0 and 1

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Tabulated, TabulatedScale
    >>> shape = Tabulated(np.array([-1.0, 0.0, 2.0]), np.array([0.1, 0.5, 0.9]))
    >>> dist = TabulatedScale([10.0, 20.0], [1.0, 2.0], shape)
    >>> dist.interval(0.8)
    (array([ 9., 18.]), array([12., 24.]))
    """

    points: Annotated[Array, Axes("m+1"), Increasing]
    heights: Annotated[Array, Axes("m+1"), Increasing, each(lambda p: (p > 0) & (p < 1), "between 0 and 1")]

    def __post_init__(self) -> None:
        for name in ("points", "heights"):
            object.__setattr__(self, name, valid.frozen(valid.numbers(name, getattr(self, name))))
        check_fields(self)

    @classmethod
    def fitted(cls, values: Array, weight: Array) -> Self:
        """The smoothed distribution of weighted numbers, in units of their standard deviation around their mean.

        A kernel density of asinh(value), whose bandwidth grows with the size of a value, with Silverman's bandwidth and
        the points shrunk so that the variance stays. As one new value in n + 1 exceeds, in rank, all that were seen on
        a given side, a share of 1/(n + 1) has a broad distribution.
        """
        n = weight.sum()
        share = weight / n
        mean = share @ values
        std = np.sqrt(share @ (values - mean) ** 2)
        z = (values - mean) / std if std > 0 else np.zeros(len(values))
        core = _spread(z, share) or 1.0
        u = np.arcsinh(z / core)
        center, size = share @ u, np.sqrt(share @ (u - share @ u) ** 2) or 1.0
        h = 0.9 * min(size, _spread(u, share) or size) * n**-0.2
        u = center + (u - center) / np.sqrt(1 + (h / size) ** 2)
        broad = max(1.0, (np.abs(u).max() + 4 * h) / 5)
        grid = np.linspace(-5 * broad, 5 * broad, 401)
        heights = np.array([share @ ndtr((g - u) / h) for g in grid])
        heights = (n * heights + ndtr(grid / broad)) / (n + 1)
        # With very many values, the outermost heights are rounded to 0 and 1.
        used = np.append(True, np.diff(heights) > 0) & (heights > 0) & (heights < 1)
        return cls(core * np.sinh(grid)[used], heights[used])

    @cached_property
    def density(self) -> Array:
        """The density between each point and the next."""
        return np.diff(self.heights) / np.diff(self.points)

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """p and b of either tail."""
        low, high = float(self.heights[0]), float(1 - self.heights[-1])
        return (low, low * _POWER / float(self.density[0])), (high, high * _POWER / float(self.density[-1]))

    @cached_property
    def mean(self) -> float:
        """The mean."""
        (low, below), (high, above) = self._ends
        middle = float(np.diff(self.heights) @ (self.points[1:] + self.points[:-1]) / 2)
        ends = low * (self.points[0] - below / (_POWER - 1)) + high * (self.points[-1] + above / (_POWER - 1))
        return middle + float(ends)

    @cached_property
    def std(self) -> float:
        """The standard deviation."""
        gap = self.points - self.mean
        inside = np.diff(self.heights) @ (gap[1:] ** 2 + gap[1:] * gap[:-1] + gap[:-1] ** 2) / 3
        for (p, b), end in zip(self._ends, (-gap[0], gap[-1]), strict=True):
            inside += p * (end**2 + 2 * end * b / (_POWER - 1) + 2 * b**2 / ((_POWER - 1) * (_POWER - 2)))
        return float(np.sqrt(inside))

    def tail(self, z: Array, upper: NDArray[np.bool_]) -> Array:
        """1 − cdf where `upper`, the cdf elsewhere."""
        (low, below), (high, above) = self._ends
        height = np.interp(z, self.points, self.heights)
        found = np.where(upper, 1 - height, height)
        with np.errstate(all="ignore"):
            left = low * (1 + (self.points[0] - z) / below) ** -_POWER
            right = high * (1 + (z - self.points[-1]) / above) ** -_POWER
        found = np.where(z < self.points[0], np.where(upper, 1 - left, left), found)
        return np.where(z > self.points[-1], np.where(upper, right, 1 - right), found)

    def log_density(self, z: Array) -> Array:
        """The log density."""
        (_, below), (_, above) = self._ends
        piece = np.clip(np.searchsorted(self.points, z, side="right") - 1, 0, len(self.density) - 1)
        beyond = np.maximum(np.maximum((self.points[0] - z) / below, (z - self.points[-1]) / above), 0.0)
        return np.log(self.density[piece]) - (_POWER + 1) * np.log1p(beyond)

    def quantile(self, q: Array, complement: Array) -> Array:
        """The quantile at q = 1 − complement."""
        (low, below), (high, above) = self._ends
        with np.errstate(all="ignore"):
            left = self.points[0] - below * ((low / q) ** (1 / _POWER) - 1)
            right = self.points[-1] + above * ((high / complement) ** (1 / _POWER) - 1)
        inside = np.interp(q, self.heights, self.points)
        return np.where(q < low, left, np.where(complement < high, right, inside))

    def crps(self, z: Array) -> Array:
        """∫ F² up to z plus ∫ (1 − F)² from z on, by sums over the pieces and closed forms beyond them."""
        (low, below), (high, above) = self._ends
        F, gaps = self.heights, np.diff(self.points)
        under = gaps * (F[1:] ** 2 + F[1:] * F[:-1] + F[:-1] ** 2) / 3
        over = gaps * ((1 - F[1:]) ** 2 + (1 - F[1:]) * (1 - F[:-1]) + (1 - F[:-1]) ** 2) / 3
        under = np.cumsum([low**2 * below / (2 * _POWER - 1), *under])
        over = np.cumsum([high**2 * above / (2 * _POWER - 1), *over[::-1]])[::-1]
        piece = np.clip(np.searchsorted(self.points, z, side="right") - 1, 0, len(gaps) - 1)
        inside = np.clip(z, self.points[0], self.points[-1])
        h, start, stop = np.interp(inside, self.points, F), self.points[piece], self.points[piece + 1]
        f, g = F[piece], F[piece + 1]
        middle = under[piece] + (inside - start) * (h**2 + h * f + f**2) / 3
        middle += over[piece + 1] + (stop - inside) * ((1 - h) ** 2 + (1 - h) * (1 - g) + (1 - g) ** 2) / 3
        found = middle
        for (p, b), d in zip(self._ends, (self.points[0] - z, z - self.points[-1]), strict=True):
            with np.errstate(all="ignore"):
                more = d - 2 * p * b / (_POWER - 1) * (1 - (1 + d / b) ** (1 - _POWER))
            found = np.where(d > 0, middle + more, found)
        return found


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


class TabulatedScale(LocationScale):
    """loc + scale · Z for each row, where Z has the same tabulated shape in all; a scale of zero is a point mass.

    Parameters
    ----------
    loc, scale : float or array of shape (n_rows,)
    shape : Tabulated
        The distribution of Z.

    Examples
    --------
    >>> from credo.distributions import Tabulated, TabulatedScale
    >>> dist = TabulatedScale([0.0, 10.0], [1.0, 2.0], Tabulated([-1.0, 0.0, 2.0], [0.1, 0.5, 0.9]))
    >>> dist.quantile([0.1, 0.5, 0.7])
    array([[-1.,  0.,  1.],
           [ 8., 10., 12.]])
    """

    shape: Tabulated

    def __init__(self, loc: ArrayLike, scale: ArrayLike, shape: Tabulated) -> None:
        scalar = valid.are_scalars(loc, scale)
        loc, scale = valid.rows(loc=loc, scale=scale)
        valid.reject(scale < 0, scale, "scale must not be negative")
        vars(self).update(_loc=loc, _scale=scale, _scalar=scalar, shape=shape)

    @property
    def _mean(self) -> Array:
        return self._loc + self._scale * self.shape.mean

    @property
    def _std(self) -> Array:
        return self._scale * self.shape.std

    def __repr__(self) -> str:
        return f"{type(self).__name__}(loc={valid.text(self._loc)}, scale={valid.text(self._scale)})"

    def _standard_cdf(self, z: Array) -> Array:
        return self.shape.tail(z, np.zeros(z.shape, dtype=bool))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        return self.shape.tail(standardize(y, self._loc, self._scale), upper)

    def _log_density(self, y: Array) -> Array:
        return self.shape.log_density((y - self._loc) / self._scale) - np.log(self._scale)

    def _crps(self, y: Array) -> Array:
        with np.errstate(all="ignore"):
            score = self._scale * self.shape.crps((y - self._loc) / self._scale)
        return np.where(np.isinf(y), np.inf, np.where(self._scale > 0, score, np.abs(y - self._loc)))

    def _standard_quantile(self, q: Array) -> Array:
        return self.shape.quantile(q, 1 - q)

    def _isf(self, p: Array) -> Array:
        return self._located(self.shape.quantile(1 - p, p))

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        q = rng.random((n, len(self)))
        return self._loc + self._scale * self.shape.quantile(q, 1 - q)

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self._loc[rows], self._scale[rows], self.shape)

    def _tail_index(self) -> Array:
        return np.where(self._scale > 0, _POWER, np.inf)

    def _knots(self) -> Array:
        return self._loc + self._scale * self._few_points()[:, None]

    def _widths(self) -> tuple[Array, Array]:
        points = self._few_points()
        width = np.diff(points, append=2 * points[-1] - points[-2])[:, None]
        # Farther beyond the table, the squared tail may be neglected.
        reach = max(b * (1 + (1e14 * p**2) ** (1 / (2 * _POWER - 1))) for p, b in self.shape._ends)
        return self._scale * width, np.broadcast_to(self._scale * reach, (len(points), len(self)))

    def _few_points(self) -> Array:
        """Some of the table's points, the first and the last among them."""
        places = np.linspace(0, len(self.shape.points) - 1, min(9, len(self.shape.points)))
        return self.shape.points[places.astype(np.intp)]
