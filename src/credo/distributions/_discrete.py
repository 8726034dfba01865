"""The Bernoulli, categorical and empirical distributions, on finitely many points: the cdf is a step function.

`points` holds the sorted points of each row, shape (m, n_rows), and `heights` the cdf at them, (m, n_rows) or (m, 1),
the last of which is exactly one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.frames import frame
from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, Distribution


def cdf(points: Array, heights: Array, y: Array) -> Array:
    """The cdf at y."""
    return _height(heights, _rank(points, y), y)


def quantile(points: Array, heights: Array, q: Array) -> Array:
    """The smallest point whose height is at least q, of shape (n_rows, k).

    The ends of the support, q = 0 and q = 1, are points of positive probability.
    """
    values = []
    for level in q:
        if level == 1:
            index = (np.diff(heights, axis=0, prepend=0.0) > 0)[::-1].argmax(axis=0)
            index = len(heights) - 1 - index
        else:
            index = (heights < level if level > 0 else heights <= 0).sum(axis=0)
        rows = np.broadcast_to(index, points.shape[1:])
        values.append(np.take_along_axis(points, rows[None, :], axis=0)[0])
    return np.stack(values, axis=1) if values else np.empty((points.shape[1], 0))


def crps(points: Array, heights: Array, y: Array) -> Array:
    """∫ (F(x) − 1{y ≤ x})² dx by sums over the steps; all terms are positive, so that nothing cancels."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        gaps = np.diff(points, axis=0)
        zero = np.zeros((1, points.shape[1]))
        # ∫F² up to each point, and ∫(1−F)² from each point on.
        below = np.concatenate([zero, np.cumsum(gaps * heights[:-1] ** 2, axis=0)])
        above = np.concatenate([np.cumsum((gaps * (1 - heights[:-1]) ** 2)[::-1], axis=0)[::-1], zero])
        rank = _rank(points, y)
        height = _height(heights, rank, y)
        left, right = np.maximum(rank - 1, 0), np.minimum(rank, len(points) - 1)
        rows = _rows(points, y)
        score = (
            below[left, rows]
            + above[right, rows]
            + (y - points[left, rows]) * height**2
            + (points[right, rows] - y) * (1 - height) ** 2
        )
    return np.where(np.isinf(y), np.inf, score)


