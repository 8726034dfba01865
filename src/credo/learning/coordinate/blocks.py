"""Where the passes run: on a Gram matrix that grows with the working set, or on the columns of a sparse matrix."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from credo.learning.coordinate._jit import column_descent, gram_descent
from credo.learning.coordinate.gap import Standing
from credo.learning.coordinate.rows import Rows, is_sparse

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# A residual is computed anew after this many passes.
_FRESH = 100


class Block(Protocol):
    """The coefficients w (one per column), and how to improve those of the working set."""

    rows: Rows
    w: Array

    def begin(self) -> None:
        """Remove columns with a zero coefficient from the working set where they cost time."""
        ...

    def admit(self, members: Order) -> None:
        """Add columns to the working set."""
        ...

    def working(self) -> Order:
        """The working set."""
        ...

    def refresh(self) -> None:
        """Recompute quantities in which rounding errors have accumulated."""
        ...

    def descend(self, *, l1: float, l2: float, target: float, max_passes: int) -> int:
        """Run passes until the duality gap of the working set is at most the target; returns their number."""
        ...

    def standing(self) -> Standing:
        """What the duality gap over all columns needs to know."""
        ...


class Gram:
    """A Gram matrix of all columns that have been in the working set; each enters once along a path."""

    def __init__(self, rows: Rows, w: Array, *, whole: bool) -> None:
        self.rows, self.w, self.whole = rows, w, whole
        n_features = len(rows.x_mean)
        self._at_work = np.zeros(n_features, dtype=np.bool_)
        self._members = np.zeros(0, dtype=np.intp)
        self._columns = np.zeros((0, len(rows.target)))
        self._K, self._c = np.zeros((0, 0)), np.zeros(0)
        if whole:
            self._K, self._c = rows.gram(), rows.slopes(rows.target)
            self._members, self._at_work[:] = np.arange(n_features), True
        else:
            self.admit(np.flatnonzero(w))

    def begin(self) -> None:
        """Nothing to do: in the Gram matrix a coefficient that stays zero costs nothing."""

    def admit(self, members: Order) -> None:
        new = members[~self._at_work[members]]
        if not len(new):
            return
        m, k = len(self._members), len(new)
        self._reserve(m + k)
        self._columns[m : m + k] = self.rows.columns(new)
        fresh = self._columns[m : m + k]
        block = fresh @ self._columns[: m + k].T
        self._K[m : m + k, : m + k], self._K[:m, m : m + k] = block, block[:, :m].T
        self._c[m : m + k] = fresh @ self.rows.target
        self._members = np.append(self._members, new)
        self._at_work[new] = True

    def working(self) -> Order:
        return self._members

    def refresh(self) -> None:
        """Recompute the gradient."""

    def descend(self, *, l1: float, l2: float, target: float, max_passes: int) -> int:
        m = len(self._members)
        w = self.w[self._members]
        g = self._slopes(w)
        passes, _ = gram_descent(self._K, m, self._c, w, g, l1, l2, self.rows.yy, target, max_passes)
        self.w[self._members] = w
        return passes

    def standing(self) -> Standing:
        if self.whole:
            slopes, yy = self._slopes(self.w), self.rows.yy
            fit = float(self.w @ self._c)
            return Standing(slopes, max(yy - fit - float(self.w @ slopes), 0.0), yy - fit)
        active = np.flatnonzero(self.w[self._members])
        residual = self.rows.target - self.w[self._members[active]] @ self._columns[active]
        return self.rows.standing(residual)

    def _slopes(self, w: Array) -> Array:
        active = np.flatnonzero(w)
        return self._c[: len(w)] - w[active] @ self._K[active, : len(w)]

    def _reserve(self, size: int) -> None:
        """Room for so many columns, twice what there was where that is more."""
        held = len(self._c)
        if size <= held:
            return
        room = min(max(size, 2 * held, 64), len(self.w))
        m = len(self._members)
        K, c, columns = np.empty((room, room)), np.empty(room), np.empty((room, len(self.rows.target)))
        K[:m, :m], c[:m], columns[:m] = self._K[:m, :m], self._c[:m], self._columns[:m]
        self._K, self._c, self._columns = K, c, columns


class Columns:
    """The columns of a CSC matrix with the residual of w, centred implicitly."""

    def __init__(self, rows: Rows, w: Array) -> None:
        self.rows, self.w = rows, w
        scaled = rows.scaled()
        # Places that can't be negative spare the compiled loops a test.
        self._data = scaled.data
        self._indices, self._indptr = scaled.indices.astype(np.uint32), scaled.indptr.astype(np.uint32)
        self._lever = rows.total * rows.x_mean
        self._shift = np.array([float(rows.x_mean @ w)])
        self._r = rows.target - np.asarray(scaled @ w)
        self._members = np.flatnonzero(w)
        self._passes = 0

    def begin(self) -> None:
        self._members = np.flatnonzero(self.w)

    def admit(self, members: Order) -> None:
        self._members = np.union1d(self._members, members)

    def working(self) -> Order:
        return self._members

    def descend(self, *, l1: float, l2: float, target: float, max_passes: int) -> int:
        rows = self.rows
        passes, _ = column_descent(
            self._data,
            self._indices,
            self._indptr,
            rows.squares,
            self._lever,
            rows.x_mean,
            rows.root,
            self._members,
            self.w,
            self._r,
            self._shift,
            rows.target,
            l1,
            l2,
            target,
            max_passes,
        )
        self._passes += passes
        return passes

    def refresh(self) -> None:
        self._r, self._shift, self._passes = self.rows.residual(self.w), np.zeros(1), 0

    def standing(self) -> Standing:
        if self._passes > _FRESH:
            self.refresh()
        return self.rows.standing(self._r + self._shift[0] * self.rows.root)


def block_of(rows: Rows, w: Array, *, n_problems: int) -> Gram | Columns:
    """The block that costs least for so many penalties on the same rows.

    A whole Gram matrix costs n p² at the speed of the BLAS, about ten times that of passes over columns, of which each
    penalty needs some. Rows are counted by their weight, so that copies and weights go the same way.
    """
    n_samples, n_features = rows.X.shape
    worth = n_features <= min(rows.total, 10 * (n_problems + 9))
    if is_sparse(rows.X):
        filled = rows.X.nnz / n_samples * rows.total
        return Gram(rows, w, whole=True) if worth and filled >= n_features**2 else Columns(rows, w)
    return Gram(rows, w, whole=worth)
