"""The jitter ladder, the memory that factorize uses, and the words of its failures."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.core.linalg import NotPositiveDefiniteError, factorize


def spd(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    A = X @ X.T
    return (A + A.T) / 2


@settings(max_examples=30, deadline=None)
@given(exponent=st.integers(-290, 290), n=st.integers(2, 8))
def test_jitter_is_proportional_to_the_diagonal_at_any_scale(exponent, n):
    scale = 10.0**exponent
    factor = factorize(np.full((n, n), scale))
    assert 1e-12 * scale * 0.999 <= factor.jitter <= 1e-6 * scale * 1.001
    assert_allclose(factor.L @ (factor.L.T / scale), np.ones((n, n)) + factor.jitter / scale * np.eye(n), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1.0, 1e20, 1e200])
def test_positive_definite_matrices_of_any_scale_need_no_jitter(scale):
    factor = factorize(scale * spd(5))
    assert factor.jitter == 0.0
    assert_allclose(factor.logdet, 5 * np.log(scale) + np.linalg.slogdet(spd(5))[1], rtol=1e-12)
    assert factorize(np.diag([1e-200, 1e200])).jitter == 0.0


def test_the_smallest_jitter_that_suffices_is_used():
    # The only bad eigenvalue is −3.3e-9, so that 1e-9 of the mean diagonal is too little and 1e-8 suffices.
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    A = (Q * [-3.3e-9, 1.0, 1.0, 1.0, 1.0, 2.0]) @ Q.T
    A = (A + A.T) / 2
    factor = factorize(A)
    assert_allclose(factor.jitter, 1e-8 * np.diagonal(A).mean(), rtol=1e-12)
    assert_allclose(factor.L @ factor.L.T, A + factor.jitter * np.eye(6), atol=1e-14)


def test_a_given_jitter_is_added_as_it_is_and_no_other_is_tried():
    assert_allclose(factorize([[3.0]], jitter=1.0).L, [[2.0]])
    assert factorize([[3.0]], jitter=1.0).jitter == 1.0
    with pytest.raises(NotPositiveDefiniteError):
        factorize(np.ones((2, 2)), jitter=0.0)
    for wrong in (-1.0, np.nan, np.inf, "none"):
        with pytest.raises(ValueError, match=r'jitter must be "auto" or a number that is not negative; got'):
            factorize(np.eye(2), jitter=wrong)


@pytest.mark.parametrize("n", [3, 130, 300])
@pytest.mark.parametrize("order", ["C", "F"])
def test_input_stays_untouched_unless_it_may_be_overwritten(n, order):
    A = np.array(spd(n), order=order)
    kept = A.copy()
    A.flags.writeable = False
    factor = factorize(A)
    assert not np.shares_memory(factor.L, A)
    assert not np.shares_memory(factorize(A, overwrite=True).L, A)  # read-only
    assert_array_equal(A, kept)
    A.flags.writeable = True
    in_place = factorize(A, overwrite=True)
    assert np.shares_memory(in_place.L, A)
    assert_array_equal(in_place.L, factor.L)
    assert_array_equal(np.triu(factor.L, 1), 0.0)


def test_in_place_a_failed_factorization_is_undone_before_the_next():
    # 300 rows cover several strips of the restoring copy; the matrix has rank 2.
    x = np.linspace(0.0, 1.0, 300)
    A = 1.0 + np.outer(x, x)
    factor = factorize(A.copy(), overwrite=True)
    assert factor.jitter > 0
    assert_allclose(factor.L @ factor.L.T, A + factor.jitter * np.eye(300), atol=1e-12)
    assert_array_equal(factor.L, factorize(A).L)


def test_other_inputs_are_converted():
    A = spd(4)
    expected = factorize(A).L
    frame = pd.DataFrame(A)
    assert_array_equal(factorize(frame).L, expected)
    assert_array_equal(frame.to_numpy(), A)
    assert_array_equal(factorize(A.tolist()).L, expected)
    assert_array_equal(factorize(np.repeat(np.repeat(A, 2, 0), 2, 1)[::2, ::2]).L, expected)
    assert_allclose(factorize(A.astype(np.float32)).L, expected, rtol=1e-4, atol=1e-5)
    assert factorize(np.array([[2, 1], [1, 2]])).L.dtype == np.float64
    with pytest.raises(ValueError, match="A must be a dense array of real numbers; got csr_array"):
        factorize(scipy.sparse.csr_array(A))
    with pytest.raises(ValueError, match="A must be a dense array of real numbers"):
        factorize([[1.0, 2.0], [3.0]])


def test_rounding_asymmetry_is_forgiven():
    A = spd(4)
    A[2, 1] *= 1 + 1e-12
    assert_allclose(factorize(A).L, np.linalg.cholesky(spd(4)), rtol=1e-9, atol=1e-12)


def failure(A, **options):
    with pytest.raises(NotPositiveDefiniteError) as caught:
        factorize(A, **options)
    assert isinstance(caught.value, np.linalg.LinAlgError)
    return str(caught.value)


def test_diagnosis_of_shapes():
    assert "not square: its shape is (2, 3)" in failure(np.ones((2, 3)))
    assert "not square: its shape is (3,)" in failure(np.ones(3))
    assert "not square: its shape is ()" in failure(3.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(2, 2), (4, 1), (1, 4)])
@pytest.mark.parametrize("assume_symmetric", [False, True])
def test_diagnosis_of_what_is_not_finite(bad, place, assume_symmetric):
    A = spd(5)
    A[place] = A[place[::-1]] = bad
    row, column = min(place, place[::-1])
    message = failure(A, assume_symmetric=assume_symmetric)
    assert f"the entry {bad} at row {row}, column {column}" in message
    assert "missing values or overflow" in message


def test_diagnosis_of_one_sided_nan():
    for i, j in ((1, 4), (4, 1)):
        A = spd(5)
        A[i, j] = np.nan
        assert f"the entry nan at row {i}, column {j} (1 such entry in all)" in failure(A)


def test_diagnosis_of_asymmetry_names_the_largest_difference():
    A = 10 * np.eye(200)
    A[3, 5] += 0.5
    A[150, 20] += 0.75
    message = failure(A)
    assert "entry (20, 150) is 0 and entry (150, 20) is 0.75, the largest difference being 0.75" in message
    assert "(A + A.T) / 2" in message


def test_diagnosis_of_the_diagonal():
    message = failure(np.diag([1.0, 0.0, 2.0, -3.0]))
    assert "the diagonal is -3 at row 3 (2 such entries in all)" in message
    assert "the diagonal is 0 at row 1 (1 such entry in all)" in failure(np.diag([1.0, 0.0]), jitter=0.0)
    assert_allclose(factorize(np.diag([1.0, 0.0])).jitter, 0.5e-12)
    assert "the diagonal is 0 at row 0" in failure(np.zeros((2, 2)))


def test_diagnosis_of_an_impossible_entry():
    A = np.diag([4.0, 1.0, 9.0])
    A[2, 0] = A[0, 2] = 12.0
    message = failure(A)
    assert "The entry at row 2, column 0 is 2 times the largest value that its diagonal entries allow" in message
    assert f"most negative eigenvalue is {np.linalg.eigvalsh(A)[0]:.3g}" in message


def test_diagnosis_of_duplicate_rows():
    A = spd(4)[[0, 1, 2, 1, 3, 1]][:, [0, 1, 2, 1, 3, 1]]
    message = failure(A, jitter=0.0)
    assert "Rows 1 and 3 are duplicates (and 1 more pair)" in message
    assert "eigenvalue" in message
    assert "noise variance" in message
    assert factorize(A).jitter > 0


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e250])
def test_diagnosis_of_an_indefinite_matrix_gives_its_eigenvalue(scale):
    A = scale * (np.eye(3) - 0.5 * np.ones((3, 3)) + 0.3 * np.eye(3))
    message = failure(A)
    assert f"most negative eigenvalue is {scale * -0.2:.3g} (a jitter of {scale * 0.8e-6:.3g}" in message
    assert "more than rounding, so this is not a covariance" in message


def test_diagnosis_of_dependent_rows():
    # Row 2 is the sum of rows 0 and 1, and no two rows are equal.
    A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0 - 1e-9]])
    message = failure(A, jitter=0.0)
    assert "singular up to rounding" in message
    assert 'jitter="auto"' in message
    assert factorize(A).jitter > 0


def test_a_singular_matrix_that_rounds_to_positive_pivots_is_still_singular():
    # √10⁵ squared rounds below 10⁵, which leaves LAPACK a second pivot of 10⁻¹¹ with no correct digit.
    A = np.full((2, 2), 1e5)
    assert np.linalg.cholesky(A)[1, 1] > 0
    assert "singular to rounding" in failure(A, jitter=0.0)
    assert factorize(A).jitter == pytest.approx(1e-7, rel=1e-12)
