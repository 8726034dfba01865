"""How long the MCMC chains walk, where they start, and what their replicas say of the mass of all models."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import comb, factorial, logsumexp
from tests.subsets.test_walk import SLABS, centred, data, slab_named

from credo.estimator import FitWarning
from credo.sparse import SpikeSlabRegressor
from credo.subsets._dependence import DEPENDENT
from credo.subsets._enumerate import enumerate_models
from credo.subsets._model_prior import ModelPrior
from credo.subsets._models import ModelPosterior
from credo.subsets.walk import walk
from credo.subsets.walk._chain import Target
from credo.subsets.walk._columns import columns_of
from credo.subsets.walk._growth import growth
from credo.subsets.walk._ladder import ladder_of, round_trips
from credo.subsets.walk._mass import Heat, climb, ground, log_mass
from credo.subsets.walk._path import Path, joined
from credo.subsets.walk._together import most_at_first, until_settled
from credo.subsets.walk._walk import _complaint


def exact(powers, d=4, seed=0, dependent=frozenset()):
    """A heat in which every model has its weight at each power; fits at random, all sizes alike at power zero."""
    rng = np.random.default_rng(seed)
    models = [set(model) for k in range(d + 1) for model in combinations(range(d), k) if not dependent <= set(model)]
    fit = 3.0 * rng.normal(size=len(models))
    size = np.array([len(model) for model in models])
    bottom = -np.log(d + 1.0) - np.log(comb(d, np.arange(d + 1)))
    able = [sum((model | {j}) in models for j in range(d) if j not in model) for model in models]
    rows = [np.column_stack([fit, bottom[size] + power * fit, size, able]) for power in powers]
    level = np.repeat(np.arange(len(powers)), len(models))
    return Heat(np.array(powers), level, np.concatenate(rows)[None], bottom, np.empty((0, 1)), (0, d)), fit, size


@pytest.mark.parametrize("powers", [(1.0, 0.0), (1.0, 0.6, 0.2, 0.0)], ids=len)
@pytest.mark.parametrize("dependent", [{9}, {0, 1}], ids=["independent", "dependent"])
def test_bridges_are_exact_where_expectations_are(powers, dependent):
    heat, fit, size = exact(powers, dependent=dependent)
    floor = logsumexp(heat.bottom[size])
    assert ground(heat, heat.bottom, 4) == pytest.approx(floor, abs=1e-12)
    assert climb(heat) == pytest.approx(logsumexp(heat.bottom[size] + fit) - floor, abs=1e-9)


def test_the_mass_of_all_sizes_is_counted_at_some():
    """Replicas at lower powers never came to others, and one may not have come to these."""
    heat, fit, size = exact((1.0, 0.6, 0.2, 0.0), dependent={9})
    there = (heat.level == 0) | np.isin(heat.records[0, :, 2], (2, 3))
    some = replace(heat, records=heat.records[:, there], level=heat.level[there], sizes=(2, 3))
    floor = logsumexp(heat.bottom[size[(size == 2) | (size == 3)]])
    assert ground(some, heat.bottom, 4) == pytest.approx(floor, abs=1e-12)
    mass, _ = log_mass([some, some], 4)
    assert mass == pytest.approx(logsumexp(heat.bottom[size] + fit), abs=1e-9)
    never = replace(some, sizes=(5, 6))
    assert np.isnan(log_mass([some, never], 4)[0])


@pytest.mark.parametrize("name", SLABS)
@pytest.mark.parametrize("copies", [0, 3])
def test_the_mass_of_all_models_is_known_from_replicas(name, copies, monkeypatch):
    """Though nothing is taken from what was visited."""
    monkeypatch.setattr("credo.subsets.walk._gather._recaptured", lambda *_: (np.nan, np.nan))
    X, y = data(3, n=20, d=14)
    X[:, 14 - copies :] = X[:, 2 : 2 + copies]
    slab, prior = slab_named(name, y, 14), ModelPrior(14, (1.0, 1.0))
    found = walk(X, y, slab, prior, n_draws=1500, random_state=0)
    error = found.diagnostics["log_mass_error"]
    assert 0.0 < error < 0.15
    assert found.log_mass == pytest.approx(enumerate_models(X, y, slab, prior).log_mass, abs=4 * error + 0.03)


def test_the_mass_of_many_copies(monkeypatch):
    """Where replicas at power zero never come to small models: each of 11 columns has five copies."""
    monkeypatch.setattr("credo.subsets.walk._gather._recaptured", lambda *_: (np.nan, np.nan))
    X, y = data(3, n=40, d=11)
    slab, prior = slab_named("zellner-siow", y, 66), ModelPrior(66, 0.5)
    found = walk(np.tile(X, (1, 6)), y, slab, prior, n_draws=1500, random_state=0)
    error = found.diagnostics["log_mass_error"]
    # Six columns that say the same are as one with six times the odds, 6 : 1.
    alone = enumerate_models(X, y, slab_named("zellner-siow", y, 11), ModelPrior(11, 6 / 7))
    assert found.log_mass == pytest.approx(alone.log_mass + 11 * np.log(7) - 66 * np.log(2), abs=4 * error)
    assert error < 0.1


def test_ways_up_count_models_that_are_not_dependent():
    """Of six columns one is a copy, one the sum of two others: all subsets are looked at for their rank."""
    X, y = data(2, n=20, d=6)
    X[:, 4], X[:, 5] = X[:, 0], X[:, 1] + X[:, 2]
    slab = slab_named("g", y, 6)
    target = Target(slab, ModelPrior(6, 0.5).log_prob(np.arange(7)))
    columns, rng = columns_of(X, y, ridge=0.0, yy=slab.yy, least=DEPENDENT), np.random.default_rng(0)
    ways = np.array([growth(columns, target.heights(6, 6, 0.0), rng, 5) for _ in range(400)])
    counts = np.cumprod(ways[:, :5], axis=1) / factorial(np.arange(1, 6))
    free = [sum(np.linalg.matrix_rank(X[:, model]) == k for model in combinations(range(6), k)) for k in range(1, 6)]
    assert free[2:] == [20 - 5, 15 - 9, 0]
    np.testing.assert_allclose(counts.mean(axis=0), free, atol=4 * counts.std(axis=0).max() / 20)
    # Replicas that came to no models but those of four columns, and ways that ended before or after.
    bottom, four = np.zeros(7), np.array([[[0.0, 0.0, 4.0, 0.0]]])
    powers, level = np.array([1.0, 0.0]), np.array([1])
    short, whole = (Heat(powers, level, four, bottom, part, (0, 6)) for part in (ways[:200, :3], ways))
    assert ground(short.joined(whole), bottom, 6) == pytest.approx(np.log(1 + sum(free)), abs=0.02)


@pytest.mark.filterwarnings("ignore:the MCMC chains did not converge:credo.estimator.FitWarning")
def test_seeds_agree_on_a_mass_of_which_little_is_visited():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 40))
    X, y = centred(X, 0.3 * X[:, :20].sum(axis=1) + rng.normal(size=100))
    slab, prior = slab_named("g", y, 40), ModelPrior(40, 0.5)
    walks = [walk(X, y, slab, prior, n_draws=1500, random_state=seed) for seed in range(3)]
    assert max(found.diagnostics["share_visited"] for found in walks) < 0.2
    masses = np.array([found.log_mass for found in walks])
    errors = np.array([found.diagnostics["log_mass_error"] for found in walks])
    assert np.ptp(masses) < 5 * np.linalg.norm(errors) and np.ptp(masses) < 1.0


def apart():
    """Rows so few that by the BIC every chain stays at models of its own that reproduce y."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 120))
    return centred(X, X[:, :3].sum(axis=1) + rng.normal(size=20))


