"""How long the chains run, where they start, and when they stop."""

import numpy as np
import pytest
from tests.sparse.test_sampler import centred, data, slab_named

from credo.core.estimator import FitWarning
from credo.sparse import SpikeSlabRegressor
from credo.sparse._chain import (
    Chain,
    Trace,
    _complaint,
    first_ladder,
    many_columns,
    run_until_converged,
    sample_models,
    shared_columns,
    slab_problem,
)
from credo.sparse._models import ModelPosterior, ModelPrior


def test_round_trips_by_their_formula():
    """Pairs that reject half of their swaps, in 100 rounds: 100/(2 + 2·11·1)."""
    X, y = data()
    slab = slab_named("g", y, 8)
    columns = shared_columns(X, y, ridge=0.0, yy=slab.yy, least=1e-9)
    problem = slab_problem(columns, slab, np.zeros(9))
    chain = Chain(problem, first_ladder(8, slab, 8), 8, 8, [()] * 12, np.random.default_rng(0))
    assert chain.round_trips == 0.0
    chain.ladder.rejected[:] = 25.0, 50.0
    assert chain.round_trips == pytest.approx(100 / 24)
    chain.ladder.rejected[:, 0] = 50.0
    assert 0.0 <= chain.round_trips < 1e-9


def test_traces_are_joined():
    def path(models, included):
        sizes = np.array([float(len(model)) for model in models])
        return Trace(models, sizes, np.arange(1.0, 5.0), np.array(included)[:, None], np.ones(2))

    first, further = path([(), (0,), (), (0,)], [1.0, 2.0]), path([(0,), (0,), (1, 2), (0,)], [3.0, 4.0])
    both = first.joined(further)
    assert both.models == [(), (0,), (), (0,), (0,), (0,), (1, 2), (0,)]
    np.testing.assert_array_equal(both.log_evidence, both.sizes)
    np.testing.assert_array_equal(both.included[:, 0], [3.0, 7.0])
    np.testing.assert_array_equal(both.batch_weight, [2.0, 2.0])
    np.testing.assert_array_equal(both.weight, [1.0, 2.0, 3.0, 4.0] * 2)


def blocks(seed=0, n=60, d=1500):
    """Columns in blocks of ten that are alike to .8, like genes that are read together."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.8) * np.repeat(rng.normal(size=(n, d // 10)), 10, axis=1) + np.sqrt(0.2) * rng.normal(size=(n, d))
    return X, X[:, 5] - X[:, d // 2] + X[:, d - 5] + 0.7 * rng.normal(size=n)


def test_chains_run_until_they_agree(monkeypatch):
    monkeypatch.setattr("credo.sparse._chain._FIRST_STEPS", 100)
    X, y = centred(*blocks())
    prior = ModelPrior(1500, (1.0, 1500.0))
    found = sample_models(X, y, slab_named("g", y, 1500), prior, random_state=0)
    told = found.diagnostics
    assert told["converged"] and told["n_draws"] in (200, 400, 800, 1600, 3200)
    assert f"4 chains of {told['n_draws']} steps agree" in told["message"]
    assert told["inclusion_error"].max() <= 0.05 and told["r_hat"] < 1.1
    # Each of the three is told by its block, though not by one column of it.
    sums = found.inclusion.reshape(-1, 10).sum(axis=1)
    assert (sums[[0, 75, 149]] > 0.9).all() and np.delete(sums, [0, 75, 149]).max() < 0.5


def test_running_on_has_an_end(monkeypatch):
    monkeypatch.setattr("credo.sparse._chain._FIRST_STEPS", 40)
    monkeypatch.setattr("credo.sparse._chain._MAX_STEPS", 160)
    X, y = blocks(d=60)
    with pytest.warns(FitWarning, match=r"did not converge.*: increase n_draws above 160, or .* such as \(1, 60\)"):
        model = SpikeSlabRegressor(0.5, slab="g", random_state=0).fit(X, y)
    assert model.posterior_.diagnostics["n_draws"] == 160 and not model.result_.converged
    with pytest.warns(FitWarning, match=r"\(target 0.05\): increase n_draws above 20$"):
        SpikeSlabRegressor((1, 60), slab="g", n_draws=20, random_state=0).fit(X, y)


def test_separate_modes_of_small_and_large_models_are_reported():
    """With all sizes equally likely, large models that nearly reproduce y are a mode of their own here."""
    rng = np.random.default_rng(600)
    X = rng.normal(size=(40, 600))
    y = 0.8 * X[:, 0] + 0.5 * X[:, 3] + rng.normal(size=40)
    with pytest.warns(FitWarning, match=r"the MCMC chains did not converge: .* such as \(1, 600\)"):
        model = SpikeSlabRegressor("beta-binomial", slab="g", n_draws=500, random_state=0).fit(X, y)
    assert not model.result_.converged


class Still:
    """A chain that never moves."""

    stopped = False

    def run(self, *, n_draws, n_burn_in, n_batches):
        zeros, time = np.zeros(n_draws), np.full(n_batches, n_draws / n_batches)
        return Trace([()] * n_draws, zeros, zeros + 1.0, np.zeros((n_batches, 1)), time)


def verdict(**told):
    return ModelPosterior(np.zeros(1), ((),), np.ones(1), np.zeros(1), 0.0, diagnostics=told)


@pytest.mark.parametrize(("trips", "length"), [(0.01, 5000), (20.0, 40_000)])
def test_replicas_that_hardly_move_are_not_waited_for(trips, length):
    def summarize(traces):
        return verdict(converged=False, round_trips=trips, n_draws=len(traces[0].models))

    found = run_until_converged([Still(), Still()], summarize, None, seconds=lambda _: 1e-9)
    assert found.diagnostics["n_draws"] == length


def test_chains_stop_where_more_would_take_minutes(monkeypatch):
    monkeypatch.setattr("credo.sparse._chain._FIRST_STEPS", 20)
    monkeypatch.setattr("credo.sparse._chain._MAX_SECONDS", 0.0)
    X, y = centred(*blocks(d=300))
    with pytest.warns(FitWarning, match="the MCMC chains did not converge"):
        found = sample_models(X, y, slab_named("g", y, 300), ModelPrior(300, (1.0, 1.0)), random_state=0)
    assert found.diagnostics["n_draws"] == 20


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
    assert many_columns(log_prior, d, room) == expected


def test_an_error_that_is_no_number_is_not_small():
    assert _complaint(np.array([0.01, np.nan]), 1.0)
    assert not _complaint(np.array([0.01, 0.02]), 1.0)


def test_errors_stand_beside_the_columns_of_the_table():
    """A constant column is in no model, for sure."""
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
