"""A level way between small models and large ones, against laws, and every model one by one."""

import numpy as np
import pytest
from scipy.special import logsumexp

from credo.seeds import generator
from credo.subsets._dependence import DEPENDENT
from credo.subsets._enumerate import enumerate_models
from credo.subsets._model_prior import ModelPrior
from credo.subsets._slabs import slab_of
from credo.subsets.walk import _umbrella as umbrella
from credo.subsets.walk import walk
from credo.subsets.walk._chain import Target
from credo.subsets.walk._columns import columns_of
from credo.subsets.walk._feel import Feel, blended
from credo.subsets.walk._path import Path
from credo.subsets.walk._walk import posterior_of


def data(n=30, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.2 * rng.normal(size=n)
    y = X[:, 0] - 0.7 * X[:, 4] + rng.normal(size=n)
    return X - X.mean(axis=0), y - y.mean()


def two_worlds():
    """With any share of the columns as likely, models of a third as many columns as rows weigh most here."""
    rng = np.random.default_rng(600)
    X = rng.normal(size=(40, 600))
    y = 0.8 * X[:, 0] + 0.5 * X[:, 3] + rng.normal(size=40)
    X, y = X - X.mean(axis=0), y - y.mean()
    return X, y, slab_of("g", 40, y @ y, 600), ModelPrior(600, (1.0, 1.0))


def at_sizes(sizes):
    """A path through models of these sizes, over twenty columns."""
    models = [tuple(range(k)) for k in range(20)]
    zeros = np.zeros(len(models))
    return Path(models, zeros, zeros, np.asarray(sizes), np.ones(len(sizes)), np.zeros((2, 20)), np.ones(2))


@pytest.mark.parametrize("name", ["g", "bic", "normal", "zellner-siow"])
def test_what_is_lifted_is_weighed_as_it_was(name):
    """Chains that are lifted at both ends say what enumeration does: inclusion probabilities, sizes and mass."""
    X, y = data()
    slab, prior = slab_of(name, 30, y @ y, 12), ModelPrior(12, 0.1)
    target = Target(slab, prior.log_prob(np.arange(13)))
    rngs = generator(1).spawn(3)
    columns = columns_of(X, y, ridge=slab.ridge, yy=slab.yy, least=DEPENDENT)
    chains = umbrella.level_way(columns, target, rngs, 12, 5)
    paths = [chain.run(rng, n_draws=3000, n_tune=0, n_batches=10) for chain, rng in zip(chains, rngs, strict=True)]
    steps = np.bincount([len(path.models[k]) for path in paths for k in path.steps], minlength=13) / 9000
    found, expected = posterior_of(paths, target.log_prior, n_models=50), enumerate_models(X, y, slab, prior)
    gap = np.abs(found.inclusion - expected.inclusion)
    assert (gap < 4 * found.diagnostics["inclusion_error"] + 0.005).all()
    np.testing.assert_allclose(found.size_probability, expected.size_probability, atol=0.05)
    assert found.log_mass == pytest.approx(expected.log_mass, abs=0.1)
    assert (steps[[0, 7]] > 5.0 * expected.size_probability[[0, 7]]).all() and steps[[1, 6]].min() > 0.01
    assert steps[9:].sum() < 0.01, "nor does anybody look where there is nothing"


def test_the_mass_of_all_is_counted_from_likely_sizes(monkeypatch):
    """Nobody looks at models of few columns, where that of power zero is; nothing is taken from what was visited."""
    monkeypatch.setattr("credo.subsets.walk._gather._recaptured", lambda *_: (np.nan, np.nan))
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 12))
    X, y = X - X.mean(axis=0), X[:, :9].sum(axis=1) + rng.normal(size=60)
    slab, prior = slab_of("g", 60, (y - y.mean()) @ (y - y.mean()), 12), ModelPrior(12, 0.01)
    target, rngs = Target(slab, prior.log_prob(np.arange(13))), generator(1).spawn(3)
    columns = columns_of(X, y - y.mean(), ridge=slab.ridge, yy=slab.yy, least=DEPENDENT)
    chains = umbrella.level_way(columns, target, rngs, 12, 5)
    paths = [chain.run(rng, n_draws=3000, n_tune=0, n_batches=10) for chain, rng in zip(chains, rngs, strict=True)]
    assert all(chain.sizes[0] >= 6 for chain in chains)
    found, expected = posterior_of(paths, target.log_prior, n_models=50), enumerate_models(X, y - y.mean(), slab, prior)
    assert found.log_mass == pytest.approx(expected.log_mass, abs=4 * found.diagnostics["log_mass_error"])
    assert found.diagnostics["log_mass_error"] < 0.2


