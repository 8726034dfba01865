"""Rows for coordinate descent, dense or sparse: duality gaps, and the working sets of columns that passes run over.

Rows are weighted and centered implicitly. A working set has a Gram matrix that grows with it, or sparse columns.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import is_sparse
from credo.core.learning.coordinate._jit import column_descent, column_moments, gram_descent, row_gram, screen
from credo.core.linalg import EPS, one_blas_thread
from credo.core.parts import RowSummary

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ResidualProducts:
    """Inner products of a residual r: with each column, with itself, and with y."""

    columns: Array
    squared_norm: float
    target: float


@dataclass(frozen=True)
class Gap:
    """`value` bounds the objective's distance from its optimum, `abs_gradient` is that of the smooth part for each
    column, and `screened` are the columns whose optimal coefficient is proven to be zero."""

    value: float
    abs_gradient: Array
    screened: NDArray[np.bool_]


def least_squares_gap(w: Array, products: ResidualProducts, squares: Array, l1: float, l2: float) -> Gap:
    """The gap of ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖² at w, with the rescaled residual as dual point.

    θ = scale·r is dual feasible for scale = min(1, l1/max_j |x_jᵀr − l2 w_j|). An optimal dual point lies within
    √(2 gap) of θ, so that |x_jᵀθ| + √(2 gap)‖x_j‖ < l1 proves w_j = 0 (Ndiaye et al. 2017, eq. 7 and theorem 6); with
    l2 > 0 the same holds for the columns of X stacked on √l2 I.
    """
    abs_gradient, screened = products.columns.copy(), np.empty(len(w), dtype=np.bool_)
    value = screen(w, abs_gradient, products.squared_norm, products.target, squares, float(l1), float(l2), screened)
    return Gap(value, abs_gradient, screened)


def blas_threads_for(X: Any) -> AbstractContextManager[None]:
    """One BLAS thread if X is too small for more to be faster."""
    # Up to 160 MB.
    return one_blas_thread() if X.size <= 20_000_000 else nullcontext()


@dataclass(frozen=True)
class Rows:
    """√ω(X − x̄) and √ω(y − ȳ), of which only the second is stored.

    `root` is √ω, `total` the sum of the weights ω, `squares` the squared lengths of the centered, weighted columns, 0
    if a column is constant up to rounding. Without intercept the means are 0. `offset` was subtracted from X
    already.
    """

    X: Any
    target: Array
    root: Array
    total: float
    offset: Array
    x_mean: Array
    y_mean: float
    squares: Array
    weighted: bool

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, *, center: bool) -> Self:
        """The rows of a dense array or a CSC matrix."""
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        omega = np.ones(X.shape[0]) if weight is None else weight
        total, y_mean, offset = float(omega.sum()), 0.0, np.zeros(X.shape[1])
        x_mean, squares = _moments(X, omega, center=center)
        if center:
            y_mean = float(omega @ y) / total
            y_mean += float(omega @ (y - y_mean)) / total
            X, offset = _shifted_to_zero(X, x_mean, squares / total)
        if offset.any():
            x_mean, squares = _moments(X, omega, center=True)
            squares[squares <= total * (8 * EPS * offset) ** 2] = 0.0
        root = np.sqrt(omega)
        return cls(X, root * (y - y_mean), root, total, offset, x_mean, y_mean, squares, weight is not None)

    @classmethod
    def of_summary(cls, summary: RowSummary, *, center: bool) -> Self:
        """The rows of a summary's factor, which have the inner products of the centered, weighted rows."""
        summary = summary.for_intercept(center)
        X, target = np.asfortranarray(summary.factor[:, :-1]), summary.factor[:, -1].copy()
        mean, total, nothing = summary.mean[:-1], summary.weight, np.zeros(summary.n_features)
        _, squares = _moments(X, np.ones(len(X)), center=False)
        squares[squares <= total * (8 * EPS * mean) ** 2] = 0.0
        root, y_mean = np.ones(len(X)), float(summary.mean[-1])
        return cls(X, target, root, total, mean, nothing, y_mean, squares, weighted=False)

    @cached_property
    def yy(self) -> float:
        """‖√ω(y − ȳ)‖²."""
        return float(self.target @ self.target)

    @cached_property
    def transposed(self) -> Any:
        """Xᵀ, cached because transposing a sparse matrix costs time."""
        return self.X.T

    def correlations(self, residual: Array) -> Array:
        """The inner product of each centered, weighted column with a residual."""
        weighted = self.root * residual if self.weighted else residual
        return np.asarray(self.transposed @ weighted) - weighted.sum() * self.x_mean

    def residual_products(self, residual: Array) -> ResidualProducts:
        """The inner products of a centered residual that the duality gap needs."""
        return ResidualProducts(self.correlations(residual), float(residual @ residual), float(residual @ self.target))

    def columns(self, members: NDArray[np.intp]) -> Array:
        """Some centered, weighted columns, as the rows of a new array."""
        found = self.X[:, members]
        columns = np.ascontiguousarray((found.toarray() if is_sparse(found) else found).T)
        columns -= self.x_mean[members, None]
        if self.weighted:
            columns *= self.root
        columns[self.squares[members] == 0.0] = 0.0
        return columns

    def gram(self) -> Array:
        """XᵀX of the centered, weighted columns."""
        if self.weighted and not is_sparse(self.X):
            # The weighted columns are a copy in any case, so it is centered too.
            centred = self.X - self.x_mean
            centred *= self.root[:, None]
            K = centred.T @ centred
        else:
            if is_sparse(self.X):
                by_row = self.scaled().tocsr()
                K = row_gram(by_row.data, by_row.indices, by_row.indptr, len(self.x_mean))
            else:
                K = self.X.T @ self.X
            K -= self.total * np.outer(self.x_mean, self.x_mean)
        constant = self.squares == 0.0
        K[constant], K[:, constant] = 0.0, 0.0
        return np.ascontiguousarray(K)

    def scaled(self) -> Any:
        """√ω X of a sparse X, not centered; X itself if no row has a weight."""
        if not self.weighted:
            return self.X
        return type(self.X)((self.root[self.X.indices] * self.X.data, self.X.indices, self.X.indptr), self.X.shape)

    def l1_max(self) -> float:
        """max_j |x_jᵀy|, the smallest ℓ₁ penalty at which all coefficients are zero."""
        return float(np.abs(self.correlations(self.target))[self.squares > 0.0].max(initial=0.0))

    def residual(self, w: Array) -> Array:
        """y − Xw of the centered, weighted rows."""
        active = np.flatnonzero(w)
        fitted = np.asarray(self.X[:, active] @ w[active]) - float(self.x_mean[active] @ w[active])
        return self.target - self.root * fitted

    def part(self, members: NDArray[np.intp]) -> Self:
        """The same rows with some of the columns."""
        kept = {name: getattr(self, name)[members] for name in ("offset", "x_mean", "squares")}
        return replace(self, X=self.X[:, members], **kept)

    def intercept(self, w: Array) -> Any:
        """The intercept for these coefficients; one for each column of a table of coefficients."""
        return self.y_mean - self.x_mean @ w - self.offset @ w


