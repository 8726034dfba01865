"""An order of rows, and for each row its nearest neighbours among those before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from credo.inference.ordering_jit import maximin

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Rows in a leaf of the tree that finds the order.
_LEAF = 8
# The order is by maximin distance until so many distances for each row were computed, as in many columns they are.
_MOST = 1000
# Trees of the first rows grow by this factor, so that at least the inverse share of what one finds is early enough.
_GROWTH = 1.4


def ordered(Z: Array) -> Index:
    """Row numbers in maximin order (Guinness 2018): each as far as possible from those before it.

    Coarse rows come first, so that later ones have neighbours on all sides. Copies of earlier rows come last. In many
    columns, where an order of all rows would take too long, the rows after some thousands are in random order.
    """
    n = len(Z)
    n_leaves = 2 ** max(0, int(np.ceil(np.log2(n / _LEAF))))
    # Leaves have equal sizes; positions that are left over repeat a row and don't count.
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
    count = maximin(np.ascontiguousarray(Z[rows]), low, high, central, _MOST * n, distance, order)
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
        stop = min(n, max(start + 1, int(_GROWTH * start)))
        places[start:stop, :m] = _earlier(KDTree(sorted_rows[:stop]), sorted_rows, np.arange(start, stop), m)
        start = stop
    return order[places], unused


def _earlier(tree: KDTree, rows: Array, positions: Index, m: int) -> Index:
    """The m nearest rows of the tree that come before each of these positions."""
    found = np.empty((len(positions), m), dtype=np.intp)
    waiting, wanted = np.arange(len(positions)), min(int(_GROWTH * m + 4 * np.sqrt(m)) + 1, tree.n)
    while len(waiting):
        near = np.atleast_2d(tree.query(rows[positions[waiting]], k=wanted, workers=-1)[1])
        before = near < positions[waiting, None]
        rank = np.cumsum(before, axis=1)
        done = rank[:, -1] >= m
        used = before[done] & (rank[done] <= m)
        found[waiting[done]] = near[done][used].reshape(-1, m)
        waiting, wanted = waiting[~done], min(2 * wanted, tree.n)
    return found
