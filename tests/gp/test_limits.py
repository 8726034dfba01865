"""No fit is endless: limits on evaluations, tables without noise, interrupts; none warns of overflow."""

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from credo.gp import GPClassifier, GPRegressor
from credo.kernels import Linear, Polynomial


def table(n, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("n", [100, 700])
def test_a_fit_at_its_limit_says_so(n):
    X, y = table(n)
    model = GPRegressor(n_restarts=0, max_evaluations=3, random_state=0).fit(X, y)
    assert not model.result_.converged and model.result_.n_iter < 25
    assert "increase max_evaluations" in model.result_.message
    assert np.isfinite(model.predict(X)).all()


def test_a_classifier_at_its_limit_says_so():
    X, y = table(80)
    model = GPClassifier(n_restarts=0, max_evaluations=2).fit(X, y > 0)
    assert not model.result_.converged and "increase max_evaluations" in model.result_.message


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_the_limit_is_a_positive_integer(limit):
    with pytest.raises(ValueError, match="max_evaluations"):
        GPRegressor(max_evaluations=limit).fit(*table(10))


@pytest.mark.parametrize("kernel", ["rbf", pytest.param("matern52", marks=pytest.mark.slow)])
def test_a_column_that_determines_the_target_does_not_keep_the_search_going(kernel):
    """y = exp(x₀) without noise: the evidence grows until rounding errors exceed any further gain."""
    X, _ = table(700, n_features=6)
    model = GPRegressor(kernel, n_restarts=1, random_state=0).fit(X, np.exp(X[:, 0]))
    # Where rounding errors decide, the number of evaluations depends on the machine; the limit is 200 a start.
    assert model.result_.n_iter < 180
    np.testing.assert_allclose(model.predict(X), np.exp(X[:, 0]), atol=0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_a_fit_can_be_interrupted():
    X, y = table(1500, n_features=12)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            GPRegressor(n_restarts=30, random_state=0).fit(X, y)
        assert time.perf_counter() - sent[0] < 5.0
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("method", ["exact", "vecchia"])
@pytest.mark.parametrize(("scale", "spread"), [(1.0, 1e-16), (1e-69, 0.0), ([1e69, 1e-69], 0.0)])
def test_targets_that_are_constant_up_to_rounding_are_fitted_without_warnings(method, scale, spread):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = 3.0 + spread * (X @ [1.0, -0.5] + 0.3 * rng.normal(size=30))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        dist = GPRegressor(method=method, n_restarts=0).fit(X * scale, y).predict_dist(X * scale)
    np.testing.assert_allclose(dist.mean, y, rtol=1e-8)
    assert dist.std.max() < 1e-6


@pytest.mark.parametrize(("model", "kernel"), [(GPRegressor, Polynomial(2)), (GPClassifier, Linear())])
def test_a_kernel_whose_covariances_overflow_is_refused(model, kernel):
    X, y = table(20)
    with pytest.raises(ValueError, match=r"gives variances up to \S+ at .* overflow: rescale the columns"):
        model(kernel, n_restarts=0).fit(1e60 * X, y > 0)
