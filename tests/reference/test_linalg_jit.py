"""The compiled rank changes of a Cholesky factor, restated in plain NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.linalg import update_jit as _jit


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


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (5, 3), (20, 1), (20, 7), (33, 40)])
def test_compiled_update_equals_its_twin(n, k):
    U, W = example(n, k)
    compiled = U.copy()
    _jit.update(compiled, W.copy())
    assert_allclose(compiled, update(U, W), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (5, 3), (20, 1), (20, 7), (33, 40)])
def test_compiled_downdate_equals_its_twin(n, k):
    U, W = example(n, k)
    bigger = update(U, W)
    compiled = bigger.copy()
    assert _jit.downdate(compiled, W.copy()) == -1
    assert_allclose(compiled, downdate(bigger, W), rtol=1e-8, atol=1e-9)


def test_compiled_downdate_returns_the_row_that_fails():
    assert _jit.downdate(np.eye(3), np.array([[0.0, 0.5, 2.0]])) == 2
    assert _jit.downdate(np.eye(3), np.array([[0.0, 1.0, 0.0]])) == 1
    assert _jit.downdate(np.eye(3), np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])) == 1


def test_rows_of_zeros_change_nothing():
    U, _ = example(6, 1)
    compiled = U.copy()
    _jit.update(compiled, np.zeros((2, 6)))
    assert _jit.downdate(compiled, np.zeros((2, 6))) == -1
    assert_array_equal(compiled, U)