def test_a_seed_is_a_seed():
    """Chains walk in threads of their own, and share nothing that one of them writes."""
    X, y = data()
    slab, prior = slab_of("g", 30, y @ y, 12), ModelPrior(12, (1.0, 1.0))
    target = Target(slab, prior.log_prob(np.arange(13)))
    columns = columns_of(X, y, ridge=slab.ridge, yy=slab.yy, least=DEPENDENT)
    one, other = (umbrella.level_way(columns, target, generator(7).spawn(4), 12, 2) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert a.places() == b.places()
        np.testing.assert_array_equal(a.ladder.lift, b.ladder.lift)
        assert sorted(a.ladder.holder) == list(range(16))
    assert len({id(chain.ladder.holder) for chain in one}) == 4


def test_a_lift_leaves_half_of_the_steps_where_they_were():
    shares = np.random.default_rng(0).normal(scale=20.0, size=(3, 40))
    lift = umbrella._lifts(shares, 50)
    assert lift.shape == (3, 50) and (lift >= 0).all()
    raised = shares + lift[:, :40]
    even = logsumexp(shares, axis=1, keepdims=True) - np.log(40)
    assert (raised > even - 1e-9).all(), "every size has its part"
    assert (logsumexp(raised, axis=1) < logsumexp(shares, axis=1) + np.log(2)).all()
    np.testing.assert_array_equal(lift[:, 40:], np.maximum(lift[:, [39]] - 0.5 * np.arange(1, 11), 0.0))


def test_sizes_that_nobody_would_call_likely_are_worth_no_steps():
    """Unless they are between others. Beyond the last size the lift goes on as it ends."""
    lift = np.array([9.0, 6.0, 3.0, 0.0, 5.0, 20.0, 5.0, 2.0, 0.0, 1.0, 3.0, 8.0, 7.5])
    excess = umbrella._excess(lift, 11)
    np.testing.assert_array_equal(excess, [5.0, 2.0] + [0.0] * 9 + [4.0, 4.0])
    np.testing.assert_array_equal(umbrella._beyond(excess), [2.0, 1.0] + [0.0] * 9 + [1.0, 2.0])
    np.testing.assert_array_equal(umbrella._excess(np.zeros(5), 3), np.zeros(5))
    np.testing.assert_array_equal(umbrella._beyond(np.zeros(5)), np.zeros(5))


def test_the_lift_that_is_walked_with_is_the_one_that_is_taken_off(monkeypatch):
    """Rates by size hardly change with what is cut of the lift: nothing adds up from stage to stage."""
    monkeypatch.setattr(umbrella, "_NEAR", 0.0)
    X, y = data()
    slab, prior = slab_of("g", 30, y @ y, 12), ModelPrior(12, 0.1)
    target = Target(slab, prior.log_prob(np.arange(13)))
    columns = columns_of(X, y, ridge=slab.ridge, yy=slab.yy, least=DEPENDENT)
    felt, of = [], Feel.of

    def noted(notes, lift, last):
        felt.append(of(notes, lift, last))
        return felt[-1]

    monkeypatch.setattr(umbrella.Feel, "of", noted)
    sums = []
    for highest in (0.5, 200.0):
        monkeypatch.setattr(umbrella, "_HIGHEST", highest)
        umbrella.level_way(columns, target, generator(3).spawn(3), 12, 6)
        # At the whole power, in the last of six stages and two before it.
        sums += [felt[-16].sums[:2, 1:7], felt[-48].sums[:2, 1:7]]
    steps, time = np.stack(sums, axis=1)
    assert steps.min() > 20.0 and np.ptp(np.log(steps / time), axis=0).max() < 1.5


def test_masses_by_size_come_from_mean_fits():
    """Of fits N(m, v) at power zero ln Z = βm + β²v/2, and the mean at β is m + βv: the rule has no error."""
    m, v, powers = np.array([-3.0, 0.0, 20.0]), np.array([1.0, 9.0, 30.0]), np.array([1.0, 0.7, 0.2, 0.0])
    ground = np.array([5.0, -1.0, -40.0])
    made = umbrella._climbed(powers, m + powers[:, None] * v, ground)
    np.testing.assert_allclose(made, ground + powers[:, None] * m + powers[:, None] ** 2 * v / 2, rtol=1e-13)


def test_what_is_felt_of_sizes():
    """Mean fits and rates by size are weighted by time; of sizes that nobody saw they go straight on."""
    rng = np.random.default_rng(2)
    size = rng.choice(np.r_[3:8, 12:30], 40_000)
    rate, mean = np.exp(0.1 * size) * rng.uniform(0.9, 1.1, 40_000), 2.0 * np.arange(41) + 30.0 * np.sqrt(np.arange(41))
    fit = mean[size] + 3.0 * rng.normal(size=40_000)
    lift = rng.normal(size=41)
    notes = np.column_stack([fit, -np.log(rate) - lift[size], size, np.zeros(40_000)]).reshape(100, 400, 4)
    notes[0, 0, 1] = -np.inf
    feel = Feel.of(notes, lift, 40)
    # What is bent as much as a mean fit is has an error of a nat or two where the power is one.
    np.testing.assert_allclose(feel.fit[3:30], mean[3:30], atol=2.0)
    np.testing.assert_allclose(np.diff(feel.fit[29:], 2), 0.0, atol=1e-6)
    np.testing.assert_allclose(feel.log_rate, 0.1 * np.arange(41), atol=0.02)
    assert feel.spread == pytest.approx(3.0, rel=0.02)
    assert Feel.of(notes[:0], lift, 40).spread == 0.0
    longer = feel.after(feel)
    np.testing.assert_allclose(longer.sums, 1.5 * feel.sums)
    between = blended([feel, longer, feel], np.array([0.0, 0.5, 1.25, 2.0]))
    np.testing.assert_allclose([part.sums[0, 3] / feel.sums[0, 3] for part in between], [1.0, 1.25, 1.375, 1.0])


def test_worlds_are_apart_where_sizes_are():
    rng = np.random.default_rng(3)
    small, large = rng.integers(1, 4, 400), rng.integers(14, 19, 400)
    # 99 % of the second half are at 18 columns or fewer: a tenth more, and two.
    assert umbrella.worlds_apart([at_sizes(small), at_sizes(large)], 10) == 22
    assert umbrella.worlds_apart([at_sizes(small), at_sizes(large)], 20) == 0, "as many rows as columns"
    assert umbrella.worlds_apart([at_sizes(small), at_sizes(small)], 10) == 0
    assert umbrella.worlds_apart([at_sizes(small), at_sizes(small + 5)], 10) == 0, "that isn't far"
    mixed = at_sizes(np.where(rng.random(400) < 0.5, small, large))
    assert umbrella.worlds_apart([mixed, mixed], 10) == 22, "back and forth, but not often enough to agree"
    late = at_sizes(np.where(np.arange(400) < 200, large, small))
    assert umbrella.worlds_apart([late, at_sizes(small)], 10) == 0, "only on the way from where they started"


@pytest.mark.filterwarnings("ignore::credo.estimator.FitWarning")
@pytest.mark.parametrize("seed", range(3))
def test_chains_come_from_one_world_to_the_other(seed, monkeypatch):
    """As much of the posterior is in models of more than twelve columns as chains of 40 000 steps say that go back and
    forth by themselves: 0.68, within a few hundredths."""
    ways = []

    def noted(*arguments):
        ways.append(arguments[3])
        return umbrella.level_way(*arguments)

    monkeypatch.setattr("credo.subsets.walk._walk.level_way", noted)
    found = walk(*two_worlds(), n_draws=2500, random_state=seed)
    assert len(ways) == 1 and 25 < ways[0] <= 38 and found.diagnostics["powers"].shape == (4, 16)
    assert found.diagnostics["r_hat"] < 1.2 and found.diagnostics["n_draws"] == 2500
    assert 0.4 < found.size_probability[13:].sum() < 0.9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.estimator.FitWarning")
def test_both_ways_lead_to_the_same(monkeypatch):
    """Chains with a level way, and ones of four times as many steps that have none."""
    X, y, slab, prior = two_worlds()
    with_way = walk(X, y, slab, prior, n_draws=10_000, random_state=0)
    monkeypatch.setattr("credo.subsets.walk._walk.worlds_apart", lambda paths, n: 0)
    without = walk(X, y, slab, prior, n_draws=40_000, random_state=1)
    error = np.hypot(with_way.diagnostics["inclusion_error"], without.diagnostics["inclusion_error"])
    assert np.abs(with_way.inclusion - without.inclusion).max() < 0.15
    assert (np.abs(with_way.inclusion - without.inclusion) < 4.5 * error).all()
    assert with_way.log_mass == pytest.approx(without.log_mass, abs=0.5)
