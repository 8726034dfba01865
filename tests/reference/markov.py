"""The Kalman filter and its adjoint, with whole matrices, in plain NumPy."""

from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag, expm
from tests.reference.twins import Twin

from credo.core.inference import markov_jit, markov_small_jit
from credo.kernels import markov_jit as kernel_jit
from credo.kernels.markov import _COVARIANCES, _GENERATORS


def transition(order, time, variance):
    A = expm(_GENERATORS[order] * time) if np.isfinite(time) else np.zeros((order, order))
    P = variance * _COVARIANCES[order]
    return A, P - A @ P @ A.T


def matern_step(matrix, time, variance):
    A, Q = transition(round(len(matrix) ** 0.5), time, variance)
    return tuple(A.ravel()), tuple(Q.ravel())


def matern_transitions(matrix, rate, variance, gaps, A, Q):
    for i, gap in enumerate(gaps):
        A[i], Q[i] = matern_step(matrix, rate * gap, variance)


def whole(starts, flat):
    """The block-diagonal matrix of flat blocks."""
    sizes = np.diff(starts)
    parts = np.split(flat, np.cumsum(sizes**2)[:-1])
    return block_diag(*(part.reshape(size, size) for part, size in zip(parts, sizes, strict=True)))


def blocks(starts, matrix):
    """The diagonal blocks, flat."""
    return np.concatenate([matrix[s:e, s:e].ravel() for s, e in pairwise(starts)])


def observation(starts, row):
    h = np.zeros(starts[-1])
    h[starts[:-1]] = row
    return h


def forward(starts, g, work, which, A, Q, a, b, Z, m, S, E, q, kept_S, kept_m):
    for i in range(len(q)):
        h, move = observation(starts, g[i]), whole(starts, A[which[i]])
        m[...], S[...] = move @ m, move @ S @ move.T + whole(starts, Q[which[i]])
        k = S @ h
        q[i] = b[i] + a[i] * h @ k
        e = (Z[i] - a[i] * h @ m) / q[i]
        E[i] = e if len(kept_S) else e * np.sqrt(q[i])
        if len(kept_S):
            kept_S[i], kept_m[i] = S.ravel(), m
        m += np.outer(k, e)
        S -= np.outer(k, k) * a[i] / q[i]
    return np.log(q).sum()


def backward(
    starts, g, work, which, gaps, A, Q, a, b, E, q, kept_S, kept_m, rho, N, signs, count,
    alpha, inverse, mean, variance, halves, by_generator, by_diffusion, by_covariance, by_scale,
):  # fmt: skip
    for i in range(len(q) - 1, -1, -1):
        h, move, S, m = observation(starts, g[i]), whole(starts, A[which[i + 1]]), kept_S[i].reshape(N.shape), kept_m[i]
        rho[...], N[...] = move.T @ rho, move.T @ N @ move
        if count and len(by_covariance):
            by_covariance -= 0.5 * blocks(starts, (rho * signs) @ rho.T - count * N)
        k, w = S @ h, a[i] / q[i]
        if len(halves):
            halves[i] = N @ k
        L = np.eye(len(N)) - w * np.outer(k, h)
        inverse[i], alpha[i] = w + w**2 * k @ N @ k, E[i] - w * k @ rho
        rho[...] = L.T @ rho + np.outer(h, E[i])
        N[...] = L.T @ N @ L + w * np.outer(h, h)
        mean[i], variance[i] = h @ m + k @ rho, h @ k - k @ N @ k
        if count:
            psi = 0.5 * ((rho * signs) @ rho.T - count * N)
            by_generator += gaps[i] * blocks(starts, 2 * psi @ S + (rho * signs) @ m.T)
            by_diffusion += gaps[i] * blocks(starts, psi)
            if len(by_covariance):
                by_covariance += blocks(starts, psi)
            product = psi * whole(starts, Q[which[i]])
            by_scale += [product[s:e, s:e].sum() for s, e in pairwise(starts)]


def one_block(d):
    return np.array([0, d]), np.ones((100, 1))


