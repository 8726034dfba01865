"""Pivoted Cholesky beside the matrices it factors."""

import numpy as np
import pytest

from credo.core.linalg import pivoted_factor, random_pivots

RNG = np.random.default_rng(0)


def left(A, rows):
    """The diagonal that some rows leave of a positive semidefinite matrix."""
    return np.diag(A - A[:, rows] @ np.linalg.pinv(A[np.ix_(rows, rows)], hermitian=True) @ A[rows])


def test_a_pivoted_factor_is_that_of_the_rows_it_takes():
    root = RNG.normal(size=(12, 5))
    A = root @ root.T
    rows, factor = pivoted_factor(A, 1e-10)
    assert len(set(rows.tolist())) == len(rows) == 5
    np.testing.assert_allclose(factor.L @ factor.L.T, A[np.ix_(rows, rows)], atol=1e-12)
    # In the order of what is left: the first row has the largest diagonal, and so on.
    assert rows[0] == np.argmax(np.diag(A)) and rows[1] == np.argmax(left(A, rows[:1]))
    with pytest.raises(ValueError, match="no positive diagonal"):
        pivoted_factor(np.zeros((3, 3)), 1e-10)


def test_random_pivots_end_at_the_rank():
    root = RNG.normal(size=(300, 9))
    A = root @ root.T
    rows = random_pivots(np.diag(A), lambda some: A[:, some], 100, tolerance=1e-10, rng=np.random.default_rng(1))
    assert len(set(rows.tolist())) == len(rows) == 9
    assert np.abs(left(A, rows)).max() < 1e-8


def test_random_pivots_come_with_the_chances_of_what_is_left():
    """One of three equal rows and a fourth: the first pivot is the fourth one time in four; the second is the other."""
    A = np.ones((4, 4))
    A[3] = A[:, 3] = [0.0, 0.0, 0.0, 1.0]
    rng = np.random.default_rng(0)
    drawn = [random_pivots(np.diag(A), lambda some: A[:, some], 2, tolerance=1e-10, rng=rng) for _ in range(300)]
    assert all(len(rows) == 2 and 3 in rows for rows in drawn)
    one = [random_pivots(np.diag(A), lambda some: A[:, some], 1, tolerance=1e-10, rng=rng)[0] for _ in range(2000)]
    # Four standard errors of a share of one quarter among 2000.
    assert abs(np.mean(np.array(one) == 3) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)
