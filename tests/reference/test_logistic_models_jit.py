"""The compiled loops over logistic models beside their plain twins."""

import numpy as np
import pytest
from tests.reference import logistic_models as plain

from credo.subsets._models import ModelPrior
from credo.subsets.logistic import Dataset, _sampler
from credo.subsets.logistic import _laplace_jit as _jit


def data(seed=4, n=40, d=5):
    rng = np.random.default_rng(seed)
    Z, weight = rng.normal(size=(n, d)), rng.integers(1, 4, size=n) * 1.0
    return Z, (Z[:, 0] + rng.logistic(size=n) > 0).astype(float), weight


def compiled(Z, y, weight, members, precision=0.5):
    theta, L = np.zeros(len(members) + 1), np.zeros((len(members) + 1, len(members) + 1))
    places = np.array(members, dtype=np.int64)
    found = _jit.laplace(np.ascontiguousarray(Z.T), places, y, weight, 0.01, precision, theta, L)
    return found, theta, L


@pytest.mark.parametrize("members", [(), (0,), (4, 1, 2)], ids=str)
def test_laplace(members):
    Z, y, weight = data()
    (value, gap), theta, L = compiled(Z, y, weight, members)
    prior = np.array([0.01, *[0.5] * len(members)])
    expected, mode, H = plain.laplace(Z[:, list(members)], y, weight, prior)
    assert value == pytest.approx(expected, abs=1e-8) and gap < 1e-7
    np.testing.assert_allclose(theta, mode, atol=1e-8)
    np.testing.assert_allclose(L @ L.T, H, atol=1e-6)


@pytest.mark.parametrize("members", [(), (0,), (1, 2, 4), (0, 1, 2, 3, 4)], ids=str)
def test_flip_odds(members):
    Z, y, weight = data()
    _, theta, L = compiled(Z, y, weight, members)
    log_prior, out = ModelPrior(5, (1.0, 1.0)).log_prob(np.arange(6)), np.empty(5)
    places = np.array(members, dtype=np.int64)
    _jit.flip_odds(np.ascontiguousarray(Z.T), places, y, weight, 0.5, theta, L, log_prior, out)
    expected = plain.flip_odds(Z, list(members), y, weight, 0.5, theta, L @ L.T, log_prior)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("cached", [4_000_000, 0], ids=["cached", "forgotten"])
@pytest.mark.parametrize("inclusion", [0.3, (1.0, 1.0)], ids=str)
def test_run_steps(inclusion, cached, monkeypatch):
    monkeypatch.setattr(_sampler, "_CACHED", cached)
    Z, y, weight = data()
    log_prior = ModelPrior(5, inclusion).log_prob(np.arange(6))
    chain = _sampler.LogisticChain(
        Dataset(np.ascontiguousarray(Z.T), y, weight, 2.0), log_prior, np.random.default_rng(3), start=(1, 2)
    )
    chain._make_cache(1000)
    # `run_steps` is called for some steps at a time.
    draws, included = np.random.default_rng(3), np.zeros(5)
    # The keys of the columns are drawn first.
    draws.integers(0, 2**64, size=5, dtype=np.uint64)
    moved, _ = chain.advance(120, included)
    models, sums = plain.run_steps(
        Z, y, weight, (0.01, 0.5), log_prior, {1, 2}, _sampler._BLIND, _sampler._SWAPS, draws.random((120, 4))
    )
    assert _sampler.path(np.isin(np.arange(5), [1, 2]), moved) == models and len(set(models)) > 5
    np.testing.assert_allclose(included, sums, rtol=1e-5)
