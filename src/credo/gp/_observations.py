"""Training data, the observations of a process, and the process given the observations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from sklearn.utils import check_array, check_consistent_length

from credo.core.estimator import merge_equal_rows, missing_to_nan
from credo.core.fields import Axes, Indices, NonNegative, Positive, Where, each
from credo.core.inference import Gradient, HasInformation, ObservedPosterior, Representation, representation
from credo.core.linalg import mean_and_std, weighted_quantiles
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Columns whose variation, or distance from a combination of others, is below this share of their size are left out.
_MIN_RELATIVE_SPREAD = 1e-10


@dataclass(frozen=True)
class Group:
    """Columns of Y that are observed at the same rows, and so share a factor."""

    rows: Index
    columns: Index


def groups(Y: Array) -> tuple[Group, ...]:
    """The columns of Y, grouped by the rows in which they are observed; NaN marks a missing entry."""
    members: dict[bytes, list[int]] = {}
    for j, column in enumerate(Y.T):
        members.setdefault(np.isnan(column).tobytes(), []).append(j)
    return tuple(Group(np.flatnonzero(~np.isnan(Y[:, columns[0]])), np.array(columns)) for columns in members.values())


@dataclass(frozen=True)
class MeanBasis:
    """The columns H of the mean function: a constant and, for a linear mean, standardized inputs.

    `columns` are the columns of X that are used: those that vary and don't depend linearly on others.
    """

    kind: str
    center: Array
    spread: Array
    columns: Index

    @classmethod
    def of(cls, kind: str, X: Array, weight: Array) -> MeanBasis:
        """The basis for these training rows."""
        center, spread = mean_and_std(X, weight)
        columns = _independent(X, center, spread) if kind == "linear" else np.empty(0, dtype=np.intp)
        if kind == "linear" and len(columns) + 1 >= len(X):
            raise ValueError(
                f'mean="linear" has {len(columns) + 1} coefficients, and {len(X)} distinct rows leave nothing to '
                'estimate the process from: use mean="constant", or more rows'
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
    varying = np.flatnonzero(spread > _MIN_RELATIVE_SPREAD * np.abs(center))
    if not len(varying):
        return varying
    scaled = (X[:, varying] - center[varying]) / spread[varying]
    _, R, order = qr(scaled, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    return np.sort(varying[order[: int((sizes > _MIN_RELATIVE_SPREAD * sizes[0]).sum())]])


def targets(y: ArrayLike | None, rows: Array, *, name: str) -> Array:
    """y as a float64 array of one or two dimensions; NaN, None and pandas' NA are missing entries, infinity an error.

    Parameters
    ----------
    name : str
        The estimator that messages name.
    """
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    y = missing_to_nan(y)
    found: Any = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    check_consistent_length(rows, found)
    if found.ndim == 2 and found.shape[1] == 0:
        raise ValueError("y has no columns")
    empty = np.isnan(found).all(axis=0)
    if np.any(empty):
        which = "y" if found.ndim == 1 else f"column {int(np.argmax(empty))} of y"
        raise ValueError(f"every value of {which} is missing, so there is nothing to fit; leave it out")
    return found


def check_contradictions(X: Array) -> None:
    """Raise an error if observations without noise differ at the same inputs."""
    _, first, count = np.unique(X, axis=0, return_index=True, return_counts=True)
    if (count > 1).any():
        row = X[first[np.argmax(count)]]
        raise ValueError(
            f"noise is 0, but y has {count.max()} different values at x = {np.round(row, 6).tolist()}: "
            'give a noise variance above zero, or learn it with noise="learn"'
        )


def center_and_scale(Y: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column's observed entries; a constant column has its size as the scale."""
    columns = [mean_and_std(column[~np.isnan(column)], weight[~np.isnan(column)]) for column in Y.T]
    centers, scales = np.array(columns).T
    return centers, np.where(scales > 1e-12 * np.abs(centers), scales, np.maximum(np.abs(centers), 1.0))


