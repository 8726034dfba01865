"""Deadlines end the loops of solvers, in the thread that set them and in those that work for it."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np
import pytest

import credo
from credo.deadlines import TimeUp, carried, check, until


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


def test_another_thread_has_the_deadline_only_if_it_is_carried_there():
    with until(monotonic() - 1.0), ThreadPoolExecutor(1) as pool:
        pool.submit(check).result()
        with pytest.raises(TimeUp):
            pool.submit(carried(check)).result()
        # The thread is used again, and has forgotten it.
        pool.submit(check).result()


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 8))
Y = X[:, 0] + RNG.normal(size=60)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (credo.GPRegressor(random_state=0), Y),
        (credo.GPClassifier(random_state=0), Y > 0),
        (credo.LassoCV(), Y),
        (credo.Lasso(0.1), Y),
        (credo.SparseLogisticRegressionCV(), Y > 0),
        (credo.LogisticRegression(1.0), Y > 0),
        (credo.BayesianLogisticRegression("evidence"), Y > 0),
        (credo.SpikeSlabRegressor(search="gibbs", random_state=0), Y),
        (credo.SpikeSlabClassifier(random_state=0), Y > 0),
        (credo.SpikeSlabClassifier(search="gibbs", random_state=0), Y > 0),
        (credo.NadarayaWatson(), Y),
        (credo.SoftNeighborsClassifier(), Y > 0),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "y",
)
def test_solvers_look_at_the_clock(model, y):
    with until(monotonic() - 1.0), pytest.raises(TimeUp):
        model.fit(X, y)
    # Nothing is left locked: the same fit runs to its end.
    with credo.notices.collected():
        model.fit(X, y)
