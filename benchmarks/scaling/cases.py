"""What is measured: a name, the numbers of rows, and a job for a table of so many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo import (
    AdditiveRegressor,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BoostedTreesRegressor,
    GPRegressor,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    SpikeSlabRegressor,
)
from credo.core.inference import REPRESENTATIONS, Inducing
from credo.core.parts.summary import summarize
from credo.kernels import RBF, Kernel, Matern52

Array = NDArray[np.float64]
Job = Callable[[], object]

WIDE, MIDDLE, FEW = 20, 8, 2
# Seconds for the fits of a Gaussian process.
_LONG = 30.0


@dataclass(frozen=True)
class Case:
    """A job for n rows of so many columns; `group` is the part of the page it belongs to."""

    name: str
    group: str
    n_columns: int
    first: int
    make: Callable[[Array, Array], Job]
    labels: bool = False
    largest: int = 10**7
    # The case ends where the next number of rows would bring its sum of seconds beyond this.
    budget: float = 8.0

    def job(self, n: int) -> Job:
        """The job for a table of n rows, which is made here."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(n, self.n_columns))
        y = np.sin(2 * X[:, 0]) + 0.3 * X[:, -1] + 0.5 * rng.normal(size=n)
        return self.make(X, (y > 0).astype(int) if self.labels else y)


def _evaluation(method: str, kernel: Callable[[int], Kernel]) -> Callable[[Array, Array], Job]:
    """One log evidence, or bound, with its gradient at given hyperparameters."""

    def make(X: Array, y: Array) -> Job:
        own = kernel(X.shape[1])
        rows = (Inducing(X, n_points=500) if method == "inducing" else REPRESENTATIONS[method](X)).adapted(own)

        def once() -> None:
            posterior = rows.prior(own).observe(y[:, None], 0.1)
            posterior.log_evidence  # noqa: B018
            posterior.gradient()

        return once

    return make


def _rbf(d: int) -> Kernel:
    return RBF(np.full(d, 0.4 * d))


def _matern(d: int) -> Kernel:
    return Matern52(np.full(d, 1.0))


def _fit(model: object) -> Callable[[Array, Array], Job]:
    return lambda X, y: lambda: model.fit(X, y)  # type: ignore[attr-defined]


def _process(method: str) -> Callable[[Array, Array], Job]:
    return _fit(GPRegressor(method=method, random_state=0))


def _inducing_summary(X: Array, y: Array) -> Job:
    features = Inducing(X[:10_000], n_points=500).prior(_rbf(X.shape[1])).features
    targets, noise = y[:, None], np.full(len(y), 0.1)
    return lambda: features.summarize(X, targets, noise)


CASES = [
    Case("exact", "one evaluation", MIDDLE, 250, _evaluation("exact", _rbf), largest=8000),
    Case("inducing, 500 points", "one evaluation", MIDDLE, 1000, _evaluation("inducing", _rbf)),
    Case("vecchia", "one evaluation", FEW, 1000, _evaluation("vecchia", _matern)),
    Case("state space", "one evaluation", 1, 16_000, _evaluation("state_space", _matern)),
    Case("GPRegressor, exact", "Gaussian processes", MIDDLE, 250, _process("exact"), largest=8000, budget=_LONG),
    Case("GPRegressor, inducing", "Gaussian processes", MIDDLE, 1000, _process("inducing"), budget=_LONG),
    Case("GPRegressor, vecchia", "Gaussian processes", FEW, 1000, _process("vecchia"), budget=_LONG),
    Case("GPRegressor, state_space", "Gaussian processes", 1, 4000, _process("state_space"), budget=_LONG),
    Case("LinearRegression", "other models", WIDE, 4000, _fit(LinearRegression()), largest=1_500_000),
    Case("BayesianLinearRegression", "other models", WIDE, 4000, _fit(BayesianLinearRegression()), largest=1_500_000),
    Case("LassoCV", "other models", WIDE, 4000, _fit(LassoCV()), largest=1_500_000),
    Case("SpikeSlabRegressor", "other models", WIDE, 4000, _fit(SpikeSlabRegressor()), largest=1_500_000),
    Case("LogisticRegression", "other models", WIDE, 4000, _fit(LogisticRegression()), True, 1_500_000),
    Case("BayesianLogisticRegression", "other models", WIDE, 1000, _fit(BayesianLogisticRegression()), True, 1_500_000),
    Case("AdditiveRegressor", "other models", WIDE, 1000, _fit(AdditiveRegressor()), largest=1_500_000, budget=_LONG),
    Case("BoostedTreesRegressor", "other models", WIDE, 1000, _fit(BoostedTreesRegressor()), largest=1_500_000),
    Case("summarize", "mergeable", WIDE, 64_000, lambda X, y: lambda: summarize(X, y), largest=1_500_000),
    Case("summary of inducing points", "mergeable", MIDDLE, 4000, _inducing_summary, largest=100_000),
]
