"""Coverage on tables drawn from a model's own prior, at few rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import skipped
from benchmarks.honesty.contest import stopped_after
from benchmarks.honesty.models import Make
from credo.core.deadlines import TimeUp
from credo.kernels import RBF
from credo.metrics import predictive

N_NEW = 40
PROCESSES = ((15, 2), (30, 2), (60, 4), (30, 8))
LINEAR = ((8, 3), (15, 3), (30, 20))
MODELS = {
    "process": ("GPRegressor", "sklearn.GP", "GPyRegressor"),
    "linear": ("BayesianLinearRegression", "LinearRegression", "sklearn.BayesianRidge"),
}
Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Simulated:
    """Mean coverage and log score of fresh rows over tables, each with its standard error."""

    kind: str
    n: int
    d: int
    model: str
    tables: int
    coverage: tuple[float, float]
    half: tuple[float, float]
    log_score: tuple[float, float]


def process(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows and fresh ones of a process with an RBF on the cube (−1.5, 1.5)^d."""
    X = rng.uniform(-1.5, 1.5, size=(n + N_NEW, d))
    scales = 0.8 * np.sqrt(d) * rng.lognormal(0.0, 0.5, size=d)
    noise = rng.lognormal(-2.5, 0.7)
    covariance = RBF(scales).gram(X) + noise * np.eye(len(X))
    return X, np.linalg.cholesky(covariance) @ rng.normal(size=len(X))


def linear(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows and fresh ones of a linear function of normal columns."""
    X = rng.normal(size=(n + N_NEW, d))
    return X, X @ rng.normal(size=d) + rng.lognormal(0.0, 0.5) * rng.normal(size=len(X))


def simulate(models: Mapping[str, Make], n_tables: int, seconds: float) -> Iterator[Simulated]:
    cases: list[tuple[str, Draw, int, int]] = [("process", process, n, d) for n, d in PROCESSES]
    cases += [("linear", linear, n, d) for n, d in LINEAR]
    for kind, draw, n, d in cases:
        for name in MODELS[kind]:
            if name not in models:
                continue
            try:
                yield _coverage(kind, draw, n, d, name, models[name], n_tables, seconds)
            except TimeUp:
                skipped(f"{name}, {kind} n={n} D={d}", f"a fit takes more than {seconds:g} CPU s")


def _coverage(
    kind: str, draw: Draw, n: int, d: int, name: str, make: Make, n_tables: int, seconds: float
) -> Simulated:  # fmt: skip
    results = []
    for seed in range(n_tables):
        X, y = draw(np.random.default_rng([n, d, seed]), n, d)
        with stopped_after(seconds):
            dist = predictive(make(d).fit(X[:n], y[:n]), X[n:])
        ends = [dist.interval(level) for level in (0.95, 0.5)]
        inside = [np.mean((lower <= y[n:]) & (y[n:] <= upper)) for lower, upper in ends]
        results.append([*inside, np.mean(dist.log_prob(y[n:]))])
    means, errors = np.mean(results, axis=0), np.std(results, axis=0, ddof=1) / np.sqrt(n_tables)
    return Simulated(kind, n, d, name, n_tables, *zip(means.tolist(), errors.tolist(), strict=True))
