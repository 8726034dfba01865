"""Laplace for several classes: blocks against dense matrices, two classes against the logit, differences."""

import numpy as np
import pytest
from scipy.special import softmax

from credo.core.inference import Dense, laplace, softmax_laplace
from credo.kernels import RBF
from credo.likelihoods import Bernoulli


def table(n=15, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.integers(n_classes, size=n), rng.integers(1, 4, size=n).astype(float)


def test_blocks_are_those_of_the_dense_matrix():
    X, codes, weight = table()
    n, C = 15, 3
    prior = Dense(X).prior(RBF(1.0, variance=3.0))
    K = prior.gram
    found = softmax_laplace(prior, codes, C, weight=weight)
    a = found.posterior.alpha
    pi = softmax(a @ K, axis=0)
    # At the mode a is the slope of the log likelihood.
    np.testing.assert_allclose(a, weight * ((codes == np.arange(C)[:, None]) - pi), atol=1e-6)
    D = np.diag((weight * pi).ravel())
    stack = np.vstack([np.diag(weight * p) for p in pi])
    W = D - stack @ np.diag(1 / weight) @ stack.T
    every = np.kron(np.eye(C), K)
    whole = np.linalg.inv(np.linalg.inv(every) + W)
    height = weight @ np.log(pi[codes, np.arange(n)]) - 0.5 * (a * (a @ K)).sum()
    assert found.log_evidence == pytest.approx(height - 0.5 * np.linalg.slogdet(np.eye(C * n) + every @ W)[1], abs=1e-7)
    mean, blocks = found.posterior.latent(X)
    np.testing.assert_allclose(mean, (a @ K).T, atol=1e-9)
    dense = whole.reshape(C, n, C, n)
    for i in range(n):
        np.testing.assert_allclose(blocks[i], dense[:, i, :, i], atol=1e-7)


def test_two_classes_are_the_logit_with_twice_the_kernel():
    """Only f₁ − f₀ matters, and it has the covariance 2K."""
    X, codes, weight = table(n_classes=2)
    prior = Dense(X).prior(RBF(1.0, variance=2.0))
    found = softmax_laplace(prior, codes, 2, weight=weight)
    single = laplace(Dense(X).prior(RBF(1.0, variance=4.0)), 2.0 * codes - 1.0, Bernoulli("logit"), weight=weight)
    assert found.log_evidence == pytest.approx(single.log_evidence, abs=1e-7)
    f = prior.multiply(found.posterior.alpha.T)
    np.testing.assert_allclose(f[:, 1] - f[:, 0], single.posterior.mean, atol=1e-6)


def test_derivatives_by_the_kernel_are_differences():
    X, codes, weight = table()
    kernel = RBF([0.8, 1.5], variance=2.0)
    theta = kernel.tree.flatten()

    def value(theta):
        moved = kernel.with_tree(kernel.tree.unflatten(theta))
        return softmax_laplace(Dense(X).prior(moved), codes, 3, weight=weight).log_evidence

    natural = softmax_laplace(Dense(X).prior(kernel), codes, 3, weight=weight).gradient().by_kernel
    gradient = natural * kernel.tree.derivative(theta)
    for i, axis in enumerate(np.eye(3)):
        difference = (value(theta + 1e-4 * axis) - value(theta - 1e-4 * axis)) / 2e-4
        assert gradient[i] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_weights_are_copies():
    X, codes, weight = table()
    kernel = RBF(1.0)
    copies = np.repeat(np.arange(15), weight.astype(int))
    weighted = softmax_laplace(Dense(X).prior(kernel), codes, 3, weight=weight)
    copied = softmax_laplace(Dense(X[copies]).prior(kernel), codes[copies], 3, weight=np.ones(len(copies)))
    assert weighted.log_evidence == pytest.approx(copied.log_evidence, abs=1e-5)


@pytest.mark.parametrize("variance", [1e-6, 1e4])
def test_wide_and_narrow_priors(variance):
    X, codes, _ = table(30)
    found = softmax_laplace(Dense(X).prior(RBF(0.7, variance=variance)), codes, 3, weight=np.ones(30))
    assert found.converged and np.isfinite(found.log_evidence)
    if variance < 1:
        assert found.log_evidence == pytest.approx(-30 * np.log(3), abs=1e-2)


def test_other_representations_are_refused():
    with pytest.raises(ValueError, match="needs the exact representation"):
        softmax_laplace(object(), np.arange(3), 3, weight=np.ones(3))
