"""Time series in linear time: the regressor and the classifier with method="state_space" equal the exact ones."""

import numpy as np
import pytest

import credo
from credo import GPClassifier, GPRegressor
from credo.kernels import RBF, Linear, Matern32

RNG = np.random.default_rng(11)
X = RNG.uniform(0, 12, size=(90, 1))
Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.2 * RNG.normal(size=(90, 2))
NEW = np.array([[-1.0], [3.0], [X[4, 0]], [20.0]])


def fitted(method, y, X=X, **options):
    kernel = options.pop("kernel", "matern32")
    weight = options.pop("weight", None)
    return GPRegressor(kernel, method=method, n_restarts=0, random_state=0, **options).fit(X, y, sample_weight=weight)


def gappy():
    Y_gappy = Y.copy()
    Y_gappy[::5, 0], Y_gappy[3, 1] = np.nan, np.nan
    return Y_gappy


@pytest.mark.parametrize(
    "options",
    [
        {"mean": "linear", "weight": np.arange(90) % 3},
        {"y": Y},
        {"y": gappy(), "hyperparameters": "optimize"},
        {"noise": RNG.uniform(0.01, 0.1, 90)},
        {"kernel": Matern32() + Linear(), "hyperparameters": "optimize"},
        {"X": np.round(X), "hyperparameters": "optimize"},
    ],
    ids=["weights", "targets", "gaps", "known noise", "sum", "repeated times"],
)
def test_the_regressor_equals_the_exact_one(options):
    """At the exact model's hyperparameters, to which the search leads as well, up to its tolerance."""
    y = options.pop("y", Y[:, 0])
    exact, found = (fitted(method, y, **options) for method in ("exact", "state_space"))
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-4)
    value, slope = found.log_evidence(exact.theta_)
    np.testing.assert_allclose(value, exact.log_evidence(exact.theta_)[0], rtol=1e-9)
    np.testing.assert_allclose(slope, exact.log_evidence(exact.theta_)[1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.predict(NEW), exact.predict(NEW), atol=1e-3)
    np.testing.assert_allclose(
        found.predict(NEW, return_std=True)[1], exact.predict(NEW, return_std=True)[1], atol=1e-3
    )


def test_noise_that_varies_has_a_process_in_state_space_form():
    """Its kernel is a Matérn one, and RBF with the dense matrix: nearly the same."""
    y = np.sin(X[:, 0]) + 0.05 * X[:, 0] * RNG.normal(size=90)
    exact, found = (fitted(method, y, noise="heteroscedastic") for method in ("exact", "state_space"))
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1.0)
    np.testing.assert_allclose(found.noise_std([[1.0], [11.0]]), exact.noise_std([[1.0], [11.0]]), rtol=0.2)


def test_a_loaded_model_predicts_the_same(tmp_path):
    model = fitted("state_space", Y[:, 0], hyperparameters="optimize")
    credo.save(model, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict_dist(NEW).std, model.predict_dist(NEW).std)
    np.testing.assert_array_equal(loaded.loo().mean, model.loo().mean)


def test_an_update_is_a_refit():
    model = fitted("state_space", Y[:60, 0], X=X[:60], hyperparameters="optimize").update(X[60:], Y[60:, 0])
    same = {"standardize": False, "hyperparameters": "fixed", "noise": model.noise_variance_, "tails": "normal"}
    y = Y[:, 0] - model.posterior_.data.center[0]
    whole = GPRegressor(model.kernel_, method="exact", **same).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW) + model.posterior_.data.center[0], atol=1e-9)


def test_auto_says_that_it_chose_the_state_space():
    t = np.linspace(0, 30, 1200)[:, None]
    model = GPRegressor(Matern32(), hyperparameters="fixed", noise=0.1).fit(t, np.sin(t[:, 0]))
    assert 'method="state_space", because it is exact in linear time for one column' in model.result_.message
    chosen = GPRegressor(n_restarts=0, random_state=0).fit(np.linspace(0, 30, 2100)[:, None], np.sin(np.arange(2100)))
    assert chosen.method_ == "state_space" and "Matern52" in repr(chosen.kernel_)
    labels = t[:, 0] > 15
    found = GPClassifier(Matern32(5.0), inference="laplace", hyperparameters="fixed").fit(t, labels)
    assert 'method="state_space"' in found.result_.message
    assert found.predict([[1.0], [29.0]]).tolist() == [False, True]


def test_the_default_kernel_suits_the_method_and_others_are_refused():
    assert "Matern52" in repr(GPRegressor(method="state_space", n_restarts=0).fit(X[:30], Y[:30, 0]).kernel_)
    with pytest.raises(ValueError, match=r"RBF.* has no state-space form.*Exponential, Matern32"):
        GPRegressor(RBF(), method="state_space").fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="single column"):
        GPRegressor(method="state_space").fit(np.hstack([X, X]), Y[:, 0])
    with pytest.raises(ValueError, match='multiclass="softmax" needs method="exact"'):
        GPClassifier(method="state_space", inference="laplace", multiclass="softmax").fit(X, np.arange(90) % 3)


@pytest.mark.parametrize("inference", ["ep", "laplace", "vi"])
def test_the_classifier_equals_the_exact_one(tmp_path, inference):
    labels = np.where(Y[:, 0] > 0, "up", "down")
    options = {"inference": inference, "hyperparameters": "fixed"}
    exact, found = (GPClassifier(Matern32(2.0), method=m, **options).fit(X, labels) for m in ("exact", "state_space"))
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(found.predict_proba(NEW), exact.predict_proba(NEW), atol=1e-6)
    credo.save(found, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict_proba(NEW), found.predict_proba(NEW))
