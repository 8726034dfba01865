"""Calls as users write them, with the types that a checker should find; `make types` checks this file.

An ignored error that doesn't occur is an error itself (`warn_unused_ignores`), so that wrong calls stay wrong.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import credo

Array = NDArray[np.float64]

X = np.zeros((20, 2))
y = np.zeros(20)


def regression(flag: bool) -> None:
    model = credo.GPRegressor(credo.RBF(2.0), noise=0.1).fit(X, y)
    assert_type(model, credo.GPRegressor)
    assert_type(model.predict(X), Array)
    assert_type(model.predict(X, return_std=True), tuple[Array, Array])
    assert_type(model.predict(X, return_cov=True), tuple[Array, Array])
    assert_type(model.predict(X, True), tuple[Array, Array])
    assert_type(model.predict(X, return_std=flag), Any)
    assert_type(model.predict_dist(X), credo.Distribution)
    assert_type(model.predict_dist(X, joint=True), credo.MultivariateNormal)
    line = credo.BayesianLinearRegression(noise_precision="conjugate").fit(X.tolist(), list(y))
    assert_type(line.predict(X), Array)
    assert_type(line.predict_dist(X), credo.Distribution)
    assert_type(line.predict_dist(X).interval(0.9), tuple[Array, Array])
    assert_type(line.coef_, Array)
    assert_type(line.result_.message, str)


def classification() -> None:
    model = credo.BayesianLogisticRegression().fit(X, y > 0)
    assert_type(model.predict(X), NDArray[Any])
    assert_type(model.predict_proba(X), Array)
    assert_type(model.predict_dist(X), credo.Bernoulli | credo.Categorical)
    process = credo.GPClassifier().fit(X, y > 0)
    assert_type(process.predict_dist(X), credo.Bernoulli | credo.Categorical)
    assert_type(process.predict_dist(X, latent=True), credo.Normal | credo.Mixture)


def tables() -> None:
    comparison = credo.compare({"line": credo.LinearRegression()}, X, y)
    assert_type(comparison.selected, str)
    assert_type(credo.selection.Score("line").log_evidence, float | None)


def wrong() -> None:
    credo.GPRegresor()  # type: ignore[attr-defined]
    credo.GPRegressor(kernl=None)  # type: ignore[call-arg]
    credo.GPRegressor(noise=None)  # type: ignore[arg-type]
    credo.GPRegressor(method="exakt")  # type: ignore[arg-type]
    credo.BayesianLogisticRegression("integrated")  # type: ignore[arg-type]
    credo.KernelRidge().fit(X)  # type: ignore[call-arg]
    credo.Normal(0.0, 1.0).intervall(0.9)  # type: ignore[attr-defined]
