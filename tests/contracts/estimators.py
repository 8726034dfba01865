"""Finds the estimators that Credo exports, so that no contract test has to name them."""

import inspect
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import credo
from credo.core.estimator import Classifier, Regressor
from credo.ensemble._base import Ensemble

# Settings worth their own run beside the defaults, by class name.
VARIANTS = {
    "Ridge": [{"alpha": "loo"}],
    "BayesianLinearRegression": [
        {"noise_precision": "conjugate"},
        {"prior_precision": 1.0, "noise_precision": 1.0, "fit_intercept": False},
    ],
    "GPRegressor": [{"mean": "zero"}, {"method": "inducing", "n_inducing": 20}],
    "KernelRidge": [{"alpha": "loo", "fit_intercept": True}],
    "NadarayaWatson": [{"bandwidth": 0.7}],
    "LinearRegression": [{"fit_intercept": False}],
    "GPClassifier": [
        {"inference": "laplace", "link": "logit"},
        {"inference": "mcmc", "n_draws": 30},
    ],
    "LogisticRegression": [{"alpha": 1.0}],
    "SoftNeighborsClassifier": [{"bandwidth": 0.7, "smoothing": 0.1}],
    "SpikeSlabRegressor": [
        {"slab": "zellner-siow"},
        {"slab": "normal"},
        {"search": "gibbs", "random_state": 0, "n_draws": 100},
    ],
    "ModelAverage": [{"weights": "stacking", "cv": 2}],
    "DecisionTreeClassifier": [{"pruning": 0.05, "min_leaf": 5.0, "prior_strength": 5.0}],
    "DecisionTreeRegressor": [{"pruning": 0.0}],
    "AdaBoostClassifier": [
        {
            "estimator": credo.DecisionTreeClassifier(max_depth=1, pruning=0.0, prior_strength=1e-3, random_state=0),
            "n_rounds": 3,
        },
    ],
    "MixtureOfExpertsRegressor": [{"n_experts": 2}],
    "MixtureOfExpertsClassifier": [{"n_experts": 2, "gate": "hierarchical", "gate_precision": 1.0}],
    "TransformedTarget": [{"transformation": "yeo-johnson"}],
    "ElasticNet": [{"alpha": 0.1, "l1_ratio": 0.3}],
}

# The estimators that models of either task are made of in these tests, by class name.
_LINEAR = [("flat", credo.BayesianLinearRegression()), ("scaled", credo.BayesianLinearRegression())]
_LOGISTIC = [(name, credo.BayesianLogisticRegression(predictive=name)) for name in ("quadrature", "probit")]
_DISCRIMINANT = [("plain", credo.LinearDiscriminant()), ("shrunk", credo.LinearDiscriminant(shrinkage="auto"))]
MEMBERS: dict[str, dict[type, dict]] = {
    "BaggingRegressor": {Regressor: {"estimator": credo.BayesianLinearRegression(), "n_estimators": 3}},
    "BaggingClassifier": {Classifier: {"estimator": credo.LinearDiscriminant(shrinkage="auto"), "n_estimators": 3}},
    "Committee": {Regressor: {"estimators": _LINEAR}, Classifier: {"estimators": _DISCRIMINANT}},
    "ModelAverage": {Regressor: {"estimators": _LINEAR}, Classifier: {"estimators": _LOGISTIC}},
    "Conformal": {
        Regressor: {"estimator": credo.BayesianLinearRegression(), "cv": 5},
        Classifier: {"estimator": credo.LogisticRegression(1.0), "cv": 3},
    },
}

