"""Linear models beside scikit-learn and beside what LAPACK alone needs."""

import warnings
from time import perf_counter

import numpy as np
from sklearn import linear_model as sk

from benchmarks.harness import Line, at_most, below, faster, times_of
from credo.linear import BayesianLinearRegression, LinearRegression


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    return [*bayes_tall(), *least_squares(), bayes_wide()]


def table(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=n_features)
    return X, X @ rng.normal(size=n_features) + rng.normal(size=n_samples)


def bayes_tall() -> list[Line]:
    X, y = table(100_000, 100)
    times = times_of(
        {
            "credo": lambda: BayesianLinearRegression().fit(X, y),
            "X.T @ X + eigh": lambda: np.linalg.eigh(X.T @ X),
            "scikit-learn BayesianRidge": lambda: sk.BayesianRidge().fit(X, y),
        },
        rounds=7,
    )
    case = "Bayesian linear regression, evidence, n=100000 p=100"
    return [
        at_most(case, times, "X.T @ X + eigh", 2.5),
        faster(case, times, "scikit-learn BayesianRidge", 8),
    ]


def least_squares() -> list[Line]:
    lines = []
    for n_samples, n_features in [(100_000, 100), (10_000, 300), (1_000, 20), (2_000, 1_000)]:
        X, y = table(n_samples, n_features)
        times = times_of(
            {
                "credo": lambda X=X, y=y: LinearRegression().fit(X, y),
                "scikit-learn, no standard errors": lambda X=X, y=y: sk.LinearRegression().fit(X, y),
            },
            rounds=7,
        )
        case = f"least squares with standard errors, n={n_samples} p={n_features}"
        lines.append(at_most(case, times, "scikit-learn, no standard errors", 1.0))
    return lines


def bayes_wide() -> Line:
    X, y = table(100, 20_000)
    times = []
    for _ in range(5):
        start = perf_counter()
        BayesianLinearRegression().fit(X, y).predict_dist(X)
        times.append(perf_counter() - start)
    return below("Bayesian, n=100 p=20000, fit and predict with std", min(times), 0.5)
