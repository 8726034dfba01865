"""A committee of Gaussian processes: each knows a block of the rows, and their predictions are combined.

    ln p(y) = Σₖ ln N(yₖ | Hₖb, Kₖ + Σₖ),    k over blocks of rows that are independent a priori

The kernel, the noise and the coefficients b of the mean are shared (Deisenroth & Ng 2015). A prediction combines the
blocks around the new row, each together with the same rows c, taken from all blocks, through which they know of each
other (the generalized robust Bayesian committee machine: Liu, Cai, Wang & Ong 2018). With σ² the variance given c alone
and σₖ² that given c and block k,

    1/v = Σ βₖ/σₖ² + (1 − Σ βₖ)/σ²,    μ = v(Σ βₖμₖ/σₖ² + (1 − Σ βₖ)μ/σ²),    βₖ = ½ ln(σ²/σₖ²)

but β = 1 for the block that knows most, so that the others count for as much as they tell beyond c. Far from all rows
the prior is left, and one block is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from credo.core.inference.dense import Dense, DensePosterior
from credo.core.inference.paths import Paths
from credo.core.inference.protocols import Basis, FlatMean, Gradient, NormalNoisePrior, Representation, no_basis
from credo.core.linalg import n_threads, one_blas_thread
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Rows of a block at most.
SIZE = 500
# Blocks that a prediction combines.
_NEAREST = 8
# Distances between rows and blocks that are held at a time.
_DISTANCES = 2**22
# Factors that are kept for predictions take at most so many numbers (512 MB); beyond, they are made again.
_HELD = 2**26
# The share of a prior variance that differences of covariances can't tell from zero.
_ROUNDING = 1e-13


class Committee(Representation):
    """The rows of X in blocks of at most `size`: O(n size²) time, and the memory of a few blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Committee
    >>> from credo.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 500)[:, None]
    >>> rows = Committee(X, size=100)
    >>> len(rows.blocks)
    8
    >>> rows.prior(RBF(0.2)).observe(np.sin(6 * X), noise=0.1).latent(np.array([[0.25]]))[0].round(1)
    array([[1.]])
    """

    evidence_method = "committee"

    def __init__(self, X: Array, size: int = SIZE, scales: Array | None = None) -> None:
        self.X = np.ascontiguousarray(X)
        self.size = size
        spread = self.X.std(axis=0)
        self.scales = np.where(spread > 0, spread, 1.0) if scales is None else scales

    def subset(self, rows: Index) -> Representation:
        """The same for some of the rows, exact if they are few."""
        return Dense(self.X[rows]) if len(rows) <= self.size else Committee(self.X[rows], self.size, self.scales)

    def extended(self, rows: Array) -> Committee:
        """The same with further rows, in new blocks."""
        return Committee(np.vstack([self.X, rows]), self.size, self.scales)

    def adapted(self, kernel: Kernel) -> Committee:
        """The same rows in blocks of rows that are near each other by the kernel's length scales."""
        scales = kernel.column_scales(self.X.shape[1])
        return Committee(self.X, self.size, np.where(np.isfinite(scales), scales, self.scales))

    def prior(self, kernel: Kernel) -> CommitteePrior:
        """f ~ GP(0, k) at the rows of each block."""
        return CommitteePrior(self, kernel)

    @cached_property
    def blocks(self) -> list[Index]:
        """The rows of each block."""
        return _halved(self.X / self.scales, np.arange(len(self.X)), self.size)

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """The smallest and the largest value of each column in each block."""
        Z = self.X / self.scales
        return np.stack([Z[rows].min(axis=0) for rows in self.blocks]), np.stack(
            [Z[rows].max(axis=0) for rows in self.blocks]
        )

    def nearest(self, rows: Array) -> Index:
        """The numbers of the blocks around each new row: (n_rows, at most 8)."""
        (lower, upper), n_blocks = self._corners, len(self.blocks)
        if n_blocks <= _NEAREST:
            return np.tile(np.arange(n_blocks), (len(rows), 1))
        found, step = np.empty((len(rows), _NEAREST), dtype=np.intp), max(1, _DISTANCES // n_blocks)
        for start in range(0, len(rows), step):
            Z = (rows[start : start + step] / self.scales)[:, None]
            gaps = sum(
                np.square(np.maximum(lower[:, j] - Z[..., j], 0.0) + np.maximum(Z[..., j] - upper[:, j], 0.0))
                for j in range(rows.shape[1])
            )
            found[start : start + step] = np.argpartition(gaps, _NEAREST - 1, axis=1)[:, :_NEAREST]
        return found

    @cached_property
    def shared(self) -> Index:
        """The rows that every block knows in a prediction, evenly from all blocks; none where there is one block."""
        n = self.size if len(self.blocks) > 1 else 0
        return np.concatenate(self.blocks)[np.arange(n) * len(self.X) // max(n, 1)]


def _halved(Z: Array, rows: Index, size: int) -> list[Index]:
    """Halves along the column in which the rows are spread most, until they are small."""
    if len(rows) <= size:
        return [rows]
    column = Z[rows, np.argmax(np.var(Z[rows], axis=0))]
    order = np.argsort(column, kind="stable")
    middle = len(rows) // 2
    return _halved(Z, rows[order[:middle]], size) + _halved(Z, rows[order[middle:]], size)


@dataclass(frozen=True, eq=False)
class CommitteePrior(NormalNoisePrior):
    """f ~ GP(0, k) at the rows of a `Committee`, whose blocks are independent."""

    representation: Committee

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> CommitteePosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return CommitteePosterior(self, Y, np.ascontiguousarray(np.broadcast_to(noise, len(Y)), dtype=float), basis)


class CommitteePosterior:
    """f given targets with Gaussian noise; see `ObservedPosterior` for what the methods give."""

    def __init__(self, prior: CommitteePrior, Y: Array, noise: Array, basis: Basis) -> None:
        self.prior, self.Y, self.noise, self.basis = prior, Y, noise, basis
        self._held: dict[int, DensePosterior] = {}

    @property
    def _rows(self) -> Committee:
        return self.prior.representation

    @property
    def mean(self) -> Array:
        return self.latent(self._rows.X)[0]

    @property
    def variance(self) -> Array:
        return self.latent(self._rows.X)[1]

    @property
    def jitter(self) -> float:
        return max(each.jitter for each in self._white)

    @cached_property
    def log_evidence(self) -> float:
        return self._mean.log_evidence(sum(each.logdet for each in self._white))

    def gradient(self) -> Gradient:
        by_kernel, by_noise = np.zeros(len(self.prior.kernel.names)), np.empty(len(self.Y))
        for rows, own in self._by_block(DensePosterior.gradient):
            by_kernel += own.by_kernel
            by_noise[rows] = own.by_noise
        return Gradient(by_kernel, by_noise)

    def by_noise(self) -> Array:
        found = np.empty(len(self.Y))
        for rows, own in self._by_block(DensePosterior.by_noise):
            found[rows] = own
        return found

    def left_out(self) -> tuple[Array, Array]:
        """Each target given the others of its block."""
        mean, variance = np.empty(self.Y.shape), np.empty(len(self.Y))
        for rows, own in self._by_block(DensePosterior.left_out):
            mean[rows], variance[rows] = own
        return mean, variance

    def expected(self, rows: Array) -> Array:
        return self.latent(rows)[0]

    def latent(self, rows: Array) -> tuple[Array, Array]:
        n_targets, H = self.Y.shape[1], self.basis(rows)
        prior = np.maximum(self.prior.kernel.diagonal(rows), np.finfo(float).tiny / _ROUNDING)
        # What is known before the blocks: the shared rows, or nothing.
        base, precision = np.zeros((len(rows), n_targets + H.shape[1])), 1.0 / prior
        if len(self._rows.shared):
            base, spread = self._expert(-1).projected(rows)
            precision = 1.0 / np.maximum(spread, _ROUNDING * prior)
        near = self._rows.nearest(rows)
        values, own = np.empty((*near.shape, base.shape[1])), np.empty(near.shape)
        places = {int(block): np.nonzero(near == block) for block in np.unique(near)}
        tasks = ((self._expert(block), rows[place[0]]) for block, place in places.items())
        for place, (mean, spread) in zip(places.values(), _each(DensePosterior.projected, tasks), strict=True):
            values[place], own[place] = mean, 1.0 / np.maximum(spread, _ROUNDING * prior[place[0]])
        # More rows know more, but for rounding errors.
        own = np.maximum(own, precision[:, None])
        share = 0.5 * np.log(own / precision[:, None])
        share[np.arange(len(rows)), own.argmax(axis=1)] = 1.0
        total = precision + (share * (own - precision[:, None])).sum(axis=1)
        weighted = np.einsum("ij,ijk->ik", share * own, values)
        weighted += ((1.0 - share.sum(axis=1)) * precision)[:, None] * base
        weighted /= total[:, None]
        mean = weighted[:, :n_targets] + H @ self._mean.coefficients
        variance = 1.0 / total
        if self._mean.factor is not None:
            root = self._mean.factor.half_solve((H - weighted[:, n_targets:]).T)
            variance = variance + np.einsum("ij,ij->j", root, root)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        return self._only.covariance(rows, others)

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        return self._only.difference(rows, origin)

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        return self._only.difference_gradient(row, origin, by_mean=by_mean, by_variance=by_variance)

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        return self._only.paths(n, rng, n_features=n_features)

    def extended(self, rows: Array, Y: Array, noise: Array) -> CommitteePosterior:
        prior = self._rows.extended(rows).prior(self.prior.kernel)
        return CommitteePosterior(prior, np.vstack([self.Y, Y]), np.append(self.noise, noise), self.basis)

    @cached_property
    def _white(self) -> list[_Whitened]:
        return list(_each(_whitened, ((self._given(rows),) for rows in self._rows.blocks)))

    @cached_property
    def _mean(self) -> FlatMean:
        return FlatMean.of(np.vstack([each.Y for each in self._white]), np.vstack([each.H for each in self._white]))

    def _given(self, rows: Index, mean: FlatMean | None = None) -> DensePosterior:
        """The exact posterior given some rows, factored when something is asked of it."""
        prior = Dense(self._rows.X[rows]).prior(self.prior.kernel)
        return DensePosterior(prior, self.Y[rows], self.noise[rows], self.basis, mean=mean)

    def _by_block(self, function: Callable[..., Any]) -> Iterator[tuple[Index, Any]]:
        """What each block says, with the mean that is estimated from all."""
        blocks, mean = self._rows.blocks, self._mean.coefficients_only()
        return zip(blocks, _each(function, ((self._given(rows, mean),) for rows in blocks)), strict=True)

    def _expert(self, block: int) -> DensePosterior:
        """Given a block and the shared rows, or these alone for −1; kept, where there is room for all."""
        if block in self._held:
            return self._held[block]
        shared = self._rows.shared
        rows = shared if block < 0 else np.union1d(shared, self._rows.blocks[block])
        found = self._given(rows, self._mean.coefficients_only())
        if len(self._rows.blocks) * (len(shared) + self._rows.size) ** 2 <= _HELD:
            self._held[block] = found
        return found

    @property
    def _only(self) -> DensePosterior:
        """The exact posterior of a single block."""
        if len(self._rows.blocks) > 1:
            raise ValueError(
                'method="committee" predicts each row by itself, without the covariances that joint predictions, draws '
                'and functions need; use method="inducing"'
            )
        return self._expert(0)


@dataclass(frozen=True)
class _Whitened:
    """L⁻¹Y and L⁻¹H of a block, ln|C| and its jitter."""

    Y: Array
    H: Array
    logdet: float
    jitter: float


def _whitened(block: DensePosterior) -> _Whitened:
    return _Whitened(*block.whitened, block.logdet, block.jitter)


def _each(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """function(*task) of all tasks in turn by joblib: in threads, or as `joblib.parallel_config` says."""
    parallel = Parallel(prefer="threads", return_as="generator")
    if parallel.n_jobs in (None, 1):
        # What joblib has where nobody says how many.
        parallel = Parallel(n_jobs=n_threads(), prefer="threads", return_as="generator")
    with one_blas_thread():
        yield from parallel(delayed(function)(*task) for task in tasks)
