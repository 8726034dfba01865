"""Compiled loops over many small sets of rows: the covariances within each, packed.

A block is a row of `places`, the numbers of some rows. Its covariances k(x_a, x_c), c ≤ a, are packed one a after the
other. Each function does the blocks `start, start + step, …`, which threads share; all release the lock.
"""

from numpy import empty, zeros

from credo._jit import njit
from credo.kernels._jit import _FAST, RATIONAL_QUADRATIC, TILE, _combine, _dot, _slopes, _values


@njit(nogil=True, cache=True, fastmath=_FAST)
def _block_distances(Z, places, columns, out):
    """Squared distances between the rows of Z at these places, packed: those of c ≤ a, one a after the other."""
    size, n_columns = len(places), Z.shape[1]
    for a in range(size):
        for d in range(n_columns):
            columns[d, a] = Z[places[a], d]
    first = 0
    for a in range(size):
        row = out[first : first + a + 1]
        row[:] = 0.0
        for d in range(n_columns):
            z, other = columns[d, a], columns[d]
            for c in range(a + 1):
                gap = z - other[c]
                row[c] += gap * gap
        first += a + 1


@njit(nogil=True, cache=True)
def stationary_blocks(start, step, Z, places, family, shape, variance, mode, K):
    """variance·k between the rows of Z at each row of places, packed into a row of K."""
    size, n_pairs = places.shape[1], K.shape[1]
    columns, r = empty((Z.shape[1], size)), zeros(-(-n_pairs // TILE) * TILE)
    for i in range(start, len(places), step):
        _block_distances(Z, places[i], columns, r)
        for first in range(0, n_pairs, TILE):
            _values(family, shape, r[first : first + TILE])
        _combine(mode, variance, r, 0, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_pullback_blocks(start, step, Z, places, family, shape, W):
    """Σ W∘k, Σ W∘∂k/∂shape, and Σ W∘(dk/dr²)∘(z_a − z_c)² for each column; W as `stationary_blocks` packs K."""
    size, n_pairs, n_columns = places.shape[1], W.shape[1], Z.shape[1]
    length = -(-n_pairs // TILE) * TILE
    columns, r, w = empty((n_columns, size)), zeros(length), zeros(length)
    k, slope, bend = empty(TILE), empty(length), empty(TILE)
    sums = zeros(n_columns + 2)
    for i in range(start, len(places), step):
        _block_distances(Z, places[i], columns, r)
        for p in range(n_pairs):
            w[p] = W[i, p]
        for first in range(0, n_pairs, TILE):
            part = slope[first : first + TILE]
            _slopes(family, shape, r[first : first + TILE], k, part, bend)
            sums[0] += _dot(w[first : first + TILE], k)
            if family == RATIONAL_QUADRATIC:
                sums[1] += _dot(w[first : first + TILE], bend)
        for p in range(n_pairs):
            slope[p] *= w[p]
        for d in range(n_columns):
            total, first, column = 0.0, 0, columns[d]
            for a in range(size):
                z = column[a]
                for c in range(a):
                    gap = z - column[c]
                    total += slope[first + c] * gap * gap
                first += a + 1
            sums[2 + d] += total
    return sums
