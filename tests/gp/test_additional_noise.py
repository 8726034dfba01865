"""Known noise variances of each row with a learned variance beside them."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import credo
from credo.gp import Gaussian, GPRegressor
from credo.kernels import RBF, Harmonic, Matern32, White

RNG = np.random.default_rng(0)
T = np.sort(RNG.uniform(0, 20, 150))[:, None]
YERR = RNG.uniform(0.05, 0.4, 150)
Y = 3 * np.sin(T[:, 0]) + YERR * RNG.normal(size=150) + 0.3 * RNG.normal(size=150)
PLAIN = {"mean": "zero", "standardize": False, "hyperpriors": False, "hyperparameters": "optimize", "random_state": 0}


@pytest.mark.parametrize("method", ["exact", "state_space", "auto"])
def test_the_noise_of_a_row_is_the_sum_of_both(method):
    model = GPRegressor(Matern32(), noise=Gaussian(YERR**2, additional=True), method=method, **PLAIN).fit(T, Y)
    assert model.additional_noise_variance_ == pytest.approx(0.09, rel=0.35)
    C = model.kernel_.gram(T) + np.diag(YERR**2 + model.additional_noise_variance_)
    assert model.log_evidence_ == pytest.approx(multivariate_normal(np.zeros(150), C).logpdf(Y), abs=1e-6)
    # The evidence is at its maximum.
    value, slope = model.log_evidence(model.theta_)
    np.testing.assert_allclose(slope, 0.0, atol=1e-3 * abs(value))
    assert model.noise_variance_ == pytest.approx(np.mean(YERR**2) + model.additional_noise_variance_, rel=1e-12)


def test_white_noise_in_the_kernel_is_the_same_model_except_for_f():
    """White noise belongs to f, so that a band for f has it; the additional noise doesn't."""
    added = GPRegressor(RBF(), noise=Gaussian(YERR**2, additional=True), **PLAIN).fit(T, Y)
    white = GPRegressor(RBF() + White(0.1), noise=YERR**2, **PLAIN).fit(T, Y)
    assert added.log_evidence_ == pytest.approx(white.log_evidence_, abs=1e-4)
    assert added.additional_noise_variance_ == pytest.approx(white.kernel_.params["white.variance"], rel=1e-2)
    np.testing.assert_allclose(added.predict(T[:5]), white.predict(T[:5]), atol=1e-3)
    np.testing.assert_allclose(added.predict_dist(T).std, white.predict_dist(T).std, rtol=1e-2)
    gap = white.predict_dist(T, latent=True).std ** 2 - added.predict_dist(T, latent=True).std ** 2
    np.testing.assert_allclose(gap, added.additional_noise_variance_, rtol=2e-2)
    with pytest.raises(ValueError, match=r"no state-space form.*additional=True"):
        GPRegressor(Matern32() + White(), noise=YERR**2, method="state_space").fit(T, Y)


def test_a_single_known_variance_and_standardised_targets():
    model = GPRegressor(Harmonic(6.0, quality=3.0), noise=Gaussian(0.01, additional=True), random_state=0)
    model.fit(T, 100 * Y[:, None] * [1.0, 1.0])
    assert model.additional_noise_variance_.shape == (2,)
    assert model.additional_noise_variance_[0] == pytest.approx(1e4 * (0.09 + np.mean(YERR**2)), rel=0.3)
    learned = GPRegressor(Harmonic(6.0, quality=3.0), random_state=0).fit(T, 100 * Y[:, None] * [1.0, 1.0])
    assert learned.noise_variance_[0] == pytest.approx(model.noise_variance_[0], rel=1e-3)


def test_it_is_kept_in_files_and_shown_in_the_summary(tmp_path):
    model = GPRegressor(Matern32(), noise=Gaussian(YERR**2, additional=True), n_restarts=0, random_state=0).fit(T, Y)
    credo.save(model, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    assert loaded.additional_noise_variance_ == model.additional_noise_variance_
    np.testing.assert_array_equal(loaded.predict(T), model.predict(T))
    assert "additional noise variance" in str(model.summary())
    with pytest.raises(AttributeError, match="additional=True"):
        GPRegressor(noise=YERR**2, n_restarts=0).fit(T, Y).additional_noise_variance_


def test_it_needs_known_noise_and_something_to_learn():
    with pytest.raises(ValueError, match='got hyperparameters="fixed"'):
        GPRegressor(noise=Gaussian(YERR**2, additional=True), hyperparameters="fixed").fit(T, Y)
    with pytest.raises(ValueError, match="a known noise variance, which is missing"):
        Gaussian(additional=True)
