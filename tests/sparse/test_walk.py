"""The walk over models beside plain enumeration, on columns that are planted, copied and many."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.reference.model_walk import statistics

from credo.estimator import FitWarning
from credo.sparse._model_prior import ModelPrior
from credo.sparse._slabs import slab_of
from credo.sparse.walk import walk
from credo.sparse.walk._gather import inclusion, visits

SLABS = {
    "bic": {},
    "g": {},
    "g-empirical": {"g": "empirical"},
    "zellner-siow": {},
    "normal": {"slab_variance": 0.5},
    "normal-known": {"slab_variance": 0.5, "noise_variance": 1.2},
}


def centred(X, y):
    return X - X.mean(axis=0), y - y.mean()


def data(seed=0, n=35, d=8):
    """Two columns that matter, one of them nearly doubled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=n)
    return centred(X, 0.8 * X[:, 0] + 0.5 * X[:, 3] + rng.normal(size=n))


def slab_named(name, y, d):
    return slab_of(name.split("-e")[0].split("-k")[0], len(y), float(y @ y), d, **SLABS[name])


def enumerated(X, y, slab, prior):
    """Every model, one by one: inclusion probabilities, log mass, and log posterior but for a constant."""
    d, heights = X.shape[1], {}
    for k in range(d + 1):
        for model in combinations(range(d), k):
            found = statistics(X, y, model, slab.ridge)
            if found is not None and k <= slab.most:
                heights[model] = float(slab.log_evidence(k, *found) + prior.log_prob(k))
    logs = np.array(list(heights.values()))
    mass = float(logsumexp(logs))
    share = np.exp(logs - mass)
    included = np.array([share[[j in model for model in heights]].sum() for j in range(d)])
    return included, mass, heights


@pytest.mark.parametrize("name", SLABS)
@pytest.mark.parametrize("prior", [0.3, (1.0, 1.0)], ids=str)
def test_agrees_with_enumeration_within_its_own_error(name, prior):
    X, y = data()
    slab, prior = slab_named(name, y, 8), ModelPrior(8, prior)
    expected, mass, heights = enumerated(X, y, slab, prior)
    found = walk(X, y, slab, prior, n_draws=3000, random_state=0)
    error = found.diagnostics["inclusion_error"]
    # Eight columns in twelve cases: four standard errors, and an error that is itself worth telling.
    assert (np.abs(found.inclusion - expected) <= 4 * error + 1e-3).all() and error.max() < 0.03
    assert found.log_mass == pytest.approx(mass, abs=0.02)
    assert found.models[0] == max(heights, key=heights.get)
    for model, log_evidence, share in zip(found.models[:20], found.log_evidence, found.probability, strict=False):
        assert log_evidence + prior.log_prob(len(model)) == pytest.approx(heights[model], abs=1e-8)
        assert share == pytest.approx(np.exp(heights[model] - mass), rel=0.03)
    sizes = [np.exp(logsumexp([h for m, h in heights.items() if len(m) == k]) - mass) for k in range(9)]
    np.testing.assert_allclose(found.size_probability, sizes, atol=0.04)


@pytest.mark.filterwarnings("ignore::credo.estimator.FitWarning")
def test_reported_errors_are_those_that_are_made():
    """Over forty walks, what is found scatters about the truth by as much as each walk says."""
    X, y = data(1)
    slab, prior = slab_named("g", y, 8), ModelPrior(8, 0.5)
    expected, _, _ = enumerated(X, y, slab, prior)
    walks = [walk(X, y, slab, prior, n_draws=300, n_chains=4, random_state=seed) for seed in range(40)]
    gaps = np.array([found.inclusion - expected for found in walks])
    told = np.array([found.diagnostics["inclusion_error"] for found in walks])
    unsure = expected < 0.99
    ratio = np.sqrt((gaps**2).mean(axis=0) / (told**2).mean(axis=0))[unsure]
    assert (ratio > 0.4).all() and (ratio < 1.4).all()
    bias = gaps.mean(axis=0) / (gaps.std(axis=0) / np.sqrt(40))
    assert np.abs(bias[unsure]).max() < 4


@pytest.mark.parametrize("name", ["g", "normal"])
def test_equal_columns_share_evenly(name):
    X, y = data(2)
    X[:, 1] = X[:, 0]
    slab = slab_named(name, y, 8)
    found = walk(X, y, slab, ModelPrior(8, 0.2), n_draws=4000, random_state=0)
    error = found.diagnostics["inclusion_error"]
    assert found.inclusion[0] > 0.4 and error[:2].max() < 0.03
    assert abs(found.inclusion[0] - found.inclusion[1]) < 4 * error[:2].sum()
    if name == "g":
        assert not any({0, 1} <= set(model) for model in found.models), "dependent columns are no model"


