"""Kernels and distances between new and training rows, block by block, and the default kernel.

ln k(x, x′) of kernels that are never negative, accurate where k itself underflows.

    RBF −r²/2,  Exponential −r,  Matérn ln(1 + √3r) − √3r, …;  a product adds logs, a sum adds what they stand for

Distances are Euclidean in the kernel's own coordinates: columns in units of the length scale, and for a periodic kernel
points on circles, whose chords 2 sin(πd/p) make it an RBF.

Locally weighted means and their variances.

    m(x) = Σ pᵢ yᵢ,    pᵢ = wᵢ k(x, xᵢ) / Σ wⱼ k(x, xⱼ)

The weights are normalised in logs. Where even the largest log is −∞, the nearest rows share the weight.

The bandwidth of a kernel: one factor on all its free length scales, chosen by exact leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from credo.core.deadlines import check
from credo.core.estimator import Result, check_positive, check_shapes, positive
from credo.core.params import Parameter
from credo.kernels import (
    RBF,
    Categorical,
    Columns,
    Constant,
    Exp,
    Exponential,
    Kernel,
    Matern32,
    Matern52,
    Periodic,
    Product,
    RationalQuadratic,
    Sum,
    White,
    require_kernel,
)
from credo.kernels.stationary import Stationary

Array = NDArray[np.float64]

# A block of rows against all training rows: 16 MB, of which a few are alive at a time.
BLOCK_ENTRIES = 2_000_000
# Rows between which typical distances are measured.
_SAMPLE = 1_000


def blocks(n_rows: int, n_training: int) -> Iterator[slice]:
    """Slices of the rows, so that a block of rows times the training rows stays small."""
    step = max(1, BLOCK_ENTRIES // max(n_training, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def cross(kernel: Kernel, rows: Array, training: Array) -> Array:
    """k between new and training rows, zero where their distance overflows.

    The training rows come last: a kernel measures from the mean of its last table, which one far row mustn't move.
    """
    with np.errstate(over="ignore"):
        return kernel.cross(rows, training)


def sample(X: NDArray[Any], n: int = _SAMPLE) -> NDArray[Any]:
    """At most n of the rows, spread evenly over the table."""
    return X if len(X) <= n else X[np.linspace(0, len(X) - 1, n).astype(np.intp)]


def distances(X: Array, Z: Array) -> Array:
    """Euclidean distances, without squares that overflow or vanish."""
    center = Z.mean(axis=0)
    X, Z = X - center, Z - center
    unit = float(max(np.abs(X).max(initial=0.0), np.abs(Z).max(initial=0.0))) or 1.0
    return cdist(X / unit, Z / unit) * unit


def median_distance(X: Array) -> float:
    """The median distance between distinct rows (of a thousand, where there are more); 1 where there is but one."""
    rows = sample(np.unique(X, axis=0))
    between = distances(rows, rows)[np.triu_indices(len(rows), k=1)]
    between = between[between > 0]
    median = float(np.median(between)) if len(between) else 1.0
    if not 1e-290 < median < 1e290:
        raise ValueError(
            f"the median distance between rows is {median:.3g}, which is no length scale that a kernel could have: "
            "change the units of the columns of X, for example by StandardScaler"
        )
    return median


# ln r − r of an infinite r would be no number.
_FARTHEST = 1e300


def _matern32(kernel: Kernel, square: Array) -> Array:
    r = np.sqrt(3.0 * np.minimum(square, _FARTHEST))
    return np.log1p(r) - r


def _matern52(kernel: Kernel, square: Array) -> Array:
    r = np.sqrt(5.0 * np.minimum(square, _FARTHEST))
    return np.log1p(r + r * (r / 3.0)) - r


def _rational_quadratic(kernel: Kernel, square: Array) -> Array:
    shape = float(kernel.params["shape"])
    return -shape * np.log1p(square / (2.0 * shape))


# ln k as a function of r², without the variance, of the kernels that depend on a distance alone.
_PROFILES: dict[type[Kernel], Callable[[Kernel, Array], Array]] = {
    RBF: lambda _, square: -0.5 * square,
    Exponential: lambda _, square: -np.sqrt(square),
    Matern32: _matern32,
    Matern52: _matern52,
    RationalQuadratic: _rational_quadratic,
    Periodic: lambda _, square: -0.5 * square,
}


def log_weights(kernel: Kernel, X: Array, Z: Array) -> Array:
    """ln k(xᵢ, zⱼ), one row for each row of X; −∞ where the kernel is zero."""
    # Squares of distances may overflow and logs of zero be taken: both are weights of zero.
    with np.errstate(over="ignore", divide="ignore"):
        return _logs(kernel, X, Z)


def leaves(kernel: Kernel, X: Array) -> Iterator[tuple[Kernel, Array]]:
    """Every kernel of a composition that has a length scale, with its coordinates of the rows."""
    if isinstance(kernel, Columns):
        yield from leaves(kernel.kernel, _picked(kernel, X))
    elif isinstance(kernel, Exp):
        yield from leaves(kernel.kernel, X)
    elif isinstance(kernel, Sum | Product):
        for term in kernel.terms:
            yield from leaves(term, X)
    elif "lengthscale" in kernel.tree:
        yield kernel, _coordinates(kernel, X)


@singledispatch
def _logs(kernel: Kernel, X: Array, Z: Array) -> Array:
    if type(kernel) in _PROFILES:
        logs = _PROFILES[type(kernel)](kernel, cdist(*_both(kernel, X, Z), "sqeuclidean"))
        logs += np.log(float(kernel.params["variance"]))
        return logs
    return _logs_of_values(kernel, X, Z)


@_logs.register
def _(kernel: Product, X: Array, Z: Array) -> Array:
    if not all(map(_never_negative, kernel.terms)):
        return _logs_of_values(kernel, X, Z)
    return reduce(np.add, (_logs(term, X, Z) for term in kernel.terms))


@_logs.register
def _(kernel: Sum, X: Array, Z: Array) -> Array:
    if not all(map(_never_negative, kernel.terms)):
        return _logs_of_values(kernel, X, Z)
    return reduce(np.logaddexp, (_logs(term, X, Z) for term in kernel.terms))


@_logs.register
def _(kernel: Columns, X: Array, Z: Array) -> Array:
    return _logs(kernel.kernel, _picked(kernel, X), _picked(kernel, Z))


@_logs.register
def _(kernel: Exp, X: Array, Z: Array) -> Array:
    return cross(kernel.kernel, X, Z)


def _logs_of_values(kernel: Kernel, X: Array, Z: Array) -> Array:
    values = cross(kernel, X, Z)
    least = float(values.min(initial=0.0))
    if least < 0 or not np.isfinite(values).all():
        raise ValueError(
            f"the kernel's values are weights, and {kernel!r} gives "
            f"{f'{least:.3g}' if least < 0 else 'infinite values'} between some of them: use a kernel that is never "
            "negative, such as credo.kernels.RBF()"
        )
    return np.log(values)


def _never_negative(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return all(map(_never_negative, kernel.terms))
    if isinstance(kernel, Columns):
        return _never_negative(kernel.kernel)
    return type(kernel) in _PROFILES or isinstance(kernel, Constant | White | Categorical | Exp)


def _picked(kernel: Columns, X: Array) -> Array:
    index = kernel.columns if isinstance(kernel.columns, slice) else np.atleast_1d(kernel.columns)
    return X[:, index]


def _both(kernel: Kernel, X: Array, Z: Array) -> tuple[Array, Array]:
    # About the middle of the training rows, so that offsets cost no digits.
    center = Z.mean(axis=0)
    return _coordinates(kernel, X - center), _coordinates(kernel, Z - center)


def _coordinates(kernel: Kernel, X: Array) -> Array:
    lengthscale = kernel.params["lengthscale"]
    if not isinstance(kernel, Periodic):
        return X / kernel.column_lengthscales(X.shape[1]) if isinstance(kernel, Stationary) else X / lengthscale
    angle = 2.0 * np.pi * X / kernel.params["period"]
    return np.concatenate([np.cos(angle) / lengthscale, np.sin(angle) / lengthscale], axis=1)


Index = NDArray[np.intp]

# Log weights this far below the largest are negligible; the limit keeps squares from becoming slow denormals.
_LEAST_LOG_WEIGHT = -350.0
# Rows as near as the nearest, up to rounding, are as near.
_TIE = 1.0 + 1e-12
# Few neighbours may agree by luck: the residuals of all rows count as much as this many of them.
_PRIOR_RESIDUALS = 2.0
# The unit of the kernel mass: this fraction of this quantile over the training rows.
_QUANTILE, _UNIT_FRACTION = 0.05, 0.1


@dataclass(frozen=True)
class Neighbours:
    """Training rows, their targets, and how many observations each stands for."""

    rows: Array
    target: Array
    weight: Array

    def _check_state(self) -> None:
        check_shapes(self, rows="n d", target="n", weight="n")
        check_positive(self, "weight")

    @property
    def alone(self) -> bool:
        """Whether there is no other observation to predict from."""
        return len(self.rows) == 1 and self.weight[0] <= 1

    @property
    def y_mean(self) -> float:
        """The mean of all observations."""
        return float(np.average(self.target, weights=self.weight))

    def mean(self, shares: Array) -> Array:
        """Σ pᵢ yᵢ, computed about the overall mean for accuracy."""
        return self.y_mean + shares @ (self.target - self.y_mean)

    def shares(self, kernel: Kernel, X: Array, *, own: Index | None = None) -> tuple[Array, Array]:
        """pᵢ for each row of X, and the log of its kernel mass Σ wᵢ k(x, xᵢ).

        `own` says where the rows of X stand among the training rows; one observation is then left out there.
        """
        logs = log_weights(kernel, X, self.rows)
        self._count(logs, own)
        top = logs.max(axis=1)
        lost = np.isneginf(top)
        if lost.any():
            logs[lost] = self._nearest(X[lost], None if own is None else own[lost])
            top = np.where(lost, 0.0, top)
        logs -= top[:, None]
        shares = np.exp(np.maximum(logs, _LEAST_LOG_WEIGHT, out=logs), out=logs)
        total = shares.sum(axis=1)
        shares /= total[:, None]
        return shares, np.where(lost, -np.inf, top + np.log(total))

    def left_out(self, kernel: Kernel, place: Index) -> tuple[Array, Array, Array]:
        """For the training rows at these places, each without one of its observations: error, Σp², log mass."""
        error, square, mass = (np.empty(len(place)) for _ in range(3))
        for part in blocks(len(place), len(self.rows)):
            own = place[part]
            shares, mass[part] = self.shares(kernel, self.rows[own], own=own)
            error[part] = self.target[own] - self.mean(shares)
            square[part] = self.square(shares, own=own)
        return error, square, mass

    def square_error(self, kernel: Kernel, place: Index) -> float:
        """The mean squared error of predicting these rows, each without one of its observations."""
        return float(np.average(self.left_out(kernel, place)[0] ** 2, weights=self.weight[place]))

    def square(self, shares: Array, *, own: Index | None = None) -> Array:
        """Σp² over observations, of which w share what a row of weight w has; its inverse is their effective number."""
        square = np.einsum("ij,ij->i", shares, shares / self.weight)
        if own is None:
            return square
        mine, count, left = shares[np.arange(len(own)), own] ** 2, self.weight[own], self._left(own)
        return square + np.divide(mine, left, out=np.zeros_like(mine), where=left > 0) - mine / count

    def _left(self, own: Index) -> Array:
        """What is left without an observation of one's own: a weight of k stands for k, one below 1 goes as a whole."""
        return np.maximum(self.weight[own] - 1.0, 0.0)

    def _count(self, logs: Array, own: Index | None) -> None:
        """Add ln w to log weights, without one's own."""
        if (self.weight != 1.0).any():
            logs += np.log(self.weight)
        if own is not None:
            with np.errstate(divide="ignore"):
                logs[np.arange(len(own)), own] += np.log(self._left(own) / self.weight[own])

    def _nearest(self, X: Array, own: Index | None) -> Array:
        """Log weights that leave the nearest rows only."""
        counts = np.zeros((len(X), len(self.rows)))
        self._count(counts, own)
        away = np.where(np.isneginf(counts), np.inf, distances(X, self.rows))
        return np.where(away <= _TIE * away.min(axis=1, keepdims=True), counts, -np.inf)


