"""Models, which are subsets of the columns: their prior and posterior probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, logsumexp, softmax

from credo.core.fields import Axes, Finite, Indices, NonNegative, Positive

Array = NDArray[np.float64]
Model = tuple[int, ...]


@dataclass(frozen=True)
class ModelPrior:
    """p(γ) of a subset of d columns: each is in with probability π₀, or π₀ itself has a beta distribution.

    Bernoulli:       p(γ) = π₀ᵏ (1 − π₀)ᵈ⁻ᵏ
    beta-binomial:   p(γ) = B(a + k, b + d − k) / B(a, b)        (Scott & Berger 2010)
    """

    d: int
    inclusion: Annotated[float | tuple[float, float], Positive]

    @classmethod
    def of(cls, inclusion: Any, d: int) -> ModelPrior:
        """From the argument `prior_inclusion` of an estimator."""
        if isinstance(inclusion, str) and inclusion == "beta-binomial":
            return cls(d, (1.0, 1.0))
        if isinstance(inclusion, tuple | list) and len(inclusion) == 2 and all(map(_is_positive, inclusion)):
            return cls(d, (float(inclusion[0]), float(inclusion[1])))
        if _is_positive(inclusion) and inclusion < 1:
            return cls(d, float(inclusion))
        raise ValueError(
            'prior_inclusion must be a probability strictly between 0 and 1, "beta-binomial", or the pair (a, b) of '
            f"its beta distribution; got {inclusion!r}"
        )

    def log_prob(self, k: ArrayLike) -> Array:
        """ln p(γ) of one subset of k columns."""
        size = np.asarray(k, dtype=np.float64)
        if isinstance(self.inclusion, tuple):
            a, b = self.inclusion
            return np.asarray(betaln(a + size, b + self.d - size) - betaln(a, b))
        return size * math.log(self.inclusion) + (self.d - size) * math.log1p(-self.inclusion)

    def messages(self, n: float, *, beta: bool = False) -> list[str]:
        """A warning if the prior expects more columns than n rows can correct.

        A beta prior adapts to the rows, unless columns without effect cost nothing (`beta`) and outnumber the rows.
        """
        expected, adapts = self.mean * self.d, isinstance(self.inclusion, tuple)
        if expected <= n / 2 or (adapts and not (beta and self.d > n)):
            return []
        given = self.inclusion if isinstance(self.inclusion, tuple) else f"{self.inclusion:g}"
        return [
            f"prior_inclusion={given} expects {expected:.0f} of {self.d} columns in the model, which {n:g} rows can "
            f"hardly correct: use {recommended_prior(self.d, n)}"
        ]

    @property
    def mean(self) -> float:
        """The prior inclusion probability of a column."""
        return self.inclusion[0] / sum(self.inclusion) if isinstance(self.inclusion, tuple) else self.inclusion


def size_distribution(log_prior: Array, d: int) -> Array:
    """The prior probability of each size, from ln p(γ) of one model of d columns of that size."""
    k = np.arange(len(log_prior))
    return np.asarray(softmax(log_prior + gammaln(d + 1.0) - gammaln(k + 1.0) - gammaln(d - k + 1.0)))


def recommended_prior(d: int, n: float) -> str:
    """A prior for d columns and n rows, as an argument to type.

    With more columns than rows, a uniform prior of π₀ may favor models with half as many columns as rows.
    """
    return f"prior_inclusion=(1, {d}), which expects a few" if d > n else 'prior_inclusion="beta-binomial"'


@dataclass(frozen=True)
class Moments:
    """Inclusion, mean and covariance over all models, of the level and then of the columns; the noise variance."""

    inclusion: Annotated[Array, Axes("R+1"), NonNegative]
    mean: Annotated[Array, Axes("R+1")]
    cov: Annotated[Array, Axes("R+1 R+1")]
    noise: Annotated[float, Finite, NonNegative]


@dataclass(frozen=True)
class ModelPosterior:
    """p(γ | y): inclusion probabilities, the most probable models, and the evidence of them all.

    Attributes
    ----------
    inclusion : array of shape (d,)
        p(γⱼ = 1 | y).
    models : tuple of tuples of column indices, most probable first
    probability, log_evidence : arrays of shape (len(models),)
        p(γ | y), which may sum to less than one (after sampling, relative to the visited models), and ln p(y | γ).
    log_mass : float
        ln Σ p(γ) p(y | γ) over all models; after sampling, over those that were visited: a lower bound.
    size_probability : array of shape (d + 1,)
        The posterior of the number of columns.
    best_by_size : tuple of models
        For every visited size the subset with the smallest residual.
    moments : Moments or None
        Moments of the coefficients over all models, after an enumeration.
    sample, sample_weight : tuple of models, and array of shape (len(sample),)
        Posterior draws, if `models` have too little of the probability to represent all.
    diagnostics : mapping
        Convergence of the search.
    """

    inclusion: Annotated[Array, Axes("d")]
    models: Annotated[tuple[Model, ...], Axes("m"), Indices("d")]
    probability: Annotated[Array, Axes("m")]
    log_evidence: Annotated[Array, Axes("m")]
    log_mass: float
    size_probability: Array = field(default_factory=lambda: np.empty(0))
    best_by_size: Annotated[tuple[Model, ...], Indices("d")] = ()
    moments: Moments | None = None
    sample: Annotated[tuple[Model, ...], Axes("S"), Indices("d")] = ()
    sample_weight: Annotated[Array, Axes("S")] = field(default_factory=lambda: np.empty(0))
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_visited(
        cls, evidence: Mapping[Model, float], log_prior: Array, n_models: int, *, inclusion: Array, **fields: Any
    ) -> ModelPosterior:  # fmt: skip
        """From ln p(y | γ) of every model that was visited, and ln p(γ) by size; fewer columns first among equals."""
        heights = {model: value + float(log_prior[len(model)]) for model, value in evidence.items()}
        visited = sorted(heights, key=lambda model: (-heights[model], len(model), model))
        log_mass, models = float(logsumexp(list(heights.values()))), tuple(visited[:n_models])
        best = {len(model): model for model in reversed(visited)}
        return cls(
            inclusion,
            models,
            probability=np.exp([heights[model] - log_mass for model in models]),
            log_evidence=np.array([evidence[model] for model in models]),
            log_mass=log_mass,
            best_by_size=tuple(best[size] for size in sorted(best)),
            **fields,
        )

    @property
    def averaged(self) -> tuple[tuple[Model, ...], Array]:
        """The models to average over, and weights that sum to one."""
        return (
            (self.sample, self.sample_weight)
            if self.sample
            else (self.models, self.probability / self.probability.sum())
        )

    @property
    def map_model(self) -> Model:
        """The most probable model."""
        return self.models[0]

    def in_table(self, kept: NDArray[np.intp], n_features: int) -> ModelPosterior:
        """In terms of the columns of a table, of which those that vary are `kept`; without moments."""
        inclusion, diagnostics = np.zeros(n_features), dict(self.diagnostics)
        inclusion[kept] = self.inclusion
        if "inclusion_error" in diagnostics:
            diagnostics["inclusion_error"] = np.zeros(n_features)
            diagnostics["inclusion_error"][kept] = self.diagnostics["inclusion_error"]
        models, sample, best = (
            tuple(in_table(model, kept) for model in part) for part in (self.models, self.sample, self.best_by_size)
        )
        return replace(
            self, inclusion=inclusion, models=models, sample=sample, best_by_size=best, moments=None,
            diagnostics=diagnostics,
        )  # fmt: skip

    def any_of(self, columns: Sequence[int]) -> float:
        """The probability that at least one of the columns is in.

        With N of them in a model, P(N ≥ 1) = E[N] − E[max(N − 1, 0)]. The first term is the sum of their inclusion
        probabilities; only the second is averaged over the stored models.
        """
        chosen = {int(j) for j in columns}
        shares = self.inclusion[sorted(chosen)]
        models, weight = self.averaged
        spare = np.array([max(len(chosen.intersection(model)) - 1, 0) for model in models])
        value = float(shares.sum() - weight @ spare)
        return min(max(value, float(shares.max(initial=0.0))), float(shares.sum()), 1.0)


def in_table(model: Model, kept: NDArray[np.intp]) -> Model:
    """A subset of the columns that vary, as columns of the table."""
    return tuple(int(kept[j]) for j in model)


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf
