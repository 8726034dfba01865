"""Laplace for several classes: blocks against dense matrices, two classes against the logit, differences."""

import numpy as np
import pytest
from scipy.special import softmax

from credo.inference import laplace, softmax_laplace
from credo.kernels import RBF
from credo.likelihoods import Bernoulli


def table(n=15, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.integers(n_classes, size=n), rng.integers(1, 4, size=n).astype(float)


def test_blocks_are_those_of_the_dense_matrix():
    X, codes, weight = table()
    n, C = 15, 3
    K = RBF(1.0, variance=3.0).gram(X)
    found = softmax_laplace(K, codes, C, weight=weight)
    a = found.alpha
    pi = softmax(a @ K, axis=0)
    # At the mode a is the slope of the log likelihood.
    np.testing.assert_allclose(a, weight * ((codes == np.arange(C)[:, None]) - pi), atol=1e-6)
    D = np.diag((weight * pi).ravel())
    stack = np.vstack([np.diag(weight * p) for p in pi])
    W = D - stack @ np.diag(1 / weight) @ stack.T
    prior = np.kron(np.eye(C), K)
    whole = np.linalg.inv(np.linalg.inv(prior) + W)
    height = weight @ np.log(pi[codes, np.arange(n)]) - 0.5 * (a * (a @ K)).sum()
    assert found.log_evidence == pytest.approx(height - 0.5 * np.linalg.slogdet(np.eye(C * n) + prior @ W)[1], abs=1e-7)
    blocks = found.posterior.blocks(K, np.diagonal(K))
    dense = whole.reshape(C, n, C, n)
    for i in range(n):
        np.testing.assert_allclose(blocks[i], dense[:, i, :, i], atol=1e-7)


def test_two_classes_are_the_logit_with_twice_the_kernel():
    """Only f₁ − f₀ matters, and it has the covariance 2K."""
    X, codes, weight = table(n_classes=2)
    K = RBF(1.0, variance=2.0).gram(X)
    found = softmax_laplace(K, codes, 2, weight=weight)
    single = laplace(2.0 * K, 2.0 * codes - 1.0, Bernoulli("logit"), weight=weight)
    assert found.log_evidence == pytest.approx(single.log_evidence, abs=1e-7)
    np.testing.assert_allclose((found.alpha @ K)[1] - (found.alpha @ K)[0], single.posterior.mean, atol=1e-6)


def test_derivatives_by_the_kernel_are_differences():
    X, codes, weight = table()
    kernel = RBF([0.8, 1.5], variance=2.0)
    theta = kernel.tree.flatten()

    def value(theta):
        return softmax_laplace(
            kernel.with_tree(kernel.tree.unflatten(theta)).gram(X), codes, 3, weight=weight
        ).log_evidence

    W = softmax_laplace(kernel.gram(X), codes, 3, weight=weight).kernel_weights()
    gradient = kernel.pullback(X, W) * kernel.tree.derivative(theta)
    for i, axis in enumerate(np.eye(3)):
        difference = (value(theta + 1e-4 * axis) - value(theta - 1e-4 * axis)) / 2e-4
        assert gradient[i] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_weights_are_copies():
    X, codes, weight = table()
    K = RBF(1.0).gram(X)
    copies = np.repeat(np.arange(15), weight.astype(int))
    weighted = softmax_laplace(K, codes, 3, weight=weight)
    copied = softmax_laplace(
        K[np.ix_(copies, copies)] + 1e-12 * np.eye(len(copies)), codes[copies], 3, weight=np.ones(len(copies))
    )
    assert weighted.log_evidence == pytest.approx(copied.log_evidence, abs=1e-5)


@pytest.mark.parametrize("variance", [1e-6, 1e4])
def test_wide_and_narrow_priors(variance):
    X, codes, _ = table(30)
    found = softmax_laplace(RBF(0.7, variance=variance).gram(X), codes, 3, weight=np.ones(30))
    assert found.converged and np.isfinite(found.log_evidence)
    if variance < 1:
        assert found.log_evidence == pytest.approx(-30 * np.log(3), abs=1e-2)