def _moments(X: Any, omega: Array, *, center: bool) -> tuple[Array, Array]:
    """Σωx/Σω of each column, 0 if nothing is centered, and Σω(x − x̄)²."""
    if not is_sparse(X):
        total = float(omega.sum())
        raw = np.einsum("ij,ij->j", X, X) if (omega == 1).all() else np.einsum("i,ij,ij->j", omega, X, X)
        mean = np.asarray(omega @ X) / total if center else np.zeros(X.shape[1])
        return mean, np.maximum(raw - total * mean**2, 0.0)
    return column_moments(X.data, X.indices, X.indptr, omega, center)


def _shifted_to_zero(X: Any, mean: Array, variance: Array) -> tuple[Any, Array]:
    """X with columns that are far from zero relative to their spread shifted towards it, and the shift of each.

    The differences are exact, because both numbers have about the same size. A sparse column with zeros is never
    shifted: one zero among n numbers makes a variance of 1/n of the squared mean, which is spread enough.
    """
    # A smaller ratio costs at most three of sixteen digits.
    far = mean**2 > 1e3 * variance
    if is_sparse(X):
        far &= np.diff(X.indptr) == X.shape[0]
    offset = np.where(far, mean, 0.0)
    if not far.any():
        return X, offset
    if not is_sparse(X):
        return X - offset, offset
    return type(X)((X.data - np.repeat(offset, np.diff(X.indptr)), X.indices, X.indptr), X.shape), offset


Indices = NDArray[np.intp]


