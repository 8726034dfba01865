"""The posterior over subsets of the columns, whichever search has found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Model = tuple[int, ...]


@dataclass(frozen=True)
class ModelPosterior:
    """p(γ | y): inclusion probabilities, the likeliest models, and the evidence of them all.

    Attributes
    ----------
    inclusion : array of shape (d,)
        p(γⱼ = 1 | y).
    models : tuple of tuples of column indices, likeliest first
    probability : array of shape (len(models),)
        p(γ | y) of each of the models; what is missing to one belongs to models that aren't listed.
    log_evidence : array of shape (len(models),)
        ln p(y | γ).
    log_mass : float
        ln Σ p(γ) p(y | γ), the evidence of the whole.
    size_probability : array of shape (d + 1,)
        The posterior of the number of columns; empty where the search doesn't know it.
    best_by_size : tuple of models
        For every size that was seen, smallest first, the subset that leaves the smallest residual.
    coef_mean, coef_cov : arrays of shape (d,) and (d, d), or None
        Moments of the coefficients over all models, for searches that gather them.
    noise_variance : float or None
        The posterior mean of the noise's variance (of what a prediction adds), likewise.
    sample, sample_weight : tuple of models, and array of shape (len(sample),)
        Draws from the posterior with their shares, where the likeliest models hold too little of it to stand for all.
    diagnostics : mapping
        What the search has to say about itself.
    """

    inclusion: Array
    models: tuple[Model, ...]
    probability: Array
    log_evidence: Array
    log_mass: float
    size_probability: Array = field(default_factory=lambda: np.empty(0))
    best_by_size: tuple[Model, ...] = ()
    coef_mean: Array | None = None
    coef_cov: Array | None = None
    noise_variance: float | None = None
    sample: tuple[Model, ...] = ()
    sample_weight: Array = field(default_factory=lambda: np.empty(0))
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def _check_state(self) -> None:
        d = len(self.inclusion)
        named = (j for model in (*self.models, *self.sample, *self.best_by_size) for j in model)
        sizes = [(len(self.models), self.probability), (len(self.sample), self.sample_weight)]
        if not all(0 <= j < d for j in named) or any(array.shape != (n,) for n, array in sizes):
            raise ValueError("models name columns that aren't there, or have no probability each")

    @property
    def averaged(self) -> tuple[tuple[Model, ...], Array]:
        """The models that averages go over, and weights that sum to one."""
        if self.sample:
            return self.sample, self.sample_weight
        return self.models, self.probability / self.probability.sum()

    @property
    def map_model(self) -> Model:
        """The likeliest model."""
        return self.models[0]

    def placed(self, kept: NDArray[np.intp], n_features: int) -> ModelPosterior:
        """In terms of a table's columns, of which those that vary are `kept`; without moments."""
        inclusion, told = np.zeros(n_features), dict(self.diagnostics)
        inclusion[kept] = self.inclusion
        if "inclusion_error" in told:
            told["inclusion_error"] = np.zeros(n_features)
            told["inclusion_error"][kept] = self.diagnostics["inclusion_error"]
        models, sample, best = (
            tuple(placed(model, kept) for model in part) for part in (self.models, self.sample, self.best_by_size)
        )
        return replace(
            self,
            inclusion=inclusion,
            models=models,
            sample=sample,
            best_by_size=best,
            coef_mean=None,
            coef_cov=None,
            diagnostics=told,
        )

    def any_of(self, columns: Sequence[int]) -> float:
        """The probability that at least one of the columns is in.

        With N of them in a model, P(N ≥ 1) = E[N] − E[max(N − 1, 0)]: the first is the sum of their inclusion
        probabilities, and only the second is taken from the models that averages go over. Of columns that are never in
        together it is that sum.
        """
        chosen = {int(j) for j in columns}
        shares = self.inclusion[sorted(chosen)]
        models, weight = self.averaged
        spare = np.array([max(len(chosen.intersection(model)) - 1, 0) for model in models])
        value = float(shares.sum() - weight @ spare)
        return min(max(value, float(shares.max(initial=0.0))), float(shares.sum()), 1.0)


def placed(model: Model, kept: NDArray[np.intp]) -> Model:
    """A subset of the columns that vary, as columns of the table."""
    return tuple(int(kept[j]) for j in model)
