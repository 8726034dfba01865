"""Noise that varies with the inputs: a second Gaussian process on its logarithm, integrated variationally.

    y = f(x) + ε,    ε ~ N(0, e^g(x)),    f ~ GP(m, k),    g ~ GP(g₀, k_g)

The posterior of g at the rows is approximated by the normal distribution N(μ, Σ) that maximizes the bound of
Lázaro-Gredilla & Titsias (2011). At its maximum that distribution has one free number for each row, the precision λ of
a Gaussian site:

    Σ⁻¹ = K_g⁻¹ + Λ,    μ = g₀ + K_g(λ − w/2),    r = exp(μ − diag Σ/2)
    F = ln p(y | noise r) − ¼ Σ wᵢΣᵢᵢ − KL[N(μ, Σ) ‖ N(g₀, K_g)]

with w the number of observations of each row. The gradient by λ is (K_g + ½Σ∘Σ)(s + w/2 − λ), where s = ∂ ln p/∂ ln r:
λ ← s + w/2 is its natural-gradient step, and its fixed point the maximum. There the derivative of F by K_g is that of
an ordinary evidence, ½[(λ − w/2)(λ − w/2)ᵀ − (K_g + Λ⁻¹)⁻¹], and nothing else depends on k_g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_positive, check_shapes, choice
from credo.gp._hyperpriors import Hyperprior, kernel_defaults, noise_defaults
from credo.gp._objective import EvidenceObjective
from credo.gp._observations import Observations
from credo.inference import REPRESENTATIONS, Gradient, LatentPrior, Representation, SitePosterior, representation
from credo.kernels import Kernel
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]

_MAX_STEPS = 50
# Largest step relative to the sites' precisions, at convergence.
_TOLERANCE = 1e-6
# Log variances of standardised targets are limited to ± this.
MAX_LOG_VARIANCE = 60.0


@dataclass(frozen=True)
class NoiseProcess:
    """The distribution of the log noise variance g anywhere, given Gaussian sites at the training rows.

    E g = g₀ + k_gᵀa and var g = k_g − k_gᵀ(K_g + Λ⁻¹)⁻¹k_g, with a the `weights` and Λ the sites' precisions.
    """

    kernel: Kernel
    log_level: float
    X: Array
    weights: Array
    precision: Array
    method: str = "auto"

    def _check_state(self) -> None:
        check_shapes(self, X="n d", weights="n", precision="n")
        check_positive(self, "precision", zero=True)
        choice("method", self.method, ("auto", *REPRESENTATIONS))

    def log_variance(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of ln σ² at new rows."""
        mean, variance = self._posterior.latent(rows)
        return self.log_level + mean, variance

    @cached_property
    def _posterior(self) -> SitePosterior:
        prior = representation(self.method, self.X, self.kernel).prior(self.kernel)
        return _sites(prior, self.weights, self.precision)


def _sites(prior: LatentPrior, weights: Array, precision: Array) -> SitePosterior:
    """The sites of that precision whose mean is K_g·weights."""
    return prior.sites(precision, weights + precision * prior.multiply(weights))


@dataclass(frozen=True)
class _Bound:
    """The bound F and its parts, for one vector of site precisions."""

    log_noise: SitePosterior
    value: float
    noise: Array
    gradient: Gradient

    @property
    def precision(self) -> Array:
        return self.log_noise.precision

    @property
    def by_log_noise(self) -> Array:
        """s = ∂ ln p/∂ ln r."""
        return self.gradient.by_noise * self.noise


