"""Vecchia's approximation: each row given its nearest neighbors among the rows before it.

    ln p(y) = Σᵢ ln p(yᵢ | y_N(i)),    N(i) the m nearest of the rows before i

(Vecchia 1988; Datta et al. 2016; Guinness 2021 for the derivatives.) With all rows as neighbors it is exact. The joint
density is normal with precision VᵀV, where row i of V is the last row of L⁻¹ for the covariance LLᵀ of N(i) and i. With
c = C⁻¹b of a block and w the last entry of L⁻¹b, the derivative of −½w² − ln L_qq by the covariance C of the block is

    w (vcᵀ + cvᵀ)/2 − ½(w² + 1) vvᵀ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from credo.core.inference.dense import Dense, DensePosterior
from credo.core.inference.ordering_jit import maximin
from credo.core.inference.paths import Paths, prior_paths
from credo.core.inference.protocols import Basis, FlatMean, Gradient, Representation, no_basis
from credo.core.linalg import NotPositiveDefiniteError, parallel_rows
from credo.core.linalg.conditional_jit import conditionals, information, symmetric_products
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# With many columns, the maximin order stops after this many distances for each row; the other rows are shuffled.
_MAX_DISTANCES_PER_ROW = 1000
# Each tree has this many times the rows of the one before, so at least the inverse share of what it finds is earlier.
_TREE_GROWTH = 1.4


def ordered(Z: Array) -> Index:
    """Row numbers in maximin order (Guinness 2018): each has the largest distance to those before it.

    Coarse rows come first, so that later ones have neighbors on all sides. Copies of earlier rows come last. With many
    columns, ordering all rows would take too long, so only the first few thousand are ordered.
    """
    n = len(Z)
    # Leaves of at most 8 rows, of equal sizes; positions that are left over repeat a row and don't count.
    n_leaves = 2 ** max(0, int(np.ceil(np.log2(n / 8))))
    rows = np.append(np.arange(n), np.zeros(-n % n_leaves, dtype=np.intp))
    distance = np.where(np.arange(len(rows)) < n, np.inf, -1.0)
    low, high = np.empty((2, 2 * n_leaves, Z.shape[1]))
    n_nodes = 1
    while True:
        nodes = rows.reshape(n_nodes, -1)
        own = Z[nodes]
        low[n_nodes : 2 * n_nodes], high[n_nodes : 2 * n_nodes] = own.min(axis=1), own.max(axis=1)
        if n_nodes == n_leaves:
            break
        # Halves along the column in which a node is widest.
        widest = np.argmax(high[n_nodes : 2 * n_nodes] - low[n_nodes : 2 * n_nodes], axis=1)
        column = np.take_along_axis(own, widest[:, None, None], axis=2)[:, :, 0]
        halves = np.argpartition(column, nodes.shape[1] // 2, axis=1)
        taken = (np.take_along_axis(each.reshape(nodes.shape), halves, axis=1) for each in (rows, distance))
        rows, distance = (each.ravel() for each in taken)
        n_nodes *= 2
    central = np.argmin(np.where(distance < 0, np.inf, ((Z[rows] - Z.mean(axis=0)) ** 2).sum(axis=1)))
    order = np.empty(n, dtype=np.intp)
    count = maximin(np.ascontiguousarray(Z[rows]), low, high, central, _MAX_DISTANCES_PER_ROW * n, distance, order)
    rest = np.random.default_rng(0).permutation(np.flatnonzero(distance >= 0.0))
    return rows[np.concatenate([order[:count], rest])]


def earlier_neighbors(Z: Array, order: Index, m: int) -> tuple[Index, Index]:
    """For each row, in the given order: its m nearest rows among those before it, and then itself.

    Returns
    -------
    places : array of shape (n, m + 1)
        Row numbers. Rows with fewer than m before them begin with themselves, as often as needed.
    unused : array of shape (n,)
        How many places at the beginning don't count.
    """
    n, m = len(Z), min(m, len(Z) - 1)
    unused = np.maximum(m - np.arange(n), 0)
    places = np.tile(np.arange(n)[:, None], m + 1)
    sorted_rows = Z[order]
    for i in range(1, min(n, m + 1)):
        places[i, m - i : m] = np.arange(i)
    start = m + 1
    while start < n:
        stop = min(n, max(start + 1, int(_TREE_GROWTH * start)))
        places[start:stop, :m] = _earlier(KDTree(sorted_rows[:stop]), sorted_rows, np.arange(start, stop), m)
        start = stop
    return order[places], unused


def _earlier(tree: KDTree, rows: Array, positions: Index, m: int) -> Index:
    """The m nearest rows of the tree that come before each of these positions."""
    found = np.empty((len(positions), m), dtype=np.intp)
    waiting, wanted = np.arange(len(positions)), min(int(_TREE_GROWTH * m + 4 * np.sqrt(m)) + 1, tree.n)
    while len(waiting):
        near = np.atleast_2d(tree.query(rows[positions[waiting]], k=wanted, workers=-1)[1])
        before = near < positions[waiting, None]
        rank = np.cumsum(before, axis=1)
        done = rank[:, -1] >= m
        used = before[done] & (rank[done] <= m)
        found[waiting[done]] = near[done][used].reshape(-1, m)
        waiting, wanted = waiting[~done], min(2 * wanted, tree.n)
    return found


N_NEIGHBORS = 30
# Step of the finite differences of covariances, on the unconstrained scale of the parameters.
_DIFFERENCE_STEP = 1e-6
# Covariances held in memory at a time.
_BLOCK_ENTRIES = 2**21
# Joint covariances of new rows condition on all their neighbors, at most this many.
_MAX_JOINT_NEIGHBORS = 5000
# Of whitened targets and weights: products of four such numbers are within double precision.
_MAX_MAGNITUDE = 1e75
# A left-out target isn't determined if its precision is below this share of that under a known mean.
_UNDETERMINED = 1e-9


class Vecchia(Representation):
    """The rows of X, each conditioned on its nearest neighbors among those before it: O(n m³) time, O(n m) memory.

    Neighbors are chosen by the distance in units of `scales`: the standard deviations of the columns at first, and
    the length scales of a kernel after `adapted`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Vecchia
    >>> from credo.kernels import Matern32
    >>> X = np.linspace(0.0, 1.0, 500)[:, None]
    >>> posterior = Vecchia(X, n_neighbors=10).prior(Matern32(0.2)).observe(np.sin(6 * X), noise=0.1)
    >>> posterior.latent(np.array([[0.25]]))[0].round(2)
    array([[0.99]])
    """

    evidence_method = "vecchia"

    def __init__(self, X: Array, n_neighbors: int = N_NEIGHBORS, scales: Array | None = None) -> None:
        self.X = np.ascontiguousarray(X)
        self.n_neighbors = n_neighbors
        spread = self.X.std(axis=0)
        self.scales = np.where(spread > 0, spread, 1.0) if scales is None else scales

    def subset(self, rows: Index) -> Vecchia:
        """The same for some of the rows."""
        return Vecchia(self.X[rows], self.n_neighbors, self.scales)

    def extended(self, rows: Array) -> Vecchia:
        """The same with further rows."""
        return Vecchia(np.vstack([self.X, rows]), self.n_neighbors, self.scales)

    def adapted(self, kernel: Kernel) -> Vecchia:
        """The same rows with neighbors by the kernel's length scales."""
        scales = kernel.column_scales(self.X.shape[1])
        return Vecchia(self.X, self.n_neighbors, np.where(np.isfinite(scales), scales, self.scales))

    def prior(self, kernel: Kernel) -> VecchiaPrior:
        """f ~ GP(0, k) at the rows."""
        return VecchiaPrior(self, kernel)

    @cached_property
    def neighbors(self) -> tuple[Index, Index]:
        """The rows of each block, the last of which is the row itself; and how many of the first don't count."""
        Z = self.X / self.scales
        return earlier_neighbors(Z, ordered(Z), self.n_neighbors)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.X / self.scales)

    def nearest(self, rows: Array) -> Index:
        """The training rows that predictions at new rows condition on."""
        # Twice as many neighbors as in training.
        k = min(2 * self.n_neighbors, len(self.X))
        return np.reshape(self._tree.query(rows / self.scales, k=k, workers=-1)[1], (len(rows), k))


