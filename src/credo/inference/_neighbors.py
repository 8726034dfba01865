"""An order of rows, and for each row its nearest neighbours among those before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# So many rows are put first, each as far as possible from those before it; the others follow in random order.
_SPREAD = 1000
# Trees of the first rows grow by this factor, so that at least the inverse share of what one finds is early enough.
_GROWTH = 1.4


def ordered(Z: Array) -> Index:
    """Row numbers in maximin order (Guinness 2018): each as far as possible from those before it.

    Coarse rows come first, so that later ones have neighbours on all sides. After the first thousand a random order
    does the same.
    """
    n = len(Z)
    order = np.random.default_rng(0).permutation(n)
    first = np.empty(min(_SPREAD, n), dtype=np.intp)
    first[0] = np.argmin(((Z - Z.mean(axis=0)) ** 2).sum(axis=1))
    distance = np.full(n, np.inf)
    for i in range(1, len(first)):
        np.minimum(distance, ((Z - Z[first[i - 1]]) ** 2).sum(axis=1), out=distance)
        first[i] = np.argmax(distance)
        if distance[first[i]] == 0.0:
            # All others are copies.
            first = first[:i]
            break
    left = np.ones(n, dtype=bool)
    left[first] = False
    return np.concatenate([first, order[left[order]]])


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
