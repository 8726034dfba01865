"""Draws of coefficients and functions, and what is asked after a fit."""

import numpy as np
from numpy.testing import assert_allclose

from credo.sparse import SpikeSlabRegressor


def data(n=25, d=4, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2, d) + np.arange(d)
    return X, 1 + X @ np.where(np.arange(d) % 2, 0.0, 0.5) + 0.8 * rng.normal(size=n)


def test_draws_come_from_all_subsets_and_not_from_the_likeliest_alone():
    """A diffuse posterior: twenty of 4096 subsets hold little of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    y = X[:, 0] + 0.3 * X[:, 1:].sum(axis=1) + 2.0 * rng.normal(size=40)
    model = SpikeSlabRegressor(slab="g", n_models=20).fit(X, y)
    assert model.posterior_.probability.sum() < 0.5
    coefs, intercepts = model.sample_coefficients(20_000, random_state=0)
    # A share among 20 000 draws has a standard error of .0035 at most.
    assert_allclose((coefs != 0).mean(axis=0), model.inclusion_probabilities_, atol=0.015)
    assert_allclose(coefs.mean(axis=0), model.coef_, atol=4 * model.coef_std_.max() / np.sqrt(20_000))
    assert_allclose(np.cov(coefs.T), model.coef_cov_, atol=0.03 * model.coef_std_.max() ** 2)
    functions = model.sample_functions(X[:3], 20_000, random_state=0)
    assert_allclose(functions, coefs @ X[:3].T + intercepts[:, None])
    assert_allclose(functions.std(axis=0), model.predict_dist(X[:3], latent=True).std, rtol=0.03)


def test_what_is_asked_after_a_fit_is_of_that_fit():
    X, y = data(30, 4)
    model = SpikeSlabRegressor(0.5).fit(X, y)
    before = model.log_scores([[0], [1, 2]]), model.all_scores(), model.inclusion_of([0, 1])
    model.set_params(prior_inclusion=0.01)
    after = model.log_scores([[0], [1, 2]]), model.all_scores(), model.inclusion_of([0, 1])
    for one, other in zip(before, after, strict=True):
        assert_allclose(one, other)


def test_a_sampler_s_coefficients_are_of_the_posterior_that_its_inclusions_are_of():
    """A diffuse posterior, of which a thousand models hold next to nothing: enumeration knows it all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 18))
    y = X[:, 0] + 0.4 * X[:, 1] + rng.normal(size=40)
    whole = SpikeSlabRegressor(slab="g", search="enumerate").fit(X, y)
    sampled = SpikeSlabRegressor(slab="g", search="gibbs", n_models=400, n_draws=2000, random_state=0).fit(X, y)
    assert sampled.posterior_.sample
    np.testing.assert_allclose(sampled.inclusion_probabilities_, whole.inclusion_probabilities_, atol=0.03)
    np.testing.assert_allclose(sampled.coef_, whole.coef_, atol=0.25 * whole.coef_std_.max())
    np.testing.assert_allclose(sampled.coef_std_, whole.coef_std_, rtol=0.35, atol=0.01)
    draws, _ = sampled.sample_coefficients(4000, random_state=1)
    np.testing.assert_allclose((draws != 0).mean(axis=0), whole.inclusion_probabilities_, atol=0.1)


def test_intervals_of_the_summary_are_those_of_the_draws():
    X, y = data(30, 4)
    model = SpikeSlabRegressor(slab="zellner-siow").fit(X, y)
    coefs, _ = model.sample_coefficients(100_000, random_state=0)
    table = model.summary(level=0.8)
    assert_allclose(table.columns["lower"][1:], np.quantile(coefs, 0.1, axis=0), atol=0.01)
    assert_allclose(table.columns["upper"][1:], np.quantile(coefs, 0.9, axis=0), atol=0.01)