def test_a_needed_column_changes_places_with_its_copies():
    """Leaving the column out costs e^40: a walk that had to wait for that would never move."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 300))
    X[:, [10, 20, 30]] = X[:, :1] + 1e-3 * rng.normal(size=(60, 3))
    X, y = centred(X, 2.0 * X[:, 0] + rng.normal(size=60))
    slab = slab_named("g", y, 300)
    assert slab.log_evidence(1, (X[:, 0] @ y) ** 2 / (X[:, 0] @ X[:, 0])) - slab.log_evidence(0, 0.0) > 30
    found = walk(X, y, slab, ModelPrior(300, 0.01), n_draws=3000, random_state=0)
    group = [0, 10, 20, 30]
    assert found.inclusion[group].sum() == pytest.approx(1.0, abs=0.1)
    error = found.diagnostics["inclusion_error"][group].max()
    expected = np.array([float(slab.log_evidence(1, (X[:, j] @ y) ** 2 / (X[:, j] @ X[:, j]))) for j in group])
    shares = np.exp(expected - logsumexp(expected))
    assert error < 0.05 and np.abs(found.inclusion[group] - shares).max() < 4 * error + 0.03


@pytest.mark.parametrize("name", ["g", "zellner-siow", "normal"])
def test_planted_columns_among_two_thousand(name):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2000))
    planted = [7, 400, 1500]
    X, y = centred(X, X[:, planted] @ [1.5, -1.2, 1.0] + rng.normal(size=80))
    found = walk(X, y, slab_named(name, y, 2000), ModelPrior(2000, 3 / 2000), n_draws=500, random_state=0)
    assert found.median_model == tuple(planted) == found.map_model
    assert found.inclusion.sum() < 5 and (found.inclusion >= 0).all() and (found.inclusion <= 1).all()


def test_a_seed_fixes_everything():
    X, y = data()
    slab, prior = slab_named("bic", y, 8), ModelPrior(8, 0.5)
    first, again, other = (walk(X, y, slab, prior, n_draws=200, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.inclusion, again.inclusion)
    assert first.models == again.models and first.log_mass == again.log_mass
    assert (first.inclusion != other.inclusion).any()


SATURATED = pytest.mark.xfail(
    strict=True, reason="the BIC of a nearly saturated model is a summit that one flip at a time doesn't leave"
)


@pytest.mark.parametrize("name", ["g", "zellner-siow", "normal", pytest.param("bic", marks=SATURATED)])
def test_more_columns_than_rows_can_bear(name):
    """With n = 5 a model has at most three columns, but for a slab with a proper prior."""
    rng = np.random.default_rng(6)
    X, y = centred(rng.normal(size=(5, 9)), rng.normal(size=5))
    slab, prior = slab_named(name, y, 9), ModelPrior(9, 0.5)
    found = walk(X, y, slab, prior, n_draws=2000, random_state=0)
    expected, mass, _ = enumerated(X, y, slab, prior)
    error = found.diagnostics["inclusion_error"]
    assert (np.abs(found.inclusion - expected) <= 4 * error + 5e-3).all()
    assert max(map(len, found.models)) <= (9 if name == "normal" else 3)
    assert found.log_mass == pytest.approx(mass, abs=0.1)


def test_no_column_and_no_signal():
    X, y = data()
    slab = slab_named("g", y, 1)
    alone = walk(X[:, :1], y, slab, ModelPrior(1, 0.5), n_draws=50, random_state=0)
    assert alone.inclusion[0] == pytest.approx(enumerated(X[:, :1], y, slab, ModelPrior(1, 0.5))[0][0], abs=1e-6)
    flat = walk(np.zeros((35, 2)), y, slab, ModelPrior(2, 0.5), n_draws=50, random_state=0)
    assert flat.models == ((),) and (flat.inclusion == 0).all()


def test_chains_that_are_too_short_are_told():
    rng = np.random.default_rng(7)
    X, y = centred(rng.normal(size=(40, 400)), rng.normal(size=40))
    with pytest.warns(FitWarning, match=r"inclusion probabilities to ±0\.\d+ only .*n_draws"):
        found = walk(X, y, slab_named("bic", y, 400), ModelPrior(400, 0.5), n_draws=20, random_state=0)
    assert not found.diagnostics["converged"] and "±" in found.diagnostics["message"]


def test_diagnostics():
    X, y = data()
    told = walk(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3), n_draws=2000, random_state=0).diagnostics
    assert told["converged"] and "4 chains of 2000 steps agree" in told["message"]
    assert 0.99 < told["r_hat"] < 1.05 and told["ess"] > 50
    assert told["inclusion_error"].shape == (8,) and 0.9 < told["share_visited"] <= 1.0
    assert told["n_visited"] <= 2**8


@pytest.mark.parametrize("length", [{"n_draws": 5}, {"n_chains": 1}, {"n_draws": 0}, {"n_chains": 2.5}], ids=str)
def test_lengths_are_checked(length):
    X, y = data()
    with pytest.raises(ValueError, match=r"n_(draws|chains) must be"):
        walk(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3), **length)


def test_an_error_in_one_chain_ends_the_others(monkeypatch):
    X, y = data()

    def fail(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr("credo.sparse.walk._chain.Chain.run", fail)
    with pytest.raises(RuntimeError, match="broken"):
        walk(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3))


def test_gathering_weighs_chains_by_their_time():
    from credo.sparse.walk._chain import Path

    def path(weight, inside):
        return Path(
            models=[(), (0,)],
            log_evidence=np.log([1.0, 3.0]),
            rest=np.array([1.0, 0.5]),
            steps=np.tile([0, 1], 4),
            weight=np.tile([weight, 3.0 * weight], 4),
            included=np.full((2, 1), 8.0 * weight * inside),
            batch_weight=np.full(2, 8.0 * weight),
        )

    mean, _ = inclusion([path(1.0, 0.6), path(3.0, 0.8)])
    assert mean[0] == pytest.approx(0.75)
    seen = visits([path(1.0, 0.75)] * 2, np.zeros(2))
    assert seen.log_mass == pytest.approx(np.log(4.0)) and seen.models == [(0,), ()] and seen.share == pytest.approx(1)
