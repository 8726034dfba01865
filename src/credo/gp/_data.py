"""The training data of a regressor: distinct rows, weights, gaps in the targets, standardisation, the mean's basis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from sklearn.utils import check_array, check_consistent_length

from credo.core.estimator import check_places, check_positive, check_shapes, merge_equal_rows, with_gaps
from credo.core.linalg import mean_and_std

if TYPE_CHECKING:
    from credo.gp._noise import Noise

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


def distinct(rows: Array, Y: Array, weight: Array, *, merge: bool) -> tuple[Array, Array, Array, Index]:
    """The distinct observations in a fixed order, their weights, and the index of each given row among them.

    A row that is repeated k times becomes one of weight k: a smaller matrix, and a better conditioned one. Without
    `merge` all rows stay as they are.
    """
    if not merge:
        return rows.copy(), Y.copy(), weight.copy(), np.arange(len(Y))
    first, index, total = merge_equal_rows(np.column_stack([rows, Y]), weight)
    return np.ascontiguousarray(rows[first]), np.ascontiguousarray(Y[first]), total, index


@dataclass(frozen=True)
class Merged:
    """Rows of equal inputs as one: their mean target, total weight, and sum of squares about the mean.

    These are sufficient for a process with one noise variance at each input. `index` is the new row of each given one.
    """

    X: Array
    Y: Array
    weight: Array
    scatter: Array
    index: Index


def merged(X: Array, Y: Array, weight: Array) -> Merged:
    """Merge rows whose inputs, and whose missing entries of Y, are equal."""
    first, index, total = merge_equal_rows(np.column_stack([X, np.isnan(Y)]), weight)
    if len(first) == len(X):
        return Merged(X, Y, weight, np.zeros(len(X)), np.arange(len(X)))
    mean = np.column_stack([np.bincount(index, weight * column) / total for column in Y.T])
    square = np.nan_to_num(Y - mean[index]) ** 2
    scatter = np.bincount(index, weight * square.sum(axis=1)).astype(np.float64)
    return Merged(np.ascontiguousarray(X[first]), mean, total, scatter, index)


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


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Distinct rows X, targets y as given (NaN where one is missing), weights, and how y is standardised.

    y = center + scale·(standardised targets), for each column. `index` is the row of each given one that has a weight
    and a target. `row_noise` are known noise variances of each row, in the units of y².
    """

    X: Array
    y: Array
    weight: Array
    index: Index
    center: Array
    scale: Array
    row_noise: Array | None
    mean: str

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array, noise: Noise, *, standardize: bool, mean: str) -> TrainingData:
        """The rows that carry weight and a target, each distinct one once."""
        used = (weight > 0) & ~np.isnan(y.reshape(len(X), -1)).all(axis=1)
        Y = targets(y[used], X[used], name="y").reshape(int(used.sum()), -1)
        row_noise = _of_rows(noise.known, used) if isinstance(noise.known, np.ndarray) else None
        rows, Y, weight, index = distinct(X[used], Y, weight[used], merge=row_noise is None)
        if isinstance(noise.known, float) and noise.known == 0.0:
            refuse_contradictions(rows)
        center, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if standardize and not noise.counts:
            center, scale = noise.center_and_scale(Y, weight)
        if noise.known is not None:
            # One variance in the units of y² must be one for standardised targets as well.
            scale = np.full(Y.shape[1], np.sqrt(np.mean(scale**2)))
        return cls(rows, Y[:, 0] if y.ndim == 1 else Y, weight, index, center, scale, row_noise, mean)

    def _check_state(self) -> None:
        y = "~n" if self.is_single else "~n t"
        sizes = check_shapes(
            self, X="n d", weight="n", y=y, center="t", scale="t", index="m", row_noise="n?"
        )  # fmt: skip
        if sizes["t"] != 1 and self.is_single:
            raise ValueError(f"center holds {sizes['t']} values for a single target")
        if np.isinf(self.y).any() or np.isnan(self.y).all(axis=0).any():
            raise ValueError("y holds values that aren't finite")
        check_places(self, "index", sizes["n"])
        check_positive(self, "weight")
        check_positive(self, "scale", square=True)

    @property
    def is_single(self) -> bool:
        """Whether y has one column."""
        return self.y.ndim == 1

    @cached_property
    def basis(self) -> MeanBasis:
        """Of the mean function."""
        return MeanBasis.of(self.mean, self.X, self.weight)

    @property
    def variance_factor(self) -> float:
        """The ratio of a variance in the units of `kernel_` to one of standardised targets; 1 for several columns."""
        return float(self.scale[0]) ** 2 if self.is_single else 1.0

    @cached_property
    def standardized(self) -> Array:
        """(n, n_targets)."""
        return (self.y.reshape(len(self.X), -1) - self.center) / self.scale

    @cached_property
    def merged(self) -> Merged:
        """Rows of equal inputs merged, on which the search for hyperparameters runs."""
        Y = self.standardized
        if self.row_noise is None:
            return merged(self.X, Y, self.weight)
        return Merged(self.X, Y, self.weight, np.zeros(len(Y)), np.arange(len(Y)))

    @cached_property
    def separate(self) -> Merged:
        """Rows as predictions and leave-one-out need them: those of equal inputs aren't merged."""
        n = len(self.X)
        return Merged(self.X, self.standardized, self.weight, np.zeros(n), np.arange(n))

    def in_units_of_y(self, log_evidence: float) -> float:
        """The log density of y, from that of standardised targets: each dimension is scaled."""
        seen = ~np.isnan(self.standardized)
        dimensions = (self.weight[:, None] * seen).sum(axis=0) - self.basis(self.X[:1]).shape[1]
        return log_evidence - float(dimensions @ np.log(self.scale))


def _of_rows(noise: Array, used: NDArray[np.bool_]) -> Array:
    """The given variances of the rows that are used."""
    if len(noise) not in (len(used), int(used.sum())):
        raise ValueError(f"noise holds {len(noise)} variances for {len(used)} rows")
    return noise[used] if len(noise) == len(used) else noise
