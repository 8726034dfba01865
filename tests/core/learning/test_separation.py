"""Separating directions: certificates and proofs that there is none, against the whole linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from credo.core.learning.separation import separation


def verdict(A):
    return separation(lambda d: A @ d, lambda places: A[places], A.sum(axis=0))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tilt", [0.0, 0.5, 4.0])
def test_agrees_with_the_program_on_all_constraints(seed, tilt):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3000, 4)) + tilt
    if tilt == 4.0:
        A = A[A @ np.ones(4) > 0]
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    whole = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    found = verdict(A)
    assert (found is not None) == (-whole.fun > 1e-6)
    if found is not None:
        assert (A @ found).min() >= -1e-7 and (A @ found).sum() > 0


def test_a_direction_that_all_constraints_ignore_separates_nothing():
    A = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert verdict(A) is None


def test_ties_are_allowed_where_others_lead():
    A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8]])
    found = verdict(A)
    np.testing.assert_allclose(found, [0.0, 1.0], atol=1e-9)
