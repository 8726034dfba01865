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


def dual_perceptron_pass(order, codes, copies, K, dual):
    """One pass of Kesler's rule; each row's copies are visited one by one.

    Returns the new dual (n_classes, n_rows), the mean of the duals after each copy's visit, and the dual that had the
    least weight of mistaken rows after a row's visit, with that weight.
    """
    dual, visited, best, least = dual.copy(), [], dual.copy(), copies.sum()
    for i in order:
        for _ in range(copies[i]):
            f = dual @ K[i]
            others = np.delete(f, codes[i])
            if f[codes[i]] <= others.max():
                rivals = (f == others.max()) & (np.arange(len(f)) != codes[i])
                dual[codes[i], i] += 1
                dual[rivals, i] -= 1 / rivals.sum()
            visited.append(dual.copy())
        wrong = mistaken(codes, K, dual) @ copies
        if wrong < least:
            best, least = dual.copy(), wrong
    return dual, np.mean(visited, axis=0), best, least


def mistaken(codes, K, dual):
    """Whether f of a row's own class isn't above all others."""
    f = dual @ K
    own = f[codes, np.arange(len(codes))]
    f[codes, np.arange(len(codes))] = -np.inf
    return own <= f.max(axis=0)


def pass_in_place(order, start, codes, weight, diagonal, K, slot, F, dual, late, pocket, mistakes, track):
    """The pass from nothing, with all rows of K, in the arrays of the compiled one."""
    dual[:], mean, pocket[:], track[2] = dual_perceptron_pass(order, codes, weight.astype(int), K, dual)
    F[:] = dual @ K
    track[0] = weight.sum()
    late[:] = track[0] * (dual - mean)
    return len(order)


def call(n_classes, n=40):
    rng = np.random.default_rng(n_classes)
    codes, weight = rng.integers(0, n_classes, size=n), rng.integers(1, 6, size=n).astype(float)
    X = rng.normal(size=(n, 2))
    K = 0.37 * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    rest = np.diagonal(K).copy(), K, np.arange(n), *np.zeros((4, n_classes, n)), np.zeros(n, dtype=np.int64)
    return rng.permutation(n), 0, codes, weight, *rest, np.array([0.0, weight.sum(), weight.sum()])


TWINS = [
    Twin(
        perceptron_jit.dual_perceptron_pass,
        pass_in_place,
        [call(n_classes) for n_classes in (2, 3, 5)],
        atol=1e-9,
        # How often each row was mistaken, and the weight of those that are now, aren't in the plain one.
        ignore=(11, 12),
    )
]
