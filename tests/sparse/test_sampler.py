"""The sampler over models beside plain enumeration, on columns that are planted, copied and many."""

from itertools import cycle

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.reference.sampler import enumerated

from credo.core.estimator import FitWarning
from credo.sparse._chain import Trace, adapted, first_ladder, inclusion, r_hat_and_ess, sample_models, summarize_chains
from credo.sparse._models import ModelPrior
from credo.sparse._slabs import slab_of
from credo.sparse.spike_slab import enumerate_models

SLABS = {
    "bic": {},
    "g": {},
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
    return slab_of(name.split("-k")[0], len(y), float(y @ y), d, **SLABS[name])


@pytest.mark.parametrize(("name", "prior"), zip(SLABS, cycle([0.3, (1.0, 1.0)]), strict=False), ids=str)
def test_agrees_with_enumeration_within_its_own_error(name, prior):
    X, y = data()
    slab, prior = slab_named(name, y, 8), ModelPrior(8, prior)
    expected, mass, heights = enumerated(X, y, slab, prior)
    found = sample_models(X, y, slab, prior, n_draws=1500, random_state=0)
    error = found.diagnostics["inclusion_error"]
    # Eight columns in six cases: four standard errors, and an error that is itself worth telling.
    assert (np.abs(found.inclusion - expected) <= 4 * error + 1e-3).all() and error.max() < 0.03
    assert mass - 0.02 < found.log_mass < mass + 1e-9
    assert found.models[0] == max(heights, key=heights.get)
    for model, log_evidence, share in zip(found.models[:20], found.log_evidence, found.probability, strict=False):
        assert log_evidence + prior.log_prob(len(model)) == pytest.approx(heights[model], abs=1e-8)
        assert share == pytest.approx(np.exp(heights[model] - mass), rel=0.03)
    sizes = [np.exp(logsumexp([h for m, h in heights.items() if len(m) == k]) - mass) for k in range(9)]
    np.testing.assert_allclose(found.size_probability, sizes, atol=0.04)


def easy():
    X, y = data(1)
    return X, y, slab_named("g", y, 8)


def rough():
    rng = np.random.default_rng(6)
    X, y = centred(rng.normal(size=(5, 9)), rng.normal(size=5))
    return X, y, slab_named("bic", y, 9)


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("example", [easy, pytest.param(rough, marks=pytest.mark.slow)], ids=["easy", "rough"])
def test_reported_errors_are_those_that_are_made(example):
    """Over many runs, what is found scatters about the truth by as much as each says."""
    X, y, slab = example()
    prior = ModelPrior(X.shape[1], 0.5)
    expected = enumerate_models(X, y, slab, prior).inclusion
    runs = [sample_models(X, y, slab, prior, n_draws=300, n_chains=4, random_state=seed) for seed in range(25)]
    gaps = np.array([found.inclusion - expected for found in runs])
    told = np.array([found.diagnostics["inclusion_error"] for found in runs])
    unsure = (expected > 0.01) & (expected < 0.99)
    ratio = np.sqrt((gaps**2).mean(axis=0) / (told**2).mean(axis=0))
    assert (ratio[unsure] < 1.4).all()
    # No error is told below one in so many round trips, though a column may be known better.
    least = np.array([[min(1.0 / (found.diagnostics["round_trips"] + 2.0), 0.02)] for found in runs])
    assert (ratio[unsure & ((told > least).mean(axis=0) > 0.5)] > 0.4).all() and (told >= least).all()
    bias = gaps.mean(axis=0) / (gaps.std(axis=0) / np.sqrt(25))
    assert np.abs(bias[unsure]).max() < 4


@pytest.mark.parametrize("name", ["g", "normal"])
def test_equal_columns_share_evenly(name):
    X, y = data(2)
    X[:, 1] = X[:, 0]
    slab = slab_named(name, y, 8)
    found = sample_models(X, y, slab, ModelPrior(8, 0.2), n_draws=2000, random_state=0)
    error = found.diagnostics["inclusion_error"]
    assert found.inclusion[0] > 0.4 and error[:2].max() < 0.03
    assert abs(found.inclusion[0] - found.inclusion[1]) < 4 * error[:2].sum()
    if name == "g":
        assert not any({0, 1} <= set(model) for model in found.models), "dependent columns are no model"


def test_a_needed_column_changes_places_with_its_copies():
    """Leaving the column out costs e^40: a chain that had to wait for that would never move."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 300))
    X[:, [10, 20, 30]] = X[:, :1] + 1e-3 * rng.normal(size=(60, 3))
    X, y = centred(X, 2.0 * X[:, 0] + rng.normal(size=60))
    slab = slab_named("g", y, 300)

    def rest(j):
        return 1.0 - (X[:, j] @ y) ** 2 / (X[:, j] @ X[:, j]) / (y @ y)

    assert float(slab.score(1, rest(0)) - slab.score(0, 1.0)) > 30
    found = sample_models(X, y, slab, ModelPrior(300, 0.01), n_draws=3000, random_state=0)
    group = [0, 10, 20, 30]
    assert found.inclusion[group].sum() == pytest.approx(1.0, abs=0.1)
    error = found.diagnostics["inclusion_error"][group].max()
    expected = np.array([float(slab.score(1, rest(j))) for j in group])
    shares = np.exp(expected - logsumexp(expected))
    assert error < 0.05 and np.abs(found.inclusion[group] - shares).max() < 4 * error + 0.03


@pytest.mark.parametrize("name", ["g", "zellner-siow", "normal"])
def test_planted_columns_among_two_thousand(name):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2000))
    planted = [7, 400, 1500]
    X, y = centred(X, X[:, planted] @ [1.5, -1.2, 1.0] + rng.normal(size=80))
    found = sample_models(X, y, slab_named(name, y, 2000), ModelPrior(2000, 3 / 2000), n_draws=500, random_state=0)
    assert tuple(np.flatnonzero(found.inclusion > 0.5)) == tuple(planted) == found.map_model
    assert found.inclusion.sum() < 5 and (found.inclusion >= 0).all() and (found.inclusion <= 1).all()


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_more_than_a_thousand_columns_of_which_rows_are_made_when_asked(monkeypatch):
    """Stored inner products, and those computed when needed, give the same chains."""
    rng = np.random.default_rng(12)
    X, y = centred(rng.normal(size=(30, 1200)), rng.normal(size=30))
    slab, prior = slab_named("g", y, 1200), ModelPrior(1200, 1 / 1200)
    kept = sample_models(X, y, slab, prior, n_draws=100, random_state=0)
    monkeypatch.setattr("credo.sparse._chain._MAX_GRAM_ENTRIES", 0)
    monkeypatch.setattr("credo.sparse._chain._GRAM_CACHE_ENTRIES", 20_000)
    made = sample_models(X, y, slab, prior, n_draws=100, random_state=0)
    assert kept.models == made.models
    np.testing.assert_allclose(kept.inclusion, made.inclusion, rtol=1e-8)


def test_a_seed_fixes_everything():
    X, y = data()
    slab, prior = slab_named("bic", y, 8), ModelPrior(8, 0.5)
    first, again, other = (sample_models(X, y, slab, prior, n_draws=200, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.inclusion, again.inclusion)
    assert first.models == again.models and first.log_mass == again.log_mass
    assert (first.inclusion != other.inclusion).any()


def check_beside_enumeration(X, y, slab, prior, *, n_draws=800):
    """Within four standard errors of their own, which are worth telling, and nothing missed in silence."""
    found = sample_models(X, y, slab, prior, n_draws=n_draws, random_state=0)
    expected = enumerate_models(X, y, slab, prior)
    error = found.diagnostics["inclusion_error"]
    assert (np.abs(found.inclusion - expected.inclusion) <= 4 * error + 1e-3).all() and error.max() < 0.1
    assert expected.log_mass - 0.1 < found.log_mass < expected.log_mass + 1e-6
    known = dict(zip(expected.models, expected.log_evidence, strict=True))
    for model, value in zip(found.models[:20], found.log_evidence, strict=False):
        if model in known:
            assert value == pytest.approx(known[model], rel=1e-6, abs=1e-6)
    return found


@pytest.mark.parametrize(("name", "rows"), zip(SLABS, cycle([(5, 6), (8, 2)]), strict=False), ids=str)
def test_more_columns_than_rows_can_bear(name, rows):
    """Models of n − 2 columns are summits, near saturation, that share few columns with each other."""
    n, seed = rows
    rng = np.random.default_rng(seed)
    X, y = centred(rng.normal(size=(n, 9)), rng.normal(size=n))
    found = check_beside_enumeration(X, y, slab_named(name, y, 9), ModelPrior(9, 0.5))
    assert max(map(len, found.models)) <= (9 if name.startswith("normal") else n - 2)


@pytest.mark.parametrize("seed", [4, 7])
def test_a_large_summit_that_few_models_lead_to(seed):
    """Seven columns of nine rows, far above all that two or three of them promise, and a prior against each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 12))
    X, y = centred(X, X[:, :3].sum(axis=1) + 1e-3 * rng.normal(size=9))
    found = check_beside_enumeration(X, y, slab_named("bic", y, 12), ModelPrior(12, 0.05), n_draws=1500)
    assert len(found.map_model) == 7 and found.probability[0] > 0.9


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("name", SLABS)
def test_a_pair_of_columns_changes_places_with_another(name, noise=1e-3):
    """x₀ + x₁ = x₂ + x₃: two summits, and between them models that leave half of the target."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 8))
    X[:, 3] = X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * noise * rng.normal(size=30)
    X, y = centred(X, X[:, 0] + X[:, 1] + noise * rng.normal(size=30))
    slab = slab_of("normal", 30, float(y @ y), 8, slab_variance=0.5, noise_variance=noise**2)
    slab = slab if name == "normal-known" else slab_named(name, y, 8)
    found = check_beside_enumeration(X, y, slab, ModelPrior(8, 0.1))
    assert {(0, 1), (2, 3)} & {model[:2] for model in found.models[:2]}


@pytest.mark.parametrize(
    ("name", "gap"),
    [("bic", 1e-5), ("zellner-siow", 1e-7), ("normal", 3e-9), ("bic", 3e-9), ("zellner-siow", 0.0), ("normal", 0.0)],
)
def test_what_near_copies_tell_apart_is_found(name, gap):
    """The target is what two columns differ in: together they explain it, and neither does alone."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(25, 6))
    z = rng.normal(size=25)
    X[:, 1] = X[:, 0] + gap * z
    X, y = centred(X, z + 0.1 * rng.normal(size=25))
    slab = slab_named(name, y, 6)
    found = check_beside_enumeration(X, y, slab, ModelPrior(6, 0.3), n_draws=500)
    if not name.startswith("normal"):
        assert (found.inclusion[:2].min() > 0.99) == (gap > 0.0)


