"""A table as subsets of its columns see it: centred, weighted, and no longer than it needs to be."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# Columns whose directions differ by less are the same.
_SAME = 1e-9


@dataclass(frozen=True)
class Design:
    """Centred columns, in units of their own, and the centred target.

    Parameters
    ----------
    X : array of shape (m, d)
        The columns that vary, in coordinates in which inner products are those of the weighted rows.
    y : array of shape (m,)
    kept : array of shape (d,)
        Their places in the table.
    unit, x_mean : arrays of shape (d,)
        What each was divided by, and its mean.
    yy, y_mean, n : the target's squared length and mean, and the total weight
    n_features : int
        The number of columns of the table.
    n_rows : float
        The number of different rows, where the columns can reproduce the target; infinite where they can't.
    """

    X: Array
    y: Array
    kept: NDArray[np.intp]
    unit: Array
    x_mean: Array
    yy: float
    y_mean: float
    n: float
    n_features: int
    n_rows: float

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array | None = None, *, unit: str = "length") -> "Design":
        """From rows, targets and weights; columns of unit "length", unit "variance", or "as given"."""
        total = float(len(y) if weight is None else weight.sum())
        root = np.ones(len(y)) if weight is None else np.sqrt(weight)
        x_mean, y_mean = _means(X, weight), float(_means(y[:, None], weight)[0])
        rows, target = (X - x_mean) * root[:, None], (y - y_mean) * root
        largest = np.abs(rows).max(axis=0, initial=0.0)
        finest = np.where(largest > 0, largest, 1.0)
        scale = finest * np.linalg.norm(rows / finest, axis=0)
        # A spread that is no more than the rounding error of the mean is none.
        kept = np.flatnonzero(scale > 8 * _EPS * np.sqrt(total) * np.abs(x_mean))
        scale = {"length": scale, "variance": scale / np.sqrt(total), "as given": np.ones(len(scale))}[unit][kept]
        rows = rows[:, kept] / scale
        given = X[:, kept]
        if len(rows) > len(kept) + 1:
            # Householder's triangle has the inner products of the rows.
            R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
            rows, target = np.ascontiguousarray(R[:, :-1]), R[:, -1].copy()
        # A target that is constant to rounding is noise of that size.
        level = total * (256 * _EPS) ** 2 * float(np.square(y).max())
        yy = max(float(target @ target), level, 1e-200)
        n_rows = float(len(np.unique(given, axis=0))) if _reproduces(rows, target, yy) else np.inf
        return cls(rows, target, kept, scale, x_mean[kept], yy, y_mean, total, X.shape[1], n_rows)

    def restrict(self, columns: NDArray[np.intp]) -> "Design":
        """The same with these columns of the table alone."""
        places = self.places(columns)
        return replace(
            self,
            X=np.ascontiguousarray(self.X[:, places]),
            kept=self.kept[places],
            unit=self.unit[places],
            x_mean=self.x_mean[places],
        )

    def places(self, columns: ArrayLike) -> NDArray[np.intp]:
        """Where columns of the table stand in X."""
        return np.searchsorted(self.kept, np.asarray(columns, dtype=np.intp))

    def copies(self) -> list[tuple[int, ...]]:
        """Groups of columns (places in the table) that are one column but for offset and scale."""
        length = np.linalg.norm(self.X, axis=0)
        X = self.X / np.where(length > 0, length, 1.0)
        # Equal directions have equal shadows, so that only neighbours need comparing.
        shadow = np.abs(np.random.default_rng(0).normal(size=len(X)) @ X)
        order = np.argsort(shadow)
        groups: list[list[int]] = []
        for i, j in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
            if shadow[j] - shadow[i] > 1e-6 or not _same(X[:, i], X[:, j]):
                continue
            if groups and groups[-1][-1] == i:
                groups[-1].append(j)
            else:
                groups.append([i, j])
        return sorted(tuple(sorted(int(self.kept[i]) for i in group)) for group in groups)


def _reproduces(X: Array, y: Array, yy: float) -> bool:
    """Whether all columns together leave nothing of the target."""
    if not X.shape[1]:
        return False
    rest = y - X @ np.linalg.lstsq(X, y)[0]
    return float(rest @ rest) < 1e-20 * yy


def _same(a: Array, b: Array) -> bool:
    return min(float(np.linalg.norm(a - b)), float(np.linalg.norm(a + b))) < _SAME


def _means(X: Array, weight: Array | None) -> Array:
    """Weighted means, with a second pass over what the first has left."""
    mean = np.average(X, axis=0, weights=weight)
    return mean + np.average(X - mean, axis=0, weights=weight)
