"""Working sets of columns: passes on a Gram matrix that grows with the set, or on the columns of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import is_sparse
from credo.core.learning.coordinate._jit import column_descent, gram_descent
from credo.core.learning.coordinate.rows import ResidualProducts, Rows

Array = NDArray[np.float64]
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
        """Allocate room for so many columns; at least twice the previous room, so that few copies are made."""
        if size <= len(self._c):
            return
        room = min(max(size, 2 * len(self._c), 64), len(self.w))
        m = len(self._members)
        K, c, columns = np.empty((room, room)), np.empty(room), np.empty((room, len(self.rows.target)))
        K[:m, :m], c[:m], columns[:m] = self._K[:m, :m], self._c[:m], self._columns[:m]
        self._K, self._c, self._columns = K, c, columns


class SparseWorkingSet:
    """The same for the columns of a CSC matrix, centred implicitly, with the residual of w."""

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
    """The kind of working set that costs least for so many penalties on the same rows.

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
