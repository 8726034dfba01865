"""Elliptical slice sampling against exact posteriors, and annealing against exact evidences."""

import numpy as np
import pytest
from scipy import stats

from credo.core.inference import Dense, annealed_evidence, elliptical_slice, ep
from credo.kernels import RBF
from credo.likelihoods import Bernoulli


def problem(seed):
    """Prior, covariance, targets, a generator, and a function that draws from the prior."""
    X = np.array([[0.0], [0.6], [1.5], [3.0]])
    prior, rng = Dense(X).prior(RBF(1.0, variance=2.0)), np.random.default_rng(seed)
    return prior, prior.gram, np.array([0.5, 1.0, -0.3, 0.8]), rng, lambda: prior.color(rng.standard_normal(4))


def test_with_gaussian_noise_the_draws_are_the_exact_posterior():
    _, K, y, rng, draw = problem(0)

    def log_likelihood(f):
        return float(-0.5 * ((y - f) ** 2).sum() / 0.49)

    chain = elliptical_slice(draw, log_likelihood, start=np.zeros(4), n_draws=6000, n_tune=100, thin=2, rng=rng)
    gain = K @ np.linalg.inv(K + 0.49 * np.eye(4))
    np.testing.assert_allclose(chain.draws.mean(axis=0), gain @ y, atol=0.06)
    np.testing.assert_allclose(np.cov(chain.draws.T), K - gain @ K, atol=0.06)
    np.testing.assert_allclose(chain.log_likelihood, [log_likelihood(f) for f in chain.draws])


def test_annealing_finds_the_evidence():
    _, K, y, rng, draw = problem(1)
    truth = stats.multivariate_normal(cov=K + 0.49 * np.eye(4)).logpdf(y)
    value, error = annealed_evidence(
        draw,
        lambda f: float(-0.5 * ((y - f) ** 2).sum() / 0.49 - 2 * np.log(2 * np.pi * 0.49)),
        rng=rng,
    )
    assert error < 0.1
    assert value == pytest.approx(truth, abs=5 * error)


def test_annealing_agrees_with_ep_on_labels():
    prior, _, y, rng, draw = problem(2)
    labels, likelihood = np.where(y > 0, 1.0, -1.0), Bernoulli("probit")
    value, error = annealed_evidence(draw, lambda f: float(likelihood.log_prob(labels, f).sum()), rng=rng)
    assert value == pytest.approx(ep(prior, labels, likelihood, weight=np.ones(4)).log_evidence, abs=5 * error + 0.01)
