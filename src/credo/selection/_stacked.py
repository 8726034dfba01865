"""The held-out predictions of all folds as one distribution, in the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Bernoulli, Categorical, Distribution

Indices = NDArray[np.intp]
Part = tuple[Indices, Distribution]


def stacked(parts: Sequence[Part], n_rows: int) -> Distribution:
    """One distribution of `n_rows` rows, from parts with their row numbers.

    The classes are those of all parts together; a class that a part doesn't have gets probability 0 in its rows.
    """
    dists = [dist for _, dist in parts]
    if all(isinstance(dist, Bernoulli) for dist in dists):
        return Bernoulli(_filled(parts, n_rows, lambda dist: dist.mean))
    if all(isinstance(dist, Bernoulli | Categorical) for dist in dists):
        return _categorical(parts, n_rows)
    return Stacked(parts, n_rows)


class Stacked(Distribution):
    """Distributions of any kind for parts of the rows, as one for all rows."""

    _parts: tuple[Part, ...]
    _n_rows: int

    def __init__(self, parts: Sequence[Part], n_rows: int) -> None:
        rows = np.concatenate([rows for rows, _ in parts]) if parts else np.empty(0, dtype=np.intp)
        if not np.array_equal(np.sort(rows), np.arange(n_rows)):
            raise ValueError(f"the parts must contain each of the {n_rows} rows exactly once")
        vars(self).update(_parts=tuple(parts), _n_rows=n_rows)

    @property
    def _mean(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._mean)

    @property
    def _std(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._std)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The intervals of the parts, which needn't be between quantiles: those of `Conformal` aren't."""
        ends = self._each(lambda dist: np.column_stack(dist.interval(level)))
        return self._unless_scalar(ends[:, 0]), self._unless_scalar(ends[:, 1])

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(dist).__name__ for _, dist in self._parts))
        return f"Stacked(<{self._n_rows} rows of {kinds}>)"

    def _each(self, answer: Callable[[Distribution], NDArray[Any]]) -> NDArray[Any]:
        return _filled(self._parts, self._n_rows, answer)

    def _at(self, y: NDArray[np.float64], answer: Callable[[Distribution, Any], Any]) -> NDArray[np.float64]:
        values = np.empty(y.shape)
        for rows, dist in self._parts:
            values[..., rows] = answer(dist, y[..., rows])
        return values

    def _cdf(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.cdf(part))

    def _log_prob(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.log_prob(part))

    def _crps(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.crps(part))

    def _quantile(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._quantile(q))

    def _isf(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._isf(p))

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._each(lambda dist: dist._sample(n, rng).T).T

    def _take(self, rows: Indices) -> Self:
        parts = []
        for own, dist in self._parts:
            place = np.full(self._n_rows, -1)
            place[own] = np.arange(len(own))
            kept = np.flatnonzero(place[rows] >= 0)
            if len(kept):
                parts.append((kept, dist[place[rows[kept]]]))
        return type(self)(parts, len(rows))

    def _atoms(self) -> NDArray[np.bool_]:
        return self._each(lambda dist: dist._atoms())

    def _tail_index(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._tail_index())


def _filled(parts: Sequence[Part], n_rows: int, answer: Callable[[Distribution], NDArray[Any]]) -> NDArray[Any]:
    """The values of all parts, each in its rows."""
    found = [np.asarray(answer(dist)) for _, dist in parts]
    values = np.empty((n_rows, *found[0].shape[1:]), dtype=np.result_type(*found))
    for (rows, _), value in zip(parts, found, strict=True):
        values[rows] = value
    return values


def _categorical(parts: Sequence[Part], n_rows: int) -> Categorical:
    tables = [(rows, *_table(dist)) for rows, dist in parts]
    classes = np.unique(np.concatenate([known for _, _, known in tables]))
    table = np.zeros((n_rows, len(classes)))
    for rows, probs, known in tables:
        table[np.ix_(rows, np.searchsorted(classes, known))] = probs
    return Categorical(table, classes=classes)


def _table(dist: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    if isinstance(dist, Bernoulli):
        return np.column_stack([1.0 - dist.probs, dist.probs]), np.array([0, 1])
    return dist.probs, dist.classes
