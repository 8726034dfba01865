"""Regression and classification with inducing points, beside the exact ones."""

from dataclasses import replace

import numpy as np
import pytest

import credo
from credo import GPClassifier, GPRegressor
from credo.core.fields import check
from credo.core.inference import representations
from credo.kernels import RBF, Matern52

RNG = np.random.default_rng(0)
N = 650
X = RNG.uniform(-2, 2, size=(N, 2))
F = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
Y = F + 0.1 * RNG.normal(size=N)
NEW = RNG.uniform(-2, 2, size=(50, 2))
LABELS = np.where(F + 0.3 * RNG.normal(size=N) > 0, "high", "low")
FEW = slice(0, 150)


def settings(**more):
    return {"n_restarts": 0, "random_state": 0, **more}


@pytest.fixture(scope="module")
def regressor():
    return GPRegressor(method="inducing", n_inducing=80, **settings()).fit(X, Y)


def test_a_smooth_function_is_fitted_as_exactly_as_by_all_covariances(regressor):
    exact = GPRegressor(method="exact", **settings(hyperparameters="optimize")).fit(X, Y)
    assert exact.log_evidence_ - 0.5 < regressor.log_evidence(regressor.theta_)[0] < exact.log_evidence_ + 0.01
    found, expected = (model.predict(NEW, return_std=True) for model in (regressor, exact))
    np.testing.assert_allclose(found[0], expected[0], atol=0.01)
    np.testing.assert_allclose(found[1], expected[1], rtol=0.02)
    np.testing.assert_allclose(regressor.loo().mean, exact.loo().mean, atol=0.01)
    assert regressor.evidence_method_ == "elbo" and exact.evidence_method_ == "exact"
    assert "inducing points" in regressor.result_.message and regressor.method_ == "inducing"
    assert f"at least {regressor.log_evidence_:.2f}" in str(regressor.summary())


def test_points_come_from_the_rows_and_are_no_more_than_asked_for(regressor):
    points = {tuple(row) for row in regressor.inducing_points_}
    assert len(points) == len(regressor.inducing_points_) <= 80 and points <= {tuple(row) for row in X}


def test_a_saved_model_predicts_the_same_bit_for_bit(regressor, tmp_path):
    credo.save(regressor, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict(NEW), regressor.predict(NEW))
    np.testing.assert_array_equal(loaded.inducing_points_, regressor.inducing_points_)
    assert loaded.log_evidence(loaded.theta_)[0] == pytest.approx(regressor.log_evidence(regressor.theta_)[0], rel=1e-9)


def test_points_of_another_table_are_an_error_in_a_file(regressor):
    with pytest.raises(ValueError, match="points has shape"):
        check(replace(regressor.posterior_.data, points=np.zeros((3, 5))))


def test_auto_chooses_by_the_number_of_rows_and_says_why(monkeypatch):
    monkeypatch.setattr(representations, "_MAX_DENSE_ROWS", 100)
    monkeypatch.setattr(representations, "_MAX_NEIGHBOR_COLUMNS", 1)
    kernel = RBF([1.0, 2.0])
    model = GPRegressor(kernel, hyperparameters="fixed", n_inducing=30).fit(X, Y)
    reason = 'method="inducing" with 30 inducing points, because 650 rows are more than 100'
    assert reason in model.result_.message
    # Targets without noise, which the bound doesn't take, and MCMC stay exact.
    assert GPRegressor(kernel, noise=0.0, hyperparameters="fixed").fit(X[FEW], F[FEW]).method_ == "exact"
    with pytest.raises(ValueError, match='a noise variance of zero needs method="exact"'):
        GPRegressor(kernel, noise=0.0, method="inducing").fit(X, Y)
    with pytest.raises(ValueError, match='inference="mcmc" needs method="exact"'):
        GPClassifier(kernel, inference="mcmc", method="inducing").fit(X, LABELS)
    with pytest.raises(ValueError, match="n_inducing"):
        GPRegressor(n_inducing=0).fit(X, Y)
    three = np.where(X[FEW, 1] > 0.5, "none", LABELS[FEW])
    joined = GPClassifier(kernel, hyperparameters="fixed", inference="laplace").fit(X[FEW], three)
    assert [member.method_ for member in joined.members_] == ["inducing"] * 3