@dataclass(frozen=True)
class Spread:
    """How observations scatter about the locally weighted mean.

    With eᵢ the leave-one-out residuals, whose variance is σ²(xᵢ)(1 + Σp²), the noise is the locally weighted mean of

        vᵢ = eᵢ² / (1 + Σp²)

    (smoothed squared residuals: Fan & Yao 1998, Biometrika 85:645), to which the mean of all vᵢ is added with the
    weight of two residuals; the variance of m(x) is σ²(x) Σp². Where the kernel mass is small, the local variance is
    replaced by that of all observations about m(x) with weight exp(−N), N being the kernel mass in units of a tenth of
    its 5 % quantile over the training rows.
    """

    variances: Array
    pooled: float
    log_unit: float
    y_mean: float
    y_variance: float

    @classmethod
    def of(cls, neighbours: Neighbours, kernel: Kernel) -> Spread:
        """Measured by leaving out each observation in turn."""
        error, square, mass = neighbours.left_out(kernel, np.arange(len(neighbours.rows)))
        variances, weight, y_mean = error**2 / (1.0 + square), neighbours.weight, neighbours.y_mean
        order = np.argsort(mass, kind="stable")
        reached = np.cumsum(weight[order]) >= _QUANTILE * weight.sum()
        return cls(
            variances=variances,
            pooled=float(np.average(variances, weights=weight)),
            log_unit=float(mass[order][np.argmax(reached)] + np.log(_UNIT_FRACTION)),
            y_mean=y_mean,
            y_variance=float(np.average((neighbours.target - y_mean) ** 2, weights=weight)),
        )

    def squares(self, shares: Array, square: Array, mass: Array, mean: Array) -> tuple[Array, Array]:
        """Variances of f and of the noise at rows with these shares, Σp², log masses and means."""
        count = 1.0 / square
        noise = (count * (shares @ self.variances) + _PRIOR_RESIDUALS * self.pooled) / (count + _PRIOR_RESIDUALS)
        unreached = self.unreached(mass)
        overall = self.y_variance + (mean - self.y_mean) ** 2
        elsewhere = np.minimum(self.pooled, overall)
        latent = (1.0 - unreached) * noise * square + unreached * (overall - elsewhere)
        return latent, (1.0 - unreached) * noise + unreached * elsewhere

    def unreached(self, mass: Array) -> Array:
        """The weight exp(−N) of the overall variance at a row with this log kernel mass."""
        with np.errstate(invalid="ignore"):
            count = np.exp(np.minimum(mass - self.log_unit, 700.0))
        return np.where(np.isneginf(mass), 1.0, np.exp(-count))


