"""`credo fit`, `predict` and `show` of classes: found out or said, written, read again, and refused in words."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

from credo.study.catalogue import MODELS, names
from credo.tables import load

RNG = np.random.default_rng(4)
N = 90


@pytest.fixture(scope="module")
def trees():
    kind = np.repeat(["oak", "elm", "ash"], N // 3)
    height = RNG.normal(size=N) + 3.0 * (kind == "oak") - 3.0 * (kind == "ash")
    return pd.DataFrame({"height": height, "girth": RNG.normal(size=N), "kind": kind}).round(4)


@pytest.fixture
def fit(run, tmp_path, without_report):
    """The outcome of `credo fit` on a frame, as JSON, with its stderr."""

    def invoke(frame, *more, target="kind", models="discriminant,logistic"):
        path = tmp_path / "table.csv"
        frame.to_csv(path, index=False)
        chosen = () if models is None else ("--models", models)
        result = run("fit", path, "--target", target, "--out", tmp_path / "out", *chosen, *more, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout), result.stderr

    return invoke


def test_words_are_classes_and_the_reason_is_given(fit, trees, tmp_path):
    record, said = fit(trees)
    assert record["task"] == "classification"
    note = "The target 'kind' is predicted as classes, because it holds text, such as 'oak', 'elm' and 1 more."
    assert note in record["notes"] and f"Note: {note}" in said
    line = record["leaderboard"][0]
    assert list(line)[:5] == ["name", "log_loss", "brier", "accuracy", "calibration_error"]
    assert {"model_probability", "bic", "description_length"} <= line.keys()
    with (tmp_path / "out" / "leaderboard.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["log_loss"]) == line["log_loss"]
    assert load(tmp_path / "out" / "model.credo").classes_.tolist() == ["ash", "elm", "oak"]


def test_the_task_can_be_said(fit, trees):
    coded = trees.assign(kind=(trees["kind"] == "oak").astype(int))
    found, _ = fit(coded)
    assert found["task"] == "classification"
    assert "it has only two values, 0 and 1; task='regression' (--task regression) predicts it" in found["notes"][0]
    said, _ = fit(coded, "--task", "regression", models="linear")
    assert said["task"] == "regression" and "rmse" in said["leaderboard"][0]
    marks = trees.assign(kind=RNG.choice([3, 4, 5, 6], size=N))
    found, _ = fit(marks, models="linear")
    assert "is predicted as a number, although" in found["notes"][0] and "--task classification" in found["notes"][0]
    said, _ = fit(marks, "--task", "classification")
    assert said["task"] == "classification" and not any("predicted as" in note for note in said["notes"])


def test_every_model_of_classes_runs(fit, trees, short_searches):
    every = {spec.name for spec in MODELS["classification"]} - {"baseline", "spike-slab", "ordinal"}
    record, _ = fit(trees, "--cv", "2", "--time", "none", models=",".join(every))
    board = {line["name"]: line for line in record["leaderboard"]}
    # One is for two classes, one for classes on a scale, and where one model has all the weight there is no average.
    single = any("No average" in note for note in record["notes"])
    assert set(board) == {"baseline", *names("classification")} - {
        "spike-slab",
        "ordinal",
        *(["average"] if single else []),
    }
    assert all(line["error"] is None for line in board.values())
    # The heights of neighbours overlap by Φ(−1.5) = 0.067 on each side: 9 in 100 rows can't be told.
    assert all(line["accuracy"] > 0.8 for name, line in board.items() if name not in {"baseline", "boosting"}), board


def test_predictions_are_labels_and_probabilities(fit, run, trees, tmp_path):
    fit(trees)
    result = run("predict", tmp_path / "out" / "model.credo", tmp_path / "table.csv")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert list(rows[0]) == ["row", "predicted", "p(ash)", "p(elm)", "p(oak)", "outside"]
    table = np.array([[float(row[f"p({name})"]) for name in ("ash", "elm", "oak")] for row in rows])
    direct = load(tmp_path / "out" / "model.credo").predict_proba(trees)
    np.testing.assert_allclose(table, direct, rtol=1e-5)
    assert [row["predicted"] for row in rows] == np.array(["ash", "elm", "oak"])[table.argmax(axis=1)].tolist()
    assert accuracy_score(trees["kind"], [row["predicted"] for row in rows]) > 0.85
    assert log_loss(trees["kind"], table) < 0.4


def test_predictions_as_json_and_a_level_that_does_nothing(fit, run, trees, tmp_path):
    fit(trees.assign(kind=trees["kind"] == "oak"))
    model, table = tmp_path / "out" / "model.credo", tmp_path / "table.csv"
    result = run("predict", model, table, "--json", "--level", 0.5)
    record = json.loads(result.stdout)
    assert record["predictions"][0]["predicted"] in (True, False)
    assert set(record["predictions"][0]) == {"row", "predicted", "p(False)", "p(True)", "outside"}
    assert "level" not in record
    assert "Note: --level applies to numbers only" in result.stderr


def test_show_names_the_classes(fit, run, trees, tmp_path):
    fit(trees, models="discriminant")
    result = run("show", tmp_path / "out" / "model.credo")
    assert re.search(r"^classes +ash, elm, oak$", result.stdout, re.MULTILINE)
    record = json.loads(run("show", tmp_path / "out" / "model.credo", "--json").stdout)
    assert record["classes"] == ["ash", "elm", "oak"]


def test_the_sentence_says_what_a_guess_would_reach(run, trees, tmp_path, without_report):
    table = trees.assign(kind=np.where(trees["kind"] == "oak", "oak", "other"))
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--models", "logistic", "--out", tmp_path)
    assert "t.csv: 90 rows, 2 columns, target 'kind' of 2 classes." in result.stdout
    assert "always predicting other, the most frequent class, gives 66.7 %" in result.stdout
    header = next(line for line in result.stdout.splitlines() if line.startswith("model"))
    assert " ".join(header.split()) == "model log loss Brier accuracy calib error log evidence seconds"


def test_text_is_learned_through_its_words(fit, run, tmp_path):
    openings = ["win a prize now", "see you at lunch", "see you at noon"]
    said = [f"{openings[i % 3]} {'today' if i % 2 else 'later'} no {i}" for i in range(120)]
    table = pd.DataFrame({"kind": np.where(np.arange(120) % 3 == 0, "spam", "ham"), "text": said})
    record, _ = fit(table, models="logistic,bayes-logistic")
    assert all(line["accuracy"] == 1.0 for line in record["leaderboard"] if line["name"] != "baseline")
    assert any("Column 'text' is text" in note for note in record["notes"])
    (tmp_path / "new.csv").write_text("text\nwin now\nlunch at noon\n")
    result = run("predict", tmp_path / "out" / "model.credo", tmp_path / "new.csv")
    assert [row["predicted"] for row in csv.DictReader(result.stdout.splitlines())] == ["spam", "ham"]


def test_a_class_with_a_single_row_is_left_out_with_a_note(fit, trees):
    odd = trees.copy()
    odd.loc[0, "kind"] = "yew"
    odd.loc[1, "kind"] = None
    record, _ = fit(odd)
    assert "Left out 1 row whose target 'kind' is missing." in record["notes"]
    assert any("the only one of its class ('yew')" in note for note in record["notes"])
    assert record["rows"] == N - 2


def test_fifty_classes(fit):
    rng = np.random.default_rng(0)
    kind = np.arange(300) % 50
    table = pd.DataFrame({"a": kind % 7 + 0.1 * rng.normal(size=300), "b": kind // 7 + 0.1 * rng.normal(size=300)})
    record, _ = fit(table.assign(kind=[f"k{k}" for k in kind]), models="discriminant")
    assert record["leaderboard"][0]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        (["oak"] * 12, (), "the target 'kind' has only one class, 'oak', in 12 rows: there is nothing to classify"),
        ([f"k{i}" for i in range(12)], (), "'kind' has 12 classes in 12 rows, and none of them has more than one row"),
        (
            ["a", "b"] * 6,
            ("--models", "linear"),
            "the model 'linear' doesn't predict classes, and the target has classes",
        ),
        (["a", "b"] * 6, ("--task", "regression"), "is not a number (it holds 'a', 'b'); regression needs a"),
        (
            list(np.arange(12) ** 2 / 7),
            ("--models", "discriminant"),
            "the model 'discriminant' doesn't predict numbers",
        ),
    ],
    ids=["one class", "all alone", "a model of numbers", "words as numbers", "a model of classes"],
)
def test_what_can_not_be_done_is_said(run, tmp_path, kind, more, words):
    pd.DataFrame({"x": np.arange(12.0) ** 2, "kind": kind}).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--out", tmp_path / "out", *more)
    assert result.exit_code == 1
    assert words in result.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_label_that_a_column_gives_away_is_questioned(fit, trees):
    code = trees["kind"].map({"oak": 0.0, "elm": 50.0, "ash": 100.0})
    record, _ = fit(trees.assign(code=code), models="discriminant")
    assert "another form of the target" in " ".join(record["notes"])
