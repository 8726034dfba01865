"""The compiled rank changes of a Cholesky factor, by factoring anew."""

import numpy as np
from tests.reference.twins import Twin

from credo.linalg import update_jit


def update(U, W):
    U[:] = np.linalg.cholesky(U.T @ U + W.T @ W).T


def downdate(U, W):
    """Returns the first row at which A − WᵀW isn't positive definite, or −1."""
    A = U.T @ U - W.T @ W
    for j in range(len(U)):
        if np.linalg.eigvalsh(A[: j + 1, : j + 1])[0] < 1e-12:
            return j
    U[:] = np.linalg.cholesky(A).T
    return -1


def example(n, k, *, updated=False):
    rng = np.random.default_rng([n, k])
    X, W = rng.normal(size=(n, n + 4)), rng.normal(size=(k, n))
    return np.linalg.cholesky(X @ X.T + np.eye(n) + updated * W.T @ W).T.copy(), W


SIZES = [(1, 1), (2, 1), (5, 3), (20, 1), (20, 7), (33, 40)]
UNCHANGED = example(6, 1)[0], np.zeros((2, 6))
TOO_LARGE = [[[0.0, 0.5, 2.0]], [[0.0, 1.0, 0.0]], [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]]
# All use up W; a factor that can't be downdated is of no use.
TWINS = [
    Twin(
        update_jit.update, update, [example(*size) for size in SIZES] + [UNCHANGED], rtol=1e-11, atol=1e-12, ignore=[1]
    ),
    Twin(
        update_jit.downdate,
        downdate,
        [example(*size, updated=True) for size in SIZES] + [UNCHANGED],
        rtol=1e-8,
        atol=1e-9,
        ignore=[1],
    ),
    Twin(update_jit.downdate, downdate, [(np.eye(3), np.array(W)) for W in TOO_LARGE], ignore=[0, 1]),
]
