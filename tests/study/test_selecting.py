"""The user's choice of a model and every model as a file."""

import json

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import write


@pytest.fixture(scope="module")
def study(analyze, houses):
    return analyze(houses, "price", models=["linear", "polynomial", "boosting"], time=None)


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


@pytest.mark.parametrize("name", ["gp", "nonsense"])
def test_only_a_model_that_is_fitted_can_be_selected(analyze, houses, name):
    with pytest.raises(ValueError, match=f"select='{name}' is not among the models: .*linear"):
        analyze(houses, "price", models=["linear", "bayes"], select=name)


def test_every_fitted_model_is_written_and_loads(study, houses, tmp_path, monkeypatch):
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None)
    write(study, tmp_path, keep_all=True)
    kept = {path.stem for path in tmp_path.glob("*.credo")}
    assert kept == {"model", "baseline", "linear", "polynomial", "boosting", "average"}
    for name in kept - {"model"}:
        loaded = credo.load(tmp_path / f"{name}.credo")
        np.testing.assert_allclose(loaded.predict(houses), study[name].predict(houses), rtol=1e-12)


def test_trees_are_selected_where_they_predict_best(analyze, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 2))
    # No line separates the classes; trees do.
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    found = analyze(frame, "kind", models=["logistic", "boosting"], time=None)
    accuracy = {score.name: score.held_out["accuracy"] for score in found.comparison.scores}
    assert accuracy["boosting"] > 0.85 > 0.7 > accuracy["logistic"]
    # The average of both may be better calibrated than trees alone.
    assert found.selected in ("boosting", "average")
    found.save(tmp_path / "model.credo")
    new = frame[["a", "b"]]
    np.testing.assert_array_equal(
        credo.load(tmp_path / "model.credo").predict_proba(new), found.model.predict_proba(new)
    )


def test_an_average_joins_models_that_are_right_in_different_places(analyze, tmp_path):
    """A steep line in x, which local means flatten, and a wave in z, which a line misses."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-2, 2, size=(2, 120))
    frame = pd.DataFrame({"x": x, "z": z, "y": 3 * x + 2 * np.sin(3 * z) + 0.5 * rng.normal(size=120)})
    found = analyze(frame, "y", models=["linear", "nadaraya-watson", "average"], time=None)
    scores = {score.name: score.held_out["log_score"] for score in found.comparison.scores}
    assert "average" in scores
    # It is chosen by the scores of other rows, and so may lose a little against the best.
    assert scores["average"] > max(scores.values()) - 0.02
    model = found["average"].estimator_
    assert len(model.names_) > 1 and model.weights_.sum() == pytest.approx(1.0)
    assert model.calibration_ is None
    parts = [found[name].predict_dist(frame) for name in model.names_]
    mixed = sum(w * part.cdf(frame["y"]) for w, part in zip(model.weights_, parts, strict=True))
    np.testing.assert_allclose(found["average"].predict_dist(frame).cdf(frame["y"]), mixed, rtol=1e-10)
    found.save(tmp_path / "model.credo", "average")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict(frame), found["average"].predict(frame))
    with pytest.raises(ValueError, match="average averages the other models: name at least two"):
        analyze(frame, "y", models=["linear", "average"])


def test_the_record_is_plain(study):
    record = study.record()
    assert record["selected"] == study.selected and record["reason"] == study.reason
    assert "best" not in record
    assert json.loads(json.dumps(record))["leaderboard"][0]["name"] in {"linear", "polynomial"}


def test_a_study_selects_another_model_without_fitting_it_again(study, houses):
    other = study.select("boosting")
    assert (other.selected, study.selected) == ("boosting", "linear")
    assert other.reason == "Selected: boosting, as requested. By the held-out scores, linear would be selected."
    assert other.model is study["boosting"] and other.comparison is study.comparison
    np.testing.assert_array_equal(other.predict(houses)["mean"], study.predict(houses, name="boosting")["mean"])
    assert "boosting" in other.leaderboard.notes[0]
    assert other.select("linear").reason == "Selected: linear, as requested."
    with pytest.raises(KeyError, match=r"there is no fitted model 'gp'; choose from"):
        study.select("gp")
