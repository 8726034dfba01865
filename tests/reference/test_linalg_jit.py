"""The compiled rank changes of a Cholesky factor, restated in plain NumPy."""

import numpy as np
from numpy.testing import assert_array_equal
from tests.reference.twins import Twin

from credo.linalg import update_jit


def update(U, W):
    """A + wwᵀ for one row w after the other: a Givens rotation of (row j of U, w) zeroes entry j of w."""
    U, W = U.copy(), W.copy()
    for w in W:
        for j in range(len(w)):
            r = np.sqrt(U[j, j] ** 2 + w[j] ** 2)
            c, s = U[j, j] / r, w[j] / r
            U[j, j:], w[j:] = c * U[j, j:] + s * w[j:], c * w[j:] - s * U[j, j:]
    return U


def downdate(U, W):
    """A − wwᵀ likewise, by hyperbolic rotations."""
    U, W = U.copy(), W.copy()
    for w in W:
        for j in range(len(w)):
            r = np.sqrt(U[j, j] ** 2 - w[j] ** 2)
            c, s = U[j, j] / r, w[j] / r
            U[j, j:], w[j:] = c * U[j, j:] - s * w[j:], c * w[j:] - s * U[j, j:]
    return U


def example(n, k):
    rng = np.random.default_rng([n, k])
    X, W = rng.normal(size=(n, n + 4)), rng.normal(size=(k, n))
    return np.linalg.cholesky(X @ X.T + np.eye(n)).T.copy(), W


SIZES = [(1, 1), (2, 1), (5, 3), (20, 1), (20, 7), (33, 40)]


def update_in_place(U, W):
    U[:] = update(U, W)


def downdate_in_place(U, W):
    U[:] = downdate(U, W)
    return -1


def updated(U, W):
    return update(U, W), W


# Both use up W.
TWINS = [
    Twin(
        update_jit.update,
        update_in_place,
        [example(*size) for size in SIZES],
        rtol=1e-11,
        atol=1e-12,
        ignore=(1,),
    ),
    Twin(
        update_jit.downdate,
        downdate_in_place,
        [updated(*example(*size)) for size in SIZES],
        rtol=1e-8,
        atol=1e-9,
        ignore=(1,),
    ),
]


def test_compiled_downdate_returns_the_row_that_fails():
    assert update_jit.downdate(np.eye(3), np.array([[0.0, 0.5, 2.0]])) == 2
    assert update_jit.downdate(np.eye(3), np.array([[0.0, 1.0, 0.0]])) == 1
    assert update_jit.downdate(np.eye(3), np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])) == 1


def test_rows_of_zeros_change_nothing():
    U, _ = example(6, 1)
    compiled = U.copy()
    update_jit.update(compiled, np.zeros((2, 6)))
    assert update_jit.downdate(compiled, np.zeros((2, 6))) == -1
    assert_array_equal(compiled, U)