def median_and_spread(Y: Array, weight: Array) -> tuple[Array, Array]:
    """Like `center_and_scale`, but robust: median, and interquartile range over that of the standard normal."""
    centers, scales = center_and_scale(Y, weight)
    for j, column in enumerate(Y.T):
        seen = np.flatnonzero(~np.isnan(column))
        low, middle, high = weighted_quantiles(column[seen], weight[seen], [0.25, 0.5, 0.75])
        if high - low > 1e-12 * abs(middle):
            centers[j], scales[j] = middle, (high - low) / 1.349
    return centers, scales


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


@dataclass(frozen=True)
class Observations:
    """Training rows with standardized targets Y (NaN if missing), the mean's basis and a weight of each row.

    A row of weight k stands for k observations of mean Y, whose squares about that mean sum to `scatter` over all
    columns.
    """

    representation: Representation
    Y: Array
    basis: MeanBasis
    weight: Array
    scatter: Array

    @property
    def X(self) -> Array:
        return self.representation.X

    @cached_property
    def count(self) -> Array:
        """Number of observations of each row, over all columns and copies."""
        return self.weight * (~np.isnan(self.Y)).sum(axis=1)

    def subset(self, rows: NDArray[np.intp]) -> Observations:
        """Some of the rows."""
        return Observations(
            self.representation.subset(rows), self.Y[rows], self.basis, self.weight[rows], self.scatter[rows]
        )

    def adapted(self, kernel: Kernel) -> Observations:
        """The same, with a representation for this kernel."""
        found = self.representation.adapted(kernel)
        return self if found is self.representation else replace(self, representation=found)

    def condition(self, kernel: Kernel, noise: Array) -> Process:
        """The process given the targets; `noise` is the variance of one observation at each row."""
        shared, parts = noise / self.weight, []
        for group, part, Y in self._parts:
            own = shared if len(group.rows) == len(shared) else shared[group.rows]
            parts.append((group, part.prior(kernel).observe(Y, own, self.basis)))
        return Process(self, kernel, noise, tuple(parts))

    @cached_property
    def _parts(self) -> tuple[tuple[Group, Representation, Array], ...]:
        """A representation, with the targets, for each pattern of missing ones."""
        parts = []
        for group in groups(self.Y):
            part = self.representation if len(group.rows) == len(self.Y) else self.representation.subset(group.rows)
            parts.append((group, part, np.ascontiguousarray(self.Y[np.ix_(group.rows, group.columns)])))
        return tuple(parts)


