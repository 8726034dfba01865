"""Totals that are proportional to an exposure."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from credo import AdditiveRegressor, BayesianLinearRegression, LinearRegression
from credo.additive import linear
from credo.ensemble import ExposureRegressor
from credo.tables import load, save


@pytest.fixture(scope="module")
def totals():
    """X with two inputs and the exposure between them, and totals whose variance is proportional to it."""
    rng = np.random.default_rng(0)
    n = 400
    exposure = np.exp(rng.normal(3, 1, size=n))
    a, b = rng.uniform(size=(2, n))
    y = exposure * (1 + 2 * a - b) + np.sqrt(exposure) * 0.5 * rng.normal(size=n)
    return np.column_stack([a, exposure, b]), y


def test_it_is_weighted_least_squares_of_the_rate(totals):
    X, y = totals
    model = ExposureRegressor(LinearRegression(), column=1).fit(X, y)
    Z, e = np.column_stack([np.ones(len(X)), X[:, [0, 2]]]), X[:, 1]
    # Equivalent to dividing the equation of each total by √e.
    coef, residual, *_ = np.linalg.lstsq(Z * np.sqrt(e)[:, None], y / np.sqrt(e), rcond=None)
    np.testing.assert_allclose(model.predict(X), e * (Z @ coef), rtol=1e-8)
    assert model.estimator_.intercept_ == pytest.approx(coef[0], rel=1e-8)
    # Var y = σ² e, here with σ = 0.5, beside the variance of the coefficients, which is small.
    sigma = np.sqrt(residual[0] / (len(X) - 3))
    np.testing.assert_allclose(model.predict_dist(X).std, sigma * np.sqrt(e), rtol=0.02)


def test_its_evidence_is_the_density_of_the_totals(totals):
    X, y = (part[:30] for part in totals)
    inner = BayesianLinearRegression(prior_precision=2.0, noise_precision=3.0, fit_intercept=False)
    model = ExposureRegressor(inner, column=1).fit(X, y)
    e = X[:, 1]
    rates = X[:, [0, 2]] @ X[:, [0, 2]].T / 2.0 + np.diag(e.mean() / e) / 3.0
    # Up to the powers of the noise variance, because Σ ln N(r | f, σ²)·w and Σ ln N(r | f, σ²/w) differ by ½ Σ ln w.
    expected = multivariate_normal(np.zeros(30), e[:, None] * rates * e).logpdf(y)
    assert model.log_evidence_ == pytest.approx(expected, rel=1e-9)


def test_a_log_link_has_an_offset():
    rng = np.random.default_rng(1)
    x, e = rng.uniform(size=300), np.exp(rng.normal(2, 1, size=300))
    y = rng.poisson(e * np.exp(1 - x))
    own = AdditiveRegressor([linear(0)], family="poisson").fit(x[:, None], y, exposure=e)
    model = ExposureRegressor(AdditiveRegressor([linear(0)], family="poisson")).fit(np.column_stack([x, e]), y)
    np.testing.assert_allclose(model.predict(np.column_stack([x, e])), own.predict_dist(x[:, None], exposure=e).mean)
    assert model.log_evidence_ == own.log_evidence_ and "with the exposure as offset" in model.describe().words
    once, twice = (model.predict(np.column_stack([x, k * e])) for k in (1, 2))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-10)


def test_weights_are_copies(totals):
    X, y = (part[:60] for part in totals)
    weight = np.arange(60) % 3
    one = ExposureRegressor(BayesianLinearRegression(), column=1).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(60), weight)
    other = ExposureRegressor(BayesianLinearRegression(), column=1).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-7)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-9)


def test_frames_and_sparse_rows_and_files(totals, tmp_path):
    X, y = totals
    model = ExposureRegressor(column=1).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "policies", "b"])
    framed = ExposureRegressor(column=1).fit(frame, y)
    assert framed.feature_names_in_.tolist() == ["a", "policies", "b"] and framed.n_features_in_ == 3
    assert framed.describe().columns == ("a", "b")
    np.testing.assert_array_equal(framed.predict(frame), model.predict(X))
    thin = ExposureRegressor(LinearRegression(), column=1).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        thin.predict(sparse.csr_array(X)), ExposureRegressor(LinearRegression(), column=1).fit(X, y).predict(X)
    )
    save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict(X), model.predict(X))


def test_an_exposure_that_is_none_is_refused(totals):
    X, y = totals
    for bad in (0.0, -1.0, np.nan):
        odd = X.copy()
        odd[3, 1] = bad
        with pytest.raises(
            ValueError, match=r"the exposure, column 1 of X, must be a positive number; got .* in row 3"
        ):
            ExposureRegressor(column=1).fit(odd, y)
    with pytest.raises(ValueError, match="column=5 must be the exposure's position"):
        ExposureRegressor(column=5).fit(X, y)
