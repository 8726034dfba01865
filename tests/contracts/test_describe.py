"""Every model describes itself in one form, from which summary, report and figures read."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tests.contracts.estimators import cases, classifiers, fitted, regressors

import credo
from credo.core.estimator import COEFFICIENT, INTERCEPT, Description, describe
from credo.tables import TableModel

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X @ [1.0, -1.0, 0.0] + 0.3 * np.random.default_rng(1).normal(size=40)
LABELS = np.array(["oak", "yew"])[(Y > 0).astype(int)]


def check(model, found):
    assert isinstance(found, Description)
    assert found.words and found.words[0].isupper() and "\n" not in found.words and ". " not in found.words
    assert len(found.words) <= 120 and not found.words.endswith(".")
    assert [name for name, _ in found.settings] == list(model.get_params(deep=False))
    for effect in found.effects:
        assert np.isfinite(effect.estimate) and (effect.lower is None) == (effect.upper is None)
        if effect.lower is not None:
            assert effect.lower <= effect.estimate <= effect.upper
    assert not found.inputs or (found.measure and [name for name, _ in found.inputs] == list(found.columns))
    assert all(np.isfinite(value) and value >= 0 for _, value in found.inputs)
    estimate, lower, upper = found.coefficients()
    assert estimate.shape == lower.shape == upper.shape


@pytest.mark.parametrize("model", cases([*regressors(), *classifiers()]), ids=repr)
def test_a_fitted_model_describes_itself(model):
    model = fitted(model, X, LABELS if is_classifier(model) else Y)
    found = model.describe()
    check(model, found)
    assert found.equation
    # The summary is made of the same numbers; of few columns it leaves none out.
    table = model.summary()
    told = dict(zip(table.columns["parameter"], table.columns["estimate"], strict=True))
    assert {effect.name for effect in found.effects} == set(told)
    for effect in found.effects:
        sparse = effect.lower == effect.upper == 0.0
        assert effect.estimate == (0.0 if sparse else pytest.approx(told[effect.name]))
    if found.curve is not None:
        mean, lower, upper = found.curve.band(X[:5])
        assert (lower <= upper).all() and np.isfinite(mean).all()
        assert found.curve.difference(X[:2]) is None or len(found.curve.difference(X[:2])) == 2


@pytest.mark.parametrize("model", cases(classifiers(variants=False)), ids=repr)
def test_a_model_of_three_classes_describes_itself_too(model):
    y = np.array(["ash", "elm", "oak"])[np.digitize(Y, [-0.7, 0.7])]
    try:
        model = fitted(model, X, y)
    except ValueError as error:
        assert "binary" in str(error)
        return
    found = model.describe()
    check(model, found)
    assert found.classes == ("ash", "elm", "oak")
    assert len(found.coefficients()[0]) in (0, 3)
    if found.curve is not None:
        assert all(part.shape == (5, 3) for part in found.curve.band(X[:5]))


def test_a_linear_model_has_its_coefficients():
    model = credo.LinearRegression().fit(X, Y)
    found = model.describe(level=0.9)
    assert [effect.kind for effect in found.effects] == [INTERCEPT, *[COEFFICIENT] * 3]
    estimate, lower, upper = found.coefficients()
    np.testing.assert_array_equal(estimate, [model.coef_])
    np.testing.assert_allclose(np.vstack([lower, upper]).T, np.asarray(model.confint(0.9))[1:])
    low, high = found.curve.difference(X[:2])
    expected = model.predict(X[:2]) @ [-1, 1]
    assert low < expected < high and (low + high) / 2 == pytest.approx(expected)


def test_coefficients_of_classes_have_a_row_for_each():
    y = np.digitize(Y, [-0.5, 0.5])
    estimate, *_ = credo.LogisticRegression(1.0).fit(X, y).describe().coefficients()
    assert estimate.shape == (3, 3)


def test_pipelines_searches_and_other_libraries_are_described_too():
    pipeline = make_pipeline(StandardScaler(), credo.LinearRegression()).fit(X, Y)
    found = describe(pipeline)
    assert found.words == "Linear regression by least squares after standard scaler"
    np.testing.assert_allclose(found.curve.band(X)[0], pipeline.predict(X))
    foreign = describe(DecisionTreeRegressor(max_depth=2).fit(X, Y))
    assert foreign.words == "Decision tree regressor" and ("max_depth", "2") in foreign.settings
    assert foreign.effects == () and foreign.curve is None


def test_an_average_names_its_members_by_weight():
    line, spiky = credo.BayesianLinearRegression(), credo.SpikeSlabRegressor()
    found = credo.ModelAverage([("line", line), ("subsets", spiky)], weights="stacking", cv=2).fit(X, Y).describe()
    assert re.fullmatch(r"Average of (subsets \(\d+ %\) and line|line \(\d+ %\) and subsets) \(\d+ %\)", found.words)
    assert [name for name, _ in found.members] == ["line", "subsets"]
    assert sum(weight for _, weight in found.members) == pytest.approx(1.0)


def test_a_transformed_target_names_the_transformation():
    found = credo.TransformedTarget(credo.LinearRegression(), transformation="log").fit(X, np.exp(Y)).describe()
    assert found.transform == "log" and "log" in found.words and found.coefficients()[0].shape == (1, 3)
    mean, lower, upper = found.curve.band(X)
    assert (lower > 0).all() and (lower < mean).all() and (mean < upper).all()


@pytest.mark.parametrize("estimator", [credo.LinearRegression(), credo.Lasso(0.01), credo.SpikeSlabRegressor()])
def test_a_table_model_has_the_units_and_names_of_the_table(estimator):
    frame = pd.DataFrame(X * [10.0, 0.1, 1.0] + [5.0, 0.0, -3.0], columns=["dose", "depth", "age"])
    model = TableModel(None, estimator).fit(frame, Y)
    found = model.describe()
    assert found.columns == ("dose", "depth", "age")
    slopes = {effect.name: effect.estimate for effect in found.effects if effect.kind == COEFFICIENT}
    moved = frame.assign(dose=frame["dose"] + 1.0)
    assert slopes["dose"] == pytest.approx(model.predict(moved)[0] - model.predict(frame)[0], rel=1e-6)
    level = next(effect.estimate for effect in found.effects if effect.kind == INTERCEPT)
    assert level == pytest.approx(model.predict(0 * frame)[0], rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(found.curve.band(frame)[0], model.predict(frame))