def test_a_weight_is_that_many_copies():
    weight = np.arange(150) % 3 + 1.0
    model = GPRegressor(Matern52([1.0, 2.0]), method="inducing", n_inducing=40, hyperparameters="fixed")
    weighted = model.fit(X[FEW], Y[FEW], sample_weight=weight)
    found, evidence = weighted.predict(NEW), weighted.log_evidence_
    copies = np.repeat(np.arange(150), weight.astype(int))
    copied = model.fit(X[copies], Y[copies])
    np.testing.assert_allclose(copied.predict(NEW), found, atol=1e-9)
    assert copied.log_evidence_ == pytest.approx(evidence, abs=1e-7)


def test_several_targets_with_gaps():
    both = np.column_stack([Y, -Y])[FEW]
    both[::7, 1] = np.nan
    model = GPRegressor(RBF([1.0, 2.0]), method="inducing", n_inducing=150, hyperparameters="fixed").fit(X[FEW], both)
    exact = GPRegressor(RBF([1.0, 2.0]), method="exact", hyperparameters="fixed").fit(X[FEW], both)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-5)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-4)


def test_an_update_is_a_fit_on_all_rows_with_these_points():
    kernel = Matern52([1.0, 2.0])
    model = GPRegressor(kernel, method="inducing", n_inducing=40, hyperparameters="fixed", standardize=False)
    model.fit(X[FEW], Y[FEW]).update(X[150:170], Y[150:170])
    points = model.inducing_points_
    found = model.predict_dist(NEW)
    # The objective is made from the updated table.
    assert model.log_evidence(model.theta_)[0] == pytest.approx(model.log_evidence_, abs=1e-7)
    oracle = (
        representations.Inducing(X[:170], points)
        .prior(kernel)
        .observe(Y[:170, None], 0.1, lambda rows: np.ones((len(rows), 1)))
    )
    np.testing.assert_allclose(found.mean, oracle.latent(NEW)[0][:, 0], atol=1e-8)


@pytest.mark.slow
def test_noise_that_varies():
    """Ten times larger on the right."""
    std = np.where(X[:, 0] > 0, 0.5, 0.05)
    y = F + std * np.random.default_rng(1).normal(size=N)
    model = GPRegressor(method="inducing", n_inducing=40, noise="heteroscedastic", **settings(max_evaluations=15))
    left, right = model.fit(X[:200], y[:200]).noise_std([[-1.0, 0.0], [1.0, 0.0]])
    assert 0.03 < left < 0.1 and 0.3 < right < 0.8


@pytest.mark.parametrize("inference", ["ep", "laplace", "vi"])
def test_a_classifier_beside_the_exact_one(inference, tmp_path):
    how = settings(inference=inference, hyperparameters="fixed")
    kernel = RBF([1.0, 2.0], variance=4.0)
    model = GPClassifier(kernel, method="inducing", n_inducing=60, **how).fit(X[FEW], LABELS[FEW])
    exact = GPClassifier(kernel, method="exact", **how).fit(X[FEW], LABELS[FEW])
    np.testing.assert_allclose(model.predict_proba(NEW), exact.predict_proba(NEW), atol=0.01)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.1)
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict_proba(NEW), model.predict_proba(NEW))


def test_a_classifier_learns_its_kernel_with_inducing_points():
    some = slice(0, 250)
    model = GPClassifier(method="inducing", n_inducing=50, **settings()).fit(X[some], LABELS[some])
    exact = GPClassifier(method="exact", hyperparameters="optimize", **settings()).fit(X[some], LABELS[some])
    assert model.result_.converged and len(model.inducing_points_) <= 50
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1.0)
    np.testing.assert_allclose(model.predict_proba(NEW), exact.predict_proba(NEW), atol=0.03)