@pytest.mark.parametrize(("name", "noise"), zip(SLABS, cycle([0.0, 1e-9]), strict=False))
def test_targets_that_are_reproduced_have_the_evidence_of_enumeration(name, noise):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(12, 7))
    X, y = centred(X, X[:, 1] - 2.0 * X[:, 4] + noise * rng.normal(size=12))
    found = check_beside_enumeration(X, y, slab_named(name, y, 7), ModelPrior(7, 0.5), n_draws=250)
    if not name.startswith("normal"):
        assert {1, 4} <= set(found.map_model)


def test_columns_that_depend_by_a_given_measure_are_kept_apart():
    X, y = data(2)
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    slab, prior = slab_named("g", y, 8), ModelPrior(8, 0.5)
    for least, apart in ((1e-9, False), (1e-2, True)):
        found = sample_models(X, y, slab, prior, least=least, n_draws=500, random_state=0)
        assert apart != any({0, 1} <= set(model) for model in found.models)
        expected = enumerate_models(X, y, slab, prior, least=least)
        assert np.abs(found.inclusion - expected.inclusion).max() < 0.1


def test_temperatures_have_equal_rejection_rates():
    """Of rejections that grow with the square root of the distance, say; the ends stay."""
    ladder = first_ladder(10, slab_named("g", data()[1], 10), 10)
    for _ in range(5):
        ladder.rejected[:, 0] = 1e6 * np.diff(-np.sqrt(ladder.betas))
        ladder.rejected[:, 1] = 1e6
        ladder = adapted(ladder)
    np.testing.assert_allclose(np.diff(-np.sqrt(ladder.betas)), 1 / 11, rtol=0.05)
    assert ladder.betas[0] == 1.0 and ladder.betas[-1] == 0.0 and not ladder.rejected.any()


