"""Least squares against certified values, laws of projection, and independent routes."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from tests.reference.nist import FILIP, LONGLEY, WAMPLER

import credo
from credo.core.estimator import FitWarning
from credo.core.notices import collected
from credo.linear import LinearRegression


def digits(estimate, certified):
    """Correct significant digits (log relative error), the measure of the NIST StRD suite."""
    return float(np.min(-np.log10(np.maximum(np.abs(np.asarray(estimate) / certified - 1), 1e-16))))


@pytest.fixture
def table():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 5)) * [1, 10, 0.1, 3, 1] + [0, 5, -2, 100, 0]
    return X, X @ [1.0, -0.5, 3.0, 0.2, 0.0] + 4 + rng.normal(size=40)


def test_longley_reaches_its_certified_digits():
    model = LinearRegression().fit(LONGLEY.X, LONGLEY.y)
    assert digits(model.coef_, LONGLEY.coef) > 12
    assert digits(model.intercept_, LONGLEY.intercept) > 12
    assert digits(model.coef_std_error_, LONGLEY.coef_std_error) > 12
    assert digits(model.intercept_std_error_, LONGLEY.intercept_std_error) > 12
    assert digits(model.noise_std_, LONGLEY.noise_std) > 12
    assert digits(model.r2_, LONGLEY.r2) > 12


def test_filip_keeps_the_answer_on_a_badly_scaled_axis():
    """Degree 10 on [−9, −3]: rounding x^k alone moves the solution by about 1e-7."""
    model = LinearRegression().fit(FILIP.x[:, None] ** np.arange(1, 11), FILIP.y)
    assert model.rank_ == 10
    assert digits(model.coef_, FILIP.coef[1:]) > 6
    assert digits(model.intercept_, FILIP.coef[0]) > 6
    assert digits(model.noise_std_, FILIP.noise_std) > 8


@pytest.mark.parametrize(("number", "reached"), [(1, 9), (2, 12), (3, 9), (4, 8), (5, 6)])
def test_wampler_polynomials(number, reached):
    """Fifth-degree polynomials, exact in 1 and 2; in 5 the noise is 2e7 times the weights that it hides."""
    case = WAMPLER[number]
    model = LinearRegression().fit(case.x[:, None] ** np.arange(1, 6), case.y)
    assert digits(model.coef_, case.coef[1:]) > reached
    assert digits(model.intercept_, case.coef[0]) > reached


def test_standard_errors_and_covariance_by_the_textbook(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    residual = y - design @ weights
    cov = residual @ residual / (len(y) - 6) * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), weights, rtol=1e-10)
    np.testing.assert_allclose(model.coef_cov_, cov[1:, 1:], rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(model.intercept_std_error_, cov[0, 0] ** 0.5, rtol=1e-8)
    half = stats.t.ppf(0.95, 34) * np.sqrt(np.diag(cov))
    intervals = model.confint(0.9)
    np.testing.assert_array_equal(list(intervals), np.asarray(intervals))
    assert intervals[0] == intervals["intercept"] and intervals[-1] == list(intervals)[-1]
    with pytest.raises(KeyError, match="no parameter is called 'nonsense'"):
        intervals["nonsense"]
    np.testing.assert_allclose(intervals, np.c_[weights - half, weights + half], rtol=1e-8)
    assert intervals.columns["parameter"] == ["intercept", "x0", "x1", "x2", "x3", "x4"]
    assert intervals["intercept"] == pytest.approx((weights[0] - half[0], weights[0] + half[0]))
    assert "90 % intervals" in str(intervals) and len(intervals.to_frame()) == 6
    with pytest.raises(KeyError, match="no parameter is called 'x9'; there are 'intercept', 'x0'"):
        intervals["x9"]
    assert np.asarray(LinearRegression(fit_intercept=False).fit(X, y).confint()).shape == (5, 2)


def test_prediction_intervals_by_the_textbook(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    new = np.array([[1.0, 2.0, -2.0, 101.0, 0.5]])
    row = np.append(1.0, new)
    design = np.column_stack([np.ones(len(X)), X])
    square = row @ np.linalg.inv(design.T @ design) @ row
    band, prediction = model.predict_dist(new, latent=True), model.predict_dist(new)
    for dist, inner in [(band, square), (prediction, 1 + square)]:
        half = stats.t.ppf(0.975, 34) * model.noise_std_ * inner**0.5
        lower, upper = dist.interval(0.95)
        np.testing.assert_allclose([lower[0], upper[0]], model.predict(new)[0] + np.array([-half, half]), rtol=1e-9)
    _, cov = model.predict(X, return_cov=True)
    _, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_hat_matrix_is_the_projection(table, weighted):
    X, y = table
    weight = np.arange(1.0, 41.0) if weighted else None
    model = LinearRegression().fit(X, y, sample_weight=weight)
    H = model.hat_matrix()
    np.testing.assert_allclose(H @ y, model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(H @ H, H, atol=1e-10)
    np.testing.assert_allclose(np.diag(H), model.leverage(), atol=1e-12)
    assert model.leverage().sum() == pytest.approx(6)
    w = np.ones(40) if weight is None else weight
    residual = w * (y - model.predict(X))
    assert np.abs(X.T @ residual).max() < 1e-8 * np.abs(X.T @ (w * y)).max()
    assert abs(residual.sum()) < 1e-8


def test_rows_of_weight_zero_keep_their_place_in_the_hat_matrix(table):
    X, y = table
    weight = np.where(np.arange(40) % 4 == 0, 0.0, 2.0)
    model = LinearRegression().fit(X, y, sample_weight=weight)
    H = model.hat_matrix()
    assert H.shape == (40, 40) and not model.leverage()[weight == 0].any()
    np.testing.assert_allclose((H @ y)[weight > 0], model.predict(X)[weight > 0], rtol=1e-9)


def test_residuals_are_orthogonal_to_every_column(table):
    X, y = table
    residual = y - LinearRegression().fit(X, y).predict(X)
    cosines = (X - X.mean(0)).T @ residual / (np.linalg.norm(X - X.mean(0), axis=0) * np.linalg.norm(residual))
    assert np.abs(cosines).max() < 1e-12 and abs(residual.mean()) < 1e-12


def test_coverage_of_the_intervals_is_what_they_claim():
    """400 repetitions: the binomial sd of the share covered is 0.015."""
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(12, 3)), rng.normal(size=(1, 3))
    inside = 0
    for _ in range(400):
        y = X.sum(axis=1) + rng.normal(size=12)
        lower, upper = LinearRegression().fit(X, y).predict_dist(new).interval(0.9)
        inside += lower[0] <= new.sum() + rng.normal() <= upper[0]
    assert inside / 400 == pytest.approx(0.9, abs=0.045)


def test_duplicated_columns_share_the_weight_and_say_so(table):
    X, y = table
    with pytest.warns(FitWarning, match=r"6 columns are collinear \(rank 5\)"):
        model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), y)
    alone = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[[0, 5]], alone.coef_[0] / 2, rtol=1e-9)
    np.testing.assert_allclose(model.predict(np.column_stack([X, X[:, 0]])), alone.predict(X), rtol=1e-9)
    assert model.dof_ == alone.dof_
    # One weight of the pair can't be told from the other; the other columns keep their intervals.
    assert np.isinf(model.coef_std_error_[[0, 5]]).all() and np.isinf(model.confint()["x0"]).all()
    np.testing.assert_allclose(np.asarray(model.confint())[2:6], np.asarray(alone.confint())[2:], rtol=1e-8)
    np.testing.assert_allclose(
        model.predict_dist(np.column_stack([X, X[:, 0]])).std, alone.predict_dist(X).std, rtol=1e-8
    )
    with pytest.warns(FitWarning, match="1 of 1 rows lie outside the span"):
        model.predict_dist(np.append(X[0], X[0, 0] + 1)[None, :])


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e8, 1e-8)])
def test_more_columns_than_rows_gives_the_minimum_norm(scales):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 10)) * np.resize(scales, 10)
    y = rng.normal(size=6)
    with pytest.warns(FitWarning, match="rank 5"):
        model = LinearRegression().fit(X, y)
    centred = X - X.mean(0)
    if scales[0] == 1.0:
        np.testing.assert_allclose(model.coef_, np.linalg.pinv(centred) @ (y - y.mean()), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-7, atol=1e-7)
    with pytest.raises(ValueError, match="no degrees of freedom"):
        model.predict_dist(X)


@pytest.mark.parametrize("factor", [1e-65, 1e-8, 1e8, 1e65])
def test_units_change_nothing(table, factor):
    X, y = table
    plain, scaled = LinearRegression().fit(X, y), LinearRegression().fit(X * factor, y)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_dist(X * factor).std, plain.predict_dist(X).std, rtol=1e-9)
    tall = LinearRegression().fit(X, y * factor)
    np.testing.assert_allclose(tall.noise_std_, plain.noise_std_ * factor, rtol=1e-9)


def test_blocks_don_t_show():
    """Enough rows for several blocks give what LAPACK gives on the whole."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9000, 60)) + 1e4
    y = X @ rng.normal(size=60) + rng.normal(size=9000)
    model = LinearRegression().fit(X, y)
    oracle = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(model.coef_, oracle, rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 3.7, 1e8 + 0.1])
