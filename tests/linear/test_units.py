"""Units and offsets of the columns: answers keep their digits whatever the columns are measured in."""

import numpy as np
import pytest

from credo import BayesianLinearRegression, LinearRegression, Ridge
from credo.core.estimator import FitWarning
from credo.core.learning.spectrum import spectrum

SCALES = [(1e8, 1e-8), (1e-8, 1e8), (1.0, 1e-20)]


def plane(n=60, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    return Z, Z @ [1.0, 2.0] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("scales", [*SCALES, (1e69, 1e-69)])
def test_least_squares_by_ridge_has_no_units(scales):
    Z, y = plane()
    model = Ridge(0.0).fit(Z * scales, y)
    np.testing.assert_allclose(model.coef_ * scales, LinearRegression().fit(Z, y).coef_, rtol=1e-12)


@pytest.mark.parametrize("scales", SCALES)
def test_a_column_of_tiny_numbers_is_not_lost_beside_one_of_huge_numbers(scales):
    Z, y = plane()
    X = Z * scales
    exact = LinearRegression().fit(Z, y)
    for model in (Ridge(0.0), Ridge("loo"), BayesianLinearRegression()):
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_ * scales, exact.coef_, rtol=2e-3)
        np.testing.assert_allclose(model.predict_dist(X).std, exact.predict_dist(Z).std, rtol=0.05)


def test_streams_and_wide_tables_keep_tiny_columns_too():
    Z, y = plane()
    X = Z * [1e8, 1e-8]
    model = BayesianLinearRegression(1e-30, noise_precision=100.0)
    for part in np.split(np.arange(60), 6):
        model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(model.coef_ * [1e8, 1e-8], LinearRegression().fit(Z, y).coef_, rtol=1e-10)
    # Six rows of six columns: without noise to speak of, the targets are reproduced.
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(6, 6)) * np.geomspace(1e8, 1e-8, 6)
    model = BayesianLinearRegression(1e-40, noise_precision=1.0, fit_intercept=False).fit(wide, y[:6])
    np.testing.assert_allclose(model.predict(wide), y[:6], rtol=1e-10)


def test_a_duplicate_of_a_huge_column_does_not_hide_a_tiny_one():
    Z, y = plane()
    X = np.column_stack([1e8 * Z[:, 0], 1e8 * Z[:, 0], 1e-8 * Z[:, 1]])
    data = spectrum(X, y, center=True)
    assert len(data.s) == 2
    exact = LinearRegression().fit(Z, y)
    for model in (Ridge(0.0), LinearRegression()):
        with pytest.warns(FitWarning, match=r"3 columns are collinear \(rank 2\)"):
            model.fit(X, y)
        halves = [exact.coef_[0] / 2e8, exact.coef_[0] / 2e8, exact.coef_[1] * 1e8]
        np.testing.assert_allclose(model.coef_, halves, rtol=1e-10)
        np.testing.assert_allclose(model.predict_dist(X).std, exact.predict_dist(Z).std, rtol=1e-10)
        assert "rank 2" in model.result_.message


def test_one_column_in_two_units_is_one_column():
    Z, y = plane()
    X = np.column_stack([Z, 1e12 * Z[:, 0]])
    with pytest.warns(FitWarning, match=r"3 columns are collinear \(rank 2\)"):
        model = LinearRegression().fit(X, y)
    slope, other = LinearRegression().fit(Z, y).coef_
    np.testing.assert_allclose(model.coef_, [slope * 1e-24, other, slope * 1e-12], rtol=1e-10)


@pytest.mark.parametrize("value", [1 / 3, 1e6 + 1 / 3, 1e12 + 1 / 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_column_is_constant_in_a_long_table(value, weighted):
    Z, y = plane(n=3000)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 3000) if weighted else None
    with pytest.warns(FitWarning, match=r"3 columns are collinear \(rank 2\)"):
        model = LinearRegression().fit(np.column_stack([Z, np.full(3000, value)]), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[:2], LinearRegression().fit(Z, y, sample_weight=weight).coef_, rtol=1e-12)
    assert abs(model.coef_[2] * value) < 1e-12
    np.testing.assert_allclose(model.leverage().sum(), 3.0)


def test_an_offset_costs_no_more_digits_than_it_takes_from_the_inputs():
    Z, _ = plane(n=20_000)
    X = Z + 1e12
    rounding = np.spacing(1e12)
    truth = (X - 1e12) @ [1.0, 2.0]
    noise = 0.01 * np.random.default_rng(3).normal(size=len(X))
    exact = LinearRegression().fit(X - 1e12, truth + noise)
    for model in (LinearRegression(), Ridge(0.0), BayesianLinearRegression(1e-12, noise_precision=1e4)):
        model.fit(X, truth + noise)
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)
        assert np.abs(model.predict(X) - exact.predict(X - 1e12)).max() < 3 * rounding
    assert LinearRegression().fit(X, truth + noise).noise_std_ == pytest.approx(exact.noise_std_, rel=1e-3)


def test_candidates_of_the_penalty_reach_below_the_smallest_eigenvalue():
    Z, y = plane()
    model = Ridge("loo").fit(Z * [1.0, 1e-9], y)
    smallest = spectrum(Z * [1.0, 1e-9], y, center=True).s.min() ** 2
    assert model.alphas_.min() < smallest
    assert model.coef_[1] * 1e-9 == pytest.approx(2.0, abs=0.1)


def test_leave_one_out_in_blocks_is_leave_one_out():
    """e/(1 − h) from the hat matrix of the penalised rows, more of them than a block holds."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 3))
    y = X @ [1.0, 0.0, -1.0] + rng.normal(size=900)
    weight = rng.integers(1, 4, 900).astype(float)
    alphas = np.geomspace(100, 0.1, 600)
    model = Ridge("loo", alphas=alphas).fit(X, y, sample_weight=weight)
    for i in (0, 599):
        mean, level = np.average(X, axis=0, weights=weight), np.average(y, weights=weight)
        rows = X - mean
        gram = np.linalg.inv(rows.T @ (weight[:, None] * rows) + alphas[i] * np.eye(3))
        fitted = level + rows @ gram @ (rows.T @ (weight * (y - level)))
        leverage = np.einsum("ij,jk,ik->i", rows, gram, rows) + 1 / weight.sum()
        expected = np.average(((y - fitted) / (1 - leverage)) ** 2, weights=weight)
        assert model.loo_errors_[i] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("model", [Ridge(), BayesianLinearRegression(), LinearRegression()])
def test_a_summary_refuses_a_level_in_percent(model):
    Z, y = plane()
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        model.fit(Z, y).summary(level=95)


def test_limits_at_a_level_next_to_one_are_finite():
    Z, y = plane()
    model = LinearRegression().fit(Z, y)
    limits = np.asarray(model.confint(1 - 2.0**-53))
    assert np.isfinite(limits).all()
    np.testing.assert_allclose(limits.mean(axis=1), [model.intercept_, *model.coef_])


@pytest.mark.parametrize("model", [Ridge(), BayesianLinearRegression(), LinearRegression()])
def test_absurd_weights_are_refused_in_words(model):
    Z, y = plane()
    with pytest.raises(ValueError, match="the largest sample_weight is 1e\\+200, but a weight of k means k copies"):
        model.fit(Z, y, sample_weight=np.full(60, 1e200))
