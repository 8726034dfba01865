"""Credo's default models, and the group "credo" or "peers" of every contestant."""

from collections.abc import Callable, Sequence
from typing import Any

import credo
from benchmarks.honesty.peers import peers

# Makes a model for a table of so many columns.
Make = Callable[[int], Any]

CREDO: dict[str, dict[str, Make]] = {
    "regression": {
        "BaselineRegressor": lambda d: credo.BaselineRegressor(),
        "LinearRegression": lambda d: credo.LinearRegression(),
        "Ridge": lambda d: credo.Ridge("loo"),
        "BayesianLinearRegression": lambda d: credo.BayesianLinearRegression(),
        "LassoCV": lambda d: credo.LassoCV(),
        "SpikeSlabRegressor": lambda d: credo.SpikeSlabRegressor(random_state=0),
        "NadarayaWatson": lambda d: credo.NadarayaWatson(),
        "KernelRidge": lambda d: credo.KernelRidge(alpha="loo", fit_intercept=True),
        "GPRegressor": lambda d: credo.GPRegressor(random_state=0),
        "DecisionTreeRegressor": lambda d: credo.DecisionTreeRegressor(random_state=0),
        "BaggingRegressor": lambda d: credo.BaggingRegressor(random_state=0),
        "BoostedTrees, Conformal": lambda d: credo.Conformal(credo.BoostedTreesRegressor(), random_state=0),
        "MixtureOfExpertsRegressor": lambda d: credo.MixtureOfExpertsRegressor(random_state=0),
    },
    "classification": {
        "BaselineClassifier": lambda d: credo.BaselineClassifier(),
        "LinearDiscriminant": lambda d: credo.LinearDiscriminant("auto"),
        "BayesianLogisticRegression": lambda d: credo.BayesianLogisticRegression(),
        "BayesianLogistic, fixed prior": lambda d: credo.BayesianLogisticRegression(1.0),
        "BayesianLogistic, plugin": lambda d: credo.BayesianLogisticRegression(predictive="plugin"),
        "SparseLogisticRegressionCV": lambda d: credo.SparseLogisticRegressionCV(),
        "SpikeSlabClassifier": lambda d: credo.SpikeSlabClassifier(random_state=0),
        "SoftNeighborsClassifier": lambda d: credo.SoftNeighborsClassifier(),
        "GPClassifier": lambda d: credo.GPClassifier(random_state=0),
        "DecisionTreeClassifier": lambda d: credo.DecisionTreeClassifier(random_state=0),
        "BaggingClassifier": lambda d: credo.BaggingClassifier(random_state=0),
        "AdaBoostClassifier": lambda d: credo.AdaBoostClassifier(random_state=0),
        "BoostedTrees, Conformal": lambda d: credo.Conformal(credo.BoostedTreesClassifier(), random_state=0),
        "MixtureOfExpertsClassifier": lambda d: credo.MixtureOfExpertsClassifier(random_state=0),
    },
}

# Those whose time or memory grows with the square of the rows or faster stop here.
MOST_ROWS = {
    "KernelRidge": 3000, "NadarayaWatson": 10_000, "sklearn.GP": 1000, "GPyRegressor": 2000, "MAPIE": 10_000,
}  # fmt: skip


def contestants(task: str, names: Sequence[str] = ()) -> dict[str, Make]:
    """All models of a task, or those whose names, or whose group "credo" or "peers", are given."""
    groups = {"credo": CREDO[task], "peers": peers(task)}
    return {
        name: make
        for group, models in groups.items()
        for name, make in models.items()
        if not names or group in names or name in names
    }
