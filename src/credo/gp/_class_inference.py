"""The evidence of a Gaussian-process classifier as a function of one flat vector of hyperparameters.

MCMC for a classifier of two classes: draws of latent values, and of hyperparameters on request.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.inference import (
    Approximation,
    LatentPrior,
    Representation,
    SoftmaxApproximation,
    annealed_evidence,
    elliptical_slice,
    ep,
    laplace,
    softmax_laplace,
    vi,
)
from credo.core.inference.mcmc import elliptical_step
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.params import ParameterTree
from credo.gp._objective import EvidenceObjective, Hyperprior, kernel_defaults
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli

Array = NDArray[np.float64]

INFERENCES: dict[str, Callable[..., Approximation]] = {"laplace": laplace, "ep": ep, "vi": vi}

# Tolerances during a search. The evidence is stationary where the iterations converge, so that its error is the square
# of theirs.
_SEARCH_TOLERANCE = {"laplace": 1e-9, "ep": 1e-6, "vi": 1e-8}


@dataclass(frozen=True)
class ClassificationObjective(EvidenceObjective):
    """Rows, their classes and weights, a kernel, and the inference that approximates the posterior.

    `n_classes` is 2 for a likelihood of one latent function; more classes are joined by the softmax, with Laplace's
    approximation. `last` holds the sites at which the last evaluation ended, for warm starts; without it each starts
    from scratch. `found` collects the approximation at every vector, if it is a dictionary.
    """

    kernel: Kernel
    representation: Representation
    codes: NDArray[np.intp]
    n_classes: int
    weight: Array
    likelihood: Bernoulli
    inference: str
    hyperpriors: bool = True
    tolerance: float = 1e-9
    last: dict[str, Any] | None = None
    found: dict[bytes, Approximation | SoftmaxApproximation] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        return ParameterTree({"kernel": self.kernel.tree})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        return Hyperprior.of(self.tree, kernel_defaults(self.kernel, self.representation.X, self.weight))

    @cached_property
    def labels(self) -> Array:
        """−1 and +1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def rows(self) -> Representation:
        return self.representation

    def subset(self, rows: NDArray[np.intp]) -> ClassificationObjective:
        part = self.representation.subset(rows)
        return replace(self, representation=part, codes=self.codes[rows], weight=self.weight[rows])

    def adapted(self, vector: Array) -> ClassificationObjective:
        return replace(self, representation=self.representation.adapted(self.kernel_at(vector)))

    def started(self, vector: Array) -> ClassificationObjective:
        return replace(self.adapted(vector), last={})

    def approximation(self, kernel: Kernel) -> Approximation | SoftmaxApproximation:
        """The approximate posterior of the latent values under a kernel."""
        prior = self.representation.prior(kernel)
        options: dict[str, Any] = {"weight": self.weight}
        if self.last is not None:
            options |= {"start": self.last.get("start"), "tolerance": _SEARCH_TOLERANCE[self.inference]}
        found: Approximation | SoftmaxApproximation
        if self.n_classes > 2:
            found = softmax_laplace(prior, self.codes, self.n_classes, **options)
        else:
            found = INFERENCES[self.inference](prior, self.labels, self.likelihood, **options)
        if self.last is not None:
            self.last["start"] = found.start if found.converged else None
        return found

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) as the inference approximates it, and its gradient with respect to the vector."""
        found = self.approximation(self.kernel_at(vector))
        if self.found is not None:
            self.found[vector.tobytes()] = found
        if not gradient:
            return found.log_evidence, np.empty(0)
        return found.log_evidence, found.gradient().by_kernel * self.tree.derivative(vector)


_TUNE, _THIN = 200, 5
# Steps of the latent values between two of the hyperparameters.
_LATENT_STEPS = 5


def sample_latent(
    objective: ClassificationObjective, kernel: Kernel, *, n_draws: int, rng: np.random.Generator
) -> tuple[Array, float, float]:
    """Draws of f under a known kernel, and the log evidence by annealing with its standard error.

    The ellipses are those of EP's normal distribution instead of the prior's, and the likelihood is replaced by its
    ratio to EP's sites. The target is the same, the chain starts near its mode, and little annealing is needed.
    """
    found = objective.approximation(kernel)
    assert isinstance(found, Approximation)
    base, log_likelihood = found.posterior, _log_likelihood(objective)

    def log_ratio(deviation: Array) -> float:
        f = base.mean + deviation
        return log_likelihood(f) + float(0.5 * base.precision @ f**2 - base.location @ f)

    def draw() -> Array:
        return base.draw(rng)

    start = np.zeros(objective.n_rows)
    chain = elliptical_slice(draw, log_ratio, start=start, n_draws=n_draws, n_tune=_TUNE, thin=_THIN, rng=rng)
    value, error = annealed_evidence(draw, log_ratio, rng=rng, n_temperatures=100)
    return base.mean + chain.draws, base.log_evidence + value, error


def sample_jointly(
    objective: ClassificationObjective, start: Array, *, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draws of hyperparameters and f: (n_draws, n_parameters) and (n_draws, n).

    Hyperparameters are updated given the whitened values L⁻¹f (Murray & Adams, 2010), coordinate by coordinate by
    slice sampling; in between, f is updated by elliptical slice sampling.
    """
    log_likelihood, hyperprior = _log_likelihood(objective), objective.hyperprior.proper
    n = objective.n_rows
    theta, prior = start.copy(), objective.representation.prior(objective.kernel_at(start))
    white = np.zeros(n)
    thetas, latents = np.empty((n_draws, len(theta))), np.empty((n_draws, n))

    def log_density(vector: Array) -> tuple[float, LatentPrior]:
        moved = objective.representation.prior(objective.kernel_at(vector))
        own = objective.tree.log_prior(vector, jacobian=True)[0] + hyperprior.log_density(vector)[0]
        try:
            return log_likelihood(moved.color(white)) + own, moved
        except NotPositiveDefiniteError:
            return -math.inf, moved

    for step in range(-_TUNE // _LATENT_STEPS, n_draws):
        f = prior.color(white)
        value = log_likelihood(f)
        for _ in range(_LATENT_STEPS):
            f, value = elliptical_step(f, value, prior.color(rng.standard_normal(n)), log_likelihood, rng)
        white = prior.whiten(f)
        for axis in range(len(theta)):
            theta, prior = _slice(theta, axis, prior, log_density, rng)
        if step >= 0:
            thetas[step], latents[step] = theta, prior.color(white)
    return thetas, latents


def _slice(
    theta: Array,
    axis: int,
    prior: LatentPrior,
    log_density: Callable[[Array], tuple[float, LatentPrior]],
    rng: np.random.Generator,
    width: float = 1.5,
) -> tuple[Array, LatentPrior]:
    """One update of one coordinate, by stepping out and shrinking (Neal, 2003)."""

    def at(x: float) -> tuple[Array, float, LatentPrior]:
        moved = theta.copy()
        moved[axis] = x
        return moved, *log_density(moved)

    level = log_density(theta)[0] + math.log(rng.random())
    low = theta[axis] - width * rng.random()
    high = low + width
    for _ in range(8):
        if at(low)[1] <= level:
            break
        low -= width
    for _ in range(8):
        if at(high)[1] <= level:
            break
        high += width
    for _ in range(60):
        x = rng.uniform(low, high)
        moved, value, moved_prior = at(x)
        if value > level:
            return moved, moved_prior
        low, high = (x, high) if x < theta[axis] else (low, x)
    return theta, prior


def _log_likelihood(objective: ClassificationObjective) -> Callable[[Array], float]:
    likelihood, labels, weight = objective.likelihood, objective.labels, objective.weight
    return lambda f: float(weight @ likelihood.log_prob(labels, f))
