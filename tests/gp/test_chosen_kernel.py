"""Kernels chosen by the evidence, and classifiers averaged over their hyperparameters."""

import numpy as np
import pytest
from scipy.special import logsumexp

import credo
from credo.distributions import Mixture
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF, Linear, Matern52, Sum


def drawn(kernel, n=70, seed=0, noise=1e-4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    root = np.linalg.cholesky(kernel.gram(X) + noise * np.eye(n))
    return X, root @ rng.normal(size=n)


@pytest.mark.parametrize(
    ("kernel", "family"),
    [(RBF(0.5), RBF), (Matern52(1.0), Matern52), (RBF(0.3, variance=0.1) + Linear(9.0), Sum)],
)
def test_the_family_of_the_highest_evidence_is_chosen(kernel, family):
    X, y = drawn(kernel)
    model = GPRegressor(hyperparameters="optimize", n_restarts=1, random_state=0).fit(X, y)
    assert isinstance(model.kernel_, family) and "kernel chosen: " in model.result_.message
    if family is Sum:
        assert "+ linear, ahead of" in model.result_.message
        assert any(isinstance(term, Linear) for term in model.kernel_.terms)
    named = [GPRegressor(name, hyperparameters="optimize", random_state=0).fit(X, y) for name in ("rbf", "matern52")]
    assert model.log_evidence_ > max(each.log_evidence_ for each in named) - 0.05


def test_a_linear_mean_and_fixed_hyperparameters_need_no_linear_part():
    X, y = drawn(RBF(0.3, variance=0.1) + Linear(9.0), n=40)
    sloped = GPRegressor(mean="linear", n_restarts=0, random_state=0).fit(X, y)
    assert "linear" not in sloped.result_.message
    assert isinstance(GPRegressor(hyperparameters="fixed").fit(X, y).kernel_, RBF)


def test_a_chosen_kernel_survives_files_and_updates(tmp_path):
    X, y = drawn(RBF(0.3, variance=0.1) + Linear(9.0), n=50)
    model = GPRegressor(n_restarts=0, random_state=0).fit(X[:45], y[:45])
    assert isinstance(model.kernel_, Sum)
    credo.save(model, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    assert loaded.log_evidence(model.theta_, gradient=False) == pytest.approx(
        model.log_evidence(model.theta_, gradient=False), rel=1e-10
    )
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)
    loaded.update(X[45:], y[45:])
    model.update(X[45:], y[45:])
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)
    # The linear part still has the centre and scale of the fit.
    value = model.log_evidence(model.theta_, gradient=False)
    assert loaded.log_evidence(model.theta_, gradient=False) == pytest.approx(value, rel=1e-9)


def labels(n=40):
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, size=(n, 1))
    return x, (np.sin(1.5 * x[:, 0]) + 0.7 * rng.normal(size=n) > 0).astype(int)


def test_an_integrated_classifier_is_that_of_a_fine_grid():
    x, y = labels()
    kernel = RBF(1.0, variance=2.0).fix("variance")
    model = GPClassifier(kernel, inference="laplace", n_restarts=0, random_state=0).fit(x, y)
    assert "integrated" in model.evidence_base_ and len(model.thetas_) > 8
    objective = model._objective()
    grid = np.linspace(-4, 4, 81)[:, None] + model.theta_
    logs = np.array([objective.log_posterior_value(theta) for theta in grid])
    assert model.log_evidence_ == pytest.approx(logsumexp(logs) + np.log(0.1), abs=0.1)
    weights, new = np.exp(logs - logsumexp(logs)), np.array([[-2.0], [0.3], [3.5]])
    exact = sum(
        weight
        * GPClassifier(objective.kernel_at(theta), inference="laplace", hyperparameters="fixed")
        .fit(x, y)
        .predict_proba(new)[:, 1]
        for weight, theta in zip(weights, grid, strict=True)
        if weight > 1e-4
    )
    plain = GPClassifier(kernel, inference="laplace", hyperparameters="optimize", n_restarts=0).fit(x, y)
    errors = [np.abs(each.predict_proba(new)[:, 1] - exact).max() for each in (model, plain)]
    assert errors[0] < 0.02 and errors[0] < 0.7 * errors[1]
    odds = model.decision_function(new)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), model.predict_proba(new)[:, 1], rtol=1e-10)


@pytest.mark.parametrize("n", [150, 600])
def test_a_few_points_of_a_classifier_predict_as_all_do(n, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n + 500, 3))
    y = (2 * np.sin(2 * X[:, 0]) + X[:, 1] + rng.logistic(size=n + 500) > 0).astype(int)
    few, every = (GPClassifier("rbf", n_restarts=0, random_state=0) for _ in range(2))
    few.fit(X[:n], y[:n])
    monkeypatch.setattr("credo.gp.classifier._PREDICTING_POINTS", ((1000, 16),))
    every.fit(X[:n], y[:n])
    assert len(few.thetas_) <= 4 < len(every.thetas_) and few.log_evidence_ == every.log_evidence_
    scores = [model.predict_dist(X[n:]).log_prob(y[n:]).mean() for model in (few, every)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_a_mixture_of_sites_has_its_moments_and_survives_files(tmp_path):
    x, y = labels()
    model = GPClassifier("rbf", n_restarts=0, random_state=0).fit(x, y)
    latent = model.predict_dist(x[:3], latent=True)
    assert isinstance(latent, Mixture)
    parts = [part.latent(x[:3]) for part in model.posterior_._processes]
    second = sum(w * (v + m**2) for w, (m, v) in zip(model.theta_weights_, parts, strict=True))
    np.testing.assert_allclose(latent.std**2 + latent.mean**2, second, rtol=1e-10)
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_allclose(credo.load(tmp_path / "model.credo").predict_proba(x), model.predict_proba(x), rtol=1e-9)


def test_a_classifier_says_once_that_it_converged_and_of_which_class_the_kernel_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    two = GPClassifier(n_restarts=0, random_state=0).fit(X, X[:, 0] > 0)
    assert two.result_.message.count("converged") == 1
    three = GPClassifier(n_restarts=0, random_state=0).fit(X, np.digitize(X[:, 0], [-0.7, 0.2]))
    first, *others = (member.result_.message for member in three.members_)
    assert any(other != first for other in others)
    assert three.result_.message == f"class 0: {first}; members_ has the other classes"
