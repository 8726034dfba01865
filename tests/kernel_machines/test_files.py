"""Kernel machines come back from files bit for bit, kernels included."""

import numpy as np
import pytest
from sklearn.base import clone

import credo
from credo import kernels
from credo.kernel_machines import KernelPerceptron, KernelRidge, NadarayaWatson, SoftNeighborsClassifier

MODELS = [
    KernelRidge(),
    KernelRidge(1.3 * kernels.RBF([0.2, 14]) + kernels.White(0.01), alpha="loo", fit_intercept=True),
    KernelRidge(kernels.Polynomial(3).on([1]), alpha=0.5),
    NadarayaWatson(),
    NadarayaWatson(kernels.Matern32([1.0, 3.0]) * kernels.Periodic(period=2.0).on(0), bandwidth=0.4),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_files_bring_it_back_bit_for_bit(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = clone(model).fit(X, np.sin(X[:, 0]) + X[:, 1], sample_weight=rng.integers(0, 3, size=30))
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert type(back) is type(model) and repr(back) == repr(model)
    assert back.kernel_ == model.kernel_ and back.result_ == model.result_
    new = np.concatenate([X + 0.1, 1e6 * X])
    before, after = model.predict_dist(new), back.predict_dist(new)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.std, after.std)
    assert str(model.summary()) == str(back.summary())


CLASSIFIERS = [
    KernelPerceptron(kernels.RBF([0.2, 14]) + kernels.White(0.01), random_state=0),
    KernelPerceptron(kernels.Polynomial(3).on([1]), random_state=0),
    SoftNeighborsClassifier(kernels.Matern32([1.0, 3.0]) * kernels.Periodic(period=2.0).on(0), bandwidth=0.4),
    SoftNeighborsClassifier(),
]


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_files_bring_classifiers_back_bit_for_bit(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = clone(model).fit(X, rng.choice(["a", "b", "c"], size=30))
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert type(back) is type(model) and repr(back) == repr(model)
    assert back.kernel_ == model.kernel_ and back.result_ == model.result_
    new = np.concatenate([X + 0.1, 1e6 * X])
    name = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    np.testing.assert_array_equal(getattr(back, name)(new), getattr(model, name)(new))
    np.testing.assert_array_equal(back.predict(new), model.predict(new))
    assert str(model.summary()) == str(back.summary())