@pytest.mark.filterwarnings("ignore::credo.estimator.FitWarning")
def test_chains_that_never_meet_know_no_mass():
    """What they saw together isn't all."""
    X, y = apart()
    slab, prior = slab_named("bic", y, 120), ModelPrior(120, 0.5)
    walks = [walk(X, y, slab, prior, n_draws=500, random_state=seed) for seed in range(2)]
    gap = abs(walks[0].log_mass - walks[1].log_mass)
    assert gap > 1.0 and max(found.diagnostics["log_mass_error"] for found in walks) > gap / 10


def test_round_trips_by_their_formula():
    """Pairs that refuse half of their exchanges, in 100 rounds: 100/(2 + 2·3·1)."""
    rejected = np.array([[25.0, 50.0]] * 3)
    ladder = ladder_of(4, 1, 1, 10, 50.0, 10)._replace(rejected=rejected)
    assert round_trips(ladder) == pytest.approx(12.5)
    assert round_trips(ladder._replace(rejected=np.zeros((3, 2)))) == 0.0
    stuck = round_trips(ladder._replace(rejected=np.array([[50.0, 50.0]] * 3)))
    assert 0.0 <= stuck < 1e-9


def test_paths_are_joined():
    def path(models, steps, included):
        return Path(
            models,
            log_evidence=np.array([float(len(model)) for model in models]),
            rest=np.array([1.0 / (1 + len(model)) for model in models]),
            steps=np.array(steps),
            weight=np.arange(1.0, len(steps) + 1.0),
            included=np.array(included)[:, None],
            batch_weight=np.array([3.0, 7.0]),
            peak=1.0,
        )

    both = joined(path([(), (0,)], [0, 1, 0, 1], [1.0, 2.0]), path([(1, 2), (0,)], [1, 1, 0, 1], [3.0, 4.0]))
    assert both.models == [(), (0,), (1, 2)]
    assert [both.models[step] for step in both.steps] == [(), (0,), (), (0,), (0,), (0,), (1, 2), (0,)]
    np.testing.assert_array_equal(both.log_evidence, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(both.included[:, 0], [3.0, 7.0])
    np.testing.assert_array_equal(both.batch_weight, [10.0, 10.0])
    np.testing.assert_array_equal(both.weight, [1.0, 2.0, 3.0, 4.0] * 2)


def blocks(seed=0, n=60, d=1500):
    """Columns in blocks of ten that are alike to .8, like genes that are read together."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.8) * np.repeat(rng.normal(size=(n, d // 10)), 10, axis=1) + np.sqrt(0.2) * rng.normal(size=(n, d))
    return X, X[:, 5] - X[:, d // 2] + X[:, d - 5] + 0.7 * rng.normal(size=n)


def test_chains_walk_on_until_they_agree(monkeypatch):
    monkeypatch.setattr("credo.subsets.walk._together._FIRST", 100)
    X, y = centred(*blocks())
    prior = ModelPrior(1500, (1.0, 1500.0))
    found = walk(X, y, slab_named("g", y, 1500), prior, random_state=0)
    told = found.diagnostics
    assert told["converged"] and told["n_draws"] in (200, 400, 800, 1600, 3200)
    assert f"4 chains of {told['n_draws']} steps agree" in told["message"]
    assert told["inclusion_error"].max() <= 0.05 and told["r_hat"] < 1.1
    # Each of the three is told by its block, though not by one column of it.
    sums = found.inclusion.reshape(-1, 10).sum(axis=1)
    assert (sums[[0, 75, 149]] > 0.9).all() and np.delete(sums, [0, 75, 149]).max() < 0.5


def test_walking_on_has_an_end(monkeypatch):
    monkeypatch.setattr("credo.subsets.walk._together._FIRST", 40)
    monkeypatch.setattr("credo.subsets.walk._together._MOST", 160)
    X, y = blocks(d=60)
    with pytest.warns(FitWarning, match=r"\(target 0.05\): increase n_draws above 160, or .* such as \(1, 60\)"):
        model = SpikeSlabRegressor(0.5, slab="g", random_state=0).fit(X, y)
    assert model.posterior_.diagnostics["n_draws"] == 160 and not model.result_.converged
    with pytest.warns(FitWarning, match=r"\(target 0.05\): increase n_draws above 20$"):
        SpikeSlabRegressor((1, 60), slab="g", n_draws=20, random_state=0).fit(X, y)


@pytest.mark.parametrize(("trips", "length"), [(0.01, 5000), (20.0, 40_000)])
def test_replicas_that_hardly_move_are_not_waited_for(trips, length):
    """A chain that stays where it is, and a judge who is never content."""

    def run(*, n_draws, n_tune, n_batches):
        return Path(
            [()],
            log_evidence=np.zeros(1),
            rest=np.ones(1),
            steps=np.zeros(n_draws, dtype=np.intp),
            weight=np.ones(n_draws),
            included=np.zeros((n_batches, 1)),
            batch_weight=np.full(n_batches, n_draws / n_batches),
        )

    def judge(paths):
        told = {"converged": False, "round_trips": trips, "n_draws": len(paths[0].steps)}
        return ModelPosterior(np.zeros(1), ((),), np.ones(1), np.zeros(1), 0.0, diagnostics=told)

    found, paths = until_settled([None, None], [run, run], judge, None, seconds=lambda _: 1e-9)
    assert found.diagnostics["n_draws"] == length and [len(path.steps) for path in paths] == [length, length]


def test_walking_on_ends_where_it_would_take_minutes(monkeypatch):
    monkeypatch.setattr("credo.subsets.walk._together._FIRST", 20)
    monkeypatch.setattr("credo.subsets.walk._together.PATIENCE", 0.0)
    X, y = centred(*blocks(d=300))
    with pytest.warns(FitWarning, match="the MCMC chains did not converge"):
        found = walk(X, y, slab_named("g", y, 300), ModelPrior(300, (1.0, 1.0)), random_state=0)
    assert found.diagnostics["n_draws"] == 20


def test_the_second_half_speaks_for_itself_where_chains_came_from_afar():
    """A judge who is content with anything but the first ten thousand steps."""
    judged = []

    def run(*, n_draws, n_tune, n_batches):
        zeros = np.zeros(n_draws)
        ten, model = np.full(n_batches, n_draws / n_batches), (len(judged),)
        return Path([model], zeros[:1], zeros[:1], zeros.astype(np.intp), zeros + 1.0, np.zeros((n_batches, 1)), ten)

    def judge(paths):
        judged.append(len(paths[0].steps))
        told = {"converged": (0,) not in paths[0].models and len(judged) > 3, "round_trips": 9.0, "n_draws": judged[-1]}
        return ModelPosterior(np.zeros(1), ((),), np.ones(1), np.zeros(1), 0.0, diagnostics=told)

    found, _ = until_settled([None, None], [run, run], judge, None, seconds=lambda _: 1e-9)
    assert judged == [5000, 10_000, 20_000, 10_000] and found.diagnostics["n_draws"] == 10_000


@pytest.mark.parametrize(
    ("d", "room", "law", "expected"),
    [
        (30, 100, 0.5, 30),  # all of them
        (300, 100, 0.5, 50),  # half as many as rows
        (300, 400, (1.0, 1.0), 100),  # a step with more is dear
        (20_000, 400, (1.0, 1.0), 20),
        (2000, 200, (1.0, 2000.0), 19),  # a geometric law with the ratio ½: 2⁻²⁰ < 1e-6
        (2000, 200, 1e-6, 10),  # a few, so that chains come from different places
    ],
)
def test_chains_from_large_models_start_where_the_prior_has_something(d, room, law, expected):
    log_prior = ModelPrior(d, law).log_prob(np.arange(min(d, room) + 1))
    assert most_at_first(log_prior, d, room) == expected


def test_an_error_that_is_no_number_is_not_small():
    assert _complaint(np.array([0.01, np.nan]), 1.0, 0.0, "walk on").endswith("walk on")
    assert _complaint(np.array([0.01, 0.02]), 1.0, 0.0, "walk on") == ""


def test_errors_stand_beside_the_columns_of_the_table():
    """A constant column is left out of the walk: it is in no model, for sure."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    y = X[:, 3] + rng.normal(size=20)
    short = SpikeSlabRegressor(search="gibbs", n_draws=500, random_state=0).fit(np.delete(X, 1, axis=1), y)
    X[:, 1] = 3.0
    with pytest.warns(FitWarning, match="constant"):
        whole = SpikeSlabRegressor(search="gibbs", n_draws=500, random_state=0).fit(X, y)
    told, alone = (model.posterior_.diagnostics["inclusion_error"] for model in (whole, short))
    assert told.shape == (5,) and told[1] == 0.0 == whole.inclusion_probabilities_[1]
    np.testing.assert_allclose(np.delete(told, 1), alone, atol=0.02)
