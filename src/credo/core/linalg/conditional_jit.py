"""Compiled loops over many small Gaussian vectors: the distribution of the last entry of each given the others.

With C = LLᵀ the covariance of a block, the last entry of L⁻¹b is what b has beyond its prediction from the others, in
units of the conditional standard deviation L_qq. Several blocks are factored at once, one in each lane of the vector
instructions, because rows of thirty numbers are too short for these.
"""

import math

from numpy import empty, zeros

from credo.core.numba import njit

# Blocks that are factored at once.
LANES = 8
# A conditional variance is at least this share of the variance.
_MIN_VARIANCE_SHARE = 1e-12
_FAST = {"contract", "nsz"}
# Sums may be taken in any order.
_SUMS = {"contract", "nsz", "reassoc"}


@njit(nogil=True, cache=True)
def conditionals(start, step, K, noise, places, unused, B, std, white, weights, solved):
    """The conditional distributions of the blocks in the groups of lanes `start, start + step, …`.

    Parameters
    ----------
    K : array of shape (n_blocks, size·(size + 1)/2)
        Packed covariances of each block (see `Kernel.blocks`), to whose diagonal `noise` of the rows is added.
    places, unused : arrays of shape (n_blocks, size) and (n_blocks,)
        The rows of each block, of which the first `unused` don't count. The last one is conditioned.
    B : array of shape (n, k)
        Columns to be whitened.
    std, white : arrays of shape (n_blocks,) and (n_blocks, k)
        Filled with the conditional standard deviations and the last entries of L⁻¹b.
    weights, solved : arrays of shape (n_blocks, size) and (n_blocks, size, k), or without rows
        Filled with L⁻ᵀ(0, …, 0, 1) and C⁻¹b, if they have rows.
    """
    n, size, k = len(places), places.shape[1], B.shape[1]
    L, x = empty((size, size, LANES)), empty((size, LANES))
    for group in range(start, -(-n // LANES), step):
        first = group * LANES
        n_lanes = min(LANES, n - first)
        _load(K, noise, places, unused, first, n_lanes, L)
        _factor(L)
        for lane in range(n_lanes):
            std[first + lane] = L[size - 1, size - 1, lane]
        for j in range(k):
            for lane in range(n_lanes):
                i = first + lane
                for a in range(size):
                    x[a, lane] = B[places[i, a], j] if a >= unused[i] else 0.0
            _forward(L, x)
            for lane in range(n_lanes):
                white[first + lane, j] = x[size - 1, lane]
            if len(weights):
                _backward(L, x)
                for lane in range(n_lanes):
                    for a in range(size):
                        solved[first + lane, a, j] = x[a, lane]
        if len(weights):
            x[:] = 0.0
            x[size - 1] = 1.0
            _backward(L, x)
            for lane in range(n_lanes):
                for a in range(size):
                    weights[first + lane, a] = x[a, lane]


@njit(nogil=True, cache=True)
def information(start, step, K, ahead, noise, by_noise, places, unused):
    """The Fisher information of the conditional distributions in the groups of lanes `start, start + step, …`.

    With v = L⁻ᵀ(0, …, 0, 1) and a_j = L⁻¹(∂C/∂θ_j)v it is Σ a_j·a_k − ½ a_jq a_kq (Guinness 2021): ½ tr of the block's
    C⁻¹(∂C/∂θ_j)C⁻¹(∂C/∂θ_k), less the same without the last entry.

    Parameters
    ----------
    K, noise, places, unused
        As for `conditionals`.
    ahead : array of shape (n_parameters, n_blocks, size·(size + 1)/2)
        K after a small change of each parameter: `ahead − K` are the derivatives, per change.
    by_noise : array of shape (n,)
        The derivatives of `noise` by one more parameter.
    """
    n, size, last = len(places), places.shape[1], places.shape[1] - 1
    n_all = len(ahead) + 1
    L, x, A = empty((size, size, LANES)), empty((size, LANES)), empty((n_all, size, LANES))
    v, moved, total = empty(size), empty(size), zeros((n_all, n_all))
    for group in range(start, -(-n // LANES), step):
        first = group * LANES
        n_lanes = min(LANES, n - first)
        _load(K, noise, places, unused, first, n_lanes, L)
        _factor(L)
        x[:] = 0.0
        x[last] = 1.0
        _backward(L, x)
        A[:] = 0.0
        for lane in range(n_lanes):
            i = first + lane
            for a in range(size):
                v[a] = x[a, lane]
            for j in range(n_all - 1):
                _change_times(K[i], ahead[j, i], v, moved)
                for a in range(unused[i], size):
                    A[j, a, lane] = moved[a]
            for a in range(unused[i], size):
                A[n_all - 1, a, lane] = by_noise[places[i, a]] * v[a]
        for j in range(n_all):
            _forward(L, A[j])
            for k in range(j + 1):
                total[j, k] += _dot(A[j], A[k]) - 0.5 * _dot(A[j, last:], A[k, last:])
    for j in range(n_all):
        for k in range(j):
            total[k, j] = total[j, k]
    return total


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _change_times(K, ahead, v, out):
    """(ahead − K)v, of packed symmetric matrices."""
    first = 0
    for a in range(len(v)):
        own = (ahead[first + a] - K[first + a]) * v[a]
        for c in range(a):
            change = ahead[first + c] - K[first + c]
            own += change * v[c]
            out[c] += change * v[a]
        out[a] = own
        first += a + 1


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _dot(x, y):
    """The sum of products over all lanes."""
    total = 0.0
    for a in range(len(x)):
        for lane in range(LANES):
            total += x[a, lane] * y[a, lane]
    return total


@njit(nogil=True, cache=True)
def _load(K, noise, places, unused, first, n_lanes, L):
    """The covariances of a group; entries that don't count are independent, with variance one."""
    size = L.shape[0]
    for lane in range(LANES):
        if lane >= n_lanes:
            L[:, :, lane] = 0.0
            for a in range(size):
                L[a, a, lane] = 1.0
            continue
        i = first + lane
        entry = 0
        for a in range(size):
            for c in range(a):
                L[a, c, lane] = K[i, entry + c] if c >= unused[i] else 0.0
            L[a, a, lane] = K[i, entry + a] + noise[places[i, a]] if a >= unused[i] else 1.0
            entry += a + 1


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _factor(L):
    """Cholesky factors in place of the lower triangles."""
    size = L.shape[0]
    total = empty(LANES)
    for a in range(size):
        for c in range(a + 1):
            for lane in range(LANES):
                total[lane] = L[a, c, lane]
            for e in range(c):
                for lane in range(LANES):
                    total[lane] -= L[a, e, lane] * L[c, e, lane]
            if c < a:
                for lane in range(LANES):
                    L[a, c, lane] = total[lane] / L[c, c, lane]
            else:
                for lane in range(LANES):
                    L[a, a, lane] = math.sqrt(max(total[lane], _MIN_VARIANCE_SHARE * L[a, a, lane]))


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _forward(L, x):
    """L⁻¹x in place."""
    for a in range(L.shape[0]):
        for e in range(a):
            for lane in range(LANES):
                x[a, lane] -= L[a, e, lane] * x[e, lane]
        for lane in range(LANES):
            x[a, lane] /= L[a, a, lane]


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _backward(L, x):
    """L⁻ᵀx in place, by rows of L."""
    for a in range(L.shape[0] - 1, -1, -1):
        for lane in range(LANES):
            x[a, lane] /= L[a, a, lane]
        for e in range(a):
            for lane in range(LANES):
                x[e, lane] -= L[a, e, lane] * x[a, lane]


@njit(nogil=True, cache=True)
def symmetric_products(start, step, V, P, W):
    """The weights of packed covariances in Σ vᵀCp over blocks: v_a p_a on the diagonal, v_a p_c + p_a v_c beside it."""
    for i in range(start, len(V), step):
        v, p, first = V[i], P[i], 0
        for a in range(len(v)):
            for c in range(a):
                W[i, first + c] = v[a] * p[c] + p[a] * v[c]
            W[i, first + a] = v[a] * p[a]
            first += a + 1
