"""Compiled recursions of a Gaussian process whose kernel has a state-space form (the Kalman filter and its adjoint).

The state has a block for each term of the kernel. From one row to the next it moves by A, block diagonal, and gets
noise of covariance Q; f = hᵀx, where h has the row's number g at the start of each block. A and Q are tables of flat
blocks with a row for each distinct gap, and `which` is the row of the table for each row of the data; the first row of
all has A = 0 and Q = P, the covariance a priori.

A row of data is (z, a, b): a target z with noise b has a = 1; a Gaussian site exp(−½τf² + νf) has z = ν, a = τ, b = 1;
a row without data has z = a = 0, b = 1. With the predicted mean m and covariance S, and k = Sh,

    q = b + a hᵀk,    e = (z − a hᵀm)/q,    m ← m + ke,    S ← S − kkᵀ a/q
"""

import math

from credo.core.numba import njit

_FAST = {"contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def forward(starts, g, work, which, A, Q, a, b, Z, m, S, E, q, kept_S, kept_m):
    """The filter: q for each row, and E = e√q or, if predicted means and covariances are stored, e. Returns Σ ln q.

    m (d, columns) and S (d, d) are those of the row before, and are replaced by those of the last row.
    """
    d, n_blocks, n_columns, keeps = len(S), len(starts) - 1, Z.shape[1], len(kept_S) > 0
    k, logdet = work[d], 0.0
    for i in range(len(q)):
        u = which[i]
        _congruence(starts, A[u], S, work, False)
        place = 0
        for block in range(n_blocks):
            first, last = starts[block], starts[block + 1]
            for p in range(first, last):
                for r in range(first, last):
                    S[p, r] += Q[u, place]
                    place += 1
        _transform(starts, A[u], m, k, False)
        for p in range(d):
            k[p] = 0.0
            for block in range(n_blocks):
                k[p] += g[i, block] * S[starts[block], p]
        prior = 0.0
        for block in range(n_blocks):
            prior += g[i, block] * k[starts[block]]
        if keeps:
            for p in range(d):
                for r in range(d):
                    kept_S[i, p * d + r] = S[p, r]
                for j in range(n_columns):
                    kept_m[i, p, j] = m[p, j]
        pivot = b[i] + a[i] * prior
        scale, size = 1.0 / pivot, 1.0 if keeps else math.sqrt(pivot)
        logdet += math.log(pivot)
        for j in range(n_columns):
            known = 0.0
            for block in range(n_blocks):
                known += g[i, block] * m[starts[block], j]
            e = (Z[i, j] - a[i] * known) * scale
            E[i, j] = e * size
            for p in range(d):
                m[p, j] += k[p] * e
        weight = a[i] * scale
        for p in range(d):
            for r in range(p, d):
                S[p, r] -= weight * k[p] * k[r]
                S[r, p] = S[p, r]
        q[i] = pivot
    return logdet


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def backward(
    starts, g, work, which, gaps, A, Q, a, b, E, q, kept_S, kept_m, rho, N, signs, count,
    alpha, inverse, mean, variance, halves, by_generator, by_diffusion, by_covariance, by_scale,
):  # fmt: skip
    """The adjoint of the filter, from the last row to the first.

    rho (d, columns) and N (d, d) describe what later rows say of the state that `which[-1]` leads to: the derivative
    of the log evidence by its predicted mean, and minus its second derivative. For each row, `alpha` is C⁻¹z, `inverse`
    the diagonal of C⁻¹, mean and variance are those of f given all rows, and `halves` are Nk if it has rows.

    If `count` isn't zero, the derivatives of Σⱼ signsⱼ·(−½zⱼᵀC⁻¹zⱼ) − ½ count ln|C| are summed: with Ψ that by S,
    gap·(2ΨS + Σ signsⱼ ρⱼmⱼᵀ) by the generator of A, gap·Ψ by the rate of diffusion, ⟨Ψ, Q⟩ by the log variance, and
    Ψ − AᵀΨA by P at constant A, for Q = P − APAᵀ.
    """
    d, n_blocks, n_columns = len(N), len(starts) - 1, E.shape[1]
    k, half = work[d], work[d + 1]
    psi = work[d + 2 :]
    for i in range(len(q) - 1, -1, -1):
        u = which[i + 1]
        _congruence(starts, A[u], N, work, True)
        _transform(starts, A[u], rho, half, True)
        if count and len(by_covariance):
            _subtract_blocks(starts, rho, N, signs, count, by_covariance)
        for p in range(d):
            k[p] = 0.0
            for block in range(n_blocks):
                k[p] += g[i, block] * kept_S[i, starts[block] * d + p]
        prior, norm = 0.0, 0.0
        for block in range(n_blocks):
            prior += g[i, block] * k[starts[block]]
        for p in range(d):
            half[p] = 0.0
            for r in range(d):
                half[p] += N[p, r] * k[r]
            norm += half[p] * k[p]
        if len(halves):
            for p in range(d):
                halves[i, p] = half[p]
        weight, rest = a[i] / q[i], b[i] / q[i]
        own = weight + weight * weight * norm
        inverse[i] = own
        variance[i] = rest * prior - rest * rest * norm
        for block in range(n_blocks):
            p = starts[block]
            for r in range(d):
                N[p, r] -= weight * g[i, block] * half[r]
                N[r, p] -= weight * g[i, block] * half[r]
            for other in range(n_blocks):
                N[p, starts[other]] += own * g[i, block] * g[i, other]
        for j in range(n_columns):
            later, known = 0.0, 0.0
            for p in range(d):
                later += k[p] * rho[p, j]
            for block in range(n_blocks):
                known += g[i, block] * kept_m[i, starts[block], j]
            x = E[i, j] - weight * later
            alpha[i, j] = x
            mean[i, j] = known + prior * E[i, j] + rest * later
            for block in range(n_blocks):
                rho[starts[block], j] += g[i, block] * x
        if count:
            _derivatives(
                starts, which[i], gaps[i], Q, kept_S[i], kept_m[i], rho, N, signs, count, psi,
                by_generator, by_diffusion, by_covariance, by_scale,
            )  # fmt: skip


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _derivatives(
    starts, u, gap, Q, S, m, rho, N, signs, count, psi, by_generator, by_diffusion, by_covariance, by_scale
):  # fmt: skip
    """Add one row's part of the derivatives; `psi` is scratch memory."""
    d, place, still = len(N), 0, len(by_covariance) > 0
    for block in range(len(starts) - 1):
        first, last = starts[block], starts[block + 1]
        for p in range(first, last):
            for r in range(d):
                x = -0.5 * count * N[p, r]
                for j in range(len(signs)):
                    x += 0.5 * signs[j] * rho[p, j] * rho[r, j]
                psi[0, r] = x
            for r in range(first, last):
                x = 0.0
                for l in range(d):
                    x += 2.0 * psi[0, l] * S[l * d + r]
                for j in range(len(signs)):
                    x += signs[j] * rho[p, j] * m[r, j]
                by_generator[place] += gap * x
                by_diffusion[place] += gap * psi[0, r]
                if still:
                    by_covariance[place] += psi[0, r]
                by_scale[block] += psi[0, r] * Q[u, place]
                place += 1


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _subtract_blocks(starts, rho, N, signs, count, by_covariance):
    """Subtract the blocks of AᵀΨA, with rho and N moved by Aᵀ already."""
    place = 0
    for block in range(len(starts) - 1):
        for p in range(starts[block], starts[block + 1]):
            for r in range(starts[block], starts[block + 1]):
                x = -0.5 * count * N[p, r]
                for j in range(len(signs)):
                    x += 0.5 * signs[j] * rho[p, j] * rho[r, j]
                by_covariance[place] -= x
                place += 1


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _congruence(starts, A, S, work, transposed):
    """ASAᵀ, or AᵀSA, in place of a symmetric S, for blocks A on the diagonal."""
    n_blocks, at = len(starts) - 1, 0
    for block in range(n_blocks):
        first, last = starts[block], starts[block + 1]
        size = last - first
        for p in range(size):
            for r in range(first, len(S)):
                x = 0.0
                for l in range(size):
                    x += (A[at + l * size + p] if transposed else A[at + p * size + l]) * S[first + l, r]
                work[p, r] = x
        at_other = at
        for other in range(block, n_blocks):
            start, width = starts[other], starts[other + 1] - starts[other]
            for p in range(size):
                for r in range(width):
                    x = 0.0
                    for l in range(width):
                        x += work[p, start + l] * (
                            A[at_other + l * width + r] if transposed else A[at_other + r * width + l]
                        )
                    S[first + p, start + r] = x
                    S[start + r, first + p] = x
            at_other += width * width
        at += size * size


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def _transform(starts, A, m, work, transposed):
    """Am, or Aᵀm, in place of the columns of m."""
    at = 0
    for block in range(len(starts) - 1):
        first = starts[block]
        size = starts[block + 1] - first
        for j in range(m.shape[1]):
            for p in range(size):
                x = 0.0
                for l in range(size):
                    x += (A[at + l * size + p] if transposed else A[at + p * size + l]) * m[first + l, j]
                work[p] = x
            for p in range(size):
                m[first + p, j] = work[p]
        at += size * size


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def multiply_forward(starts, g, work, which, A, P, v, z, out):
    """out += hᵀz with z ← Az + Phv: the part s ≤ t of Σ k(t, s) v, for each row t; z is that of the row before."""
    for i in range(len(out)):
        _transform(starts, A[which[i]], z, work[0], False)
        at = 0
        for block in range(len(starts) - 1):
            first, size = starts[block], starts[block + 1] - starts[block]
            for j in range(v.shape[1]):
                for p in range(size):
                    z[first + p, j] += P[at + p * size] * g[i, block] * v[i, j]
                out[i, j] += g[i, block] * z[first, j]
            at += size * size


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def multiply_backward(starts, g, work, which, A, P, v, z, out):
    """out += (Ph)ᵀAᵀz with z ← Aᵀz + hv: the part s > t; z is the state of the row after, as in `backward`."""
    for i in range(len(out) - 1, -1, -1):
        _transform(starts, A[which[i + 1]], z, work[0], True)
        at = 0
        for block in range(len(starts) - 1):
            first, size = starts[block], starts[block + 1] - starts[block]
            for j in range(v.shape[1]):
                for p in range(size):
                    out[i, j] += P[at + p * size] * g[i, block] * z[first + p, j]
                z[first, j] += g[i, block] * v[i, j]
            at += size * size


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def color_forward(starts, g, work, which, A, k, q, white, m, out):
    """Lz for C = LLᵀ, with k and q from the filter: out = hᵀm + √q z, and m ← m + kz/√q."""
    for i in range(len(out)):
        _transform(starts, A[which[i]], m, work[0], False)
        root = q[i] ** 0.5
        for j in range(white.shape[1]):
            x = root * white[i, j]
            for block in range(len(starts) - 1):
                x += g[i, block] * m[starts[block], j]
            out[i, j] = x
            for p in range(len(m)):
                m[p, j] += k[i, p] * white[i, j] / root


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def joint_transitions(starts, g, work, which, A, a, q, kept_S, new, phi, out, size):
    """Products of A(I − khᵀa/q) from each new row to the next: out[size], out[size + 1], …; returns the next size.

    phi (d, d) is the product since the last new row.
    """
    d, n_blocks = len(phi), len(starts) - 1
    for i in range(len(q)):
        _transform(starts, A[which[i]], phi, work[0], False)
        if new[i]:
            for p in range(d):
                for r in range(d):
                    out[size, p, r] = phi[p, r]
                    phi[p, r] = 1.0 if p == r else 0.0
            size += 1
        elif a[i] != 0.0:
            for r in range(d):
                x = 0.0
                for block in range(n_blocks):
                    x += g[i, block] * phi[starts[block], r]
                x *= a[i] / q[i]
                for p in range(d):
                    for block in range(n_blocks):
                        phi[p, r] -= x * g[i, block] * kept_S[i, starts[block] * d + p]
    return size
