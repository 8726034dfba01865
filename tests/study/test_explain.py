"""`study.explain`: contributions of the columns of a table, for models of every kind."""

import re
import time

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import explain
from credo.tables import TableModel
from credo.tables.target import Support

MODELS = ["linear", "gp", "forest", "boosting"]


@pytest.fixture(scope="module")
def study(analyze, houses):
    return analyze(houses, "price", models=MODELS, time=None)


@pytest.mark.parametrize("name", [*MODELS, "baseline"])
def test_contributions_add_up_to_the_prediction(study, houses, name):
    rows = houses.iloc[[7, 3]]
    found = study.explain(rows, name=name)
    assert found.rows == (7, 3) and found.inputs == ("size", "age", "colour") and found.outputs == ("price", "price")
    # Explained is the mean before it is limited to prices that aren't negative.
    np.testing.assert_allclose(found.predictions, study.predict(rows, name=name)["mean"], rtol=1e-3)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.predictions)
    np.testing.assert_allclose(found.base, study[name].unlimited().predict(houses).mean())
    # With three inputs all subsets are evaluated.
    assert not found.errors.any()


def test_a_linear_model_has_its_closed_form(study, houses):
    found = study.explain(houses.head(5), name="linear")
    effects = {effect.name: effect.estimate for effect in study["linear"].describe().effects}
    size = effects["size"] * (houses["size"] - houses["size"].mean())
    np.testing.assert_allclose(found.contributions[:, 0], size.head(5))
    levels = [name for name in effects if name.startswith("colour=")]
    colour = sum(effects[name] * (houses["colour"] == name.removeprefix("colour=")) for name in levels)
    np.testing.assert_allclose(found.contributions[:, 2], (colour - colour.mean()).head(5))


def test_the_table_has_values_and_the_largest_first(study, houses):
    one, two = study.explain(houses.head(1)).table(), study.explain(houses.head(2)).table()
    assert list(one.shown()) == ["input", "value", "contribution"]
    assert list(two.shown()) == ["row", "input", "value", "contribution"] and two.columns["row"] == [0] * 3 + [1] * 3
    sizes = np.abs(one.columns["contribution"])
    assert (np.diff(sizes) <= 0).all()
    values = dict(zip(one.columns["input"], one.columns["value"], strict=True))
    assert values == houses.drop(columns="price").iloc[0].to_dict()
    assert str(study.explain(houses.head(1))) == str(one)


def test_a_model_without_inputs_explains_nothing(study, houses):
    found = study.explain(houses.head(1), name="baseline")
    assert not found.contributions.any()
    # Few prices of the baseline's distribution are below 0, but enough to change the fourth digit.
    sentence = (
        r"^Row 0: predicted price [\d.]+ \([\d.]+ once limited to the .* price\), which is the average prediction"
    )
    assert re.search(sentence, str(found), re.MULTILINE)


def test_a_limited_prediction_is_that_of_predict():
    """Counts near zero: the mean of the possible values is above the line, and the sentence has both."""
    x = np.linspace(0, 4, 60)
    frame = pd.DataFrame({"dose": x, "faults": np.random.default_rng(0).poisson(x / 2).astype(float)})
    model = TableModel(None, credo.LinearRegression(), "faults", Support(0.0, np.inf, 1.0)).fit(frame)
    low = frame.head(1).drop(columns="faults")
    mean, text = model.predict(low)[0], str(explain(model, low, frame))
    assert mean > model.unlimited().predict(low)[0] + 0.1
    assert f"({mean:.4g} once limited to the possible values of faults)" in text
    # Far from zero there is nothing to add.
    assert "limited" not in str(explain(model, pd.DataFrame({"dose": [100.0]}), frame))


def test_a_class_is_explained_by_its_probability(analyze, houses):
    kind = np.digitize(houses["price"], houses["price"].quantile([0.3, 0.6]))
    frame = houses.drop(columns="price").assign(kind=np.array(["low", "mid", "high"])[kind])
    study = analyze(frame, "kind", models="logistic")
    found, told = study.explain(frame.head(6)), study.predict(frame.head(6))
    assert found.outputs == tuple(f"p({label})" for label in told["predicted"])
    best = [told[output].iloc[i] for i, output in enumerate(found.outputs)]
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), best)


def hard_table():
    """Dates, gaps, a text, levels."""
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d").to_numpy()[rng.permutation(n)],
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "soil": rng.choice(["sand", "clay", "peat"], n),
            "said": [" ".join(rng.choice(["good", "bad", "rain", "hail", "sun", "fog"], 5)) for _ in range(n)],
            "weight": [f"{value:.1f} kg" for value in rng.uniform(1, 9, n)],
        }
    )
    y = frame["dose"].fillna(0) + (frame["soil"] == "sand") + frame["said"].str.count("good") + rng.normal(size=n) / 9
    return frame, y.to_numpy()


def test_cells_of_every_kind_are_mixed():
    frame, y = hard_table()
    model = TableModel(credo.tables.Preparation(kinds={"said": "text"}), credo.Ridge(), "y").fit(frame, y)
    new = pd.DataFrame(
        {"day": ["2024-03-01"], "dose": [np.nan], "soil": ["gravel"], "said": ["good good sun"], "weight": ["3.0 kg"]}
    )
    found = explain(model, new, frame)
    assert found.inputs == ("day", "dose", "soil", "said", "weight")
    with pytest.warns(credo.tables.TableWarning, match="gravel"):
        np.testing.assert_allclose(found.predictions, model.predict(new))
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.predictions)
    # A level that was not in the training data is their average, and so adds about nothing.
    soil, said = found.contributions[0, [2, 3]]
    assert abs(soil) < 0.1 < said
    values = dict(zip(*(found.table().columns[key] for key in ("input", "value")), strict=True))
    assert values["dose"] is None and values["day"] == "2024-03-01"