def choices(probs: Array, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Columns of `probs` (n_rows, k) drawn with the probabilities of each row, of shape (n, n_rows)."""
    heights = np.cumsum(probs, axis=1)
    heights /= heights[:, -1:]
    level, chosen = rng.random((n, len(probs))), np.zeros((n, len(probs)), dtype=np.intp)
    for height in heights.T[:-1]:
        chosen += level >= height
    return chosen


def _rank(points: Array, y: Array) -> NDArray[np.intp]:
    """How many points of its row are at most y: a binary search in all rows at once."""
    rows = _rows(points, y)
    low, high = np.zeros(y.shape, dtype=np.intp), np.full(y.shape, len(points), dtype=np.intp)
    for _ in range(len(points).bit_length()):
        middle = np.minimum((low + high) // 2, len(points) - 1)
        searching = low < high
        reached = points[middle, rows] <= y
        low = np.where(searching & reached, middle + 1, low)
        high = np.where(searching & ~reached, middle, high)
    return low


def _height(heights: Array, rank: NDArray[np.intp], y: Array) -> Array:
    values = heights[np.maximum(rank - 1, 0), _rows(heights, y)]
    return np.where(rank > 0, values, 0.0)


def _rows(table: Array, y: Array) -> NDArray[np.intp]:
    """The column of the table that each last index of y belongs to."""
    return np.broadcast_to(np.arange(table.shape[1]), y.shape[-1:])


class Bernoulli(Distribution):
    """An outcome of 0 or 1 for each row, 1 with probability `probs`.

    `log_prob` and `crps` raise an error for outcomes other than 0 and 1 (booleans are accepted). The CRPS is the Brier
    score (probs − y)².

    Parameters
    ----------
    probs : float or array of shape (n_rows,)

    Examples
    --------
    >>> from credo.distributions import Bernoulli
    >>> dist = Bernoulli([0.9, 0.2])
    >>> dist.mode
    array([1, 0])
    >>> dist.crps([1, 1]).round(2)
    array([0.01, 0.64])
    """

    _shown = ("probs",)
    _discrete = True
    _probs: Array

    def __init__(self, probs: ArrayLike) -> None:
        scalar = valid.are_scalars(probs)
        (probs,) = valid.rows(probs=probs)
        valid.reject((probs < 0) | (probs > 1), probs, "probs must be between 0 and 1")
        vars(self).update(_probs=probs, _scalar=scalar)

    @property
    def probs(self) -> Array:
        """The probability of 1 in each row."""
        return self._unless_scalar(self._probs)

    @property
    def mode(self) -> NDArray[np.int64]:
        """The more probable outcome of each row; 0 if both are equally probable."""
        return np.asarray(self.probs > 0.5, dtype=np.int64)[()]

    @property
    def _mean(self) -> Array:
        return self._probs

    @property
    def _std(self) -> Array:
        return np.sqrt(self._probs) * np.sqrt(1 - self._probs)

    @property
    def var(self) -> Array:
        return self.probs * (1 - self.probs)

    def __len__(self) -> int:
        return self._probs.size

    def _cdf(self, y: Array) -> Array:
        return np.where(y < 0, 0.0, np.where(y < 1, 1 - self._probs, 1.0))

    def _log_prob(self, y: Array) -> Array:
        _reject_others(y)
        with np.errstate(divide="ignore"):
            return np.where(y == 1, np.log(self._probs), np.log1p(-self._probs))

    def _crps(self, y: Array) -> Array:
        _reject_others(y)
        return np.square(self._probs - y)

    def _quantile(self, q: Array) -> Array:
        # q > 1 − p, written so that a tiny p keeps its digits; if p = 1, the 0-quantile is 1 too.
        probs = self._probs[:, None]
        return ((1 - q < probs) | (probs == 1)).astype(np.float64)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return (rng.random((n, len(self))) < self._probs).astype(np.int64)

    def _knots(self) -> Array:
        return np.broadcast_to([[0.0], [1.0]], (2, len(self)))


def _reject_others(y: Array) -> None:
    valid.reject((y != 0) & (y != 1), y, "outcomes of a Bernoulli must be 0 or 1; use Categorical for other labels")


class Categorical(Distribution):
    """One of k classes for each row.

    Classes may be labels of any kind. If they are numbers, there are moments, cdf and quantiles as well, and the CRPS
    is the ranked probability score; if not, these raise a TypeError.

    Parameters
    ----------
    probs : array of shape (n_rows, k), or (k,) for a single row
        Each row must sum to one, up to 1e-6; it is normalized.
    classes : array of shape (k,), optional
        The labels in the order of the columns; 0, …, k−1 by default.

    Examples
    --------
    >>> from credo.distributions import Categorical
    >>> dist = Categorical([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], classes=["low", "middle", "high"])
    >>> dist.mode.tolist()
    ['low', 'high']
    >>> dist.log_prob(["low", "high"]).round(3)
    array([-0.693, -0.223])
    >>> float(Categorical([0.5, 0.3, 0.2]).crps(1).round(2))
    0.29
    """

    _shown = ("probs", "classes")
    _discrete = True
    _probs: Array
    classes: NDArray[Any]

    def __init__(self, probs: ArrayLike, classes: ArrayLike | None = None) -> None:
        table = np.atleast_2d(valid.numbers("probs", probs))
        if table.ndim != 2 or table.shape[1] == 0:
            raise ValueError(f"probs must have the shape (n_rows, n_classes); got {np.shape(probs)}")
        labels = np.arange(table.shape[1]) if classes is None else np.asarray(classes)
        if labels.shape != (table.shape[1],):
            raise ValueError(f"probs has {table.shape[1]} columns, but classes has the shape {labels.shape}")
        _reject_unusable(labels)
        vars(self).update(
            _probs=valid.probabilities("probs", table), classes=valid.frozen(labels), _scalar=np.ndim(probs) == 1
        )

    @property
    def probs(self) -> Array:
        """The probabilities of the classes: of shape (n_rows, k), or (k,) of a scalar distribution."""
        return self._unless_scalar(self._probs)

    @property
    def mode(self) -> NDArray[Any]:
        """The most probable class of each row; the first if several are equal."""
        return self.classes[self.probs.argmax(axis=-1)]

    @property
    def _mean(self) -> Array:
        return self._probs @ self._values("mean")

    @property
    def _std(self) -> Array:
        deviations = self._values("standard deviation") - self._mean[:, None]
        return np.sqrt((self._probs * deviations**2).sum(axis=1))

    def __len__(self) -> int:
        return len(self._probs)

    def log_prob(self, y: ArrayLike) -> Array:
        """The log probability of the labels y, one for each row or one for all."""
        labels = np.asarray(y)
        index = {label: column for column, label in enumerate(self.classes.tolist())}
        columns = np.empty(labels.size, dtype=np.intp)
        for place, label in enumerate(labels.ravel().tolist()):
            if label not in index:
                known = ", ".join(map(repr, self.classes.tolist()[:10]))
                raise ValueError(f"y has {label!r} at index {place}, which is not among the classes {known}")
            columns[place] = index[label]
        table = np.broadcast_to(columns.reshape(labels.shape), self._shape(labels.shape))
        with np.errstate(divide="ignore"):
            return self._shaped_as(labels, np.log(self._probs)[np.arange(len(self)), table])

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """As for any distribution; if the classes aren't numbers, the mode and the probability of each class."""
        if self._numeric():
            return super().to_frame(level, backend=backend)
        columns = {str(label): self._probs[:, column] for column, label in enumerate(self.classes.tolist())}
        return frame({"mode": np.atleast_1d(self.mode), **columns}, backend=backend)

    def _log_prob(self, y: Array) -> Array:
        return self.log_prob(y)

    def _cdf(self, y: Array) -> Array:
        return cdf(*self._steps("cdf"), y)

    def _crps(self, y: Array) -> Array:
        return crps(*self._steps("CRPS"), y)

    def _quantile(self, q: Array) -> Array:
        return quantile(*self._steps("quantile"), q)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self.classes[choices(self._probs, n, rng)]

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self._probs[rows], self.classes)

    def _knots(self) -> Array:
        return self._steps("CRPS")[0]

    def _steps(self, what: str) -> tuple[Array, Array]:
        """The classes in order and the distribution function at them, for each row."""
        values = self._values(what)
        order = np.argsort(values)
        heights = np.cumsum(self._probs.T[order], axis=0)
        return np.broadcast_to(values[order][:, None], heights.shape), heights / heights[-1]

    def _values(self, what: str) -> Array:
        if not self._numeric():
            raise TypeError(
                f"labels such as {self.classes.tolist()[0]!r} have no {what}; use mode, probs and log_prob, "
                "or classes that are numbers"
            )
        return self.classes.astype(np.float64)

    def _numeric(self) -> bool:
        return self.classes.dtype.kind in "biuf"


