"""Elliptical slice sampling against exact posteriors."""

import numpy as np

from credo.core.inference import Dense, elliptical_slice
from credo.kernels import RBF


def problem(seed):
    """Prior, covariance, targets, a generator, and a function that draws from the prior."""
    X = np.array([[0.0], [0.6], [1.5], [3.0]])
    prior, rng = Dense(X).prior(RBF(1.0, variance=2.0)), np.random.default_rng(seed)
    return prior, prior.gram, np.array([0.5, 1.0, -0.3, 0.8]), rng, lambda: prior.color(rng.standard_normal(4))


def test_with_gaussian_noise_the_draws_are_the_exact_posterior():
    _, K, y, rng, draw = problem(0)

    def log_likelihood(f):
        return float(-0.5 * ((y - f) ** 2).sum() / 0.49)

    draws = elliptical_slice(draw, log_likelihood, start=np.zeros(4), n_draws=6000, n_tune=100, thin=2, rng=rng)
    gain = K @ np.linalg.inv(K + 0.49 * np.eye(4))
    np.testing.assert_allclose(draws.mean(axis=0), gain @ y, atol=0.06)
    np.testing.assert_allclose(np.cov(draws.T), K - gain @ K, atol=0.06)
