"""What a factor answers, against NumPy's dense routines and against laws."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.core.linalg import Factor, NotPositiveDefiniteError, factorize

sizes = st.integers(1, 40)
ranks = st.integers(1, 60)
seeds = st.integers(0, 2**32 - 1)


def covariance(rng, n):
    """A well conditioned covariance of n rows."""
    X = rng.normal(size=(n, n + 5))
    return X @ X.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 300])
def test_answers_equal_those_of_dense_linear_algebra(n):
    rng = np.random.default_rng(n)
    A, b, B = covariance(rng, n), rng.normal(size=n), rng.normal(size=(n, 5))
    factor = factorize(A)
    assert factor.n == n
    assert factor.jitter == 0.0
    assert_allclose(factor.L @ factor.L.T, A, atol=1e-12)
    assert_array_equal(factor.L, np.tril(factor.L))
    assert_allclose(factor.solve(b), np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)
    assert_allclose(factor.solve(B), np.linalg.solve(A, B), rtol=1e-8, atol=1e-10)
    assert_allclose(np.sum(factor.half_solve(b) ** 2), b @ np.linalg.solve(A, b), rtol=1e-10)
    assert_allclose(factor.logdet, np.linalg.slogdet(A)[1], rtol=1e-10, atol=1e-12)
    assert_allclose(factor.inverse_diagonal(), np.diagonal(np.linalg.inv(A)), rtol=1e-9)
    assert_allclose(factor.inverse(), np.linalg.inv(A), rtol=1e-8, atol=1e-11)
    assert_array_equal(factor.inverse(), factor.inverse().T)


def test_half_solve_and_its_transpose_compose_to_solve():
    rng = np.random.default_rng(0)
    factor, b = factorize(covariance(rng, 9)), rng.normal(size=(9, 3))
    assert_allclose(factor.half_solve(factor.half_solve(b), transpose=True), factor.solve(b), rtol=1e-12)
    assert_allclose(factor.L.T @ factor.half_solve(b, transpose=True), b, atol=1e-12)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "readonly", "integer", "list"])
def test_right_hand_sides_of_any_layout_give_the_same_and_stay_untouched(layout):
    rng = np.random.default_rng(1)
    A = covariance(rng, 6)
    plain = np.round(10 * rng.normal(size=(6, 4)))
    b = {
        "C": np.ascontiguousarray(plain),
        "F": np.asfortranarray(plain),
        "strided": np.repeat(plain, 2, axis=1)[:, ::2],
        "reversed": plain[::-1][::-1],
        "readonly": plain.copy(),
        "integer": plain.astype(int),
        "list": plain.tolist(),
    }[layout]
    if layout == "readonly":
        b.flags.writeable = False
    for answer in (factorize(A).solve(b), factorize(A).solve(b, overwrite=layout == "readonly")):
        assert_allclose(answer, np.linalg.solve(A, plain), rtol=1e-10)
    assert_array_equal(b, plain)


@pytest.mark.parametrize("order", ["C", "F"])
def test_overwriting_solve_uses_the_memory_of_b(order):
    rng = np.random.default_rng(2)
    A, b = covariance(rng, 6), np.array(rng.normal(size=(6, 3)), order=order)
    expected = np.linalg.solve(A, b)
    answer = factorize(A).solve(b, overwrite=True)
    assert np.shares_memory(answer, b)
    assert_allclose(answer, expected, rtol=1e-10)


def test_empty_matrix_and_no_columns():
    empty = factorize(np.empty((0, 0)))
    assert empty.logdet == 0.0
    assert empty.solve(np.empty(0)).shape == (0,)
    assert empty.solve(np.empty((0, 3))).shape == (0, 3)
    assert empty.inverse_diagonal().shape == (0,)
    assert empty.inverse().shape == (0, 0)
    assert_allclose(empty.extend(np.empty((0, 1)), 4.0).L, [[2.0]])
    assert factorize(np.eye(3)).solve(np.empty((3, 0))).shape == (3, 0)
    assert_array_equal(factorize(np.eye(3)).extend(np.empty((3, 0)), np.empty((0, 0))).L, np.eye(3))


def test_factor_is_immutable_and_survives_copying():
    factor = factorize([[4.0, 2.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match="read-only"):
        factor.L[0, 0] = 1.0
    with pytest.raises(AttributeError):
        factor.jitter = 1.0
    before = factor.L.copy()
    factor.extend([1.0, 1.0], 5.0)
    assert_array_equal(factor.L, before)
    assert_array_equal(copy.deepcopy(factor).L, before)
    assert repr(factor) == "Factor(n=2, logdet=2.07944, jitter=0)"


@settings(max_examples=30, deadline=None)
@given(n=st.integers(0, 30), m=st.integers(1, 12), seed=seeds)
def test_extend_gives_the_factor_of_the_bigger_matrix(n, m, seed):
    A = covariance(np.random.default_rng(seed), n + m)
    extended = factorize(A[:n, :n]).extend(A[:n, n:], A[n:, n:])
    assert_allclose(extended.L, np.linalg.cholesky(A), rtol=1e-9, atol=1e-11)


def test_extend_adds_its_jitter_to_the_new_rows_as_well():
    X = np.array([0.0, 0.0, 1.0, 1.0])
    A = np.exp(-0.5 * (X[:, None] - X) ** 2)
    start = factorize(A[:2, :2])
    assert start.jitter > 0
    extended = start.extend(A[:2, 2:], A[2:, 2:])
    assert extended.jitter == start.jitter
    assert_allclose(extended.L @ extended.L.T, A + start.jitter * np.eye(4), atol=1e-15)


def test_refusals_name_shapes_places_and_remedies():
    factor = factorize(2.0 * np.eye(3))
    with pytest.raises(ValueError, match=r"b must have shape \(3,\) or \(3, k\), as A has 3 rows; got \(2,\)"):
        factor.solve([1.0, 2.0])
    with pytest.raises(ValueError, match=r"B must be finite; it has inf at row 2, column 1$"):
        factor.extend([[0.0, 0.0], [0.0, 0.0], [0.0, np.inf]], np.eye(2))
    with pytest.raises(NotPositiveDefiniteError, match=r"in the new corner C, .* not symmetric: entry \(0, 1\)"):
        factor.extend(np.zeros((3, 2)), [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"b must be a dense array of real numbers; got .* complex128"):
        factor.solve(np.ones(3, dtype=complex))
    with pytest.raises(ValueError, match=r"b must be a dense array of real numbers"):
        factor.solve(["a", "b", "c"])
    with pytest.raises(NotPositiveDefiniteError, match=r"smallest remaining diagonal 4.44e-16.*duplicates"):
        factor.extend([2.0, 0.0, 0.0], 2.0)
    with pytest.raises(ValueError, match=r"C must have shape \(2, 2\), as B has 2 columns; got \(1, 1\)"):
        factor.extend(np.zeros((3, 2)), [[1.0]])
    with pytest.raises(ValueError, match=r"L must have a positive diagonal; entry 1 is -1"):
        Factor([[1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match=r"L must be a square matrix; got shape \(1, 2\)"):
        Factor([[1.0, 0.0]])