# The mean loss of predicting the training rows at these places, each without one of its observations.
Loss = Callable[[Kernel, Index], float]

# A first look over the whole range, and a closer one around its best.
_FIRST, _CLOSER = 30, 10
# From where only the nearest row counts to where all rows count alike.
_NARROW, _WIDE = 0.1, 30.0
_BANDWIDTH_ROWS = 200
# Pairs of rows that are weighed for each candidate; of larger tables an even sample of rows is left out.
_MAX_PAIRS = 4_000_000


@dataclass(frozen=True)
class Choice:
    """A kernel with its bandwidth, how it was chosen, and the places of the rows that were left out.

    If it was chosen by leaving rows out: the candidates, largest first, and their mean losses.
    """

    kernel: Kernel
    bandwidth: float
    result: Result
    place: Index
    bandwidths: Array | None = None
    losses: Array | None = None


def checked_kernel(kernel: Kernel | None, rows: Array) -> Kernel:
    """The kernel, by default an RBF; it raises its own errors for rows that don't suit it."""
    kernel = RBF() if kernel is None else require_kernel(kernel)
    cross(kernel, rows[:1], rows[:1])
    return kernel


def choose(kernel: Kernel, bandwidth: float | str, neighbours: Neighbours, loss: Loss) -> Choice:
    """The kernel with the given bandwidth, or with the best for leaving observations out one at a time."""
    every = np.arange(len(neighbours.rows))
    if not isinstance(bandwidth, str):
        factor = positive("bandwidth", bandwidth)
        if factor != 1.0 and not _paths(kernel):
            raise ValueError(
                f"bandwidth={bandwidth!r} multiplies length scales, and {kernel!r} has no free one: leave it at 1"
            )
        return Choice(_scaled(kernel, factor), factor, Result(True, 1, "bandwidth fixed"), every)
    if bandwidth != "loo":
        raise ValueError(f'bandwidth must be a number or "loo"; got {bandwidth!r}')
    if not _paths(kernel):
        message = "the kernel has no free length scale and was used as it is"
        return Choice(kernel, 1.0, Result(True, 0, message), every)
    ends = _range(kernel, np.unique(neighbours.rows, axis=0))
    if ends is None or neighbours.alone:
        return Choice(kernel, 1.0, Result(True, 0, "all rows are equal, so the bandwidth has no effect"), every)
    return _best(kernel, ends, sample(every, max(500, _MAX_PAIRS // len(every))), loss, len(every))


def _best(kernel: Kernel, ends: tuple[float, float], place: Index, loss: Loss, n_rows: int) -> Choice:
    """The best of candidates between the ends, refined around the best of a first look."""
    bandwidths = np.geomspace(*ends, _FIRST)
    losses = _losses(kernel, loss, place, bandwidths)
    best = _winner(losses)
    around = float(bandwidths[max(best - 1, 0)]), float(bandwidths[min(best + 1, _FIRST - 1)])
    closer = np.setdiff1d(np.geomspace(*around, _CLOSER + 1), bandwidths)
    losses = np.concatenate([losses, _losses(kernel, loss, place, closer)])
    bandwidths = np.concatenate([bandwidths, closer])
    order = np.argsort(-bandwidths)
    bandwidths, losses = bandwidths[order], losses[order]
    best = _winner(losses)
    of = "" if len(place) == n_rows else f" of {len(place)} of the {n_rows} rows"
    message = f"bandwidth chosen by exact leave-one-out{of}"
    if best == 0:
        message = "the largest bandwidth tried was best: under this kernel the inputs say little about the target"
    elif best == len(bandwidths) - 1:
        message = "the smallest bandwidth tried was best: predictions are those of the nearest rows"
    factor, result = float(bandwidths[best]), Result(True, len(bandwidths), message)
    return Choice(_scaled(kernel, factor), factor, result, place, bandwidths, losses)


def _scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its free length scales multiplied."""
    return kernel.with_params(**{path.replace(".", "__"): kernel.params[path] * factor for path in _paths(kernel)})


def _paths(kernel: Kernel) -> list[str]:
    """The length scales that may be changed."""
    found = []
    for path in kernel.tree.paths:
        leaf = kernel.tree[path]
        if path.rpartition(".")[2] == "lengthscale" and isinstance(leaf, Parameter) and not leaf.fixed:
            found.append(path)
    return found


def _range(kernel: Kernel, rows: Array) -> tuple[float, float] | None:
    """The largest and smallest bandwidth worth trying, from distances between rows in units of the length scales."""
    nearest, farthest = [], []
    for leaf, coordinates in leaves(kernel, rows):
        if not _paths(leaf):
            continue
        apart = distances(sample(coordinates, _BANDWIDTH_ROWS), coordinates)
        to_next = np.where(apart > 0, apart, np.inf).min(axis=1)
        to_next = to_next[np.isfinite(to_next)]
        if len(to_next):
            nearest.append(float(np.median(to_next)))
            farthest.append(float(apart.max()))
    return (_WIDE * max(farthest), _NARROW * min(nearest)) if nearest else None


def _losses(kernel: Kernel, loss: Loss, place: Index, bandwidths: Array) -> Array:
    losses = []
    for h in bandwidths:
        check()
        losses.append(loss(_scaled(kernel, h), place))
    return np.array(losses)


def _winner(losses: Array) -> int:
    """The first, that is the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + 1e-10))[0])
