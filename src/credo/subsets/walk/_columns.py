"""The columns that a walk chooses from, with what every replica needs to know of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.subsets._dependence import lengths
from credo.subsets.walk.factors import Columns, Replicas

Array = NDArray[np.float64]

# All inner products of columns are kept up to this many numbers (128 MB); beyond, each chain keeps the rows of those
# columns that entered last, in about a quarter of that.
_ALL_KEPT, _ROWS_KEPT = 16_000_000, 4_000_000


def columns_of(X: Array, y: Array, *, ridge: float, yy: float, least: Array | float) -> Columns:
    """From columns and target.

    Parameters
    ----------
    ridge : float
        What the slab adds to squared lengths.
    yy : float
        The target's squared length.
    least : array of shape (d,) or float
        The share of a column's length that must be left beside others.
    """
    d = X.shape[1]
    scale = lengths(X)
    scale = np.where(scale > 0, scale, 1.0)
    # Rows in memory one after the other: qᵀX is twice as fast as with columns.
    U = np.ascontiguousarray(X / scale)
    floors = np.zeros(d) if ridge else np.broadcast_to(np.asarray(least, dtype=np.float64), (d,)).copy()
    slack = max(yy - float(y @ y), 0.0) / yy
    kept = d * d <= _ALL_KEPT
    return Columns(
        X=U,
        y=np.ascontiguousarray(y / np.sqrt(yy)),
        scale=2.0 * np.log(scale),
        square=np.einsum("ij,ij->j", U, U) + ridge / scale**2,
        ridge=ridge / scale**2,
        least=floors,
        slack=slack,
        gram=U.T @ U if kept else np.empty((0, d)),
        row=np.arange(d) if kept else np.full(d, -1),
        owner=np.empty(0, dtype=np.int64),
        turn=np.zeros(1, dtype=np.int64),
    )


def own_rows(columns: Columns) -> Columns:
    """The same for one chain, with rows of inner products of its own where they aren't all kept."""
    d = columns.X.shape[1]
    if len(columns.gram):
        return columns
    n_rows = max(_ROWS_KEPT // d, 1)
    return columns._replace(
        gram=np.empty((n_rows, d)),
        row=np.full(d, -1),
        owner=np.full(n_rows, -1),
        turn=np.zeros(1, dtype=np.int64),
    )


def replicas_of(columns: Columns, levels: int, room: int) -> Replicas:
    """Models without columns, one for each level, with room for so many; what follows from them isn't filled in."""
    n, d = columns.X.shape
    return Replicas(
        Q=np.zeros((levels, room, n + room)), R=np.zeros((levels, room, room)),
        T=np.zeros((levels, room, room)), u=np.zeros((levels, room)), e=np.zeros((levels, n + room)),
        s=np.empty((levels, d)), r=np.empty((levels, d)), inside=np.zeros((levels, d), dtype=np.bool_),
        members=np.zeros((levels, room), dtype=np.int64), size=np.zeros(levels, dtype=np.int64),
        still=np.zeros((levels, d)), fit=np.zeros((levels, d)), here=np.zeros((levels, 5)),
    )  # fmt: skip