@dataclass(frozen=True, eq=False)
class VecchiaPrior:
    """f ~ GP(0, k) at the rows of a `Vecchia`; it is approximated together with the noise, not by itself."""

    representation: Vecchia
    kernel: Kernel

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> VecchiaPosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return VecchiaPosterior(self, Y, np.ascontiguousarray(np.broadcast_to(noise, len(Y)), dtype=float), basis)

    def _unavailable(self, *_: Array) -> NoReturn:
        raise ValueError('method="vecchia" is for targets with normal noise; use method="inducing" or "exact"')

    sites = multiply = color = whiten = _unavailable


class VecchiaPosterior:
    """f given targets with Gaussian noise; see `ObservedPosterior` for what the methods give."""

    def __init__(self, prior: VecchiaPrior, Y: Array, noise: Array, basis: Basis) -> None:
        self.prior, self.Y, self.noise, self.basis = prior, Y, noise, basis

    @property
    def _rows(self) -> Vecchia:
        return self.prior.representation

    @property
    def mean(self) -> Array:
        return self.latent(self._rows.X)[0]

    @property
    def variance(self) -> Array:
        return self.latent(self._rows.X)[1]

    @property
    def jitter(self) -> float:
        """Conditional variances that rounding made too small are replaced, whatever the others are."""
        return 0.0

    @cached_property
    def log_evidence(self) -> float:
        return self._mean.log_evidence(2.0 * float(np.log(self._solution.std).sum()))

    def gradient(self) -> Gradient:
        n_targets = self.Y.shape[1]
        V, solved = self._solution.weights, self._solution.solved
        # ½ n_targets ln|HᵀC⁻¹H| has the same derivative as n_targets columns of orthonormal residuals would.
        mean, n_columns = self._mean, self.Y.shape[1]
        residuals = solved[:, :, :n_columns] - solved[:, :, n_columns:] @ mean.coefficients
        P = np.einsum("ij,iaj->ia", mean.residual, residuals)
        total = np.einsum("ij,ij->i", mean.residual, mean.residual) + n_targets
        if mean.factor is not None:
            root = mean.root
            half = mean.factor.half_solve(root.T, transpose=True)
            P += n_targets * np.einsum("ji,iaj->ia", half, solved[:, :, n_columns:])
            total += n_targets * np.einsum("ij,ij->i", root, root)
        P -= 0.5 * total[:, None] * V
        kernel, X, (places, _) = self.prior.kernel, self._rows.X, self._rows.neighbors
        by_kernel = np.zeros(len(kernel.names))
        for block in _chunks(places):
            W = np.empty((len(places[block]), places.shape[1] * (places.shape[1] + 1) // 2))
            parallel_rows(symmetric_products, len(W), V[block], P[block], W)
            by_kernel += kernel.pullback_blocks(X, places[block], W)
        return Gradient(by_kernel, self._scattered(V * P))

    def information(self, by_noise: Array) -> Array:
        """The derivatives of covariances are differences of them: the information only shapes the steps of a search."""
        kernel, (places, unused) = self.prior.kernel, self._rows.neighbors
        tree, p = kernel.tree, len(kernel.names)
        vector, total = tree.flatten(), np.zeros((p + 1, p + 1))
        moved = [kernel.with_tree(tree.unflatten(vector + step)) for step in _DIFFERENCE_STEP * np.eye(p)]
        for block in _chunks(places, p + 1):
            K = kernel.blocks(self._rows.X, places[block])
            ahead = np.empty((p, *K.shape))
            for near, own in zip(moved, ahead, strict=True):
                own[:] = near.blocks(self._rows.X, places[block])
            arguments = K, ahead, self.noise, by_noise, places[block], unused[block]
            total += np.sum(parallel_rows(information, len(K), *arguments), axis=0)
        changes = np.append(_DIFFERENCE_STEP * tree.derivative(vector), 1.0)
        return self.Y.shape[1] * total / np.outer(changes, changes)

    def by_noise(self) -> Array:
        return self.gradient().by_noise

    def expected(self, rows: Array) -> Array:
        return self.latent(rows)[0]

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Given the nearest training rows; a new row has no noise."""
        H, mean, n_targets = self.basis(rows), self._mean, self.Y.shape[1]
        predicted, variance = self.predicted(rows, np.hstack([self._residual, self._basis]))
        values = H @ mean.coefficients + predicted[:, :n_targets]
        if mean.factor is not None:
            root = mean.factor.half_solve((H - predicted[:, n_targets:]).T)
            variance = variance + np.einsum("ij,ij->j", root, root)
        return values, variance

    def predicted(self, rows: Array, B: Array) -> tuple[Array, Array]:
        """E f and var f at new rows given columns B in the place of the targets, without a mean."""
        n = len(self._rows.X)
        found = _solve(
            self.prior.kernel,
            np.vstack([self._rows.X, rows]),
            np.append(self.noise, np.zeros(len(rows))),
            (np.column_stack([self._rows.nearest(rows), n + np.arange(len(rows))]), np.zeros(len(rows), dtype=np.intp)),
            np.vstack([B, np.zeros((len(rows), B.shape[1]))]),
        )
        return -found.white * found.std[:, None], found.std**2

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        """Given the neighbors of all these rows."""
        local = self._local(rows if others is None else np.vstack([rows, others]))
        return local.covariance(rows, others)

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        return self._local(np.vstack([rows, origin[None]])).difference(rows, origin)

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        local = self._local(np.vstack([row[None], origin[None]]))
        return local.difference_gradient(row, origin, by_mean=by_mean, by_variance=by_variance)

    def left_out(self) -> tuple[Array, Array]:
        """Rasmussen & Williams 5.10–5.12 with the precision VᵀV."""
        V = self._solution.weights
        alpha = self._transposed(V, self._mean.residual)
        root = self._transposed(V, self._mean.root)
        whole = self._scattered(V * V)
        precision = whole - np.einsum("ij,ij->i", root, root)
        determined = precision > _UNDETERMINED * whole
        variance = np.where(determined, 1.0 / np.where(determined, precision, 1.0), np.inf)
        with np.errstate(invalid="ignore"):
            return self.Y - alpha * variance[:, None], variance

    def extended(self, rows: Array, Y: Array, noise: Array) -> VecchiaPosterior:
        prior = self._rows.extended(rows).prior(self.prior.kernel)
        return VecchiaPosterior(prior, np.vstack([self.Y, Y]), np.append(self.noise, noise), self.basis)

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        """By Matheron's rule, with the misfit predicted from the nearest rows; for the first target."""
        prior = prior_paths(self.prior.kernel, self._rows.X, self.basis, n, n_features, rng)
        errors = np.sqrt(self.noise)[:, None] * rng.standard_normal((len(self.Y), n))
        # The random features of 1000 rows at a time.
        parts = np.array_split(self._rows.X, -(-len(self.Y) // 1000))
        misfit = self.Y[:, :1] - np.vstack([prior.features(part) @ prior.weights for part in parts]) - errors
        white = _solve(self.prior.kernel, self._rows.X, self.noise, self._rows.neighbors, misfit).white
        b = FlatMean.of(white, self._mean.basis).coefficients
        fields = {each.name: getattr(prior, each.name) for each in dataclass_fields(prior)}
        return _NeighborPaths(**fields, posterior=self).corrected(misfit - self._basis @ b, b)

    @cached_property
    def _basis(self) -> Array:
        return self.basis(self._rows.X)

    @cached_property
    def _residual(self) -> Array:
        return self.Y - self._basis @ self._mean.coefficients

    @cached_property
    def _mean(self) -> FlatMean:
        white, n_targets = self._solution.white, self.Y.shape[1]
        return FlatMean.of(white[:, :n_targets], white[:, n_targets:])

    @cached_property
    def _solution(self) -> Conditionals:
        B = np.hstack([self.Y, self._basis])
        found = _solve(self.prior.kernel, self._rows.X, self.noise, self._rows.neighbors, B, solved=True)
        # Blocks that rounding made singular multiply errors row by row. A search turns back there.
        if not max(np.abs(part).max() for part in (found.white, found.weights, found.solved)) < _MAX_MAGNITUDE:
            raise NotPositiveDefiniteError(
                "rounding errors of the covariances between neighbors are larger than the noise: use a larger noise "
                "variance or a smaller variance of the kernel"
            )
        return found

    def _scattered(self, values: Array) -> Array:
        """The sum over all blocks of what each has for a row."""
        places, _ = self._rows.neighbors
        total: Array = np.bincount(places.ravel(), values.ravel(), minlength=len(self._rows.X)).astype(np.float64)
        return total

    def _transposed(self, V: Array, white: Array) -> Array:
        """Vᵀ of whitened columns."""
        columns = [self._scattered(V * column[:, None]) for column in white.T]
        return np.array(columns, dtype=np.float64).reshape(white.T.shape).T

    def _local(self, rows: Array) -> DensePosterior:
        """The exact posterior given the neighbors of some rows."""
        near = np.unique(self._rows.nearest(rows))
        if len(near) > _MAX_JOINT_NEIGHBORS:
            raise ValueError(
                f"the joint distribution of these {len(rows)} rows needs {len(near)} training rows, and at most "
                f"{_MAX_JOINT_NEIGHBORS} are possible; use fewer rows at a time, or rows that are closer together"
            )
        prior = Dense(self._rows.X[near]).prior(self.prior.kernel)
        return prior.observe(self.Y[near], self.noise[near], self.basis)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _NeighborPaths(Paths):
    """Draws whose `alpha` is the misfit at each training row, predicted at a new one from its neighbors."""

    posterior: VecchiaPosterior

    @property
    def _n_terms(self) -> int:
        return self.features.size

    def _learned(self, rows: Array) -> Array:
        return self.posterior.predicted(rows, self.alpha)[0]


@dataclass(frozen=True)
class Conditionals:
    """What `conditionals` computes for each block."""

    std: Array
    white: Array
    weights: Array
    solved: Array


def _solve(
    kernel: Kernel, X: Array, noise: Array, neighbors: tuple[Index, Index], B: Array, *, solved: bool = False
) -> Conditionals:
    """The conditional distributions of all blocks, some at a time; `solved` adds what derivatives need."""
    places, unused = neighbors
    (n, size), k = places.shape, B.shape[1]
    n_solved = n if solved else 0
    found = Conditionals(np.empty(n), np.empty((n, k)), np.zeros((n_solved, size)), np.zeros((n_solved, size, k)))
    B = np.ascontiguousarray(B)
    for block in _chunks(places):
        K = kernel.blocks(X, places[block])
        arguments = K, noise, places[block], unused[block], B, found.std[block], found.white[block]
        parallel_rows(conditionals, len(K), *arguments, found.weights[block], found.solved[block])
    return found


def _chunks(places: Index, n_arrays: int = 1) -> Iterator[slice]:
    """Slices of the blocks, such that `n_arrays` arrays of their covariances fit into `_BLOCK_ENTRIES`."""
    size = places.shape[1]
    step = max(1, 2 * _BLOCK_ENTRIES // (n_arrays * size * (size + 1)))
    return (slice(start, min(start + step, len(places))) for start in range(0, len(places), step))
