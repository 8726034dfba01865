"""What is particular to dense matrices: densities by SciPy, memory that is used again, jitter, copies."""

from copy import deepcopy

import numpy as np
import pytest
from scipy import stats

from credo.core.inference import Dense, representation
from credo.core.linalg import NotPositiveDefiniteError, Workspace
from credo.kernels import RBF, Matern52

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(25, 2)), RNG.normal(size=(25, 3))
NOISE = RNG.uniform(0.1, 0.5, size=25)


def test_several_targets_add_up():
    kernel = Matern52([0.7, 2.0])
    oracle = stats.multivariate_normal(cov=kernel.gram(X) + np.diag(NOISE))
    found = Dense(X).prior(kernel).observe(Y, NOISE).log_evidence
    assert found == pytest.approx(sum(oracle.logpdf(y) for y in Y.T), rel=1e-10)


def test_evaluations_share_one_matrix():
    rows, kernel = Dense(X), RBF([0.7, 2.0])
    for _ in range(3):
        posterior = rows.prior(kernel).observe(Y, NOISE)
        assert np.isfinite(posterior.log_evidence) and np.isfinite(posterior.gradient().by_kernel).all()
        del posterior
        assert rows.prior(kernel).observe(Y, NOISE).log_evidence < 0
    assert len(rows._unused) == 1


def test_a_posterior_in_use_keeps_its_matrix():
    rows = Dense(X)
    first = rows.prior(RBF(0.5)).observe(Y, NOISE)
    before = first.latent(X[:3])
    rows.prior(RBF(2.0)).observe(Y, NOISE).gradient()
    for a, b in zip(before, first.latent(X[:3]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_copies_predict_the_same():
    posterior = Dense(X).prior(RBF(1.0)).observe(Y, NOISE)
    np.testing.assert_array_equal(deepcopy(posterior).latent(X[:3])[1], posterior.latent(X[:3])[1])


def test_a_method_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="method must be one of 'auto', 'exact', 'state_space', 'inducing', 'vecchia'"):
        representation("magic", X, RBF())
    with pytest.raises(ValueError, match="use at most 40000 rows"):
        representation("exact", np.zeros((50_000, 1)), RBF())


def test_a_workspace_climbs_the_jitter_ladder_and_explains_itself():
    work = Workspace(3)

    def ones(A):
        A[:] = 1.0

    work.factor(ones)
    assert 0 < work.jitter <= 1e-6

    def indefinite(A):
        A[:] = [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    with pytest.raises(NotPositiveDefiniteError, match="eigenvalue"):
        work.factor(indefinite)
