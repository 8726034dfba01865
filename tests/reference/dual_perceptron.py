"""The perceptron in plain NumPy: on features as the books write it, and on a Gram matrix copy by copy."""

import numpy as np
from tests.reference.twins import Twin

from credo.kernel_machines import perceptron_jit


def primal_perceptron(phi, y, n_epochs):
    """Rosenblatt's rule for y = ±1, rows in their order: the last, the average and the best w, and the mistakes."""
    w, pocket, fewest = np.zeros(phi.shape[1]), np.zeros(phi.shape[1]), len(y)
    mistakes, visited = np.zeros(len(y), dtype=int), []
    for _ in range(n_epochs):
        for i in range(len(y)):
            if y[i] * (phi[i] @ w) <= 0:
                w = w + y[i] * phi[i]
                mistakes[i] += 1
                wrong = int((y * (phi @ w) <= 0).sum())
                if wrong < fewest:
                    pocket, fewest = w, wrong
            visited.append(w)
        if fewest == 0:
            break
    return w, np.mean(visited, axis=0), pocket, mistakes


def mistaken(codes, K, dual):
    """Whether f of a row's own class isn't above all others."""
    f = dual @ K
    own = f[codes, np.arange(len(codes))]
    f[codes, np.arange(len(codes))] = -np.inf
    return own <= f.max(axis=0)


def dual_perceptron_pass(order, start, codes, weight, diagonal, K, slot, F, dual, late, pocket, mistakes, track):
    """A pass of Kesler's rule; each row's copies are visited one by one, and the duals after each visit averaged."""
    total = track[0] * dual - late
    for i in order:
        before = dual.copy()
        for _ in range(int(weight[i])):
            f = dual @ K[i]
            others = np.delete(f, codes[i])
            if f[codes[i]] <= others.max():
                rivals = (f == others.max()) & (np.arange(len(f)) != codes[i])
                dual[codes[i], i] += 1
                dual[rivals, i] -= 1 / rivals.sum()
            total += dual
        track[0] += weight[i]
        if (dual != before).any():
            mistakes[i] += 1
            track[1] = mistaken(codes, K, dual) @ weight
            if track[1] < track[2]:
                track[2], pocket[:] = track[1], dual
    F[:], late[:] = dual @ K, track[0] * dual - total
    return len(order)


def passes(n_classes, n=40):
    """Four in a row."""
    rng = np.random.default_rng(n_classes)
    codes, weight = rng.integers(0, n_classes, size=n), rng.integers(1, 6, size=n).astype(float)
    X = rng.normal(size=(n, 2))
    K = 0.37 * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    state = *np.zeros((4, n_classes, n)), np.zeros(n, dtype=np.int64), np.array([0.0, weight.sum(), weight.sum()])
    for _ in range(4):
        given = rng.permutation(n), 0, codes, weight, np.diagonal(K).copy(), K, np.arange(n)
        yield *given, *map(np.copy, state)
        dual_perceptron_pass(*given, *state)


CALLS = [call for n_classes in (2, 3, 5) for call in passes(n_classes)]
TWINS = [Twin(perceptron_jit.dual_perceptron_pass, dual_perceptron_pass, CALLS, atol=1e-9)]