class GramWorkingSet:
    """Coefficients w, one per column, and a Gram matrix of the columns that have been in the set.

    Along a path each column is added once; with `whole`, all are in the set from the start.
    """

    def __init__(self, rows: Rows, w: Array, *, whole: bool) -> None:
        self.rows, self.w, self.whole = rows, w, whole
        self._from_rows = not whole
        n_features = len(rows.x_mean)
        self._is_member = np.zeros(n_features, dtype=np.bool_)
        self._members = np.zeros(0, dtype=np.intp)
        self._columns = np.zeros((0, len(rows.target)))
        self._K, self._c = np.zeros((0, 0)), np.zeros(0)
        if whole:
            self._K, self._c = rows.gram(), rows.correlations(rows.target)
            self._members, self._is_member[:] = np.arange(n_features), True
        else:
            self.add(np.flatnonzero(w))

    def begin(self) -> None:
        """Before a new penalty. In the Gram matrix a coefficient that stays zero costs nothing."""
        self._from_rows = not self.whole

    def add(self, columns: Indices) -> None:
        """Add columns to the set."""
        new = columns[~self._is_member[columns]]
        if not len(new):
            return
        m, k = len(self._members), len(new)
        self._reserve(m + k)
        self._columns[m : m + k] = self.rows.columns(new)
        added = self._columns[m : m + k]
        block = added @ self._columns[: m + k].T
        self._K[m : m + k, : m + k], self._K[:m, m : m + k] = block, block[:, :m].T
        self._c[m : m + k] = added @ self.rows.target
        self._members = np.append(self._members, new)
        self._is_member[new] = True

    def members(self) -> Indices:
        """The columns in the set."""
        return self._members

    def refresh(self) -> None:
        """From now on, compute residual products from the rows.

        From the Gram matrix they have rounding errors as large as those of the squared norms of the columns times the
        coefficients, which can be much larger than the residual if columns nearly repeat each other.
        """
        self._from_rows = True

    def descend(self, *, l1: float, l2: float, target: float, max_passes: int) -> int:
        """Run passes until the duality gap over the set is at most the target; returns their number."""
        m = len(self._members)
        w = self.w[self._members]
        g = self._correlations(w)
        passes, _ = gram_descent(self._K, m, self._c, w, g, l1, l2, self.rows.yy, target, max_passes)
        self.w[self._members] = w
        return passes

    def residual_products(self) -> ResidualProducts:
        """The inner products that the duality gap over all columns needs."""
        if not self._from_rows:
            correlations, yy = self._correlations(self.w), self.rows.yy
            fit = float(self.w @ self._c)
            return ResidualProducts(correlations, max(yy - fit - float(self.w @ correlations), 0.0), yy - fit)
        if self.whole:
            return self.rows.residual_products(self.rows.residual(self.w))
        active = np.flatnonzero(self.w[self._members])
        residual = self.rows.target - self.w[self._members[active]] @ self._columns[active]
        return self.rows.residual_products(residual)

    def _correlations(self, w: Array) -> Array:
        active = np.flatnonzero(w)
        return self._c[: len(w)] - w[active] @ self._K[active, : len(w)]

    def _reserve(self, size: int) -> None:
        """Allocate room for this many columns, at least twice the previous room, so that few copies are made."""
        if size <= len(self._c):
            return
        room = min(max(size, 2 * len(self._c), 64), len(self.w))
        m = len(self._members)
        K, c, columns = np.empty((room, room)), np.empty(room), np.empty((room, len(self.rows.target)))
        K[:m, :m], c[:m], columns[:m] = self._K[:m, :m], self._c[:m], self._columns[:m]
        self._K, self._c, self._columns = K, c, columns


class SparseWorkingSet:
    """The same for the columns of a CSC matrix, centered implicitly, with the residual of w."""

    def __init__(self, rows: Rows, w: Array) -> None:
        self.rows, self.w = rows, w
        scaled = rows.scaled()
        # Unsigned indices spare the compiled loops the test for negative ones.
        self._matrix = scaled.data, scaled.indices.astype(np.uint32), scaled.indptr.astype(np.uint32)
        self._moments = rows.squares, rows.total * rows.x_mean, rows.x_mean
        self._shift = np.array([float(rows.x_mean @ w)])
        self._r = rows.target - np.asarray(scaled @ w)
        self._members = np.flatnonzero(w)
        self._passes = 0

    def begin(self) -> None:
        """Remove columns with a zero coefficient from the set, because each costs time."""
        self._members = np.flatnonzero(self.w)

    def add(self, columns: Indices) -> None:
        self._members = np.union1d(self._members, columns)

    def members(self) -> Indices:
        return self._members

    def descend(self, *, l1: float, l2: float, target: float, max_passes: int) -> int:
        y, root, state = self.rows.target, self.rows.root, (self.w, self._r, self._shift)
        passes, _ = column_descent(
            self._matrix, self._moments, y, root, self._members, *state, l1, l2, target, max_passes
        )  # fmt: skip
        self._passes += passes
        return passes

    def refresh(self) -> None:
        """Recompute the residual, in which rounding errors have accumulated."""
        self._r, self._shift, self._passes = self.rows.residual(self.w), np.zeros(1), 0

    def residual_products(self) -> ResidualProducts:
        # Rounding errors accumulate in the residual.
        if self._passes > 100:
            self.refresh()
        return self.rows.residual_products(self._r + self._shift[0] * self.rows.root)


WorkingSet = GramWorkingSet | SparseWorkingSet


def working_set(rows: Rows, w: Array, *, n_problems: int) -> WorkingSet:
    """The kind of working set that costs least for this many penalties on the same rows.

    A whole Gram matrix costs n p² at the speed of the BLAS, about ten times that of passes over columns, of which each
    penalty needs some. Rows are counted by their weight, so that copies and weights give the same choice.
    """
    n_samples, n_features = rows.X.shape
    worth = n_features <= min(rows.total, 10 * (n_problems + 9))
    if is_sparse(rows.X):
        filled = rows.X.nnz / n_samples * rows.total
        whole = worth and filled >= n_features**2
        return GramWorkingSet(rows, w, whole=True) if whole else SparseWorkingSet(rows, w)
    return GramWorkingSet(rows, w, whole=worth)