def _are_targets(Y: Array) -> bool:
    return not (np.isinf(Y).any() or np.isnan(Y).all(axis=0).any())


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Distinct rows X, targets Y as given, weights, how Y is standardized, and how covariances of X are represented.

    Y = center + scale·(standardized targets), for each column; NaN marks a missing one, and labels are indices of
    their classes. `index` maps the given rows that have a weight and a target to rows of X. `row_noise` are known noise
    variances of each row, in the units of y². `method` is the name of the representation, `points` its inducing points
    and `n_points` how many there may be.
    """

    X: Annotated[Array, Axes("n d")]
    Y: Annotated[Array, Axes("n t", finite=False), Where(_are_targets, "finite, and not missing in every row")]
    weight: Annotated[Array, Axes("n"), Positive]
    index: Annotated[Index, Axes("g"), Indices("n")]
    center: Annotated[Array, Axes("t")]
    scale: Annotated[Array, Axes("t"), each(lambda x: (x > 1e-150) & (x < 1e150), "a number whose square is positive")]
    row_noise: Annotated[Array | None, Axes("n"), NonNegative] = None
    is_single: bool = True
    mean: Literal["zero", "constant", "linear"] = "zero"
    method: Literal["exact", "state_space", "inducing", "vecchia"] = "exact"
    points: Annotated[Array | None, Axes("m d")] = None
    n_points: int | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        weight: Array,
        *,
        mean: Any = "zero",
        known: float | Array | None = None,
        standardize: Callable[[Array, Array], tuple[Array, Array]] | None = None,
    ) -> TrainingData:
        """The rows that carry weight and a target, each distinct one once.

        A row that is repeated k times becomes one of weight k: the matrix is smaller and better conditioned.

        Parameters
        ----------
        known : noise variances in the units of y²; rows with their own variances aren't merged.
        standardize : function of targets and weights that gives `center` and `scale`.
        """
        used = (weight > 0) & ~np.isnan(y.reshape(len(X), -1)).all(axis=1)
        Y = targets(y[used], X[used], name="y").reshape(int(used.sum()), -1)
        X, weight = X[used], weight[used]
        row_noise = None
        if isinstance(known, np.ndarray):
            if len(known) not in (len(used), len(Y)):
                raise ValueError(f"noise holds {len(known)} variances for {len(used)} rows")
            row_noise = known[used] if len(known) == len(used) else known
        first = index = np.arange(len(Y))
        if row_noise is None:
            first, index, weight = merge_equal_rows(np.column_stack([X, Y]), weight)
        X, Y = np.ascontiguousarray(X[first]), np.ascontiguousarray(Y[first])
        if isinstance(known, float) and known == 0.0:
            check_contradictions(X)
        n_targets = Y.shape[1]
        center, scale = (np.zeros(n_targets), np.ones(n_targets)) if standardize is None else standardize(Y, weight)
        if known is not None:
            # One variance in the units of y² must be one for standardized targets as well.
            scale = np.full(n_targets, np.sqrt(np.mean(scale**2)))
        return cls(X, Y, weight, index, center, scale, row_noise, y.ndim == 1, mean)

    @property
    def y(self) -> Array:
        """The targets as given: one-dimensional, if they were."""
        return self.Y[:, 0] if self.is_single else self.Y

    @cached_property
    def basis(self) -> MeanBasis:
        """The basis of the mean function."""
        return MeanBasis.of(self.mean, self.X, self.weight)

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of the mean function."""
        return self.basis(self.X[:1]).shape[1]

    @property
    def variance_factor(self) -> float:
        """The ratio of a variance in the units of `kernel_` to one of standardized targets; 1 for several columns."""
        return float(self.scale[0]) ** 2 if self.is_single else 1.0

    @cached_property
    def standardized(self) -> Array:
        """(n, n_targets)."""
        return (self.Y - self.center) / self.scale

    @cached_property
    def merged(self) -> Merged:
        """Rows of equal inputs, and of the same missing targets, as one."""
        Y, weight = self.standardized, self.weight
        if self.row_noise is None:
            first, index, total = merge_equal_rows(np.column_stack([self.X, np.isnan(Y)]), weight)
            if len(first) < len(Y):
                mean = np.column_stack([np.bincount(index, weight * column) / total for column in Y.T])
                square = np.nan_to_num(Y - mean[index]) ** 2
                scatter = np.bincount(index, weight * square.sum(axis=1)).astype(np.float64)
                return Merged(np.ascontiguousarray(self.X[first]), mean, total, scatter, index)
        return Merged(self.X, Y, weight, np.zeros(len(Y)), np.arange(len(Y)))

    def observations(self, kernel: Kernel, *, merged: bool = True) -> Observations:
        """Represented for a kernel. Without `merged`, as predictions and leave-one-out need them."""
        n = len(self.X)
        rows = self.merged if merged else Merged(self.X, self.standardized, self.weight, np.zeros(n), np.arange(n))
        made = representation(self.method, rows.X, kernel, self.points, n_points=self.n_points)
        return Observations(made, rows.Y, self.basis, rows.weight, rows.scatter)

    def extended(self, rows: Array, y: Array) -> TrainingData:
        """With further rows; those without a target are left out."""
        Y = y.reshape(len(rows), -1)
        seen = ~np.isnan(Y).all(axis=1)
        more = np.arange(int(seen.sum()))
        return replace(
            self,
            X=np.vstack([self.X, rows[seen]]),
            Y=np.vstack([self.Y, Y[seen]]),
            weight=np.append(self.weight, np.ones(len(more))),
            index=np.append(self.index, len(self.weight) + more),
        )

    def in_units_of_y(self, log_evidence: float) -> float:
        """The log density of y, from that of standardized targets: each dimension is scaled."""
        seen = ~np.isnan(self.Y)
        dimensions = (self.weight[:, None] * seen).sum(axis=0) - self.n_coefficients
        return log_evidence - float(dimensions @ np.log(self.scale))


