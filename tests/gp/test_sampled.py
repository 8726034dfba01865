"""Sampled hyperparameters: the posterior by a grid, predictions as its average, and honest reports."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

import credo
from credo.core.estimator import FitWarning
from credo.distributions import Mixture
from credo.gp import GPRegressor
from credo.kernels import RBF

# Not `importorskip`: its import takes seconds, in every process that collects tests.
pytestmark = pytest.mark.skipif(find_spec("nutpie") is None, reason="draws are nutpie's")


@pytest.fixture(scope="module")
def fitted():
    """A model and its table; predictions average over 64 draws, however many there are."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, size=(25, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=25)
    kernel = RBF(1.0, variance=1.0).fix("variance")
    settings = {"standardize": False, "n_restarts": 0, "n_draws": 350, "random_state": 0}
    return GPRegressor(kernel, hyperparameters="sample", **settings).fit(x, y), x, y


@pytest.fixture(scope="module")
def grid(fitted):
    """The posterior of (ln lengthscale, ln noise) on a grid: vectors and weights."""
    model = fitted[0]
    objective = model._objective()
    axes = [np.linspace(c - 2.5, c + 2.5, 25) for c in model.theta_]
    vectors = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.array([objective.log_posterior(vector)[0] for vector in vectors])
    weights = np.exp(logs - logs.max())
    return vectors, weights / weights.sum()


@pytest.mark.slow
def test_draws_are_the_posterior(fitted, grid):
    few, x, y = fitted
    model = clone(few).set_params(n_draws=600).fit(x, y)
    assert model.result_.converged, model.result_.message
    assert (model.draws_.r_hat < 1.01).all() and (model.draws_.ess_bulk > 400).all()
    vectors, weights = grid
    draws = np.log(model.draws_.values.reshape(-1, 2))
    truth = weights @ vectors
    spread = np.sqrt(weights @ (vectors - truth) ** 2)
    np.testing.assert_allclose(draws.mean(axis=0), truth, atol=0.12 * spread.max())
    np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.15)


def test_predictions_average_over_the_posterior(fitted, grid):
    model, x, y = fitted
    new = np.array([[0.5], [2.0], [7.0]])
    vectors, weights = grid
    keep = weights > 1e-3
    first = second = 0.0
    for vector, weight in zip(vectors[keep], weights[keep] / weights[keep].sum(), strict=True):
        scale, noise = np.exp(vector)
        fixed = GPRegressor(RBF(scale), noise=noise, hyperparameters="fixed", standardize=False).fit(x, y)
        dist = fixed.predict_dist(new)
        first = first + weight * dist.mean
        second = second + weight * (dist.var + dist.mean**2)
    dist = model.predict_dist(new)
    assert isinstance(dist, Mixture)
    np.testing.assert_allclose(dist.mean, first, atol=0.05)
    np.testing.assert_allclose(dist.std, np.sqrt(second - first**2), rtol=0.1)
    joint = model.predict_dist(new, joint=True)
    np.testing.assert_allclose(joint.std, dist.std, rtol=1e-6)
    draws = model.sample(new, 4000, random_state=1)
    latent = model.predict_dist(new, latent=True)
    np.testing.assert_allclose(draws.mean(axis=0), latent.mean, atol=0.05)
    np.testing.assert_allclose(draws.std(axis=0), latent.std, rtol=0.08)


def test_predictions_don_t_change_with_batching_or_time(fitted, tmp_path):
    model, x, _ = fitted
    np.testing.assert_allclose(model.predict(x[:4]), model.predict(x)[:4], rtol=1e-12)
    np.testing.assert_array_equal(model.predict(x), model.predict(x))
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict(x), model.predict(x))


def test_there_is_no_evidence_and_a_summary_with_diagnostics(fitted):
    model, x, y = fitted
    assert not hasattr(model, "log_evidence_")
    text = str(model.summary())
    assert "R-hat" in text and "noise variance" in text and "lengthscale" in text
    assert model.draws_.to_arviz().posterior["noise"].shape == (4, 350)
    with pytest.raises(ValueError, match='hyperparameters="optimize"'):
        model.update(x, y)


def test_units_reach_the_draws():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 4, size=(20, 1))
    y = 1000 * (np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=20))
    with pytest.warns(FitWarning, match="n_draws|chains"):
        model = GPRegressor(RBF(1.0).fix("lengthscale"), hyperparameters="sample", n_restarts=0, n_draws=20).fit(x, y)
    noise = model.draws_.values[..., -1]
    assert 50**2 < np.median(noise) < 800**2


def test_sampling_needs_priors():
    with pytest.raises(ValueError, match="hyperpriors=True"):
        GPRegressor(hyperparameters="sample", hyperpriors=False).fit([[0.0], [1.0]], [0.0, 1.0])
