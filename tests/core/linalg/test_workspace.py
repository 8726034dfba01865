"""One matrix in place: solutions and inverse, against numpy on the whole matrix."""

import numpy as np
import pytest

from credo.core.linalg import Workspace

RNG = np.random.default_rng(3)
ROOT = RNG.normal(size=(30, 30))
A = ROOT @ ROOT.T + np.eye(30)


def factored():
    work = Workspace(30)
    work.factor(lambda out: np.copyto(out, np.triu(A)))
    return work


@pytest.mark.parametrize("shape", [(30,), (30, 1), (30, 3), (30, 20), (30, 0)])
def test_solve_takes_a_vector_and_any_number_of_columns(shape):
    b = RNG.normal(size=shape)
    found = factored().solve(b)
    assert found.shape == shape
    np.testing.assert_allclose(found, np.linalg.solve(A, b), rtol=1e-9, atol=1e-12)


def test_solve_leaves_its_argument_alone():
    b = RNG.normal(size=(30, 1))
    kept = b.copy()
    factored().solve(b)
    np.testing.assert_array_equal(b, kept)


def test_logdet_and_inverse():
    work = factored()
    assert work.logdet == pytest.approx(np.linalg.slogdet(A)[1])
    np.testing.assert_allclose(np.triu(work.invert()), np.triu(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)
