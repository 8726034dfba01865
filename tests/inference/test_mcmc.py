"""Elliptical slice sampling against exact posteriors, and annealing against exact evidences."""

import numpy as np
import pytest
from scipy import stats

from credo.inference import annealed_evidence, elliptical_slice, ep
from credo.kernels import RBF
from credo.likelihoods import Bernoulli
from credo.linalg import factorize


def problem():
    X = np.array([[0.0], [0.6], [1.5], [3.0]])
    return RBF(1.0, variance=2.0).gram(X), np.array([0.5, 1.0, -0.3, 0.8])


def test_with_gaussian_noise_the_draws_are_the_exact_posterior():
    K, y = problem()

    def log_likelihood(f):
        return float(-0.5 * ((y - f) ** 2).sum() / 0.49)

    walk = elliptical_slice(
        factorize(K), log_likelihood, n_draws=6000, n_tune=100, thin=2, rng=np.random.default_rng(0)
    )
    gain = K @ np.linalg.inv(K + 0.49 * np.eye(4))
    np.testing.assert_allclose(walk.draws.mean(axis=0), gain @ y, atol=0.06)
    np.testing.assert_allclose(np.cov(walk.draws.T), K - gain @ K, atol=0.06)
    np.testing.assert_allclose(walk.log_likelihood, [log_likelihood(f) for f in walk.draws])


def test_annealing_finds_the_evidence():
    K, y = problem()
    truth = stats.multivariate_normal(cov=K + 0.49 * np.eye(4)).logpdf(y)
    value, error = annealed_evidence(
        factorize(K),
        lambda f: float(-0.5 * ((y - f) ** 2).sum() / 0.49 - 2 * np.log(2 * np.pi * 0.49)),
        rng=np.random.default_rng(1),
    )
    assert error < 0.1
    assert value == pytest.approx(truth, abs=5 * error)


def test_annealing_agrees_with_ep_on_labels():
    K, y = problem()
    labels, likelihood = np.where(y > 0, 1.0, -1.0), Bernoulli("probit")
    value, error = annealed_evidence(
        factorize(K), lambda f: float(likelihood.log_prob(labels, f).sum()), rng=np.random.default_rng(2)
    )
    assert value == pytest.approx(ep(K, labels, likelihood, weight=np.ones(4)).log_evidence, abs=5 * error + 0.01)
