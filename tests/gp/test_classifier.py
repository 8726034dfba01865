"""Gaussian-process classification: published numbers, long chains as the judge, laws, and files."""

import numpy as np
import pytest
from scipy.stats import norm

import credo
from credo.core.inference import Dense, softmax_laplace
from credo.distributions import Bernoulli, Categorical, Normal
from credo.gp import GPClassifier
from credo.kernels import RBF, Matern52

FIVE = np.array(
    [(-1.07932, -1.83544), (1.15768, 2.91702), (3.26631, -3.85663), (1.79009, 0.11949), (-3.66051, 1.75159)]
)
LABELS = np.array([-1, 1, 1, 1, -1])
RULES = ["laplace", "ep", "vi", "mcmc"]


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=n) > 0, "up", "down")


@pytest.mark.parametrize(("rule", "kernel", "value"), [
    ("ep", RBF(2.0, variance=2.25), 3.38359489),
    ("laplace", RBF(1.0), 3.499024),
])  # fmt: skip
def test_published_evidences(rule, kernel, value):
    model = GPClassifier(kernel, inference=rule, hyperparameters="fixed").fit(FIVE, LABELS)
    assert -model.log_evidence_ == pytest.approx(value, abs=1e-6)
    assert model.evidence_method_ == rule


@pytest.mark.parametrize("rule", ["laplace", "ep", "vi"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_is_the_slope_and_vanishes_where_the_search_ended(rule, link):
    X, y = table(30)
    model = GPClassifier(inference=rule, link=link, hyperparameters="optimize", n_restarts=0).fit(X, y)
    theta = model.theta_ + 0.2
    _, gradient = model.log_evidence(theta)
    for i, axis in enumerate(np.eye(len(theta))):
        ends = [model.log_evidence(theta + s * 1e-4 * axis, gradient=False) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=1e-4)
    assert model.log_evidence(model.theta_)[0] == pytest.approx(model.log_evidence_, rel=1e-9)
    assert np.abs(model._objective()(model.theta_)[1]).max() < 2e-2


def test_ep_and_vi_agree_with_a_long_chain_better_than_laplace():
    """Few rows under a wide prior: a skewed posterior, which the mode misses."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(25, 1))
    y = (np.sin(X[:, 0]) > 0).astype(int)
    kernel, new = RBF(1.5, variance=30.0), np.linspace(-5, 5, 40)[:, None]
    options = {"hyperparameters": "fixed", "link": "logit", "random_state": 0}
    chain = GPClassifier(kernel, inference="mcmc", n_draws=4000, **options).fit(X, y).predict_proba(new)[:, 1]
    errors = {
        rule: np.abs(GPClassifier(kernel, inference=rule, **options).fit(X, y).predict_proba(new)[:, 1] - chain).max()
        for rule in ("laplace", "ep", "vi")
    }
    assert errors["ep"] < 0.02
    assert errors["vi"] < 0.05
    assert errors["laplace"] > 2 * max(errors["ep"], errors["vi"])


@pytest.mark.parametrize("rule", RULES)
def test_it_learns_and_returns_to_ignorance_far_away(rule):
    X, y = table()
    model = GPClassifier(inference=rule, n_restarts=0, n_draws=100).fit(X, y)
    new, truth = table(300, seed=1)
    assert model.score(new, truth) > 0.8
    assert model.relevance_[0] > 2 * model.relevance_[1]
    np.testing.assert_allclose(model.predict_proba([[1e3, 1e3]]), 0.5, atol=0.02)
    odds, table_ = model.decision_function(new), model.predict_proba(new)
    np.testing.assert_allclose(table_.sum(axis=1), 1.0)
    assert (np.diff(table_[np.argsort(odds), 1]) >= 0).all()
    dist = model.predict_dist(new)
    assert isinstance(dist, Categorical)
    assert credo.log_score(truth, dist) > np.log(0.5) + 0.15


@pytest.mark.parametrize("multiclass", ["softmax", "one_vs_rest"])
def test_three_classes(multiclass, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + 2.5 * np.repeat([[0, 0], [2, 0], [0, 2]], 30, axis=0)
    y = np.repeat(["a", "b", "c"], 30)
    model = GPClassifier(multiclass=multiclass, n_restarts=0).fit(X, y)
    assert model.score(X, y) > 0.95
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (90, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba([[500.0, 500.0]]), 1 / 3, atol=0.02)
    np.testing.assert_allclose(model.predict_proba(X[:5]), probabilities[:5], rtol=1e-9)
    assert getattr(model, "evidence_method_", None) == ("laplace" if multiclass == "softmax" else None)
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict_proba(X), probabilities)


def test_class_probabilities_by_quasi_random_points_are_those_of_many_random_ones():
    X, y = table(40)
    kernel = RBF([0.7, 2.0], variance=3.0)
    y = np.where(X[:, 1] > 0.5, "over", y)
    model = GPClassifier(kernel, inference="laplace", multiclass="softmax", hyperparameters="fixed").fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    new = X[:6] + 0.3
    mean, cov = softmax_laplace(Dense(X).prior(kernel), codes, 3, weight=np.ones(40)).posterior.latent(new)
    draws = np.random.default_rng(0).standard_normal((200_000, 3))
    for i in range(6):
        f = mean[i] + draws @ np.linalg.cholesky(cov[i]).T
        shares = np.exp(f - f.max(axis=1, keepdims=True))
        np.testing.assert_allclose(
            model.predict_proba(new)[i], (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0), atol=4e-3
        )


@pytest.mark.parametrize("rule", RULES)
def test_files_bring_it_back_bit_for_bit(rule, tmp_path):
    X, y = table(30)
    model = GPClassifier(Matern52([1.0, 1.0]), inference=rule, n_restarts=0, n_draws=30).fit(X, y)
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if rule != "mcmc":
        assert again.log_evidence(model.theta_)[0] == model.log_evidence(model.theta_)[0]


@pytest.mark.parametrize("rule", ["laplace", "ep", "vi"])
def test_weights_are_copies(rule):
    X, y = table(20)
    weight = np.arange(20) % 3
    weighted = GPClassifier(inference=rule, n_restarts=0).fit(X, y, sample_weight=weight)
    copied = GPClassifier(inference=rule, n_restarts=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))


def test_balanced_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + np.repeat([[0.0], [1.5]], [50, 10], axis=0)
    y = np.repeat([0, 1], [50, 10])
    plain, balanced = (GPClassifier(class_weight=w, n_restarts=0).fit(X, y) for w in (None, "balanced"))
    assert isinstance(plain.predict_dist(X), Bernoulli)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


def test_separable_classes_and_hard_scales():
    x = np.linspace(0, 1, 20)[:, None]
    for factor in (1e-8, 1.0, 1e8):
        for rule in ("laplace", "ep", "vi"):
            model = GPClassifier("rbf", inference=rule, n_restarts=0).fit(factor * x, (x[:, 0] > 0.5).astype(int))
            assert model.score(factor * x, (x[:, 0] > 0.5).astype(int)) == 1.0
            assert np.isfinite(model.log_evidence_)


def test_the_latent_function():
    X, y = table(30)
    model = GPClassifier(link="probit", hyperparameters="optimize", n_restarts=0).fit(X, y)
    latent = model.predict_dist(X, latent=True)
    assert isinstance(latent, Normal)
    expected = norm.cdf(latent.mean / np.sqrt(1 + latent.std**2))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)


def test_messages():
    X, y = table(20)
    with pytest.raises(ValueError, match="at least two classes"):
        GPClassifier().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="hyperparameters must be"):
        GPClassifier(hyperparameters="sample").fit(X, y)
    with pytest.raises(ValueError, match="link"):
        GPClassifier(link="cauchit").fit(X, y)
    with pytest.raises(TypeError, match="must be a kernel"):
        GPClassifier(3.0).fit(X, y)
    with pytest.raises(ValueError, match="latent=True needs two classes"):
        GPClassifier(inference="mcmc", n_restarts=0, n_draws=10).fit(X, y).predict_dist(X, latent=True)


def test_what_is_for_two_classes_is_refused_for_three():
    X, _ = table(30)
    y = np.arange(30) % 3
    with pytest.raises(ValueError, match='is for two classes: use multiclass="one_vs_rest"'):
        GPClassifier(inference="mcmc", multiclass="softmax").fit(X, y)
    model = GPClassifier(inference="ep", multiclass="softmax", hyperparameters="fixed").fit(X, y)
    assert "joined by Laplace" in model.result_.message and model.evidence_method_ == "laplace"


def test_nothing_of_an_earlier_fit_answers():
    X, y = table(30)
    model = GPClassifier(n_restarts=0).fit(X, y)
    model.set_params(multiclass="one_vs_rest").fit(X, np.arange(30) % 3)
    assert not {"kernel_", "theta_", "predictor_", "log_evidence_"} & set(vars(model))


@pytest.mark.parametrize("number", [-3, 1.5, True])
def test_a_number_of_restarts_is_a_number(number):
    with pytest.raises(ValueError, match="n_restarts must be a whole number"):
        GPClassifier(n_restarts=number).fit(*table(20))


@pytest.mark.parametrize("hyperparameters", ["optimize", "fixed"])
def test_mcmc_has_no_evidence_attribute(hyperparameters):
    X, y = table(30)
    model = GPClassifier(RBF(1.0), inference="mcmc", hyperparameters=hyperparameters, n_restarts=0, n_draws=30)
    model.fit(X, y)
    assert not hasattr(model, "log_evidence_") and not hasattr(model, "evidence_method_")
    assert "30 draws of the latent values" in model.result_.message
