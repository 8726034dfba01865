"""Exact inference against dense formulas."""

import numpy as np
import pytest
from scipy import stats

from credo.inference import condition, log_evidence
from credo.kernels import RBF, Matern52
from credo.linalg import NotPositiveDefiniteError, Workspace

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(25, 2)), RNG.normal(size=(25, 3))
NOISE = RNG.uniform(0.1, 0.5, size=25)
NOTHING = np.empty((25, 0))


def evidence(kernel, *, noise=NOISE, basis=NOTHING, targets=Y, gradient=True):
    return log_evidence(kernel, X, targets, noise=noise, basis=basis, workspace=Workspace(25), gradient=gradient)


def test_several_targets_add_up():
    kernel = Matern52([0.7, 2.0])
    oracle = stats.multivariate_normal(cov=kernel.gram(X) + np.diag(NOISE))
    assert evidence(kernel).value == pytest.approx(sum(oracle.logpdf(y) for y in Y.T), rel=1e-10)


@pytest.mark.parametrize("basis", [NOTHING, np.ones((25, 1)), np.column_stack([np.ones(25), X])])
def test_derivatives_by_finite_differences(basis):
    kernel = RBF([0.7, 2.0], variance=1.4)
    found = evidence(kernel, basis=basis)
    moved = [
        (kernel.with_params(lengthscale=[0.7 + h, 2.0]) for h in (1e-6, -1e-6)),
        (kernel.with_params(lengthscale=[0.7, 2.0 + h]) for h in (1e-6, -1e-6)),
        (kernel.with_params(variance=1.4 + h) for h in (1e-6, -1e-6)),
    ]
    for slope, pair in zip(found.by_kernel, moved, strict=True):
        ahead, behind = (evidence(k, basis=basis, gradient=False).value for k in pair)
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)
    for i in (0, 11, 24):
        step = 1e-6 * np.eye(25)[i]
        ahead, behind = (evidence(kernel, noise=NOISE + s * step, basis=basis, gradient=False).value for s in (1, -1))
        assert found.by_noise[i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-6)


def test_conditioned_evidence_is_the_same_by_another_route():
    kernel, basis = RBF(1.0), np.ones((25, 1))
    process = condition(kernel.gram(X), Y, noise=NOISE, basis=basis)
    assert process.log_evidence(Y) == pytest.approx(evidence(kernel, basis=basis).value, rel=1e-12)


def test_generalised_least_squares_is_the_mean_s_coefficient():
    basis = np.column_stack([np.ones(25), X])
    process = condition(RBF(1.0).gram(X), Y, noise=NOISE, basis=basis)
    inverse = np.linalg.inv(RBF(1.0).gram(X) + np.diag(NOISE))
    oracle = np.linalg.solve(basis.T @ inverse @ basis, basis.T @ inverse @ Y)
    np.testing.assert_allclose(process.coefficients, oracle, rtol=1e-8)


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
