"""Baselines against least squares without columns and against scikit-learn's dummies."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.utils.estimator_checks import check_estimator

import credo
from credo.linear import BaselineClassifier, BaselineRegressor, LinearRegression


@pytest.mark.parametrize("model", [BaselineRegressor(), BaselineClassifier()], ids=repr)
def test_scikit_learn_s_checks(model):
    check_estimator(model, on_skip=None)


@pytest.mark.parametrize("latent", [False, True])
def test_the_mean_is_least_squares_without_columns(latent):
    rng = np.random.default_rng(0)
    y, weight = rng.gamma(2.0, size=30), rng.integers(1, 4, 30)
    # A column of zeros says nothing and costs no degree of freedom.
    X = np.zeros((30, 1))
    dist = BaselineRegressor().fit(X, y, sample_weight=weight).predict_dist(X, latent=latent)
    with credo.core.notices.collected():
        oracle = LinearRegression().fit(X, y, sample_weight=weight).predict_dist(X, latent=latent)
    for mine, theirs in zip(dist.interval(0.9), oracle.interval(0.9), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_frequencies_are_those_of_a_dummy_but_for_the_prior():
    y = np.repeat(["a", "b", "c"], [500, 300, 200])
    X = np.zeros((1000, 1))
    found = BaselineClassifier().fit(X, y).predict_proba(X)[0]
    np.testing.assert_allclose(found, DummyClassifier(strategy="prior").fit(X, y).predict_proba(X)[0], atol=2e-3)
    np.testing.assert_allclose(found, np.array([501, 301, 201]) / 1003)


def test_columns_may_be_anything_and_files_bring_it_back(tmp_path):
    table = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=6), "what": list("abcabc"), "gap": [None] * 6})
    model = BaselineRegressor().fit(table, np.arange(6.0))
    credo.save(model, tmp_path / "model.credo")
    assert credo.load(tmp_path / "model.credo").predict(table.iloc[:2]).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("model", [BaselineRegressor(), BaselineClassifier()], ids=repr)
def test_columns_are_counted_and_named_as_by_a_dummy(model):
    table, y = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=4), "what": list("abab")}), [0, 1, 1, 0]
    dummy = DummyClassifier().fit(table, y)
    model.fit(table, y)
    assert model.n_features_in_ == dummy.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == dummy.feature_names_in_.tolist()
    model.fit(np.zeros((4, 3)), y)
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")


def test_one_row_has_no_spread():
    with pytest.raises(ValueError, match="more than one observation"):
        BaselineRegressor().fit([[1.0]], [1.0])