def test_no_column_and_no_signal():
    X, y = data()
    slab = slab_named("g", y, 1)
    alone = sample_models(X[:, :1], y, slab, ModelPrior(1, 0.5), n_draws=50, random_state=0)
    assert alone.inclusion[0] == pytest.approx(enumerated(X[:, :1], y, slab, ModelPrior(1, 0.5))[0][0], abs=1e-6)
    flat = sample_models(np.zeros((35, 2)), y, slab, ModelPrior(2, 0.5), n_draws=50, random_state=0)
    assert flat.models == ((),) and (flat.inclusion == 0).all()


def test_chains_that_are_too_short_are_told():
    rng = np.random.default_rng(7)
    X, y = centred(rng.normal(size=(40, 400)), rng.normal(size=40))
    with pytest.warns(FitWarning, match=r"inclusion probabilities are accurate only to ±0\.\d+ .*n_draws"):
        found = sample_models(X, y, slab_named("bic", y, 400), ModelPrior(400, 0.5), n_draws=20, random_state=0)
    assert not found.diagnostics["converged"] and "±" in found.diagnostics["message"]


def test_diagnostics():
    X, y = data()
    told = sample_models(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3), n_draws=2000, random_state=0).diagnostics
    assert told["converged"] and "4 chains of 2000 steps agree" in told["message"]
    assert 0.99 < told["r_hat"] < 1.05 and told["ess"] > 50
    assert told["inclusion_error"].shape == (8,)
    assert told["n_visited"] <= 2**8