# What these keep doesn't depend on how fine their grids are, nor on how often a search starts: that takes seconds.
LIGHTER = {
    "MixtureOfExpertsRegressor": {"max_experts": 2, "n_restarts": 0, "tol": 1e-3},
    "MixtureOfExpertsClassifier": {"max_experts": 2, "n_restarts": 0, "tol": 1e-3},
    "SparseLogisticRegressionCV": {"n_alphas": 5, "cv": 3},
    "LassoCV": {"n_alphas": 20},
    "AdaBoostClassifier": {"n_rounds": 10},
    "BoostedTreesRegressor": {"max_rounds": 40, "max_leaves": 4},
    "BoostedTreesClassifier": {"max_rounds": 40},
    "GPRegressor": {"n_restarts": 0, "kernel": "rbf"},
    "GPClassifier": {"n_restarts": 0, "kernel": "rbf", "hyperparameters": "optimize"},
}

# Short searches for scikit-learn's checks, which fit a model some hundred times and hardly look where it ends.
BRIEF = {
    "max_evaluations": 2, "n_alphas": 5, "cv": 2, "n_draws": 50, "transformation": "yeo-johnson", "max_rounds": 10,
    "hyperparameters": "optimize", "prior_precision": 1.0, "expert_precision": 1.0, "n_experts": 2,
    "quadrature__prior_precision": 1.0, "probit__prior_precision": 1.0,
}  # fmt: skip


def exported_classes() -> list[type]:
    """Every public class of every package, each once."""
    found = {}
    for package in credo._PACKAGES:
        module = import_module(f"credo.{package}")
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            # The baselines look at no column, so nothing can be wrong with X: tests/linear/test_baseline.py is theirs.
            if inspect.isclass(member) and issubclass(member, BaseEstimator) and not name.startswith("Baseline"):
                found[member.__qualname__] = member
    return [found[name] for name in sorted(found)]


def brief(model: BaseEstimator) -> BaseEstimator:
    """The model with a short search."""
    names = BRIEF.keys() & model.get_params().keys()
    # The average over the variances of an additive model takes no time, and keeps them finite.
    names -= {"hyperparameters"} if type(model).__name__.startswith("Additive") else set()
    return clone(model).set_params(**{name: BRIEF[name] for name in names})


def expected_failures(model: BaseEstimator) -> dict[str, str]:
    """The checks of scikit-learn that a model can't pass, with the reason."""
    if not type(model).__name__.startswith("Bagging"):
        return {}
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, "weights are probabilities of random draws")


def regressors(*, variants: bool = True) -> list[Regressor]:
    """One unfitted instance of each exported regressor and, unless told otherwise, of its variants."""
    return _instances(Regressor, variants=variants)


def classifiers(*, variants: bool = True) -> list[Classifier]:
    """One unfitted instance of each exported classifier and, unless told otherwise, of its variants."""
    return _instances(Classifier, variants=variants)


# Variants of dear models, whose own tests cover what is special about them.
_DEAR = re.compile(r"inference='mcmc'|search='gibbs'|method='inducing'|mean='zero'")


def cases(models: list[BaseEstimator]) -> list[Any]:
    """The models as parameters of tests; the variants that take most of the time are for the slow ones."""
    return [
        pytest.param(clone(model), marks=pytest.mark.slow) if _DEAR.search(repr(model)) else clone(model)
        for model in models
    ]


_FITTED: dict[tuple, BaseEstimator] = {}


def fitted(model: BaseEstimator, X: np.ndarray, y: np.ndarray) -> BaseEstimator:
    """The model fitted to this table, for tests that only read it: fitted once for all of them."""
    key = (repr(model), X.tobytes(), y.tobytes())
    if key not in _FITTED:
        _FITTED[key] = clone(model).fit(X, y)
    return _FITTED[key]


def _instances(base: type, *, variants: bool) -> list[BaseEstimator]:
    classes = [c for c in exported_classes() if issubclass(c, (base, Ensemble)) and c is not base]
    return [
        _seeded(c, MEMBERS.get(c.__name__, {}).get(base, {}) | options)
        for c in classes
        for options in [{}, *(VARIANTS.get(c.__name__, []) if variants else [])]
    ]


def _seeded(kind: type, options: dict) -> BaseEstimator:
    """What is fitted twice must come out the same."""
    model = kind(**{**LIGHTER.get(kind.__name__, {}), **options})
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model