@dataclass(frozen=True)
class Merged:
    """Rows of equal inputs as one: their mean target, total weight, and sum of squares about the mean.

    These are sufficient for a process with one noise variance at each input. `index` is the merged row of each given
    row.
    """

    X: Array
    Y: Array
    weight: Array
    scatter: Array
    index: Index


@dataclass(frozen=True)
class Process:
    """A Gaussian process given observations, with one kernel.

    `parts` has a posterior for each pattern of missing targets, and `noise` the variance of one observation of each
    training row.
    """

    observations: Observations
    kernel: Kernel
    noise: Array
    parts: tuple[tuple[Group, ObservedPosterior], ...]

    @property
    def log_evidence(self) -> float:
        """ln p(Y)."""
        return sum(posterior.log_evidence for _, posterior in self.parts) + self.copies[0]

    @cached_property
    def copies(self) -> tuple[float, Array | float]:
        """The part of ln p of k observations of scatter S besides that of their mean, and its derivative by σ².

        −½(k−1) ln 2πσ² − ½ ln k − S/2σ²
        """
        rows = self.observations
        if (rows.weight == 1.0).all() and not rows.scatter.any():
            return 0.0, 0.0
        # Without noise, copies are a single observation.
        noisy = self.noise > 0
        columns, noise = np.where(noisy, rows.count / rows.weight, 0.0), np.where(noisy, self.noise, 1.0)
        more = columns * (rows.weight - 1.0)
        scatter = np.where(noisy, rows.scatter, 0.0) / noise
        value = -0.5 * float((more * np.log(2 * math.pi * noise) + columns * np.log(rows.weight) + scatter).sum())
        return value, 0.5 * (scatter - more) / noise

    def gradient(self) -> Gradient:
        """The derivatives of ln p(Y) by the kernel's parameters and by the noise variance of each row."""
        by_kernel, by_noise = np.zeros(len(self.kernel.names)), np.zeros(len(self.noise))
        for group, posterior in self.parts:
            found = posterior.gradient()
            by_kernel += found.by_kernel
            by_noise[group.rows if len(group.rows) < len(by_noise) else slice(None)] += found.by_noise
        by_noise /= self.observations.weight
        return Gradient(by_kernel, by_noise + self.copies[1])

    def information(self) -> Array | None:
        """The Fisher information of the kernel's parameters and of a noise variance that all rows share.

        None if a posterior doesn't provide it.
        """
        p, weight = len(self.kernel.names), self.observations.weight
        total = np.zeros((p + 1, p + 1))
        for group, posterior in self.parts:
            if not isinstance(posterior, HasInformation):
                return None
            total += posterior.information(1.0 / weight[group.rows])
        # The information in copies of a row besides their mean; see `copies`.
        noise = np.where(self.noise > 0, self.noise, np.inf)
        total[p, p] += 0.5 * float((self.observations.count * (1.0 - 1.0 / weight) / noise**2).sum())
        return total

    def by_noise(self) -> Array:
        """The derivative of ln p(Y) by the noise variance of each row, at less cost than the whole gradient."""
        by_noise = np.zeros(len(self.noise))
        for group, posterior in self.parts:
            by_noise[group.rows] += posterior.by_noise() / self.observations.weight[group.rows]
        return by_noise + self.copies[1]

    def expected_squares(self) -> Array:
        """E(y − f)² of each row, for a single target without missing values."""
        ((_, posterior),) = self.parts
        shared = self.noise / self.observations.weight
        # The derivative of ln p, or of a bound, by σ² is that of the expected log density of y: (E(y − f)² − σ²)/2σ⁴.
        return np.maximum(shared + 2.0 * shared**2 * posterior.by_noise(), 0.0)

    @property
    def jitter(self) -> float:
        """The largest jitter that a covariance matrix needed."""
        return max(posterior.jitter for _, posterior in self.parts)

    def posterior(self, target: int = 0) -> ObservedPosterior:
        """The posterior of the latent values of one target, shared by those observed at the same rows."""
        return next(posterior for group, posterior in self.parts if target in group.columns)

    def mean(self, rows: Array) -> Array:
        """E f at new rows: (n_new, n_targets)."""
        mean = np.empty((len(rows), self.observations.Y.shape[1]))
        for group, posterior in self.parts:
            mean[:, group.columns] = posterior.expected(rows)
        return mean

    def moments(self, rows: Array) -> tuple[Array, Array]:
        """E f and var f at new rows, each (n_new, n_targets)."""
        mean, variance = (np.empty((len(rows), self.observations.Y.shape[1])) for _ in range(2))
        for group, posterior in self.parts:
            mean[:, group.columns], own = posterior.latent(rows)
            variance[:, group.columns] = own[:, None]
        return mean, variance

    def left_out_latent(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """E f and var f at each training row given all other observations, from those of its target (see `left_out`).

        A row of weight k ≤ 1 is left out as a whole. From a larger one, k − 1 observations remain, with the variance
        σ²/(k − 1).
        """
        noise, weight = self.noise[:, None], self.observations.weight[:, None]
        variance = np.maximum(variance - noise / weight, 0.0)
        known = np.maximum(weight - 1.0, 0.0) * variance
        gain = np.divide(known, noise + known, out=np.zeros_like(known), where=known > 0)
        return mean + gain * np.nan_to_num(self.observations.Y - mean), (1.0 - gain) * variance

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance of each training target given all others; missing ones given all observations.

        The target of a row of weight k is the mean of k observations. Its variance is infinite if the other rows don't
        determine the mean.
        """
        mean, variance = (np.empty(self.observations.Y.shape) for _ in range(2))
        missing = np.isnan(self.observations.Y).any(axis=1)
        if missing.any():
            mean[missing], variance[missing] = self.moments(self.observations.X[missing])
            variance[missing] += (self.noise / self.observations.weight)[missing, None]
        for group, posterior in self.parts:
            place = np.ix_(group.rows, group.columns)
            mean[place], own = posterior.left_out()
            variance[place] = own[:, None]
        return mean, variance

    @property
    def mean_prior_variance(self) -> float:
        """The average of var f a priori."""
        return float(np.mean(self.kernel.diagonal(self.observations.X)))

    def extended(self, rows: Array, Y: Array, noise: float) -> Process:
        """With further rows: extends the factor; recomputes it if targets are missing or the mean has slopes."""
        old = self.observations
        weight, more = np.append(old.weight, np.ones(len(rows))), np.full(len(rows), noise)
        grown = Observations(
            old.representation.extended(rows),
            np.vstack([old.Y, Y]),
            old.basis,
            weight,
            np.append(old.scatter, np.zeros(len(rows))),
        )
        every_noise = np.append(self.noise, more)
        if len(self.parts) > 1 or np.isnan(grown.Y).any() or old.basis.kind == "linear":
            grown = replace(grown, basis=MeanBasis.of(old.basis.kind, grown.X, weight))
            return grown.condition(self.kernel, every_noise)
        group, posterior = self.parts[0]
        everywhere = Group(np.arange(len(grown.Y)), group.columns)
        return Process(grown, self.kernel, every_noise, ((everywhere, posterior.extended(rows, Y, more)),))
