"""Scores inside scikit-learn's own machinery: folds, searches, pipelines."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from credo.linear import BayesianLinearRegression, LinearRegression, Ridge
from credo.metrics import crps, final_step, log_score, predictive, rmse, scorer


@pytest.fixture(scope="module")
def table():
    X, y = load_diabetes(return_X_y=True)
    return X[:120], y[:120]


@pytest.mark.parametrize(
    ("name", "score", "sign"), [("log_score", log_score, 1), ("crps", crps, -1), ("rmse", rmse, -1)]
)
def test_cross_val_score_is_the_score_of_each_fold(table, name, score, sign):
    X, y = table
    folds = KFold(3)
    found = cross_val_score(BayesianLinearRegression(), X, y, scoring=scorer(name), cv=folds)
    expected = [
        sign * score(y[test], BayesianLinearRegression().fit(X[train], y[train]).predict_dist(X[test]))
        for train, test in folds.split(X)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rmse_scorer_is_scikit_learns(table):
    ours = cross_val_score(LinearRegression(), *table, scoring=scorer("rmse"), cv=3)
    theirs = cross_val_score(PlainRegression(), *table, scoring="neg_root_mean_squared_error", cv=3)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_a_pipeline_is_transformed_and_its_last_step_asked(table):
    X, y = table
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), BayesianLinearRegression()).fit(X, y)
    Z = model[1].transform(model[0].transform(X))
    np.testing.assert_array_equal(predictive(model, X).std, model[-1].predict_dist(Z).std)
    assert final_step(model) is model[-1]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: Pipeline([("only", inner)]),
        lambda inner: Pipeline([("off", "passthrough"), ("inner", make_pipeline(StandardScaler(), inner))]),
        lambda inner: GridSearchCV(inner, {"prior_precision": [0.1]}, scoring=scorer("crps"), cv=2),
    ],
    ids=["one step", "nested", "search"],
)
def test_wrappers_of_scikit_learn_are_seen_through(table, wrap):
    X, y = table
    model = wrap(BayesianLinearRegression()).fit(X, y)
    dist = predictive(model, X)
    np.testing.assert_allclose(dist.mean, model.predict(X), rtol=1e-12)
    assert isinstance(final_step(model), BayesianLinearRegression)
    assert scorer("log_score")(model, X, y) == log_score(y, dist)


def test_a_search_finds_the_better_setting(table):
    grid = {"ridge__alpha": [1e-3, 1e9]}
    search = GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("ridge", Ridge())]), grid, scoring=scorer("log_score")
    )
    search.fit(*table)
    assert search.best_params_ == {"ridge__alpha": 1e-3}


def test_several_scores_at_once(table):
    scores = {name: scorer(name) for name in ("log_score", "crps", "rmse")}
    result = cross_validate(LinearRegression(), *table, scoring=scores, cv=2)
    assert np.all(result["test_crps"] < 0)
    assert np.all(result["test_rmse"] < result["test_crps"])


def test_weights_reach_the_score(table):
    X, y = table
    weight = np.r_[np.ones(60), np.zeros(60)]
    model = LinearRegression().fit(X, y)
    for name in ("log_score", "crps", "rmse"):
        assert scorer(name)(model, X, y, sample_weight=weight) == pytest.approx(scorer(name)(model, X[:60], y[:60]))


def test_a_wrong_name_suggests_the_nearest():
    with pytest.raises(
        ValueError,
        match="'log_score', 'crps', 'rmse', 'brier', 'rps', 'accuracy'; got 'logscore'; did you mean 'log_score'",
    ):
        scorer("logscore")


def test_a_model_without_distributions_is_refused_in_words(table):
    with pytest.raises(TypeError, match="LinearRegression has no predict_dist"):
        predictive(PlainRegression().fit(*table), table[0])


def test_an_unfitted_pipeline_says_so(table):
    with pytest.raises(NotFittedError):
        predictive(make_pipeline(StandardScaler(), LinearRegression()), table[0])