def test_with_many_inputs_there_are_standard_errors_and_it_is_fast():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(500, 10))).add_prefix("x")
    y = (X["x0"] * X["x1"] * X["x2"] + X["x3"] + 0.1 * rng.normal(size=500)).to_numpy()
    model = TableModel(None, credo.GPRegressor(max_evaluations=20, random_state=0), "y").fit(X, y)
    explain(model, X.head(1), X)
    start = time.process_time()
    found = explain(model, X.tail(1), X)
    assert time.process_time() - start < 2.0
    assert found.n_background == 100 and found.errors.any() and "standard error" in found.table().shown()
    more = explain(model, X.tail(1), X, n_pairs=40)
    assert more.n_background == 100 and more.errors.sum() < 0.4 * found.errors.sum()
    gap = np.abs(more.contributions - found.contributions) / np.hypot(more.errors, found.errors)
    assert gap.max() < 4
    # The background is spread over the predictions, so that its mean is near that of the table.
    np.testing.assert_allclose(found.base, model.predict(X).mean(), atol=0.02 * y.std())


def test_the_waterfall_ends_at_the_prediction(study, houses):
    found = study.explain(houses.head(2))
    ax = found.waterfall(1)
    bars = ax.patches
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(found.predictions[1])
    assert ax.get_xlabel() == "predicted price"


def additive_table(n=200):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"dose": rng.uniform(0, 3, n), "soil": rng.choice(["sand", "clay", "peat"], n)})
    return frame, np.exp(np.sin(2 * frame["dose"]) + (frame["soil"] == "peat") + 0.2 * rng.normal(size=n)).to_numpy()


def test_an_additive_model_is_explained_by_its_terms_exactly():
    frame, y = additive_table()
    model = TableModel(None, credo.AdditiveRegressor(family="gaussian"), "y").fit(frame, y)
    found = explain(model, frame.head(3), frame)
    assert found.inputs[:2] == ("dose", "soil") and not found.errors.any() and found.n_background == 0
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), model.predict(frame.head(3)))
    np.testing.assert_allclose(found.base, y.mean())
    parts = pd.DataFrame(
        np.vstack([explain(model, frame, frame).contributions]), columns=list(found.inputs)
    )  # every term is zero on average over the training rows
    np.testing.assert_allclose(parts.mean(), 0.0, atol=1e-9)
    assert "the average over the training rows" in str(found)
    assert found.waterfall(0).get_xlabel() == "predicted y"


def test_terms_of_links_and_transformed_targets_say_their_scale():
    frame, y = additive_table()
    log = TableModel(
        None, credo.TransformedTarget(credo.AdditiveRegressor(family="gaussian"), transformation="log"), "y"
    )
    found = explain(log.fit(frame, y), frame.head(1), frame)
    assert found.outputs == ("log of y",) and found.responses == (f"y {log.predict(frame.head(1))[0]:.4g}",)
    np.testing.assert_allclose(found.base, np.log(y).mean())
    two = TableModel(None, credo.AdditiveClassifier(), "y").fit(frame, np.where(y > 2, "high", "low"))
    found = explain(two, frame.head(1), frame)
    assert found.outputs == ("log odds of low",)
    assert found.responses == (f"p(low) {two.predict_proba(frame.head(1))[0, 1]:.4g}",)
    three = TableModel(None, credo.AdditiveClassifier(), "y").fit(frame, np.digitize(y, [1.0, 3.0]))
    found = explain(three, frame.head(4), frame)
    assert found.outputs == tuple(f"log odds of {c} against the average class" for c in three.predict(frame.head(4)))
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.predictions)


def test_an_unknown_level_of_an_additive_model_is_averaged_as_in_its_prediction():
    frame, y = additive_table()
    model = TableModel(None, credo.AdditiveRegressor(family="gaussian"), "y").fit(frame, y)
    new = frame.head(1).assign(soil="gravel")
    found = explain(model, new, frame)
    assert found.n_background > 0
    with pytest.warns(credo.tables.TableWarning, match="gravel"):
        np.testing.assert_allclose(found.predictions, model.predict(new))


def test_what_cannot_be_explained_is_said(study, houses):
    with pytest.raises(ValueError, match="fewer than two rows"):
        explain(study.model, houses, houses.head(1))
    with pytest.raises(ValueError, match="'colour'"):
        study.explain(houses.drop(columns="colour"))
    with pytest.warns(credo.ConvergenceWarning):
        model = credo.Perceptron().fit(houses[["size", "age"]], houses["price"] > 100)
    with pytest.raises(ValueError, match="no class probabilities"):
        explain(model, houses[["size", "age"]], houses[["size", "age"]])


def test_terms_of_the_calendar_are_explained_by_their_date(analyze):
    days = pd.date_range("2022-01-03", periods=200)
    sales = 100 + 30 * (days.day_of_week == 5) + np.random.default_rng(0).normal(0, 5, 200)
    table = pd.DataFrame({"day": days.repeat(2), "shop": ["a", "b"] * 200, "sales": sales.repeat(2)})
    study = analyze(table, "sales", models=["additive", "linear"], time=None).select("additive")
    found = study.explain(table.iloc[[10, 11]])
    (i,) = (i for i, name in enumerate(found.inputs) if "weekday" in name)
    assert str(found.cells[0][i]).startswith("2022-01-08") and found.contributions[0, i] > 20
