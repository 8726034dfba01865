"""The variance of the slab: a grid of values, each with its posterior over the subsets.

    p(γ | y) = Σ_v p(v | y) p(γ | y, v),    p(v | y) ∝ p(v) Σ_γ p(γ) p(y | γ, v)

The prior of v is the half-Cauchy density of the standard deviation √v at the points of the grid, with scale 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.sparse._models import Model, ModelPosterior
from credo.sparse.logistic._laplace import Dataset, Mode

Array = NDArray[np.float64]

# Powers of the ratio that are the grid, and the scale of the standard deviation.
_POWERS, _RATIO, _SCALE = range(-1, 5), 8.0, 2.0
# The grid is followed until the log evidence has fallen by this.
_FALL = 4.0
# Steps of the short chains that find the variance where models are sampled.
_PILOT = 500

Search = Callable[[Dataset, int | None], ModelPosterior]


@dataclass(frozen=True)
class SlabAverage:
    """The posterior over subsets averaged over slab variances, and the parts that it is averaged over."""

    found: ModelPosterior
    parts: list[tuple[Dataset, ModelPosterior]]
    weights: Array

    @property
    def variance(self) -> float:
        """The most probable variance of the slab."""
        return self.parts[int(np.argmax(self.weights))][0].variance

    def modes(self, enough: float) -> tuple[list[Mode], Array]:
        """The modes of the most probable pairs of subset and variance, up to this total probability."""
        pairs = [
            (share * weight, data, model)
            for share, (data, found) in zip(self.weights, self.parts, strict=True)
            for model, weight in zip(*found.averaged, strict=True)
        ]
        pairs.sort(key=lambda pair: -pair[0])
        weights = np.array([pair[0] for pair in pairs])
        stop = int(np.searchsorted(np.cumsum(weights), enough)) + 1
        return [data.mode(model) for _, data, model in pairs[:stop]], weights[:stop]


def given_slab(data: Dataset, search: Search) -> SlabAverage:
    """The posterior at one variance."""
    found = search(data, None)
    return SlabAverage(found, [(data, found)], np.ones(1))


def learned_slab(data: Dataset, search: Search, *, n_models: int, sampled: bool) -> SlabAverage:
    """The posterior averaged over the grid; sampled models are those at the best variance, found by short chains."""
    known: dict[int, ModelPosterior] = {}
    joint: dict[int, float] = {}
    priors = dict(zip(_POWERS, _log_prior(), strict=True))

    def visit(k: int) -> float:
        known[k] = search(replace(data, variance=_RATIO**k), _PILOT if sampled else None)
        joint[k] = known[k].log_mass + priors[k]
        return joint[k]

    visit(0)
    for side in (1, -1):
        k = side
        while k in _POWERS and visit(k) > max(joint.values()) - _FALL:
            k += side
    if sampled:
        best = max(joint, key=joint.__getitem__)
        at = replace(data, variance=_RATIO**best)
        found = search(at, None)
        joint[best] = found.log_mass + priors[best]
        total = float(logsumexp(list(joint.values())))
        return SlabAverage(replace(found, log_mass=total), [(at, found)], np.ones(1))
    powers = sorted(joint)
    logs = np.array([joint[k] for k in powers])
    weights = np.exp(logs - logsumexp(logs))
    parts = [(replace(data, variance=_RATIO**k), known[k]) for k in powers]
    return SlabAverage(
        _merged(parts, weights, float(logsumexp(logs)), [priors[k] for k in powers], n_models), parts, weights
    )


def _log_prior() -> Array:
    """ln p(v) on the grid: √v/(4 + v) up to a factor."""
    x = 0.5 * np.log(_RATIO) * np.array(_POWERS) - math.log(_SCALE)
    logs = -np.logaddexp(x, -x)
    return logs - logsumexp(logs)


def _merged(
    parts: list[tuple[Dataset, ModelPosterior]], weights: Array, log_mass: float, priors: list[float], n_models: int
) -> ModelPosterior:
    """Probabilities averaged over the variances; ln p(y | γ) = ln Σ p(v) p(y | γ, v)."""
    probability: dict[Model, float] = {}
    logs: dict[Model, float] = {}
    for (_, found), weight, prior in zip(parts, weights.tolist(), priors, strict=True):
        for model, share, height in zip(found.models, found.probability, found.log_evidence, strict=True):
            probability[model] = probability.get(model, 0.0) + weight * float(share)
            logs[model] = float(np.logaddexp(logs.get(model, -np.inf), prior + float(height)))
    models = sorted(probability, key=lambda model: -probability[model])[:n_models]
    top = parts[int(np.argmax(weights))][1]
    return replace(
        top,
        inclusion=np.minimum(sum(w * found.inclusion for w, (_, found) in zip(weights, parts, strict=True)), 1.0),
        models=tuple(models),
        probability=np.array([probability[model] for model in models]),
        log_evidence=np.array([logs[model] for model in models]),
        log_mass=log_mass,
        size_probability=np.asarray(
            sum(w * found.size_probability for w, (_, found) in zip(weights, parts, strict=True))
        ),
        diagnostics={
            **top.diagnostics,
            "converged": all(found.diagnostics["converged"] for _, found in parts),
            "message": f"{top.diagnostics['message']}, with {len(parts)} slab variances each",
        },
    )
