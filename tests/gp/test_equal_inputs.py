"""Rows of equal inputs: the search runs on one row for each distinct input, and gives what all rows give."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF

RNG = np.random.default_rng(2)
CELLS = RNG.normal(size=(12, 2))
X = CELLS[RNG.integers(0, 12, 150)]
Y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=150)


def test_the_evidence_is_the_density_of_all_rows():
    model = GPRegressor(
        RBF([0.8, 1.5], variance=1.3), noise="learn", mean="zero", standardize=False, hyperparameters="fixed"
    ).fit(X, Y)
    assert model._objective().n_rows == 12
    covariance = model.kernel_.gram(X) + model.noise_variance_ * np.eye(len(X))
    exact = multivariate_normal(np.zeros(len(X)), covariance).logpdf(Y)
    value, slope = model.log_evidence(model.theta_)
    assert value == pytest.approx(exact, abs=1e-7) and model.log_evidence_ == pytest.approx(exact, abs=1e-7)
    numeric = approx_fprime(model.theta_, lambda theta: model.log_evidence(theta, gradient=False), 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
def test_weights_missing_entries_and_means_agree_with_separate_rows(mean):
    """Inputs that differ by 10⁻⁹ aren't merged, and have the same evidence."""
    targets = np.column_stack([Y, np.where(RNG.random(150) < 0.2, np.nan, Y**2)])
    weight = RNG.choice([0.5, 1.0, 2.0], 150)
    apart = X + 1e-9 * RNG.normal(size=X.shape)
    fitted = [
        GPRegressor(RBF([0.8, 1.5]), mean=mean, hyperparameters="fixed").fit(rows, targets, sample_weight=weight)
        for rows in (X, apart)
    ]
    assert fitted[0]._objective().n_rows < 30 and fitted[1]._objective().n_rows == 150
    theta = fitted[0].theta_ + 0.3
    (value, slope), (other, other_slope) = (model.log_evidence(theta) for model in fitted)
    assert value == pytest.approx(other, abs=1e-4)
    np.testing.assert_allclose(slope, other_slope, atol=1e-3)


def test_noise_that_varies_has_the_same_bound():
    apart = X + 1e-9 * RNG.normal(size=X.shape)
    fitted = [
        GPRegressor(RBF([0.8, 1.5]), noise="heteroscedastic", hyperparameters="fixed").fit(rows, Y)
        for rows in (X, apart)
    ]
    assert fitted[0].log_evidence_ == pytest.approx(fitted[1].log_evidence_, abs=1e-3)
    np.testing.assert_allclose(fitted[0].noise_std(CELLS), fitted[1].noise_std(CELLS), rtol=1e-3)


def test_a_fit_finds_what_separate_rows_find():
    apart = X + 1e-9 * RNG.normal(size=X.shape)
    merged, separate = (GPRegressor(n_restarts=0, random_state=0).fit(rows, Y) for rows in (X, apart))
    np.testing.assert_allclose(merged.theta_, separate.theta_, atol=0.02)
    np.testing.assert_allclose(merged.predict(CELLS), separate.predict(CELLS), atol=1e-3)
    assert len(merged.y_train_) == 150 and len(merged.loo()) == 150


def test_all_inputs_equal():
    model = GPRegressor(n_restarts=0).fit(np.ones((20, 1)), RNG.normal(3.0, 0.5, 20))
    assert model._objective().n_rows == 1 and model.predict([[1.0]])[0] == pytest.approx(3.0, abs=0.5)


def test_a_classifier_has_at_most_one_row_for_each_input_and_class():
    model = GPClassifier(n_restarts=0).fit(X, Y > 0)
    assert model._objective().n_rows <= 24 and model.weight_.sum() == 150
