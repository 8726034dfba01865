"""BIC and description length, against the likelihood written out."""

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.features import Polynomial
from credo.gp import GPRegressor
from credo.linear import LinearRegression, LogisticRegression
from credo.selection import bic, compare, description_length
from credo.tables import TableModel

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 2))


@pytest.mark.parametrize("intercept", [True, False])
def test_of_least_squares_by_hand(intercept):
    y = X @ [1.0, -2.0] + 3.0 * intercept + RNG.normal(size=80)
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    left = y - model.predict(X)
    log_likelihood = stats.norm.logpdf(left, scale=np.sqrt(np.mean(left**2))).sum()
    k = 2 + intercept + 1
    assert bic(model) == pytest.approx(-2 * log_likelihood + k * np.log(80))


def test_weights_are_counted_as_rows():
    y = X @ [1.0, -2.0] + RNG.normal(size=80)
    weight = RNG.integers(1, 4, size=80)
    every = np.repeat(np.arange(80), weight)
    weighted = LinearRegression().fit(X, y, sample_weight=weight)
    assert bic(weighted) == pytest.approx(bic(LinearRegression().fit(X[every], y[every])))


def test_of_labels_it_is_the_length_of_a_code_and_of_the_parameters():
    y = np.where(X[:, 0] + RNG.logistic(size=80) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[np.arange(80), (y == "yes").astype(int)]
    expected = -np.log2(p).sum() + 0.5 * 3 * np.log2(80)
    assert description_length(model) == pytest.approx(expected)
    assert description_length(model) == pytest.approx(bic(model) / (2 * np.log(2)))


def test_it_tells_a_linear_from_a_quadratic_map():
    """Labels by a circle need the squares, and labels by a line don't."""
    circle = np.where((X**2).sum(axis=1) + 0.5 * RNG.normal(size=80) > 1.5, "out", "in")
    line = np.where(X[:, 0] + RNG.logistic(size=80) > 0, "right", "left")
    for y, better in ((circle, 1), (line, 0)):
        models = [LogisticRegression(), make_pipeline(Polynomial(degree=2), LogisticRegression())]
        bits = [description_length(model.fit(X, y)) for model in models]
        assert np.argmin(bits) == better


def test_inside_pipelines_and_tables():
    y = X @ [1.0, -2.0] + RNG.normal(size=80)
    plain = bic(LinearRegression().fit(X, y))
    assert bic(make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)) == pytest.approx(plain)
    assert bic(TableModel(None, LinearRegression()).fit(X, y)) == pytest.approx(plain)


def test_a_model_without_a_likelihood_is_refused_in_words():
    with pytest.raises(TypeError, match="GPRegressor has no log_likelihood_ with n_parameters_"):
        bic(GPRegressor())
    with pytest.raises(TypeError, match="maximum likelihood model"):
        bic(LinearRegression())


def test_compare_shows_them_where_they_exist():
    y = X @ [1.0, -2.0] + RNG.normal(size=80)
    comparison = compare({"line": LinearRegression(), "gp": GPRegressor(hyperparameters="fixed")}, X, y, cv=2)
    assert comparison["line"].bic == pytest.approx(bic(LinearRegression().fit(X, y)))
    assert comparison["gp"].bic is None
    table = comparison.table()
    assert table.columns["BIC"] == [score.bic for score in comparison.scores]


def test_a_fit_without_residuals_costs_nothing_but_has_no_end():
    assert bic(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])) == -np.inf


def test_any_model_with_the_three_numbers_will_do():
    class Anything:
        log_likelihood_, n_parameters_, n_observations_ = -10.0, 2, 50.0

    assert bic(Anything()) == pytest.approx(20 + 2 * np.log(50))
