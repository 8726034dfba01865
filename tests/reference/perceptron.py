"""The perceptron in plain NumPy, mistake by mistake, as the books write it."""

import numpy as np
from tests.reference.twins import Twin

from credo.linear import _jit


def leads(phi, codes, W):
    """By how much the score of each row's label exceeds the others, and the strongest of those.

    One row of W scores code 1 against code 0; several score one code each.
    """
    scores = phi @ W.T if len(W) > 1 else np.outer(phi @ W[0], [-0.5, 0.5])
    rows = np.arange(len(phi))
    own = scores[rows, codes]
    scores[rows, codes] = -np.inf
    return own - scores.max(axis=1), scores.argmax(axis=1)


def perceptron_pass(Z, codes, repeats, order, W, bias, best, track, counts):
    """w ← w ± φ at each mistake (Bishop 4.55), over the rows in order, row i taken repeats[i] (whole) times in a row.

    A mistake moves the label's weights and those of its strongest rival. After each longest run without mistakes, and
    at the end, the pocket takes the weights if they err less.
    """
    phi = np.insert(Z, Z.shape[1], bias, axis=1)

    def pocket():
        error = repeats[leads(phi, codes, W)[0] <= 0].sum()
        if error < track[0]:
            track[0], best[:] = error, W

    for i in order:
        wrong = False
        for _ in range(int(repeats[i])):
            lead, rival = leads(phi[i : i + 1], codes[i : i + 1], W)
            if lead > 0:
                break
            if not wrong and track[2] > track[1]:
                track[1] = track[2]
                pocket()
            wrong = True
            counts[i] += 1
            if len(W) == 1:
                W[0] += (2 * codes[i] - 1) * phi[i]
            else:
                W[codes[i]] += phi[i]
                W[rival[0]] -= phi[i]
        track[2] = 0 if wrong else track[2] + repeats[i]
    pocket()
    return counts.sum()


def call(n_classes, most, n=60):
    rng = np.random.default_rng(n_classes)
    y, W = np.arange(n) % n_classes, rng.normal(size=(1 if n_classes == 2 else n_classes, 3))
    Z = rng.normal(size=(n, 2)) + 2 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    repeats, order = rng.integers(1, most + 1, size=n).astype(float), rng.permutation(n)
    return Z, y, repeats, order, W, 1.0, W.copy(), np.array([np.inf, 0.0, 0.0]), np.zeros(n, dtype=np.int64)


TWINS = [Twin(_jit.perceptron_pass, perceptron_pass, [call(2, 1), call(4, 1), call(2, 5)], rtol=1e-10, atol=1e-12)]
