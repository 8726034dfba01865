"""Targets: their gaps, standardisation and rounding, and the basis of their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from sklearn.utils import check_array, check_consistent_length

from credo.core.estimator import with_gaps
from credo.core.linalg import mean_and_std

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Columns whose variation, or distance from a combination of others, is below this share of their size are left out.
_FLAT = 1e-10
# The interquartile range of a normal distribution, in standard deviations.
_QUARTILES = 1.349


@dataclass(frozen=True)
class Group:
    """Columns of Y that are observed at the same rows, and so share a factor."""

    rows: Index
    columns: Index


def groups(Y: Array) -> tuple[Group, ...]:
    """The columns of Y by where they are observed; NaN marks a missing entry."""
    members: dict[bytes, list[int]] = {}
    for j, column in enumerate(Y.T):
        members.setdefault(np.isnan(column).tobytes(), []).append(j)
    return tuple(Group(np.flatnonzero(~np.isnan(Y[:, columns[0]])), np.array(columns)) for columns in members.values())


@dataclass(frozen=True)
class MeanBasis:
    """The columns H of the mean function: a constant and, for a linear mean, standardised inputs.

    Columns of X that don't vary, or that depend linearly on others, are left out: `columns` are the rest.
    """

    kind: str
    center: Array
    spread: Array
    columns: Index

    @classmethod
    def of(cls, kind: str, X: Array, weight: Array) -> MeanBasis:
        """The basis for these training rows."""
        center, spread = np.average(X, axis=0, weights=weight), weighted_std(X, weight)
        columns = _independent(X, center, spread) if kind == "linear" else np.empty(0, dtype=np.intp)
        if kind == "linear" and len(columns) + 1 >= len(X):
            raise ValueError(
                f'mean="linear" has {len(columns) + 1} coefficients, and {len(X)} distinct rows leave nothing to '
                'estimate the rest from: use mean="constant", or more rows'
            )
        return cls(kind, center, np.where(spread > 0, spread, 1.0), columns)

    def __call__(self, rows: Array) -> Array:
        """H at some rows."""
        if self.kind == "zero":
            return np.empty((len(rows), 0))
        scaled = (rows[:, self.columns] - self.center[self.columns]) / self.spread[self.columns]
        return np.column_stack([np.ones(len(rows)), scaled])


def _independent(X: Array, center: Array, spread: Array) -> Index:
    """Columns that vary and don't depend on each other, in their order."""
    varying = np.flatnonzero(spread > _FLAT * np.abs(center))
    if not len(varying):
        return varying
    scaled = (X[:, varying] - center[varying]) / spread[varying]
    _, R, order = qr(scaled, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    return np.sort(varying[order[: int((sizes > _FLAT * sizes[0]).sum())]])


def targets(y: ArrayLike | None, rows: Array, *, name: str) -> Array:
    """y as a float64 array of one or two dimensions; NaN, None and pandas' NA are missing entries, infinity an error.

    Parameters
    ----------
    name : str
        The estimator that messages name.
    """
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    y = with_gaps(y)
    found: Any = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    check_consistent_length(rows, found)
    if found.ndim == 2 and found.shape[1] == 0:
        raise ValueError("y has no columns")
    empty = np.isnan(found).all(axis=0)
    if np.any(empty):
        which = "y" if found.ndim == 1 else f"column {int(np.argmax(empty))} of y"
        raise ValueError(f"every value of {which} is missing, so there is nothing to fit; leave it out")
    return found


def refuse_contradictions(X: Array) -> None:
    """Raise an error where observations without noise differ at the same inputs."""
    _, first, count = np.unique(X, axis=0, return_index=True, return_counts=True)
    if (count > 1).any():
        row = X[first[np.argmax(count)]]
        raise ValueError(
            f"noise is 0, but y has {count.max()} different values at x = {np.round(row, 6).tolist()}: "
            'give a noise variance above zero, or learn it with noise="learn"'
        )


def center_and_scale(Y: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column's observed entries; a constant column has its size as the scale."""
    centers, scales = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    for j, column in enumerate(Y.T):
        seen = ~np.isnan(column)
        center = float(np.average(column[seen], weights=weight[seen]))
        scale = math.sqrt(float(np.average((column[seen] - center) ** 2, weights=weight[seen])))
        centers[j] = center
        scales[j] = scale if scale > 1e-12 * abs(center) and scale > 0 else max(abs(center), 1.0)
    return centers, scales


def median_and_spread(Y: Array, weight: Array) -> tuple[Array, Array]:
    """As `center_and_scale`, but median and interquartile range of a normal distribution: outliers change neither."""
    centers, scales = center_and_scale(Y, weight)
    for j, column in enumerate(Y.T):
        seen = np.flatnonzero(~np.isnan(column))
        order = seen[np.argsort(column[seen], kind="stable")]
        share = np.cumsum(weight[order]) / weight[order].sum()
        low, middle, high = column[order[np.searchsorted(share, [0.25, 0.5, 0.75])]]
        if high - low > 1e-12 * abs(middle):
            centers[j], scales[j] = middle, (high - low) / _QUARTILES
    return centers, scales


def weighted_std(X: Array, weight: Array) -> Array:
    """Standard deviation of each column, a weight of k standing for k rows."""
    return mean_and_std(X, weight)[1]


def rounding_variance(Y: Array) -> float:
    """The variance δ²/12 that targets recorded in steps of δ have lost, with δ the smallest difference in a column."""
    steps = []
    for column in Y.T:
        values = np.unique(column[~np.isnan(column)])
        gaps = np.diff(values)
        gaps = gaps[gaps > 1e-9 * np.abs(values).max(initial=0.0)]
        if gaps.size:
            steps.append(float(gaps.min()))
    return min(steps) ** 2 / 12.0 if steps else 0.0


def variances_of_rows(noise: Array, used: NDArray[np.bool_]) -> Array:
    """The given variances of the rows that are used."""
    if len(noise) not in (len(used), int(used.sum())):
        raise ValueError(f"noise holds {len(noise)} variances for {len(used)} rows")
    return noise[used] if len(noise) == len(used) else noise
