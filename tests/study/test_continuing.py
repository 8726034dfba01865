"""A study that goes on from an earlier one: `analyze(…, continue_from=study)`."""

import numpy as np
import pandas as pd
import pytest

from credo import load, save
from credo.study import dataset, run, write


@pytest.fixture(scope="module")
def first(analyze, houses):
    return analyze(houses, "price", models=["linear", "bayes", "lms"])


def test_earlier_models_are_kept_and_others_are_fitted(analyze, houses, first):
    found = analyze(houses, "price", models=["linear", "ridge"], continue_from=first)
    assert list(found.comparison.fitted) == ["baseline", "linear", "ridge", "bayes", "lms", "average"]
    for name in ("baseline", "linear", "bayes", "lms"):
        assert found[name].estimator_ is first[name].estimator_
        assert found.comparison[name].held_out == first.comparison[name].held_out
    # The same as all at once, and the average is that of all models.
    whole = analyze(houses, "price", models=["linear", "ridge", "bayes", "lms"])
    assert found.selected == whole.selected
    pd.testing.assert_frame_equal(found.held_out("average"), whole.held_out("average"))


def test_what_was_not_run_for_lack_of_time_is_run(analyze, houses):
    short = analyze(houses, "price", models=["linear", "bayes", "polynomial"], time=1e-6)
    assert set(short.comparison.not_run) == {"bayes", "polynomial"}
    found = analyze(houses, "price", models=["linear", "bayes", "polynomial"], continue_from=short)
    assert not found.comparison.not_run and {"bayes", "polynomial"} <= set(found.comparison.fitted)
    assert found["linear"].estimator_ is short["linear"].estimator_


def test_progress_shows_the_earlier_scores(houses, first):
    states = []
    run(dataset(houses, "price"), models=["ridge"], folds=3, continue_from=first, report=states.append)
    assert {score.name for score in states[0].scores} == {"baseline", "linear", "bayes", "lms"}


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"folds": 4},
        {"target": "size"},
        {"table": lambda houses: houses.iloc[1:]},
        {"table": lambda houses: houses.assign(age=houses["age"] + 1)},
        {"kinds": {"age": "categorical"}},
        {"table": lambda houses: houses.assign(copies=1 + np.arange(len(houses)) % 2), "weight": "copies"},
        {"support": "real"},
        {"table": lambda houses: houses.assign(street=np.arange(len(houses)) // 4), "groups": "street"},
    ],
    ids=["seed", "folds", "target", "rows", "cells", "kinds", "weights", "support", "groups"],
)
def test_a_study_of_something_else_is_refused(analyze, houses, first, change):
    options = dict(change)
    frame, target = options.pop("table", lambda same: same)(houses), options.pop("target", "price")
    with pytest.raises(ValueError, match="continue_from is a study of another table or target"):
        analyze(frame, target, models=["linear"], continue_from=first, **options)


def test_a_file_continues_a_study(analyze, houses, tmp_path):
    short = analyze(houses, "price", models=["linear", "bayes", "polynomial"], time=1e-6)
    write(short, tmp_path)
    saved = load(tmp_path / "study.credo")
    found = analyze(houses, "price", models=["linear", "bayes", "polynomial"], continue_from=saved)
    assert {"bayes", "polynomial"} <= set(found.comparison.fitted)
    pd.testing.assert_frame_equal(found.held_out("linear"), short.held_out("linear"))


def test_a_file_continues_a_study_of_counts(analyze, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    table = pd.DataFrame({"x": x, "k": rng.poisson(np.exp(0.3 + 0.5 * x))})
    first = analyze(table, "k", models=["counts"], time=None)
    save(first.saved, tmp_path / "study.credo")
    saved = load(tmp_path / "study.credo")
    found = analyze(table, "k", models=["counts", "linear"], time=None, continue_from=saved)
    assert found.comparison["counts"].held_out == first.comparison["counts"].held_out
