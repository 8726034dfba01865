"""The compiled conditional distributions of blocks, by factoring anew."""

import numpy as np
from tests.reference.twins import Twin

from credo.core.linalg import conditional_jit


def conditionals(K, noise, places, unused, B, std, white, weights, solved):
    for i, rows in enumerate(places):
        C = np.zeros((len(rows), len(rows)))
        C[np.tril_indices(len(rows))] = K[i]
        used = slice(unused[i], None)
        C = (np.tril(C) + np.tril(C, -1).T + np.diag(noise[rows]))[used, used]
        inverse = np.linalg.inv(C)
        std[i] = 1 / np.sqrt(inverse[-1, -1])
        # The last row of L⁻¹ is that of C⁻¹, scaled.
        last = inverse[-1] * std[i]
        white[i] = last @ B[rows[used]]
        if len(weights):
            weights[i], solved[i] = 0.0, 0.0
            weights[i, used], solved[i, used] = last, inverse @ B[rows[used]]


def information(K, ahead, noise, by_noise, places, unused):
    """The information of all rows of a block less that of the others: ½ tr(C⁻¹ ∂C/∂θ_j C⁻¹ ∂C/∂θ_k) of each."""
    D = ahead - K
    total = np.zeros((len(D) + 1,) * 2)
    for i, rows in enumerate(places):
        a, c = np.tril_indices(len(rows))
        C, *slopes = np.zeros((len(D) + 2, len(rows), len(rows)))
        for matrix, packed in zip([C, *slopes], [K[i], *D[:, i]], strict=False):
            matrix[a, c] = matrix[c, a] = packed
        C += np.diag(noise[rows])
        slopes[-1] += np.diag(by_noise[rows])
        for used, sign in [(slice(unused[i], None), 1), (slice(unused[i], -1), -1)]:
            solved = [np.linalg.solve(C[used, used], own[used, used]) for own in slopes]
            total += sign * 0.5 * np.array([[np.trace(one @ other) for one in solved] for other in solved])
    return total


def symmetric_products(V, P, W):
    a, c = np.tril_indices(V.shape[1])
    both = np.einsum("ia,ic->iac", V, P)
    W[:] = (both + both.transpose(0, 2, 1))[:, a, c] * np.where(a == c, 0.5, 1.0)


def blocks(n_blocks, size, *, solved):
    rng = np.random.default_rng([n_blocks, size])
    A = rng.normal(size=(40, 50))
    C, places = A @ A.T, np.stack([rng.permutation(40)[:size] for _ in range(n_blocks)])
    a, c = np.tril_indices(size)
    K, n_solved = C[places[:, a], places[:, c]], n_blocks if solved else 0
    unused = np.minimum(np.arange(n_blocks)[::-1], size - 1)
    outputs = np.empty(n_blocks), np.empty((n_blocks, 2)), np.empty((n_solved, size)), np.empty((n_solved, size, 2))
    return K, rng.uniform(0, 1, 40), places, unused, rng.normal(size=(40, 2)), *outputs


def slopes(n_blocks, size, n_parameters):
    K, noise, places, unused, *_ = blocks(n_blocks, size, solved=False)
    rng = np.random.default_rng(n_parameters)
    return K, K + rng.normal(size=(n_parameters, *K.shape)), noise, rng.normal(size=len(noise)), places, unused


TWINS = [
    Twin(
        conditional_jit.conditionals,
        conditionals,
        # Fewer blocks than lanes, and more.
        [blocks(5, 4, solved=True), blocks(21, 9, solved=True), blocks(8, 1, solved=True), blocks(11, 6, solved=False)],
        parts=True,
        rtol=1e-9,
        atol=1e-11,
    ),
    Twin(
        conditional_jit.information,
        information,
        [slopes(5, 4, 2), slopes(21, 9, 3), slopes(8, 1, 0)],
        parts=True,
        rtol=1e-9,
        atol=1e-11,
    ),
    Twin(
        conditional_jit.symmetric_products,
        symmetric_products,
        [(np.arange(12.0).reshape(3, 4), np.cos(np.arange(12.0)).reshape(3, 4), np.empty((3, 10)))],
        parts=True,
    ),
]
