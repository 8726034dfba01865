"""Logistic models on subsets of the columns: the mode of each, its curvature, and its evidence by Laplace.

    p(y = 1 | x) = σ(b + Σ_{j∈γ} w_j z_j),    w_j ~ N(0, v),    b ~ N(0, 10²)

with z_j column j, made to have mean 0 and variance 1. The level b at the mean of the inputs has so wide a prior that
log odds of ±20 are within reach; it is proper, so that the evidence is a probability of the labels.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from credo.linalg import Factor, n_threads
from credo.sparse._model_prior import ModelPrior
from credo.sparse._models import Model, ModelPosterior
from credo.sparse.walk import _jit

Array = NDArray[np.float64]

LEVEL_PRECISION = 0.01
_EPS = float(np.finfo(np.float64).eps)
# Further from its mode, in standard deviations, than a rounding error explains.
_FAR = 1e-4


@dataclass(frozen=True)
class Standard:
    """What makes columns standard: the places `kept` of those that vary, and their means and standard deviations."""

    kept: NDArray[np.intp]
    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, weight: Array) -> "Standard":
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
        return (X[:, self.kept] - self.mean) / self.scale

    def placed(self, model: Model) -> Model:
        """A subset of the columns that vary, as columns of the table."""
        return tuple(int(self.kept[j]) for j in model)


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
    _squares: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_squares", np.square(self.ZT))

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

    def additions(self, mode: Mode) -> Array:
        """What each column would add to ln p(y | γ), by one Newton step from the mode: a score test with a prior.

        With g the slope and I the curvature along the column, the others following, ½g²/(I + 1/v) − ½ ln(1 + vI).
        """
        eta = mode.theta[0] + mode.theta[1:] @ self.ZT[list(mode.model)]
        p = expit(eta)
        slope, curvature = self.ZT @ (self.weight * (self.y - p)), self.weight * p * (1.0 - p)
        phi = np.vstack([np.ones(len(eta)), self.ZT[list(mode.model)]]) * curvature
        half = Factor(mode.L).half_solve(phi @ self.ZT.T)
        own = np.maximum(self._squares @ curvature - np.einsum("ij,ij->j", half, half), 0.0)
        return 0.5 * slope**2 / (own + 1.0 / self.variance) - 0.5 * np.log1p(self.variance * own)

    def deletions(self, mode: Mode) -> Array:
        """What leaving each member out would add to ln p(y | γ): Savage and Dickey's ratio under the Gaussian."""
        spread = Factor(mode.L).inverse_diagonal()[1:]
        return 0.5 * np.log(self.variance / spread) - 0.5 * mode.theta[1:] ** 2 / spread


def enumerate_class_models(task: ClassTask, prior: ModelPrior, *, n_models: int) -> ModelPosterior:
    """The posterior over all subsets of the columns, each mode searched from that of a subset with one column less."""
    empty = task.mode(())
    roots = [task.mode((j,), near=empty) for j in range(task.n_columns)]
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="credo-subsets") as pool:
        parts = list(pool.map(lambda root: list(_family(task, root)), roots))
    modes = {mode.model: mode for part in [[empty], *parts] for mode in part}
    models = sorted(modes, key=lambda model: (len(model), model))
    evidence = np.array([modes[model].log_evidence for model in models])
    sizes = np.array([len(model) for model in models])
    joint = evidence + prior.log_prob(sizes)
    log_mass = float(logsumexp(joint))
    probability = np.exp(joint - log_mass)
    inclusion, by_size = np.zeros(task.n_columns), np.zeros(task.n_columns + 1)
    for model, share in zip(models, probability.tolist(), strict=True):
        inclusion[list(model)] += share
        by_size[len(model)] += share
    order = np.argsort(-joint, kind="stable")[:n_models]
    best = [max(np.flatnonzero(sizes == k), key=lambda place: evidence[place]) for k in range(task.n_columns + 1)]
    return ModelPosterior(
        inclusion=np.minimum(inclusion, 1.0),
        models=tuple(models[place] for place in order),
        probability=probability[order],
        log_evidence=evidence[order],
        log_mass=log_mass,
        size_probability=by_size,
        best_by_size=tuple(models[place] for place in best),
        diagnostics={
            "converged": all(mode.converged for mode in modes.values()),
            "message": f"all {len(models)} models were looked at",
            "n_visited": len(models),
        },
    )


def _family(task: ClassTask, root: Mode) -> Iterator[Mode]:
    """A model and all that follow by adding columns behind its last."""
    waiting = [root]
    while waiting:
        mode = waiting.pop()
        # The curvature isn't needed any more, and 2ᵈ of them would fill the memory.
        yield Mode(mode.model, np.empty(0), np.empty((0, 0)), mode.log_evidence, mode.gap)
        waiting += [task.mode((*mode.model, j), near=mode) for j in range(mode.model[-1] + 1, task.n_columns)]
