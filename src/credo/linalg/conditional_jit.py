"""Compiled loop over many small Gaussian vectors: the distribution of the last entry given the others.

With C = LLᵀ the covariance of a block, the last entry of L⁻¹b is what b has beyond its prediction from the others, in
units of the conditional standard deviation L_qq.
"""

import math

from numpy import empty

from credo._jit import njit

# A conditional variance is at least this share of the variance.
_FLOOR = 1e-12


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def conditionals(start, step, K, noise, places, counts, B, std, white, weights, solved):
    """The conditional distributions of the blocks `start, start + step, …`.

    Parameters
    ----------
    K : array of shape (n_blocks, size·(size + 1)/2)
        Packed covariances of each block (see `Kernel.blocks`), to whose diagonal `noise` of the rows is added.
    places, counts : arrays of shape (n_blocks, size) and (n_blocks,)
        The rows of each block, of which the first `counts` are used; the last of these is the one that is conditioned.
    B : array of shape (n, k)
        Columns to be whitened.
    std, white : arrays of shape (n_blocks,) and (n_blocks, k)
        Filled with the conditional standard deviations and the last entries of L⁻¹b.
    weights, solved : arrays of shape (n_blocks, size) and (n_blocks, size, k), or without rows
        Filled with L⁻ᵀ(0, …, 0, 1) and C⁻¹b, if they have rows.

    Returns
    -------
    int
        The number of pivots that were too small, and were replaced.
    """
    size, k = places.shape[1], B.shape[1]
    L, t = empty((size, size)), empty((k, size))
    n_replaced = 0
    for i in range(start, len(places), step):
        own, q = places[i], counts[i]
        first = 0
        for a in range(q):
            row = L[a]
            for c in range(a):
                other, total = L[c], K[i, first + c]
                for e in range(c):
                    total -= row[e] * other[e]
                row[c] = total / other[c]
            diagonal = K[i, first + a] + noise[own[a]]
            pivot = diagonal
            for e in range(a):
                pivot -= row[e] * row[e]
            if not pivot > _FLOOR * diagonal:
                pivot = _FLOOR * diagonal
                n_replaced += 1
            row[a] = math.sqrt(pivot)
            first += a + 1
        last = q - 1
        std[i] = L[last, last]
        for j in range(k):
            forward = t[j]
            for a in range(q):
                row, total = L[a], B[own[a], j]
                for e in range(a):
                    total -= row[e] * forward[e]
                forward[a] = total / row[a]
            white[i, j] = forward[last]
        if len(weights) == 0:
            continue
        v = weights[i]
        for a in range(last):
            v[a] = 0.0
        v[last] = 1.0
        _back_substitute(L, q, v)
        for j in range(k):
            _back_substitute(L, q, t[j])
            for a in range(q):
                solved[i, a, j] = t[j, a]
    return n_replaced


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _back_substitute(L, q, x):
    """L⁻ᵀx in place, by rows of L."""
    for a in range(q - 1, -1, -1):
        row = L[a]
        x[a] /= row[a]
        for e in range(a):
            x[e] -= row[e] * x[a]


@njit(nogil=True, cache=True)
def symmetric_products(start, step, V, P, W):
    """The weights of packed covariances for Σ vᵀC p over blocks: v_a p_a on the diagonal, v_a p_c + p_a v_c beside it."""
    for i in range(start, len(V), step):
        v, p, first = V[i], P[i], 0
        for a in range(len(v)):
            for c in range(a):
                W[i, first + c] = v[a] * p[c] + p[a] * v[c]
            W[i, first + a] = v[a] * p[a]
            first += a + 1
