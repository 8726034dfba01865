"""What a sceptical analyst would ask: copies, exact identities, outliers of the target, too few rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from credo.linear import LogisticRegression
from credo.selection import Comparison, Score
from credo.sparse import LassoCV
from credo.study import dataset
from credo.study.analysis import _option_notes
from credo.study.data import copies
from credo.study.study import ABSURD, TOO_GOOD, absurd_notes


def measured(n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    return frame.assign(y=frame["a"] + rng.normal(size=n))


def test_a_table_that_was_copied_six_times_is_held_out_by_its_rows(analyze):
    table = pd.concat([measured()] * 6, ignore_index=True)
    study = analyze(table, "y", models=["linear", "kernel-ridge"], folds=4)
    held = study.comparison.held_out[study.selected]
    # Noise of standard deviation 1 can't be predicted, unless a row is predicted from its copy.
    assert np.sqrt(np.mean((held.y - held.dist.mean) ** 2)) > 0.7
    assert any("200 rows have the same inputs" in note.text for note in study.notes)
    assert not any("another form of the target" in note.text for note in study.notes)


def test_equal_inputs_with_different_targets_are_no_copies():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 2, size=(300, 6)), columns=list("abcdef"))
    assert copies(frame, rng.normal(size=300)) is None


def test_a_sum_of_columns_that_is_the_target_raises_a_question(analyze):
    table = measured(100).assign(y=lambda frame: (frame["a"] + frame["b"]) / 2)
    study = analyze(table, "y", models=["linear"], folds=3)
    [note] = [note for note in study.notes if "almost perfectly" in note.text]
    assert note.important and "sum or difference" in note.text


def test_a_strong_but_honest_model_raises_none(analyze):
    table = measured(200).assign(y=lambda frame: 10 * frame["a"] + np.random.default_rng(2).normal(size=200))
    assert not any("almost perfectly" in n.text for n in analyze(table, "y", models=["linear"], folds=3).notes)


def test_classes_that_several_columns_separate_raise_none(analyze):
    table = measured(300).assign(y=lambda frame: np.where(frame["a"] > frame["b"], "yes", "no"))
    study = analyze(table, "y", models=["logistic"], folds=3)
    assert study.comparison["logistic"].held_out["accuracy"] > 0.97
    assert not any("another form" in note.text for note in study.notes)


@pytest.mark.parametrize(
    ("values", "words"), [([1, 2, 3, 4, 4, 5, 5], "from 1 to 5:"), ([0, 0, 1, 0, 2, 1, 5, 3], "from 0:")]
)
def test_ratings_end_where_their_scale_does(values, words):
    table = measured(len(values) * 40).assign(y=np.tile(np.array(values, dtype=float), 40))
    notes = dataset(table, "y", task="regression").notes
    assert any(f"whole numbers {words}" in note.text for note in notes)


def test_wrong_values_of_the_target_are_named():
    table = measured(300).assign(y=lambda frame: np.exp(frame["y"]) * 1e5)
    assert not any("far outside" in note.text for note in dataset(table, "y").notes)
    table.loc[[7, 20], "y"] = 1e13
    [note] = [note for note in dataset(table, "y").notes if "far outside" in note.text]
    assert note.important and "2 values" in note.text and "row 8" in note.text


def test_few_rows_are_called_few():
    assert any("very few" in note.text for note in dataset(measured(12), "y").notes)
    assert not any("very few" in note.text for note in dataset(measured(60), "y").notes)


def test_the_target_is_the_name_of_a_column():
    table = measured()
    with pytest.raises(TypeError, match="target must be a column's name"):
        dataset(table, table["y"])


def test_errors_far_beyond_those_of_the_baseline_are_noted():
    scores = [
        Score(name, {"rmse": rmse}) for name, rmse in (("linear", 0.5), ("baseline", 2.0), ("kernel-ridge", 78e3))
    ]
    [note] = absurd_notes(Comparison(scores, {}))
    assert "kernel-ridge (7.8e+04)" in note and "baseline (2)" in note and "linear" not in note
    assert absurd_notes(Comparison(scores[:2], {})) == []


def test_the_limits_of_errors_are_beyond_those_of_known_tables():
    """Of the tables in docs/honesty.md no model is suspiciously good, or absurd."""
    sets = json.loads((Path(__file__).parents[2] / "docs/honesty.json").read_text())["sets"].values()
    tables = [
        {score["model"]: score["RMSE"][0] for score in each["scores"]} for each in sets if each["task"] == "regression"
    ]
    assert len(tables) == 20
    ratios = [rmse / table["BaselineRegressor"] for table in tables for rmse in table.values()]
    assert TOO_GOOD < min(ratios) ** 2 < 4 * TOO_GOOD and 0.5 * ABSURD < max(ratios) < ABSURD


def test_options_that_a_message_names_are_said_to_be_python_s():
    models = {"logistic": LogisticRegression(), "lasso": LassoCV()}
    notes = ["logistic: did not converge: increase max_iter", "lasso, in 2 of 5 folds: drop a_b, or set alphas=…"]
    assert _option_notes(notes, models) == [
        "Options of the models (max_iter, alphas) can be set in Python only, where a model is fitted by itself."
    ]
    assert _option_notes(["lasso: the columns a_b and c_d are equal", "2 folds"], models) == []
