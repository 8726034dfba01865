"""Whole functions from the posterior, at many points at once."""

import numpy as np

from benchmarks.harness import Line, below, times_of
from credo.gp import GPRegressor


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(200, 1))
    model = GPRegressor(n_restarts=0).fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=200))
    grid = np.linspace(-1, 11, 5000)[:, None]
    times = times_of({"credo": lambda: model.sample(grid, 3, random_state=0)}, rounds=0)
    return [below("3 functions from the posterior at 5000 points", times["credo"], 10.0)]
