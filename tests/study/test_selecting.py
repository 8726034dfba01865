"""The user's choice of a model, and every model as a file."""

import json

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import write


@pytest.fixture(scope="module")
def study(analyze, houses):
    return analyze(houses, "price", models=["linear", "polynomial", "boosting"])


def test_another_model_can_be_selected(analyze, houses, study):
    found = analyze(houses, "price", models=["linear", "polynomial"], select="polynomial")
    assert study.selected == "linear"
    assert found.selected == "polynomial"
    assert "as requested" in found.reason and "linear would be selected" in found.reason
    assert found.record()["selected"] == "polynomial"
    np.testing.assert_allclose(found.predict(houses)["mean"], found["polynomial"].predict(houses))


def test_a_fitted_model_prints_in_a_line(study):
    assert repr(study["linear"]) == "TableModel(estimator=LinearRegression(), target='price')"


def test_selecting_what_would_be_selected_anyway(analyze, houses):
    assert "would be" not in analyze(houses, "price", models=["linear", "polynomial"], select="linear").reason


@pytest.mark.parametrize("name", ["gp", "boosting", "nonsense"])
def test_only_a_model_that_can_be_saved_can_be_selected(analyze, houses, name):
    with pytest.raises(ValueError, match=f"select='{name}' is not among the models: .*linear"):
        analyze(houses, "price", models=["linear", "boosting"], select=name)


def test_every_fitted_model_is_written_and_loads(study, houses, tmp_path, monkeypatch):
    monkeypatch.setattr("credo.study._write.find_spec", lambda name: None)
    write(study, tmp_path, keep_all=True)
    kept = {path.stem for path in tmp_path.glob("*.credo")}
    assert kept == {"model", "baseline", "linear", "polynomial"}
    for name in kept - {"model"}:
        loaded = credo.load(tmp_path / f"{name}.credo")
        np.testing.assert_allclose(loaded.predict(houses), study[name].predict(houses), rtol=1e-12)


def test_a_reference_is_never_selected_however_good_it_is(analyze):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    # No line separates the classes; trees do.
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    found = analyze(frame, "kind", models=["logistic", "boosting"])
    accuracy = {score.name: score.held_out["accuracy"] for score in found.comparison.scores}
    assert accuracy["boosting"] > 0.9 > 0.7 > accuracy["logistic"]
    assert found.selected in {"baseline", "logistic"}
    assert "boosting" not in found.record()["tied"]
    assert any(note.important and "boosting" in note.text for note in found.notes)
    with pytest.raises(ValueError, match="boosting is fitted for reference only"):
        analyze(frame, "kind", models="boosting")


def test_a_reference_is_on_the_leaderboard(study):
    assert "boosting" in study.comparison.references
    assert "boosting" not in study.saveable()
    assert any(score.name == "boosting" for score in study.comparison.scores)


def test_the_record_is_plain(study):
    record = study.record()
    assert record["selected"] == study.selected and record["reason"] == study.reason
    assert "best" not in record
    assert json.loads(json.dumps(record))["leaderboard"][0]["name"] in {"linear", "polynomial"}