def small_forward(
    vector, matrix, rate, variance, begins, step, before_m, before_S,
    gaps, which, A, Q, a, b, Z, m, S, E, q, kept_S, kept_m,
):  # fmt: skip
    starts, g = one_block(len(vector))
    if rate > 0:
        times = [np.inf if begins else rate * gaps[0], *(rate * gaps[1:])]
        moves = [matern_step(matrix, time, variance) for time in times]
        A_used, Q_used = (np.array(part) for part in zip(*moves, strict=True))
        which = np.arange(len(A_used))
        if len(kept_S):
            A[...], Q[...] = A_used, Q_used
    else:
        A_used, Q_used = A, Q
    total = 0.0
    for start in range(0, len(q), step):
        rows = slice(start, start + step)
        if len(before_S):
            before_m[start // step], before_S[start // step] = m, S
        total += forward(
            starts, g, None, which[rows], A_used, Q_used, a[rows], b[rows], Z[rows], m, S, E[rows], q[rows],
            kept_S[rows], kept_m[rows],
        )  # fmt: skip
    return total


def small_backward(vector, matrix, *rest):
    backward(*one_block(len(vector)), None, *rest)


def multiply_forward(starts, g, work, which, A, P, v, z, out):
    for i in range(len(out)):
        h = observation(starts, g[i])
        z[...] = whole(starts, A[which[i]]) @ z + np.outer(whole(starts, P) @ h, v[i])
        out[i] += h @ z


def multiply_backward(starts, g, work, which, A, P, v, z, out):
    for i in range(len(out) - 1, -1, -1):
        h = observation(starts, g[i])
        z[...] = whole(starts, A[which[i + 1]]).T @ z
        out[i] += whole(starts, P) @ h @ z
        z += np.outer(h, v[i])


def color_forward(starts, g, work, which, A, k, q, white, m, out):
    for i in range(len(out)):
        m[...] = whole(starts, A[which[i]]) @ m
        out[i] = observation(starts, g[i]) @ m + np.sqrt(q[i]) * white[i]
        m += np.outer(k[i], white[i]) / np.sqrt(q[i])


def joint_transitions(starts, g, work, which, A, a, q, kept_S, new, phi, out, size):
    for i in range(len(q)):
        phi[...] = whole(starts, A[which[i]]) @ phi
        h = observation(starts, g[i])
        if new[i]:
            out[size], phi[...], size = phi, np.eye(len(phi)), size + 1
        else:
            phi -= np.outer(kept_S[i].reshape(phi.shape) @ h, h @ phi) * a[i] / q[i]
    return size


RNG = np.random.default_rng(3)
N_ROWS, COLUMNS = 9, 2


def positive(d):
    root = RNG.normal(size=(d, d))
    return root @ root.T + 0.1 * np.eye(d)


def case(sizes):
    """Starts, g and scratch memory; which, gaps, A and Q; a, b and Z; m and S."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    d = int(starts[-1])
    A = np.array([blocks(starts, 0.5 * RNG.normal(size=(d, d))) for _ in range(3)])
    Q = np.array([np.concatenate([positive(size).ravel() for size in sizes]) for _ in range(3)])
    which = RNG.integers(0, 3, N_ROWS + 1).astype(np.intp)
    a = np.where(np.arange(N_ROWS) == 4, 0.0, RNG.uniform(0.5, 2, N_ROWS))
    leading = starts, RNG.normal(size=(N_ROWS, len(sizes))), np.zeros((d + 3, d))
    moves = which, RNG.uniform(0, 1, N_ROWS + 1), A, Q
    return leading, moves, (a, RNG.uniform(0.5, 2, N_ROWS), RNG.normal(size=(N_ROWS, COLUMNS))), (
        RNG.normal(size=(d, COLUMNS)), positive(d),
    )  # fmt: skip


def outputs(d, *, keeps):
    n = N_ROWS if keeps else 0
    return np.zeros((N_ROWS, COLUMNS)), np.zeros(N_ROWS), np.zeros((n, d * d)), np.zeros((n, d, COLUMNS))


def backward_tail(d, sizes, count, keep, *, moves=True):
    flat = int(np.sum(np.square(sizes)))
    still = flat if moves else 0
    shapes = [
        (N_ROWS, COLUMNS),
        N_ROWS,
        (N_ROWS, COLUMNS),
        N_ROWS,
        (N_ROWS if keep else 0, d),
        flat,
        flat,
        still,
        len(sizes),
    ]
    states = RNG.normal(size=(d, COLUMNS)), positive(d), np.array([1.0, -2.0]), count
    return *states, *(np.zeros(shape) for shape in shapes)


def filtered(leading, moves, data, state):
    """E, q and kept states of the plain filter."""
    which, _, A, Q = moves
    out = outputs(len(state[1]), keeps=True)
    forward(*leading, which, A, Q, *data, *(part.copy() for part in state), *out)
    return out


FORWARD, BACKWARD, SMALL_FORWARD, SMALL_BACKWARD, TIMES, COLOR, JOINT = ([] for _ in range(7))
for sizes in ([2, 1, 3], [4]):
    leading, moves, data, state = case(sizes)
    which, gaps, A, Q = moves
    d, kept = sum(sizes), filtered(leading, moves, data, state)
    FORWARD += [(*leading, which, A, Q, *data, *state, *outputs(d, keeps=keeps)) for keeps in (False, True)]
    BACKWARD += [
        (*leading, which, gaps, A, Q, *data[:2], *kept, *backward_tail(d, sizes, count, keep, moves=moves))
        for count, keep, moves in [(2.0, False, True), (2.0, False, False), (0.0, True, True)]
    ]
    z, out = RNG.normal(size=(d, COLUMNS)), np.zeros((N_ROWS, COLUMNS))
    TIMES.append((*leading, which, A, Q[0], data[2], z, out))
    COLOR.append((*leading, which, A, RNG.normal(size=(N_ROWS, d)), kept[1], data[2], z, out))
    new = np.arange(N_ROWS) % 4 == 1
    JOINT.append((*leading, which, A, data[0], kept[1], kept[2], new, np.eye(d), np.zeros((8, d, d)), 2))
for d in (1, 2, 3):
    _, moves, data, state = case([d])
    which, gaps, A, Q = moves
    zeros = (0.0,) * d, (0.0,) * d * d
    before = np.zeros((3, d, COLUMNS)), np.zeros((3, d, d))
    for rate, keeps in [(0.0, False), (1.5, False), (1.5, True)]:
        tables = (np.zeros((N_ROWS + 1, d * d)), np.zeros((N_ROWS + 1, d * d))) if rate else (A, Q)
        stored = tuple(part[: 0 if keeps else 3] for part in before)
        SMALL_FORWARD.append(
            (*zeros, rate, 0.7, keeps, 4, *stored, gaps, which, *tables, *data, *state, *outputs(d, keeps=keeps))
        )
    starts, g = one_block(d)
    kept = filtered((starts, g, None), moves, data, state)
    for count, keep in [(2.0, False), (0.0, True)]:
        SMALL_BACKWARD.append((*zeros, which, gaps, A, Q, *data[:2], *kept, *backward_tail(d, [d], count, keep)))
STEPS = [((0.0,) * d * d, time, 0.7) for d in (1, 2, 3) for time in (0.04, 0.3, 0.9, 4.0, np.inf)]
GAPS = np.array([0.02, 0.5, 3.0])
TABLES = [((0.0,) * d * d, 0.8, 1.3, GAPS, np.zeros((3, d * d)), np.zeros((3, d * d))) for d in (1, 2, 3)]
TWINS = [
    Twin(kernel_jit.matern_step, matern_step, STEPS, rtol=1e-8, atol=1e-15),
    Twin(kernel_jit.matern_transitions, matern_transitions, TABLES, rtol=1e-7, atol=1e-15),
    Twin(markov_jit.forward, forward, FORWARD, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_jit.backward, backward, BACKWARD, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_jit.multiply_forward, multiply_forward, TIMES, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_jit.multiply_backward, multiply_backward, TIMES, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_jit.color_forward, color_forward, COLOR, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_jit.joint_transitions, joint_transitions, JOINT, rtol=1e-9, atol=1e-11, ignore=(2,)),
    Twin(markov_small_jit.small_forward, small_forward, SMALL_FORWARD, rtol=1e-7, atol=1e-11),
    Twin(markov_small_jit.small_backward, small_backward, SMALL_BACKWARD, rtol=1e-9, atol=1e-11),
]
