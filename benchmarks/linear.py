"""Linear models beside scikit-learn, statsmodels and what LAPACK alone needs."""

import warnings

import numpy as np
from sklearn import linear_model as sk

from benchmarks.harness import Job, Line, at_most, below, faster, installed, quick, times_of
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.metrics import log_score, predictive

Array = np.ndarray
# Rows that no model sees, for the log score.
NEW = 1000


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    return [*bayes_tall(), *least_squares(), bayes_wide()]


def _rounds() -> int:
    return 2 if quick() else 5


def table(n_samples: int, n_features: int) -> tuple[Array, Array, Array, Array]:
    """Rows and targets to fit, and new ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples + NEW, n_features)) + rng.normal(size=n_features)
    y = X @ rng.normal(size=n_features) + rng.normal(size=len(X))
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


def bayes_tall() -> list[Line]:
    X, y, new, truth = table(100_000, 100)
    ours, theirs = BayesianLinearRegression(), sk.BayesianRidge()
    times = times_of(
        {
            "credo": lambda: ours.fit(X, y),
            "X.T @ X + eigh": lambda: np.linalg.eigh(X.T @ X),
            "scikit-learn BayesianRidge": lambda: theirs.fit(X, y),
        },
        rounds=_rounds(),
    )
    case = "Bayesian linear regression, evidence, n=100000 p=100"
    scores = [log_score(truth, predictive(model, new)) for model in (ours, theirs)]
    quality = f"held-out log score {scores[0]:.4f}, scikit-learn {scores[1]:.4f}"
    return [
        at_most(case, times, "X.T @ X + eigh", 2.5),
        faster(case, times, "scikit-learn BayesianRidge", 8, quality=quality),
    ]


def least_squares() -> list[Line]:
    sizes = [(100_000, 100), (10_000, 300), (1_000, 20), (2_000, 1_000)]
    return [line for size in (sizes[:3] if quick() else sizes) for line in standard_errors(*size)]


def standard_errors(n_samples: int, n_features: int) -> list[Line]:
    """Coefficients with standard errors, which scikit-learn doesn't give and statsmodels does."""
    X, y, *_ = table(n_samples, n_features)
    ours, plain = LinearRegression(), sk.LinearRegression()
    errors: list[Array] = []
    jobs: dict[str, Job] = {
        "credo": lambda: ours.fit(X, y),
        "scikit-learn, no standard errors": lambda: plain.fit(X, y),
    }
    if installed("statsmodels", "least squares by statsmodels"):
        from statsmodels.api import OLS, add_constant

        jobs["statsmodels OLS"] = lambda: errors.append(OLS(y, add_constant(X)).fit().bse[1:])
    times = times_of(jobs, rounds=_rounds())
    case = f"least squares with standard errors, n={n_samples} p={n_features}"
    quality = {"scikit-learn, no standard errors": f"coefficients differ by {_apart(ours.coef_, plain.coef_):.0e}"}
    if errors:
        quality["statsmodels OLS"] = f"standard errors differ by {_apart(ours.coef_std_error_, errors[-1]):.0e}"
    return [at_most(case, times, name, 1.0, quality=text) for name, text in quality.items()]


def _apart(ours: Array, theirs: Array) -> float:
    """The largest difference relative to the largest value."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def bayes_wide() -> Line:
    X, y, new, truth = table(100, 20_000)
    model = BayesianLinearRegression()
    times = times_of({"credo": lambda: model.fit(X, y).predict_dist(X)}, rounds=5)
    low, high = model.predict_dist(new).interval(0.95)
    quality = f"95 % intervals contain {100 * np.mean((low <= truth) & (truth <= high)):.0f} % of new rows"
    return below("Bayesian, n=100 p=20000, fit and predict with std", times["credo"], 0.5, quality=quality)
