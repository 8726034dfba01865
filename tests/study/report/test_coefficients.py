"""Coefficients on a common scale, and sentences about them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from credo.ensemble import TransformedTarget
from credo.linear import BayesianLinearRegression, LinearRegression, LMSRegression, LogisticRegression, Ridge
from credo.sparse import Lasso, LassoCV, SparseLogisticRegression, SpikeSlabRegressor
from credo.study.report._inputs import (
    Coefficients,
    Effects,
    coefficient_figure,
    coefficient_sentence,
    effect_sentences,
    steps,
)
from credo.tables import Preparation, TableModel


def made(estimate, half, model="bayes", names=None):
    estimate, half = np.asarray(estimate, dtype=float), np.asarray(half, dtype=float)
    names = names or [f"x{i}" for i in range(len(estimate))]
    return Effects(model, names, estimate, estimate - half, estimate + half)


def effects(models, frame):
    every = (Coefficients.of(name, model, frame) for name, model in models.items())
    found = (each.effects() for each in every if each is not None)
    return next((each for each in found if each is not None), None)


def fitted(estimator, frame, y):
    return TableModel(Preparation(standardize=True), estimator, "y").fit(frame, y)


def test_a_step_is_a_standard_deviation_or_from_one_value_to_the_other():
    rng = np.random.default_rng(0)
    numeric, binary = rng.normal(size=50), rng.integers(0, 2, size=50)
    words = rng.integers(0, 2, size=50) * 3.0
    few = np.where(rng.uniform(size=50) < 0.2, rng.normal(size=50), 0.0)
    X = np.column_stack([numeric, (binary - 0.4) / 0.7, words, few])
    expected = [numeric.std(), 1 / 0.7, 3.0, few.std()]
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
        np.testing.assert_allclose(steps(rows)[0], expected)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(alpha=1e-8), BayesianLinearRegression()])
def test_effects_are_in_units_of_the_target(estimator):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"dose": rng.normal(5, 2, size=400), "group": rng.choice(["a", "b"], size=400, p=[0.7, 0.3])})
    y = 4 * frame["dose"].to_numpy() - 3 * (frame["group"] == "b").to_numpy() + 0.1 * rng.normal(size=400)
    found = effects({"model": fitted(estimator, frame, y)}, frame)
    assert found.names == ["dose", "group=b"] and found.is_clear.all()
    # Standard errors are 0.1/√400 and 0.1/√(400 · 0.21); five of them.
    np.testing.assert_allclose(found.estimate, [4 * frame["dose"].std(ddof=0), -3.0], atol=0.06)
    assert ((found.lower < found.estimate) & (found.estimate < found.upper)).all()


def test_effects_are_those_of_the_first_model_with_finite_intervals():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=40)})
    y = frame["x"].to_numpy() + rng.normal(size=40)
    models = {
        "lms": fitted(LMSRegression(random_state=0), frame, y),
        "ols": fitted(LinearRegression(), frame, y),
    }
    found = effects(models, frame)
    assert found.model == "ols" and found.is_known.all()
    assert effects({"lms": models["lms"]}, frame) is None


@pytest.mark.parametrize("dof", [2, 5])
@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), Ridge(alpha=0.5), BayesianLinearRegression(noise_precision="conjugate")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_intervals_are_those_of_the_model_with_few_degrees_of_freedom(estimator, dof):
    rng = np.random.default_rng(dof)
    frame = pd.DataFrame(rng.normal(size=(4 + dof, 3)), columns=["a", "b", "c"])
    model = fitted(estimator, frame, frame["a"].to_numpy() + rng.normal(size=4 + dof))
    found = effects({"model": model}, frame)
    scale, _ = steps(model.preparation_.transform(frame))
    lower, upper = np.asarray(model.estimator_.confint(0.95))[1:].T
    np.testing.assert_allclose(found.lower, lower * scale)
    np.testing.assert_allclose(found.upper, upper * scale)


def test_coefficients_that_the_rows_do_not_determine():
    found = made([1.0, 1.0, 0.0], [0.5, np.inf, 0.0])
    assert found.strength.tolist() == [1.0, 0.0, 0.0]
    assert found.is_known.tolist() == [True, False, True] and found.is_clear.tolist() == [True, False, False]
    assert "not determined" in coefficient_sentence(found, best="bayes", shown=2)
    (said,) = effect_sentences(made([1.0, 2.0, 3.0], [0.1, np.inf, np.inf]), best="bayes", target="y")
    assert "y rises with x0," in said and "coefficients of x1 and x2" in said


def test_spike_and_slab_has_its_own_intervals():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 12))).add_prefix("g")
    y = 3 * frame["g0"].to_numpy() - 2 * frame["g1"].to_numpy() + rng.normal(size=90)
    model = fitted(SpikeSlabRegressor("beta-binomial", slab="g"), frame, y)
    found = effects({"spike-slab": model}, frame)
    assert np.flatnonzero(found.is_clear).tolist() == [0, 1]
    assert found.lower[0] < 3 * frame["g0"].std(ddof=0) < found.upper[0]
    table = model.estimator_.summary(level=0.95)
    zero = np.asarray(table.columns["lower"][1:]) == np.asarray(table.columns["upper"][1:])
    assert zero.any() and (found.estimate[zero] == 0).all()


def test_coefficients_of_a_log_target_are_factors(pictures):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"size": rng.normal(size=300), "age": rng.normal(size=300)})
    price = np.exp(3 + np.log(1.5) * frame["size"].to_numpy() + 0.1 * rng.normal(size=300))
    tables = {
        "linear-log": fitted(TransformedTarget(LinearRegression(), transformation="log", random_state=0), frame, price)
    }
    found = effects(tables, frame)
    # Per standard deviation of size, which is 1 but for chance: a factor of 1.5.
    np.testing.assert_allclose(found.estimate[0], np.log(1.5) * frame["size"].std(ddof=0), atol=0.02)
    said = effect_sentences(found, best="linear-log", target="price")
    factor = float(re.search(r"size, multiplies price by (\d\.\d+)", said[1])[1])
    assert factor == pytest.approx(1.5 ** frame["size"].std(ddof=0), abs=0.03)
    assert "change in log of price" in coefficient_figure(found, best="linear-log", target="price").svg


@pytest.mark.parametrize(
    ("estimate", "half", "text"),
    [
        ([2.0, -1.0, 0.1], [1.0, 0.5, 1.0], "Two of the three coefficients have 95 % intervals that exclude zero"),
        ([2.0, 0.1], [1.0, 1.0], "One of the two coefficients has"),
        ([2.0, 3.0], [1.0, 1.0], "Both coefficients have"),
        ([2.0] * 3, [1.0] * 3, "All three coefficients have"),
        ([0.1, 0.1], [1.0, 1.0], "Neither of the two"),
        ([0.1] * 3, [1.0] * 3, "None of the three"),
        ([0.1], [1.0], "The only coefficient has a 95 % interval that includes zero"),
        ([2.0], [1.0], "The only coefficient has a 95 % interval that excludes zero"),
    ],
)  # fmt: skip
def test_clear_coefficients_are_counted(estimate, half, text):
    assert coefficient_sentence(made(estimate, half), best="bayes", shown=9).startswith(text)


def test_many_coefficients_are_put_in_proportion():
    text = coefficient_sentence(made([5.0] * 12 + [0.0] * 288, [1.0] * 300), best="bayes", shown=20)
    assert "x7 and 4 more (positive)" in text and "about 15 would do so by chance" in text and "shows the 20" in text
    assert coefficient_sentence(made([5.0], [1.0], "ridge"), best="gp", shown=1).startswith("In ridge, ")


def test_effects_are_ranked_by_estimate_over_uncertainty():
    # A rare level with a large step and t = 2, beside a column with t = 13.
    fact = made([40.0, -3.0, 2.0], [39.0, 0.45, 0.5], names=["rare", "dose", "age"])
    (said,) = effect_sentences(fact, best="bayes", target="y")
    assert said.startswith("Clearest effects: y rises with age and falls with dose,") and "rare" not in said
    assert "in ridge: y rises with x0." in effect_sentences(made([2.0], [1.0], "ridge"), best="b", target="y")[0]
    assert "differs clearly from zero" in effect_sentences(made([1.0], [2.0]), best="bayes", target="y")[0]


def test_weights_are_coefficients_times_standard_deviations():
    """Of three binary inputs, the rare one has the largest coefficient and the smallest spread; one has none."""
    rng = np.random.default_rng(0)
    rows = (rng.uniform(size=(400, 3)) < [0.5, 0.02, 0.5]).astype(float)
    table = pd.DataFrame(rows, columns=["often", "rare", "idle"])
    y = np.where(rows[:, 0] + 3 * rows[:, 1] + rng.normal(0, 0.3, size=400) > 0.5, "spam", "ham")
    model = TableModel(Preparation(), LogisticRegression(1.0), "y").fit(table, y)
    model.estimator_.coef_ = np.array([[2.0, 5.0, 0.0]])
    found = Coefficients.of("logistic", model, table)
    values, classes = found.weights()
    np.testing.assert_allclose(values, [2 * rows[:, 0].std(), 5 * rows[:, 1].std(), 0.0])
    assert classes[:2] == ["spam", "spam"]
    shown = found.weight_figure("y")
    assert ">idle" not in shown.svg and "2 of 3 coefficients are non-zero" in shown.answer
    # Against one of three classes is for the others.
    three = np.array(["low", "middle", "high"])[np.arange(400) % 3]
    model = TableModel(Preparation(), LogisticRegression(1.0), "y").fit(table[["often", "rare"]], three)
    model.estimator_.coef_ = np.array([[-3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    values, classes = Coefficients.of("logistic", model, table).weights()
    assert values[0] == pytest.approx(rows[:, 0].std()) and classes[0] != model.classes_[0]


def test_words_of_a_text_are_named_by_class():
    said = [f"{'win cash' if i % 2 else 'see you'} {'now' if i % 3 else 'soon'} number {i}" for i in range(80)]
    table = pd.DataFrame({"text": said})
    model = fitted(LogisticRegression(1.0), table, np.where(np.arange(80) % 2, "spam", "ham"))
    found = Coefficients.of("logistic", model, table)
    values, classes = found.weights()
    assert {found.names[i]: classes[i] for i in np.argsort(-values)[:4]} == {
        "win": "spam", "cash": "spam", "see": "ham", "you": "ham",
    }  # fmt: skip
    said = found.weight_sentence("kind")
    assert re.search(r"the words? “\w+”.* for (ham|spam); the words? “\w+”.* for (ham|spam)\.", said)


def test_non_zero_coefficients_are_counted_and_named():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    y = (5 * frame["d"] - 2 * frame["b"] + rng.normal(size=80)).to_numpy()
    lasso = fitted(LassoCV(rule="one-standard-error"), frame, y)
    said = Coefficients.of("lasso", lasso, frame).non_zero()
    n = ("Two", "Three", "Four", "Five")[np.count_nonzero(lasso.estimator_.coef_) - 2]
    assert said.startswith(f"{n} of six coefficients are non-zero in lasso: d") and " b" in said
    logistic = fitted(SparseLogisticRegression(0.1), frame, np.where(y > 0, "up", "down"))
    assert "in sparse: d" in Coefficients.of("sparse", logistic, frame).non_zero()
    assert Coefficients.of("linear", fitted(LinearRegression(), frame, y), frame).non_zero() == ""
    # That the only coefficient isn't zero goes without saying.
    assert Coefficients.of("lasso", fitted(LassoCV(), frame[["d"]], y), frame[["d"]]).non_zero() == ""
    nothing = Coefficients.of("lasso", fitted(Lasso(alpha=1e3), frame, y), frame)
    assert nothing.non_zero().startswith("Every coefficient of lasso is zero")
