"""Vecchia's approximation for two columns, beside GPBoost where installed."""

from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.harness import Job, Line, at_most, below, installed, quick, times_of
from credo.core.inference import Vecchia
from credo.gp import GPRegressor
from credo.kernels import Matern32

_SCALES, _NOISE, _NEIGHBORS = np.array([0.2, 0.3]), 0.09, 30
_FEW, _MANY, _NEW = 20_000, 200_000, 1000
# GPBoost takes minutes for more.
_FITTED = 5000


def run() -> list[Line]:
    X, y = _table(_FEW + _NEW)
    new, truth, X, y = X[_FEW:], y[_FEW:], X[:_FEW], y[:_FEW]
    kernel = Matern32(_SCALES)
    rows = Vecchia(X, _NEIGHBORS).adapted(kernel)
    assert len(rows.neighbors[0]) == _FEW

    def likelihood() -> float:
        return rows.prior(kernel).observe(y[:, None], _NOISE).log_evidence

    scores: dict[str, float] = {}
    jobs: dict[str, Job] = {"credo": likelihood, **_gpboost(X, y, new, truth, scores)}
    times = times_of(jobs, rounds=3)
    case = f"Vecchia's log likelihood, {_FEW:,} rows, D=2, {_NEIGHBORS} neighbours"
    mean, variance = rows.prior(kernel).observe(y[:, None], _NOISE).latent(new)
    scores["credo"] = _log_score(mean[:, 0], variance + _NOISE, truth)
    quality = "held-out log score " + ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
    lines = [at_most(case, times, "GPBoost", 1.0, quality=quality)] if "GPBoost" in times else []
    if quick():
        return lines
    if lines:
        lines.append(_fits(X[:_FITTED], y[:_FITTED], new, truth))
    X, y = _table(_MANY + _NEW)
    begin = perf_counter()
    model = GPRegressor("matern32", method="vecchia", n_restarts=1, random_state=0).fit(X[:_MANY], y[:_MANY])
    seconds = perf_counter() - begin
    score = model.predict_dist(X[_MANY:]).log_prob(y[_MANY:]).mean()
    # The log score of the true function and noise.
    best = norm.logpdf(y[_MANY:], _function(X[_MANY:]), 0.3).mean()
    quality = f"held-out log score {score:.4f}, of the truth {best:.4f}"
    return [*lines, below(f"fit of GPRegressor by Vecchia, {_MANY:,} rows", seconds, 600.0, quality=quality)]


def _fits(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Line:
    """Hyperparameters by maximum likelihood, and what they predict: Fisher scoring here, GPBoost's default there."""
    scores: dict[str, float] = {}

    def ours() -> None:
        model = GPRegressor("matern32", method="vecchia", hyperparameters="optimize", n_restarts=0, random_state=0)
        scores["credo"] = float(model.fit(X, y).predict_dist(new).log_prob(truth).mean())

    def theirs() -> None:
        model, constant = _gpboost_model(X), np.ones((len(X), 1))
        model.fit(y=y, X=constant)
        found = model.predict(gp_coords_pred=new, X_pred=constant[: len(new)], predict_var=True, predict_response=True)
        scores["GPBoost"] = _log_score(found["mu"], found["var"], truth)

    times = times_of({"credo": ours, "GPBoost": theirs}, rounds=0)
    quality = "held-out log score " + ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
    return at_most(f"  fit, {len(X):,} rows, {_NEIGHBORS} neighbours", times, "GPBoost", 1.0, quality=quality)


def _table(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, _function(X) + 0.3 * rng.normal(size=n)


def _function(X: np.ndarray) -> np.ndarray:
    return np.sin(9 * X[:, 0]) + np.cos(7 * X[:, 1])


def _gpboost(
    X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray, scores: dict[str, float]
) -> dict[str, Job]:
    if not installed("gpboost", "kriging by GPBoost"):
        return {}
    model = _gpboost_model(X)
    values = np.array([_NOISE, 1.0, *_SCALES])
    found = model.predict(y=y, gp_coords_pred=new, cov_pars=values, predict_var=True, predict_response=True)
    scores["GPBoost"] = _log_score(found["mu"], found["var"], truth)
    return {"GPBoost": lambda: model.neg_log_likelihood(cov_pars=values, y=y)}


def _gpboost_model(X: np.ndarray) -> Any:
    import gpboost

    return gpboost.GPModel(
        gp_coords=X,
        cov_function="matern_ard",
        cov_fct_shape=1.5,
        likelihood="gaussian",
        gp_approx="vecchia",
        num_neighbors=_NEIGHBORS,
    )


def _log_score(mean: np.ndarray, variance: np.ndarray, truth: np.ndarray) -> float:
    return float(norm.logpdf(truth, mean, np.sqrt(variance)).mean())
