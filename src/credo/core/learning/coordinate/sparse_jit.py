"""Sums over the entries of a sparse matrix, compiled; `tests/reference/coordinate.py` has the same in plain NumPy."""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def column_moments(
    data: Array,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int32],
    omega: Array,
    center: bool,
) -> tuple[Array, Array]:
    """The mean Σωx/Σω (or 0) and Σω(x − mean)² of each sparse column; what isn't stored is zero."""
    p, total = len(indptr) - 1, omega.sum()
    mean, squares = np.zeros(p), np.zeros(p)
    for j in range(p):
        start, stop = indptr[j], indptr[j + 1]
        stored = 0.0
        for k in range(start, stop):
            weight = omega[indices[k]]
            stored += weight
            mean[j] += weight * data[k]
        mean[j] = mean[j] / total if center else 0.0
        for k in range(start, stop):
            squares[j] += omega[indices[k]] * (data[k] - mean[j]) ** 2
        if stop - start < len(omega):
            squares[j] += max(total - stored, 0.0) * mean[j] * mean[j]
    return mean, squares


@njit(cache=True, nogil=True)
def row_gram(data: Array, indices: NDArray[np.int32], indptr: NDArray[np.int32], p: int) -> Array:
    """XᵀX of the rows of a sparse matrix with p columns: every pair of entries in a row once."""
    K = np.zeros((p, p))
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], a + 1):
                K[indices[a], indices[b]] += data[a] * data[b]
    for i in range(p):
        for j in range(i):
            # Where the entries of a row aren't sorted by column, part of the sum is in the upper triangle.
            K[i, j] += K[j, i]
            K[j, i] = K[i, j]
    return K
