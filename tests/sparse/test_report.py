"""The tables of the likeliest models and of the best of each size, of few columns and of many."""

import numpy as np
import pandas as pd
import pytest

from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor

NAMES = [f"measurement_{j}" for j in range(12)]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = X @ np.where(np.arange(12) < 10, 1.0, 0.0) + 0.1 * rng.normal(size=60)
    return SpikeSlabRegressor(slab="g", n_models=40).fit(pd.DataFrame(X, columns=NAMES), y)


def test_long_subsets_are_cut_short_in_print(model):
    assert len(model.map_model_) == 10
    assert model.models_.columns["model"][0] == " + ".join(NAMES[:10])
    printed = str(model.models_)
    assert "\nmeasurement_0 + measurement_1 + measurement_2 +…  " in printed
    assert max(map(len, printed.splitlines())) < 125 and "  (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)" in printed


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_the_whole_subsets_stay_at_hand(model, backend):
    listed = model.models_.columns["columns"]
    assert listed == list(model.posterior_.models) and listed[0] == tuple(range(10))
    frame = model.models_.to_frame(backend=backend)
    assert [tuple(subset) for subset in frame["columns"]] == listed


def test_short_subsets_are_written_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["rain", "wind", "sun"])
    table = SpikeSlabRegressor(slab="g").fit(X, X.sum(axis=1) + 0.1 * rng.normal(size=60)).models_
    assert table.columns["model"][0] == "rain + wind + sun" and "(0, 1, 2)" in str(table)
    assert "…" not in str(table)


def test_a_fit_counts_the_models_it_visited():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.logistic(size=60)
    assert SpikeSlabClassifier().fit(X, y > 0).result_.n_iter == 16 == SpikeSlabRegressor().fit(X, y).result_.n_iter
    sampled = SpikeSlabClassifier(search="gibbs", n_draws=300, random_state=0).fit(X, y > 0)
    assert 1 < sampled.result_.n_iter == sampled.posterior_.diagnostics["n_visited"] <= 16


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_the_best_of_each_size_fit_a_terminal_and_stay_whole(model, backend):
    table = model.best_subsets_table()
    printed = str(table).splitlines()
    assert len(table) == 13 and max(map(len, printed)) <= 80
    assert "  measurement_0 + measurement_1 + measurement_2 +…  " in printed[12]
    whole = [" + ".join(NAMES[j] for j in subset) or "(none)" for subset in model.best_subsets_]
    assert table.columns["subset"] == whole == list(table.to_frame(backend=backend)["subset"])