def test_constant_target(value):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = LinearRegression().fit(X, np.full(20, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-14)
    assert model.predict_dist(X).std.max() <= 1e-13 * max(abs(value), 1)


def test_constant_column_gets_no_weight_and_a_word(table):
    X, y = table
    X = np.column_stack([X, np.full(40, 0.1)])
    with pytest.warns(FitWarning, match="rank 5"):
        model = LinearRegression().fit(X, y)
    assert model.coef_[5] == 0
    assert np.isfinite(model.predict_dist(X).std).all()


def test_without_intercept_goes_through_the_origin(table):
    X, y = table
    model = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-9)
    assert model.intercept_ == 0 and model.intercept_std_error_ == 0 and model.dof_ == 35


def test_summary_names_the_columns(table):
    import pandas as pd

    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = str(LinearRegression().fit(pd.DataFrame(X, columns=list("abcde")), y).summary())
    assert all(f"\n{name} " in text for name in ["intercept", *"abcde"])
    assert "34 degrees of freedom" in text


def test_the_hat_matrix_of_a_model_without_rows_is_refused(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    model._stored_rows = None
    with pytest.raises(ValueError, match="the training rows were not stored"):
        model.leverage()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_likelihood_is_that_of_normal_noise_at_its_best_variance(intercept):
    """The last column is twice the first, so that one weight less is free."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 2)) @ [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]
    y, weight = X[:, 0] + 1.0 + rng.normal(size=30), rng.integers(1, 4, size=30)
    with pytest.warns(FitWarning, match="rank 2"):
        model = LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    assert model.n_parameters_ == 2 + intercept + 1 and model.n_observations_ == weight.sum()
    left = np.repeat(y - model.predict(X), weight)
    best = max(stats.norm.logpdf(left, scale=s).sum() for s in np.sqrt(np.mean(left**2)) * np.linspace(0.9, 1.1, 201))
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-9)


def test_without_residuals_the_likelihood_has_no_bound(tmp_path):
    model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    assert model.log_likelihood_ == np.inf
    credo.save(model, tmp_path / "model.credo")
    assert credo.load(tmp_path / "model.credo").log_likelihood_ == np.inf


@pytest.mark.parametrize("shape", [(80, 6), (12, 20)], ids=["tall", "wide"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_give_the_dense_fit(shape, fit_intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    y, weight = X[:, 0] + rng.normal(size=shape[0]), rng.integers(1, 4, shape[0]).astype(float)
    with collected():
        model = LinearRegression(fit_intercept).fit(sparse.csr_array(X), y, weight)
        dense = LinearRegression(fit_intercept).fit(X, y, weight)
        for name in ("coef_", "intercept_", "dof_", "rank_", "coef_cov_", "r2_"):
            np.testing.assert_allclose(getattr(model, name), getattr(dense, name), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(model.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-8, atol=1e-9)
        if dense.rank_ == X.shape[1]:
            for option in (True, False):
                ours = model.predict_dist(sparse.csr_array(X), latent=option)
                np.testing.assert_allclose(ours.std, dense.predict_dist(X, latent=option).std, rtol=1e-8)
            np.testing.assert_allclose(model.leverage(), dense.leverage(), rtol=1e-8)
            np.testing.assert_allclose(model.confint(), dense.confint(), rtol=1e-8, atol=1e-9)