@pytest.mark.parametrize("length", [{"n_draws": 5}, {"n_chains": 1}, {"n_draws": 0}, {"n_chains": 2.5}], ids=str)
def test_lengths_are_checked(length):
    X, y = data()
    with pytest.raises(ValueError, match=r"n_(draws|chains) must be"):
        sample_models(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3), **length)


def test_an_error_in_one_chain_ends_the_others(monkeypatch):
    X, y = data()

    def fail(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr("credo.sparse._chain.Chain.run", fail)
    with pytest.raises(RuntimeError, match="broken"):
        sample_models(X, y, slab_named("g", y, 8), ModelPrior(8, 0.3))


def test_gathering_weighs_chains_by_their_time():
    def path(weight, inside):
        return Trace(
            models=[(), (0,)] * 4,
            log_evidence=np.log([1.0, 3.0] * 4),
            weight=np.tile([weight, 3.0 * weight], 4),
            included=np.full((2, 1), 8.0 * weight * inside),
            batch_weight=np.full(2, 8.0 * weight),
        )

    mean, _ = inclusion([path(1.0, 0.6), path(3.0, 0.8)])
    assert mean[0] == pytest.approx(0.75)
    # A chain that has no weight has a word to say about the error all the same.
    mean, error = inclusion([path(1.0, 0.6), path(1e-12, 0.1)])
    assert mean[0] == pytest.approx(0.6) and error[0] == pytest.approx(0.25)
    seen = summarize_chains([path(1.0, 0.75)] * 2, np.zeros(2), n_models=5)
    assert seen.log_mass == pytest.approx(np.log(4.0)) and seen.models == ((0,), ()) and not seen.sample


def steady(model):
    """A chain that stays at one model."""
    return Trace(
        models=[model] * 20,
        log_evidence=np.zeros(20),
        weight=np.ones(20),
        included=np.array([[10.0 * (j in model) for j in range(2)]] * 2),
        batch_weight=np.full(2, 10.0),
    )


def test_chains_at_different_models_disagree():
    one, two = steady((0,)), steady(())
    assert r_hat_and_ess([one, one], {(0,): 0.0})[0] == 1.0
    assert r_hat_and_ess([one, two], {(0,): 0.0, (): 0.0})[0] == np.inf
    unsettled = summarize_chains([one, two], np.zeros(2), n_models=5)
    assert not unsettled.diagnostics["converged"] and unsettled.sample == ((0,), ())


def test_chains_without_replicas_stay_in_their_modes_and_say_so(monkeypatch):
    def bare(*arguments):
        ladder = first_ladder(*arguments)
        return ladder._replace(
            betas=np.ones(1), strides=ladder.strides[:1], holder=np.arange(1), rejected=np.zeros((0, 2))
        )

    X, y, slab = rough()
    monkeypatch.setattr("credo.sparse._chain.first_ladder", bare)
    with pytest.warns(FitWarning, match="the MCMC chains did not converge: some inclusion probabilities"):
        sample_models(X, y, slab, ModelPrior(9, 0.5), n_draws=1000, random_state=0)
