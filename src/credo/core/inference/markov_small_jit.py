"""The recursions of `markov_jit` for a single block of up to three components, held in registers.

Tuples have a length known to the compiler, which unrolls the loops over the state; a step reads only the row's own
numbers from memory and allocates nothing. h is the first unit vector, so that Σh is the first column of Σ.
"""

import math

import numpy as np

from credo.core.numba import njit, tuple_setitem
from credo.kernels.markov_jit import matern_step

_FAST = {"contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def _congruence(vector, move, cov, noise):
    """ASAᵀ + Q, for a symmetric S."""
    d, left, out = len(vector), cov, cov
    for p in range(d):
        for r in range(d):
            x = 0.0
            for l in range(d):
                x += move[p * d + l] * cov[l * d + r]
            left = tuple_setitem(left, p * d + r, x)
    for p in range(d):
        for r in range(p, d):
            x = noise[p * d + r]
            for l in range(d):
                x += left[p * d + l] * move[r * d + l]
            out = tuple_setitem(out, p * d + r, x)
            out = tuple_setitem(out, r * d + p, x)
    return out


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def _observed(vector, cov, weight, rest):
    """S − Sh(Sh)ᵀ·a/q, from a/q and b/q; its first column is Sh·b/q, which loses no digits."""
    d, out = len(vector), cov
    for p in range(d):
        for r in range(p, d):
            x = cov[p * d + r] - weight * cov[p] * cov[r] if p > 0 else cov[r] * rest
            out = tuple_setitem(out, p * d + r, x)
            out = tuple_setitem(out, r * d + p, x)
    return out


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def _slopes(vector, flow, spread, scaled, psi, gap, S, Q):
    """Add 2ΨS·gap, Ψ·gap and ⟨Ψ, Q⟩."""
    d = len(vector)
    for p in range(d):
        for r in range(d):
            x = 0.0
            for l in range(d):
                x += psi[p * d + l] * S[l * d + r]
            flow = tuple_setitem(flow, p * d + r, flow[p * d + r] + 2.0 * gap * x)
            spread = tuple_setitem(spread, p * d + r, spread[p * d + r] + gap * psi[p * d + r])
            scaled += psi[p * d + r] * Q[p * d + r]
    return flow, spread, scaled


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def small_forward(
    vector, matrix, rate, variance, begins, step, before_m, before_S,
    gaps, which, A, Q, a, b, Z, m, S, E, q, kept_S, kept_m,
):  # fmt: skip
    """`forward` for one block; `vector` and `matrix` are tuples of d and d² zeros.

    With a rate above zero, the block is a Matérn process of order d, whose transitions are computed from `gaps`, which
    has one more entry than there are rows: the processor does that while it waits for the recursion. They are written
    to A and Q if states are stored. The states before every `step` rows go to `before_m` and `before_S`.
    """
    d, n_columns, keeps = len(vector), Z.shape[1], len(kept_S) > 0
    cov, moved, move, noise = matrix, vector, matrix, matrix
    logdet, product, following, chunk, last = 0.0, 1.0, 0, -1, -1.0
    for p in range(d * d):
        cov = tuple_setitem(cov, p, S[p // d, p % d])
    for i in range(len(q)):
        if i == following and len(before_S):
            following, chunk = following + step, chunk + 1
            for p in range(d):
                for j in range(n_columns):
                    before_m[chunk, p, j] = m[p, j]
                for r in range(d):
                    before_S[chunk, p, r] = cov[p * d + r]
        if rate > 0.0:
            if gaps[i] != last:
                move, noise = matern_step(matrix, np.inf if begins and i == 0 else rate * gaps[i], variance)
                last = -1.0 if begins and i == 0 else gaps[i]
            if keeps:
                for p in range(d * d):
                    A[i, p], Q[i, p] = move[p], noise[p]
        else:
            u = which[i]
            for p in range(d * d):
                move, noise = tuple_setitem(move, p, A[u, p]), tuple_setitem(noise, p, Q[u, p])
        cov = _congruence(vector, move, cov, noise)
        pivot = b[i] + a[i] * cov[0]
        scale = 1.0 / pivot
        size = 1.0 if keeps else math.sqrt(pivot)
        for j in range(n_columns):
            for p in range(d):
                x = 0.0
                for l in range(d):
                    x += move[p * d + l] * m[l, j]
                moved = tuple_setitem(moved, p, x)
            e = (Z[i, j] - a[i] * moved[0]) * scale
            E[i, j] = e * size
            for p in range(d):
                if keeps:
                    kept_m[i, p, j] = moved[p]
                m[p, j] = moved[p] + cov[p] * e
        if keeps:
            for p in range(d * d):
                kept_S[i, p] = cov[p]
        cov = _observed(vector, cov, a[i] * scale, b[i] * scale)
        q[i] = pivot
        product *= pivot
        if not 1e-100 < product < 1e100:
            logdet += math.log(product)
            product = 1.0
    for p in range(d * d):
        S[p // d, p % d] = cov[p]
    if keeps and rate > 0.0:
        move, noise = matern_step(matrix, rate * gaps[len(q)], variance)
        for p in range(d * d):
            A[len(q), p], Q[len(q), p] = move[p], noise[p]
    return logdet + math.log(product)


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def small_backward(
    vector, matrix, which, gaps, A, Q, a, b, E, q, kept_S, kept_m, rho, N, signs, count,
    alpha, inverse, mean, variance, halves, by_generator, by_diffusion, by_covariance, by_scale,
):  # fmt: skip
    """`backward` for one block."""
    d, n_columns = len(vector), E.shape[1]
    info, left, move, moved, half = matrix, matrix, matrix, vector, vector
    flow, spread, still, scaled, stays = matrix, matrix, matrix, 0.0, count == 0.0 or len(by_covariance) == 0
    for p in range(d * d):
        info = tuple_setitem(info, p, N[p // d, p % d])
    for i in range(len(q) - 1, -1, -1):
        u, norm = which[i + 1], 0.0
        for p in range(d * d):
            move = tuple_setitem(move, p, A[u, p % d * d + p // d])
        info = _congruence(vector, move, info, matrix)
        if not stays:
            for p in range(d * d):
                still = tuple_setitem(still, p, still[p] + 0.5 * count * info[p])
        for p in range(d):
            x = 0.0
            for l in range(d):
                x += info[p * d + l] * kept_S[i, l]
            half = tuple_setitem(half, p, x)
            norm += x * kept_S[i, p]
        if len(halves):
            for p in range(d):
                halves[i, p] = half[p]
        weight, rest = a[i] / q[i], b[i] / q[i]
        own = weight + weight * weight * norm
        inverse[i] = own
        variance[i] = rest * kept_S[i, 0] - rest * rest * norm
        for p in range(1, d):
            x = info[p] - weight * half[p]
            info = tuple_setitem(info, p, x)
            info = tuple_setitem(info, p * d, x)
        info = tuple_setitem(info, 0, info[0] + own - 2.0 * weight * half[0])
        gap, w = gaps[i], which[i]
        for p in range(d * d):
            left = tuple_setitem(left, p, -0.5 * count * info[p])
        for j in range(n_columns):
            known = 0.0
            for p in range(d):
                x = 0.0
                for l in range(d):
                    x += move[p * d + l] * rho[l, j]
                moved = tuple_setitem(moved, p, x)
                known += x * kept_S[i, p]
            if not stays:
                for p in range(d * d):
                    still = tuple_setitem(still, p, still[p] - 0.5 * signs[j] * moved[p // d] * moved[p % d])
            x = E[i, j] - weight * known
            alpha[i, j] = x
            mean[i, j] = kept_m[i, 0, j] + kept_S[i, 0] * E[i, j] + rest * known
            moved = tuple_setitem(moved, 0, moved[0] + x)
            for p in range(d):
                rho[p, j] = moved[p]
                if count:
                    x = signs[j] * moved[p]
                    for r in range(d):
                        left = tuple_setitem(left, p * d + r, left[p * d + r] + 0.5 * x * moved[r])
                        flow = tuple_setitem(flow, p * d + r, flow[p * d + r] + gap * x * kept_m[i, r, j])
        if count:
            flow, spread, scaled = _slopes(vector, flow, spread, scaled, left, gap, kept_S[i], Q[w])
            if not stays:
                for p in range(d * d):
                    still = tuple_setitem(still, p, still[p] + left[p])
    for p in range(d * d):
        N[p // d, p % d] = info[p]
        by_generator[p] += flow[p]
        by_diffusion[p] += spread[p]
        if not stays:
            by_covariance[p] += still[p]
    by_scale[0] += scaled