@dataclass(frozen=True)
class HeteroscedasticObjective(EvidenceObjective):
    """The bound on the evidence for a function's kernel, the kernel of the log noise and its level.

    `last` holds the sites at which the last evaluation ended, for warm starts; without it each starts from scratch.
    """

    kernel: Kernel
    observations: Observations
    noise_kernel: Kernel
    level: float = 0.1
    hyperpriors: bool = True
    tolerance: float = 1e-8
    last: dict[str, Array] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        noise = {"level": Parameter(self.level), "kernel": self.noise_kernel.tree}
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        own, noise_own = (
            kernel_defaults(kernel, self.observations.X, self.observations.weight)
            for kernel in (self.kernel, self.noise_kernel)
        )
        return Hyperprior.of(self.tree, own, noise_defaults(), noise_own)

    @property
    def rows(self) -> Representation:
        return self.observations.representation

    def subset(self, rows: NDArray[np.intp]) -> HeteroscedasticObjective:
        return replace(self, observations=self.observations.subset(rows))

    def with_warm_starts(self) -> HeteroscedasticObjective:
        return replace(self, last={})

    def noise_at(self, vector: Array, method: str) -> tuple[Array, float, NoiseProcess]:
        """The noise variance of each row, the bound, and the distribution of the log noise at a vector."""
        noise_kernel, log_level = self._noise_parameters(vector)
        found = self._maximum(self.kernel_at(vector), noise_kernel, log_level)
        weights = found.precision - 0.5 * self.observations.count
        process = NoiseProcess(noise_kernel, log_level, self.observations.X, weights, found.precision, method)
        return found.noise, found.value, process

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """The bound on ln p(y) of the standardised targets, and its gradient with respect to the vector."""
        noise_kernel, log_level = self._noise_parameters(vector)
        found = self._maximum(self.kernel_at(vector), noise_kernel, log_level)
        if not gradient:
            return found.value, np.empty(0)
        by_level = (found.precision - 0.5 * self.observations.count).sum() / math.exp(log_level)
        natural = np.concatenate([found.gradient.by_kernel, [by_level], found.log_noise.gradient().by_kernel])
        return found.value, natural * self.tree.derivative(vector)

    def _noise_parameters(self, vector: Array) -> tuple[Kernel, float]:
        tree = self.tree.unflatten(vector)
        own, level = tree["noise.kernel"], tree["noise.level"]
        assert isinstance(own, ParameterTree) and isinstance(level, Parameter)
        return self.noise_kernel.with_tree(own), math.log(float(level.value))

    def _maximum(self, kernel: Kernel, noise_kernel: Kernel, log_level: float) -> _Bound:
        """The maximum of the bound over the sites, by steps that are halved until they increase it.

        Where noise dominates, s falls by ΛK_g for a step in λ, which would make the fixed-point iteration overshoot;
        (I + ΛK_g)⁻¹(s + w/2 − λ) is Newton's step for it.
        """
        prior = self.observations.representation.prior(noise_kernel)
        half_count = 0.5 * self.observations.count
        here = self._bound(kernel, prior, log_level, half_count)
        if self.last:
            warm = self._bound(kernel, prior, log_level, self.last["precision"])
            here = warm if warm.value > here.value else here
        size = 1.0
        for _ in range(_MAX_STEPS):
            gap = here.by_log_noise + half_count - here.precision
            if np.abs(gap).max() <= _TOLERANCE * (1.0 + here.precision.max()):
                break
            step = here.log_noise.weights(gap)
            ahead = self._bound(kernel, prior, log_level, np.maximum(here.precision + size * step, 1e-12))
            if ahead.value >= here.value - 1e-9 * abs(here.value):
                here, size = ahead, min(1.0, 1.5 * size)
            elif size < 1e-6:
                break
            else:
                size *= 0.5
        if self.last is not None:
            self.last["precision"] = here.precision
        return here

    def _bound(self, kernel: Kernel, prior: LatentPrior, log_level: float, precision: Array) -> _Bound:
        count = self.observations.count
        log_noise = _sites(prior, precision - 0.5 * count, precision)
        logs = log_level + log_noise.mean - 0.5 * log_noise.variance
        noise = np.exp(np.clip(logs, -MAX_LOG_VARIANCE, MAX_LOG_VARIANCE))
        value, gradient = self.observations.evidence(kernel, noise)
        assert gradient is not None
        bound = value - 0.25 * float(count @ log_noise.variance) - log_noise.divergence
        return _Bound(log_noise, bound, noise, gradient)
