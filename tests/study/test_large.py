"""Parquet files that are read in parts: the selected model is fitted to all rows."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import credo
from credo.app.cli._group import credo as group
from credo.study import analyze
from credo.study import large as _large
from credo.study.catalogue import Size
from credo.tables import Preparation, TableModel
from credo.tables import formats as parquet
from credo.tables.formats import LargeTable

pytest.importorskip("pyarrow")


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.gamma(2.0, size=n), "age": rng.integers(1, 90, n).astype(float)})
    frame["city"] = rng.choice(["Rome", "Oslo", "Bern"], n)
    frame.loc[::50, "age"] = np.nan
    frame["price"] = 3.0 * frame["size"] + (frame.city == "Rome") + 0.1 * rng.normal(size=n)
    frame["dear"] = np.where(frame.price + rng.normal(size=n) > 5.0, "yes", "no")
    return frame


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(_large, "MAX_BYTES", 1000)
    monkeypatch.setattr(_large, "_SAMPLE_ROWS", 1000)
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 2500)
    path = tmp_path / "big.parquet"
    table().to_parquet(path, row_group_size=1500)
    return path


def test_the_selected_model_is_fitted_to_all_rows(path):
    """With the preparation of the sample, the oracle is the same estimator fitted in memory."""
    study = analyze(path, "price", models=["linear", "ridge"], folds=2, progress=False, task="regression")
    assert study.data.whole.n_rows == 6000 and len(study.data.y) == 1000
    model = study.model
    assert study.selected == "linear"
    assert model.estimator_.solution_.n_observations == 6000
    frame = table()
    rows = model.preparation_.transform(frame.drop(columns="price"))
    whole = credo.LinearRegression().fit(rows, frame.price)
    np.testing.assert_allclose(model.estimator_.coef_, whole.coef_, rtol=1e-9)
    notes = " ".join(map(str, study.notes))
    assert "random sample of 1,000 of its 6,000 rows" in notes and "fitted to all 6,000 rows" in notes
    np.testing.assert_allclose(study.predict(frame[:5])["mean"], whole.predict(rows[:5]), rtol=1e-9)


def test_rows_keep_their_weights(path):
    frame = table().assign(copies=np.arange(6000) % 4)
    frame.to_parquet(path, row_group_size=1500)
    study = analyze(path, "price", models=["linear"], folds=2, progress=False, weight="copies", task="regression")
    rows = study.model.preparation_.transform(frame.drop(columns=["price", "copies"]))
    whole = credo.LinearRegression().fit(rows, frame.price, sample_weight=frame.copies)
    np.testing.assert_allclose(study.model.estimator_.coef_, whole.coef_, rtol=1e-9)


def test_known_units_and_possible_values_of_a_table_in_parts(path):
    frame = table().assign(shop=np.arange(6000) % 40)
    frame["price"] += 3.0 + np.random.default_rng(0).normal(size=40)[frame["shop"]]
    frame.to_parquet(path, row_group_size=1500)
    study = analyze(path, "price", models=["linear"], folds=2, progress=False, groups="shop", task="regression")
    found = study.predict(frame[:60])
    assert found["known shop"].all() and study.model.support.low == 0.0
    assert found["std"].mean() < 0.5 * study.predict(frame[:60].assign(shop=-1))["std"].mean()


def test_by_default_models_that_can_be_fitted_in_parts(path):
    assert _large.names_in_parts(Size(1000, 5, classes=2)) == ("logistic",)
    study = analyze(path, "dear", folds=2, progress=False)
    assert {score.name for score in study.comparison.scores} == {"baseline", "logistic"}
    assert study.model.estimator_.n_observations_ == 6000
    small = analyze(path, "dear", models=["discriminant"], folds=2, progress=False)
    assert "can't be fitted in parts" in " ".join(map(str, small.notes))
    in_parts = ("linear", "ridge", "bayes", "lasso", "spike-slab", "additive", "polynomial", "gp")
    assert _large.names_in_parts(Size(1000, 5)) == in_parts


def test_an_additive_model_has_the_same_factors_of_all_rows(path, monkeypatch):
    for name in ("_MAX_SAMPLE_ROWS", "_MIN_SAMPLE_ROWS"):
        monkeypatch.setattr(f"credo.core.parts.parts.{name}", 500)
    frame = table()
    model = TableModel(Preparation(standardize=True), credo.AdditiveRegressor(family="gaussian", pairs=0), "price")
    found, notes = _large.fitted_to_all(model.fit(frame[:100], frame.price[:100]), LargeTable.of(path))
    assert "fitted to all 6,000 rows" in notes[0]
    prepared = found.preparation_
    rows = found.for_estimator(prepared.transform(frame.drop(columns="price")))
    whole = credo.AdditiveRegressor(family="gaussian", pairs=0).fit(rows, frame.price, column_groups=prepared.groups())
    labels = [[term.label for term in one.fitted_terms_] for one in (found.estimator_, whole)]
    assert labels[0] == labels[1] and "factor(city)" in labels[0]
    # The knots are those of a sample.
    np.testing.assert_allclose(found.predict(frame), whole.predict(rows), atol=0.1 * whole.noise_std_)


def test_a_process_is_fitted_to_all_rows(path, monkeypatch):
    for name in ("_MAX_SAMPLE_ROWS", "_MIN_SAMPLE_ROWS"):
        monkeypatch.setattr(f"credo.core.parts.parts.{name}", 200)
    frame = table()
    estimator = credo.GPRegressor("rbf", n_inducing=60, n_restarts=0, max_evaluations=15)
    sample = TableModel(Preparation(standardize=True), estimator, "price").fit(frame[:100], frame.price[:100])
    found, notes = _large.fitted_to_all(sample, LargeTable.of(path))
    model = found.estimator_
    assert "fitted to all 6,000 rows" in notes[0]
    assert model.method_ == "inducing" and model.posterior_.sums.weight == 6000
    # The levels of the city share a length scale.
    assert len(set(model.column_groups_)) < model.n_features_in_
    rows = table(seed=1)[:200]
    np.testing.assert_allclose(found.predict(rows), rows.price, atol=0.6)


@pytest.mark.parametrize("name", ["ridge", "polynomial"])
def test_penalties_and_features_are_those_of_the_sample(path, name):
    study = analyze(path, "price", models=[name], folds=2, progress=False)
    last = study.model.estimator_ if name == "ridge" else study.model.estimator_[-1]
    assert last.posterior_.spectrum.weight == 6000
    rows = table(seed=1)[:200]
    np.testing.assert_allclose(study.predict(rows)["mean"], rows.price, atol=0.6)


def test_the_command_line_says_so_and_the_model_can_be_saved(path, tmp_path, monkeypatch):
    # Without the report, which takes seconds to draw.
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None)
    arguments = [
        "fit",
        str(path),
        "--target",
        "price",
        "--models",
        "bayes",
        "--folds",
        "2",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0, done.output
    assert any("is read in parts" in note for note in json.loads(done.stdout)["notes"])
    model = credo.load(tmp_path / "out" / "model.credo")
    assert model.estimator_.posterior_.spectrum.weight == 6000
    out = tmp_path / "predicted.csv"
    again = CliRunner().invoke(group, ["predict", str(tmp_path / "out" / "model.credo"), str(path), "-o", str(out)])
    assert again.exit_code == 0 and "is read in parts" in again.output, again.output
    found = pd.read_csv(out)
    np.testing.assert_array_equal(found["row"], np.arange(6000) + 1)
    np.testing.assert_allclose(found["mean"], model.predict(table().drop(columns="price")), rtol=1e-3, atol=1e-3)
    wrong = CliRunner().invoke(group, [*arguments, "--scheduler", "tcp://nowhere:1"])
    assert wrong.exit_code != 0 and "--engine dask" in wrong.output


def test_dask_fits_row_groups(path, monkeypatch):
    dask = pytest.importorskip("dask")
    monkeypatch.setattr(_large, "_client", lambda engine, scheduler: dask.config.set(scheduler="synchronous"))
    local = analyze(path, "price", models=["bayes"], folds=2, progress=False)
    found = analyze(path, "price", models=["bayes"], folds=2, progress=False, engine="dask")
    np.testing.assert_allclose(found.model.estimator_.coef_, local.model.estimator_.coef_, rtol=1e-9)
    table().to_csv(path.with_suffix(".csv"))
    with pytest.raises(credo.tables.TableError, match="reads Parquet files"):
        analyze(path.with_suffix(".csv"), "price", engine="dask")
    with pytest.raises(ValueError, match="pass the path of one"):
        analyze(table(), "price", engine="dask")
    with pytest.raises(ValueError, match="engine must be one of local, dask"):
        analyze(path, "price", engine="spark")


def test_ctrl_c_leaves_the_fit_to_the_sample(path, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(LargeTable, "frames", interrupted)
    study = analyze(path, "price", models=["linear"], folds=2, progress=False)
    assert study.model.estimator_.n_observations_ == 1000
    assert any("Stopped by Ctrl-C" in str(note) for note in study.notes)


def test_a_sample_is_random_and_in_order(path):
    whole = LargeTable.of(path)
    rows = whole.sample(1000)
    assert rows.equals(whole.sample(1000)) and not rows.equals(whole.sample(1000, seed=1))
    places = table().reset_index().merge(rows.drop_duplicates(), how="inner")["index"]
    assert len(places) >= 1000 and places.is_monotonic_increasing
    # Of a uniform sample, the mean place is within four standard errors of the middle.
    assert abs(places.mean() - 3000) < 4 * 6000 / np.sqrt(12 * 1000)
    assert sum(map(len, whole.frames())) == 6000