def _reject_unusable(labels: NDArray[Any]) -> None:
    """Classes must be distinct, and numbers among them finite."""
    if labels.dtype.kind == "f":
        valid.reject(~np.isfinite(labels), labels, "classes must be finite")
    seen: set[Any] = set()
    for label in labels.tolist():
        if label in seen:
            raise ValueError(f"classes must be distinct; got {label!r} twice")
        seen.add(label)


class Empirical(Distribution):
    """Equally weighted draws for each row, as from Monte Carlo predictions.

    The cdf is the step function of the draws, and `quantile` its inverse: always one of the draws (Hyndman & Fan's type
    1, not interpolated), so that `quantile(cdf(y))` is y for a draw y. The standard deviation is that of this
    distribution (divided by the number of draws, not one less). The CRPS is exact, from the sorted draws. There is no
    density, hence no `log_prob`; use a mixture of the densities that were drawn from.

    Parameters
    ----------
    draws : array of shape (n_draws, n_rows), or (n_draws,) for a single row
        A draw may be joint over the rows: `sample` picks whole draws, so that their dependence is kept.

    Examples
    --------
    >>> from credo.distributions import Empirical
    >>> dist = Empirical([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    >>> dist.quantile([0.5, 1.0])
    array([[ 2.,  4.],
           [20., 40.]])
    >>> dist.crps([2.0, 20.0])
    array([0.375, 3.75 ])
    """

    draws: Array

    def __init__(self, draws: ArrayLike) -> None:
        values = valid.numbers("draws", draws)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise ValueError(f"draws must have the shape (n_draws, n_rows); got {np.shape(draws)}")
        if len(values) == 0:
            raise ValueError("draws must contain at least one draw")
        valid.reject(np.isinf(values), values, "draws must be finite")
        vars(self).update(draws=valid.frozen(values), _scalar=np.ndim(draws) == 1)

    @property
    def _mean(self) -> Array:
        return self.draws.mean(axis=0)

    @property
    def _std(self) -> Array:
        return self.draws.std(axis=0)

    def __len__(self) -> int:
        return self.draws.shape[1]

    def __repr__(self) -> str:
        return f"Empirical(<{len(self.draws)} draws of {len(self)} rows>)"

    def log_prob(self, y: ArrayLike) -> NoReturn:
        """Raises a TypeError: finitely many draws have no density."""
        raise TypeError(
            "an Empirical distribution has no density, so no log_prob; use crps, or a "
            "Mixture of the densities that were drawn from"
        )

    def _log_prob(self, y: Array) -> Array:
        return self.log_prob(y)

    def _cdf(self, y: Array) -> Array:
        return cdf(self._points, self._heights(), y)

    def _crps(self, y: Array) -> Array:
        return crps(self._points, self._heights(), y)

    def _quantile(self, q: Array) -> Array:
        return self._points[np.searchsorted(self._heights()[:, 0], q)].T

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self.draws[rng.integers(len(self.draws), size=n)]

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.draws[:, rows])

    def _atoms(self) -> NDArray[np.bool_]:
        return np.ones(len(self), dtype=bool)

    def _knots(self) -> Array:
        return self._points

    @cached_property
    def _points(self) -> Array:
        """The draws of each row in order."""
        return np.sort(self.draws, axis=0)

    def _heights(self) -> Array:
        n_draws = len(self.draws)
        return np.arange(1, n_draws + 1)[:, None] / n_draws
