"""Deadlines end the loops of solvers, in the thread that set them and in those that work for it."""

from time import monotonic

import numpy as np
import pytest

import credo
from credo.core.deadlines import TimeUp, check, until
from credo.core.linalg import parallel_map


def test_without_a_deadline_nothing_happens():
    check()
    with until(None):
        check()
    with until(monotonic() + 60):
        check()


def test_a_deadline_that_has_passed_raises_inside_the_block_only():
    with until(monotonic() - 1.0), pytest.raises(TimeUp):
        check()
    check()


def test_parallel_work_has_the_deadline():
    with until(monotonic() - 1.0), pytest.raises(TimeUp):
        parallel_map(lambda _: check(), range(4), n_jobs=2)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = X[:, 0] + RNG.normal(size=40)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (credo.GPRegressor(n_restarts=0), Y),
        (credo.GPClassifier(n_restarts=0), Y > 0),
        (credo.LassoCV(n_alphas=20), Y),
        (credo.Lasso(0.1), Y),
        (credo.SparseLogisticRegressionCV(n_alphas=10), Y > 0),
        (credo.LogisticRegression(1.0), Y > 0),
        (credo.BayesianLogisticRegression("integrate"), Y > 0),
        (credo.SpikeSlabRegressor(search="gibbs", n_draws=200, random_state=0), Y),
        (credo.SpikeSlabClassifier(random_state=0), Y > 0),
        (credo.SpikeSlabClassifier(search="gibbs", n_draws=200, random_state=0), Y > 0),
        (credo.NadarayaWatson(), Y),
        (credo.SoftNeighborsClassifier(), Y > 0),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "y",
)
def test_solvers_look_at_the_clock(model, y):
    with until(monotonic() - 1.0), pytest.raises(TimeUp):
        model.fit(X, y)
    # Nothing is left locked: the same fit runs to its end.
    with credo.core.notices.collected():
        model.fit(X, y)
