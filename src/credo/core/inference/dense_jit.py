"""Compiled loops over one triangle of a dense matrix: the part i ≤ j of an n×n array in C order.

Each function does the rows `start, start + step, …`, which threads share; all release the lock.
"""

from credo.core.numba import njit

_FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def outer_minus_triangle(start, step, columns, count, V):
    """½(ccᵀ − count·V) in place of the triangle of V: the weights of a kernel's derivatives."""
    n, n_columns = columns.shape
    for i in range(start, n, step):
        row = V[i]
        for j in range(i, n):
            row[j] *= -0.5 * count
        for t in range(n_columns):
            c = 0.5 * columns[i, t]
            for j in range(i, n):
                row[j] += c * columns[j, t]
