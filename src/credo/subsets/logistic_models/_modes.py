"""The mode of a logistic model, its curvature, and its evidence by Laplace.

The level b at the mean of the inputs has so wide a prior that log odds of ±20 are within reach; it is proper, so that
the evidence is a probability of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_positive, check_shapes
from credo.subsets._models import Model
from credo.subsets.logistic_models import _jit

Array = NDArray[np.float64]

LEVEL_PRECISION = 0.01
_EPS = float(np.finfo(np.float64).eps)
_FARTHEST = 1e120
# Further from its mode, in standard deviations, than a rounding error explains.
_FAR = 1e-4


@dataclass(frozen=True)
class Standard:
    """What makes columns standard: the places `kept` of those that vary, and their means and standard deviations."""

    kept: NDArray[np.intp]
    mean: Array
    scale: Array

    def _check_state(self) -> None:
        check_shapes(self, kept="r", mean="r", scale="r")
        check_positive(self, "scale")

    @classmethod
    def of(cls, X: Array, weight: Array) -> Standard:
        """Weighted means and standard deviations, of the columns that vary by more than rounding."""
        mean = np.average(X, axis=0, weights=weight)
        mean = mean + np.average(X - mean, axis=0, weights=weight)
        rest = np.abs(X - mean)
        largest = rest.max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scale = unit * np.sqrt(np.average((rest / unit) ** 2, axis=0, weights=weight))
        kept = np.flatnonzero(scale > 8 * _EPS * np.abs(mean))
        return cls(kept, mean[kept], scale[kept])

    def columns(self, X: Array) -> Array:
        """The columns that vary, with mean 0 and variance 1 where they were learned."""
        # So far out that nothing more could be learned, and still a number when it is squared.
        with np.errstate(over="ignore"):
            return np.clip((X[:, self.kept] - self.mean) / self.scale, -_FARTHEST, _FARTHEST)


@dataclass(frozen=True)
class Mode:
    """A model, its most probable level and weights θ, the factor of the curvature LLᵀ there, and ln p(y | γ)."""

    model: Model
    theta: Array
    L: Array
    log_evidence: float
    gap: float

    @property
    def converged(self) -> bool:
        """Whether Newton's method came to rest."""
        return self.gap < _FAR


@dataclass(frozen=True)
class ClassTask:
    """Standardised columns `ZT` (d, n), labels 0 and 1, weights, and the variance of the slab."""

    ZT: Array
    y: Array
    weight: Array
    variance: float

    @property
    def n_columns(self) -> int:
        """How many columns there are to choose from."""
        return len(self.ZT)

    def mode(self, model: Model, *, near: Mode | None = None) -> Mode:
        """The mode of a model; the search for it begins at that of a similar one."""
        known = {} if near is None else dict(zip(near.model, near.theta[1:].tolist(), strict=True))
        level = 0.0 if near is None else float(near.theta[0])
        theta = np.array([level, *(known.get(j, 0.0) for j in model)])
        L = np.zeros((len(theta), len(theta)))
        members = np.array(model, dtype=np.int64)
        found = _jit.laplace(
            self.ZT, members, self.y, self.weight, LEVEL_PRECISION, 1.0 / self.variance, theta, L
        )  # fmt: skip
        return Mode(model, theta, L, *found)
