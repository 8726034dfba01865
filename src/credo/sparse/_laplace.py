"""Logistic models on subsets of the columns: the mode, its evidence by Laplace's approximation, and enumeration.

    p(y = 1 | x, γ) = σ(b + Σ_{j∈γ} w_j z_j),    w_j ~ N(0, v),    b ~ N(0, 10²)

with z_j column j, standardized. The prior of the level b at the mean of the inputs is wide enough for log odds of ±20,
and proper, so that the evidence is a probability of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from credo.core.deadlines import check
from credo.core.fields import Axes, Positive
from credo.core.linalg import mean_and_std, parallel_map
from credo.sparse import _laplace_jit
from credo.sparse._models import Model, ModelPosterior, ModelPrior

Array = NDArray[np.float64]

LEVEL_PRECISION = 0.01


@dataclass(frozen=True)
class Standard:
    """Standardization of columns: the places `kept` of those that vary, their means and standard deviations."""

    kept: Annotated[NDArray[np.intp], Axes("R")]
    mean: Annotated[Array, Axes("R")]
    scale: Annotated[Array, Axes("R"), Positive]

    @classmethod
    def of(cls, X: Array, weight: Array) -> Standard:
        """Weighted means and standard deviations of the columns that vary by more than rounding."""
        mean, std = mean_and_std(X, weight)
        kept = np.flatnonzero(std)
        return cls(kept, mean[kept], std[kept])

    def columns(self, X: Array) -> Array:
        """The columns that vary, standardized as in the fit."""
        return np.asarray((X[:, self.kept] - self.mean) / self.scale)


@dataclass(frozen=True)
class Mode:
    """A model, the mode θ of its level and weights, the factor of the curvature LLᵀ there, and ln p(y | γ)."""

    model: Model
    theta: Array
    L: Array
    log_evidence: float
    gap: float

    @property
    def converged(self) -> bool:
        """Whether Newton's method converged."""
        # Longer Newton steps, in standard deviations, can't be rounding errors.
        return self.gap < 1e-4


@dataclass(frozen=True)
class Dataset:
    """Standardized columns `ZT` (d, n), labels 0 and 1, weights, and the variance of the slab."""

    ZT: Array
    y: Array
    weight: Array
    variance: float

    @property
    def n_columns(self) -> int:
        return len(self.ZT)

    def mode(self, model: Model, *, near: Mode | None = None) -> Mode:
        """The mode of a model; the search starts from that of a similar one."""
        known = {} if near is None else dict(zip(near.model, near.theta[1:].tolist(), strict=True))
        level = 0.0 if near is None else float(near.theta[0])
        theta = np.array([level, *(known.get(j, 0.0) for j in model)])
        L = np.zeros((len(theta), len(theta)))
        found = _laplace_jit.laplace(
            self.ZT, np.array(model, dtype=np.int64), self.y, self.weight, LEVEL_PRECISION, 1 / self.variance, theta, L
        )  # fmt: skip
        return Mode(model, theta, L, *found)


def enumerate_logistic(data: Dataset, prior: ModelPrior, *, n_models: int) -> ModelPosterior:
    """The posterior over all subsets; each mode is searched from that of a subset with one column less."""
    d, empty = data.n_columns, data.mode(())

    def family(j: int) -> list[Mode]:
        """A model of one column and all that follow by adding later columns."""
        waiting, found = [data.mode((j,), near=empty)], []
        while waiting:
            check()
            mode = waiting.pop()
            # The curvature is dropped: 2ᵈ of them would fill the memory.
            found.append(Mode(mode.model, np.empty(0), np.empty((0, 0)), mode.log_evidence, mode.gap))
            waiting += [data.mode((*mode.model, i), near=mode) for i in range(mode.model[-1] + 1, d)]
        return found

    modes = [empty, *(mode for part in parallel_map(family, range(d)) for mode in part)]
    evidence, log_prior = {mode.model: mode.log_evidence for mode in modes}, prior.log_prob(np.arange(d + 1))
    inside = np.zeros((len(modes), d))
    for row, mode in zip(inside, modes, strict=True):
        row[list(mode.model)] = 1.0
    sizes = inside.sum(axis=1).astype(np.intp)
    probability = softmax(np.array(list(evidence.values())) + log_prior[sizes])
    return ModelPosterior.of_visited(
        evidence,
        log_prior,
        n_models,
        inclusion=np.minimum(probability @ inside, 1.0),
        size_probability=np.bincount(sizes, probability, d + 1).astype(np.float64),
        diagnostics={
            "converged": all(mode.converged for mode in modes),
            "message": f"converged; all {len(modes)} models were evaluated",
            "n_visited": len(modes),
        },
    )
