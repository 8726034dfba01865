"""Factors as columns of zeros and ones, and terms for the columns that no other term has."""

import numpy as np
import pandas as pd
import pytest

import credo
from credo import AdditiveClassifier, AdditiveRegressor
from credo.additive import random, smooth
from credo.tables import Preparation, TableModel


def trial(n=240, seed=0):
    rng = np.random.default_rng(seed)
    soil = rng.choice(["clay", "peat", "sand", "loam"], n, p=[0.4, 0.3, 0.2, 0.1])
    effect = pd.Series({"clay": 0.0, "peat": 1.0, "sand": -0.5, "loam": 0.3})[soil].to_numpy()
    frame = pd.DataFrame({"dose": rng.uniform(0, 4, n), "soil": soil, "wet": rng.choice(["yes", "no"], n)})
    wet = frame["wet"] == "yes"
    return frame, np.sin(2 * frame["dose"]) + effect + 0.8 * wet + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveClassifier])
def test_columns_of_zeros_and_ones_are_the_factor_that_they_come_from(kind):
    """Prepared and standardized columns give the model of the table itself, to rounding."""
    frame, y = trial()
    model = kind() if kind is AdditiveClassifier else kind(family="gaussian")
    target = y > 0 if kind is AdditiveClassifier else y
    plain = model.fit(frame, target)
    table = TableModel(Preparation(standardize=True), model).fit(frame, target)
    ask = "predict_proba" if kind is AdditiveClassifier else "predict"
    np.testing.assert_allclose(getattr(table, ask)(frame), getattr(plain, ask)(frame), atol=1e-7)
    assert table.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-6)
    labels = {term.label for term in table.estimator_.fitted_terms_}
    assert labels >= {"smooth(dose)", "factor(soil)", "linear(wet)"}


def test_a_term_of_a_prepared_table_is_described_in_the_units_of_the_table():
    frame, y = trial()
    plain = {term.label: term for term in AdditiveRegressor(family="gaussian").fit(frame, y).describe().terms}
    table = TableModel(Preparation(standardize=True), AdditiveRegressor(family="gaussian")).fit(frame, y).describe()
    found = {term.label: term for term in table.terms}
    np.testing.assert_allclose(found["smooth(dose)"].points["dose"], plain["smooth(dose)"].points["dose"])
    np.testing.assert_allclose(found["smooth(dose)"].mean, plain["smooth(dose)"].mean, atol=1e-7)
    np.testing.assert_allclose(
        found["smooth(dose)"].rug, np.quantile(frame["dose"], np.linspace(0, 1, 21), method="inverted_cdf")
    )
    assert found["factor(soil)"].points["soil"].tolist() == ["clay", "loam", "peat", "sand"]
    np.testing.assert_allclose(found["factor(soil)"].mean, plain["factor(soil)"].mean, atol=1e-7)
    assert found["linear(wet)"].points["wet"].tolist() == ["no", "yes"]
    np.testing.assert_allclose(np.ptp(found["linear(wet)"].mean), np.ptp(plain["factor(wet)"].mean), atol=1e-7)


def test_a_row_between_the_levels_has_the_prior_effect_of_an_unknown_level():
    frame, y = trial()
    X = pd.get_dummies(frame["soil"], prefix="soil", prefix_sep="=").drop(columns="soil=clay").astype(float)
    groups = ["soil"] * 3
    grouped = AdditiveRegressor(family="gaussian").fit(X, y, column_groups=groups)
    text = AdditiveRegressor(family="gaussian").fit(frame[["soil"]], y)
    half, unknown = pd.DataFrame([[0.5, 0.5, 0.0]], columns=X.columns), pd.DataFrame({"soil": ["chalk"]})
    np.testing.assert_allclose(grouped.predict(half), text.predict(unknown), atol=1e-7)
    assert grouped.curve("soil").points["soil"].tolist() == ["reference", "loam", "peat", "sand"]
    with pytest.raises(ValueError, match="one label for each of the 3 columns; got 2"):
        AdditiveRegressor().fit(X, y, column_groups=groups[:2])


def test_columns_that_arent_levels_stay_numbers():
    frame, y = trial()
    X = np.column_stack([frame["dose"], frame["dose"] ** 2])
    model = AdditiveRegressor(family="gaussian").fit(X, y, column_groups=["dose", "dose"])
    assert [term.label for term in model.fitted_terms_][:2] == ["smooth(x0)", "smooth(x1)"]


def test_a_model_with_factors_survives_a_file(tmp_path):
    frame, y = trial()
    model = TableModel(Preparation(standardize=True), AdditiveRegressor(family="gaussian")).fit(frame, y)
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_others_are_the_columns_without_a_term():
    frame, y = trial()
    model = AdditiveRegressor([random("soil"), smooth("dose", cyclic=4.0), "others"], family="gaussian", pairs=0)
    labels = [term.label for term in model.fit(frame, y).fitted_terms_]
    assert labels == ["random(soil)", "smooth(dose, cyclic=4)", "factor(wet)"]
    with pytest.raises(ValueError, match="or be \"others\"; got 'rest'"):
        AdditiveRegressor(["rest"]).fit(frame, y)
