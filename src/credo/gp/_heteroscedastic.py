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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.fields import Axes, Finite, NonNegative
from credo.core.inference import LatentPrior, SitePosterior, representation
from credo.core.inference.site_updates import AndersonAcceleration
from credo.core.learning.ascent import maximize
from credo.core.learning.hyperparameters import search
from credo.core.linalg import one_blas_thread
from credo.core.params import Parameter, ParameterTree
from credo.gp._noise import BOUND_SUBSET_ROWS, Found, GaussianObjective, Noise
from credo.gp._objective import EvidenceObjective, noise_defaults
from credo.gp._observations import Process, TrainingData
from credo.gp._posterior import FittedNoise
from credo.kernels import Kernel

Array = NDArray[np.float64]

# The bound is at its maximum if a step would gain fewer nats than this, or during a search fewer per row.
_MIN_GAIN, _MIN_SEARCH_GAIN = 1e-6, 1e-7
# Evaluations of each start that is tried on a subset of the rows, with constant and with varying noise.
_TRIAL_EVALUATIONS, _SHORT_TRIAL_EVALUATIONS = 40, 12
# Log variances of standardized targets are limited to ± this.
_MAX_LOG_VARIANCE = 60.0


def _sites(prior: LatentPrior, weights: Array, precision: Array) -> SitePosterior:
    """The sites with this precision whose posterior mean is K_g·weights."""
    return prior.sites(precision, weights + precision * prior.multiply(weights))


@dataclass(frozen=True)
class _Bound:
    """The bound F and its parts, for one vector of site precisions."""

    log_noise: SitePosterior
    process: Process
    value: float

    @property
    def precision(self) -> Array:
        return self.log_noise.precision

    @cached_property
    def gap(self) -> Array:
        """s + w/2 − λ, with s = ∂ ln p/∂ ln r."""
        process = self.process
        return process.by_noise() * process.noise + 0.5 * process.observations.count - self.precision


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticObjective(EvidenceObjective):
    """The bound on the evidence for a function's kernel, the kernel of the log noise and its level.

    `visited` holds the sites at every vector of a search, so that the best one starts from its own.
    """

    noise_kernel: Kernel
    level: float = 0.1
    visited: dict[bytes, Array] = field(default_factory=dict)
    tolerance = 1e-8

    def _noise_parameters(self) -> tuple[Any, list[Array]]:
        noise = {"level": Parameter(self.level), "kernel": self.noise_kernel.tree}
        return noise, [noise_defaults(), self._defaults(self.noise_kernel)]

    def subset(self, rows: NDArray[np.intp]) -> Self:
        return replace(super().subset(rows), visited={})

    def starts(self, first: Array, n_restarts: int, rng: np.random.Generator) -> list[Array]:
        """The better of two starts after a short run on few rows: the first, and the best kernel for constant noise.

        The random starts are used in the search for that kernel, which costs a fraction of one over the bound.
        """
        n, n_kernel = self.n_rows, len(self.kernel.names)
        some = self if n <= BOUND_SUBSET_ROWS else self.subset(np.sort(rng.permutation(n)[:BOUND_SUBSET_ROWS]))
        constant = GaussianObjective(
            kernel=self.kernel,
            observations=some.observations,
            noise=self.level,
            learns_noise=True,
            extra=np.zeros(some.n_rows),
            hyperpriors=self.hyperpriors,
        )
        begins = constant.starts(first[: n_kernel + 1], n_restarts, rng)
        found = search(
            constant.started, begins, tolerance=1e-6, max_evaluations=_TRIAL_EVALUATIONS, small=True
        ).best.vector
        trial = partial(maximize, tolerance=1e-6, max_evaluations=_SHORT_TRIAL_EVALUATIONS)
        with one_blas_thread():
            ends = [
                trial(some.started(start), start) for start in (first, np.concatenate([found, first[n_kernel + 1 :]]))
            ]
        return [max(ends, key=lambda end: end.value).vector]

    def found(self, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """The noise variance of each row, and the distribution of the log noise."""
        noise_kernel, log_level = self._noise_at(theta)
        found = self._maximum(self.kernel_at(theta), noise_kernel, log_level, self.visited.get(theta.tobytes()))
        noise, count, rows = found.process.noise, self.observations.count, self.rows
        fitted = FittedHeteroscedastic(
            rows=noise[None, data.merged.index],
            levels=np.array([np.average(noise, weights=count)]),
            kernel=noise_kernel,
            log_level=log_level,
            X=rows.X,
            weights=found.precision - 0.5 * count,
            precision=found.precision,
            method=data.method,
            points=rows.points,
        )
        return Found(fitted, found.value)

    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        """The bound on ln p(y)."""
        noise_kernel, log_level = self._noise_at(vector)
        found = self._maximum(self.kernel_at(vector), noise_kernel, log_level)
        if self.last is not None:
            self.visited[vector.tobytes()] = found.precision

        def natural() -> Array:
            by_level = (found.precision - 0.5 * self.observations.count).sum() / math.exp(log_level)
            parts = found.process.gradient().by_kernel, [by_level], found.log_noise.gradient().by_kernel
            return np.concatenate(parts)

        return found.value, natural

    def _noise_at(self, vector: Array) -> tuple[Kernel, float]:
        tree = self.tree.unflatten(vector)
        own = tree["noise.kernel"]
        assert isinstance(own, ParameterTree)
        return self.noise_kernel.with_tree(own), math.log(tree.natural["noise.level"])

    def _maximum(self, kernel: Kernel, noise_kernel: Kernel, log_level: float, start: Array | None = None) -> _Bound:
        """The maximum of the bound over the sites, by steps that are halved until they increase it.

        If noise dominates, s falls by ΛK_g for a step in λ, and the fixed-point iteration would overshoot;
        (I + ΛK_g)⁻¹(s + w/2 − λ) is Newton's step.
        """
        prior = self.observations.representation.prior(noise_kernel)
        cold = 0.5 * self.observations.count
        start = self.last["precision"] if self.last else cold if start is None else start
        here = self._bound(kernel, prior, log_level, start)
        # After a decrease of 10 nats, the sites of the last evaluation may be worse than none.
        if self.last and here.value < float(self.last["value"]) - 10.0:
            afresh = self._bound(kernel, prior, log_level, cold)
            here = afresh if afresh.value > here.value else here
        size, mixing, n_mixed, enough = (
            1.0,
            AndersonAcceleration(1.0),
            0,
            _MIN_GAIN if self.last is None else _MIN_SEARCH_GAIN * self.n_rows,
        )
        for _ in range(50):
            step = here.log_noise.weights(here.gap)
            # The gain of a whole step, up to a factor of about two.
            if abs(float(here.gap @ prior.multiply(step))) <= enough or size < 1e-6:
                break
            proposal = mixing.step(here.precision, step) if size == 1.0 else here.precision + size * step
            n_mixed = n_mixed + 1 if size == 1.0 else 0
            ahead = self._bound(kernel, prior, log_level, np.maximum(proposal, 1e-12))
            if ahead.value >= here.value - 1e-9 * abs(here.value):
                here, size = ahead, min(1.0, 2.0 * size)
                continue
            mixing.restart()
            # Without earlier steps to combine, the next one is a plain step from here.
            size, n_mixed = size if n_mixed > 1 else 0.5 * size, 0
        if self.last is not None:
            self.last.update(precision=here.precision, value=np.array(here.value))
        return here

    def _bound(self, kernel: Kernel, prior: LatentPrior, log_level: float, precision: Array) -> _Bound:
        count = self.observations.count
        log_noise = _sites(prior, precision - 0.5 * count, precision)
        logs = log_level + log_noise.mean - 0.5 * log_noise.variance
        noise = np.exp(np.clip(logs, -_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE))
        process = self.observations.condition(kernel, noise)
        bound = process.log_evidence - 0.25 * float(count @ log_noise.variance) - log_noise.divergence
        return _Bound(log_noise, process, bound)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedHeteroscedastic(FittedNoise):
    """Normal noise, and the distribution of its log variance g anywhere, given Gaussian sites at training rows X.

    E g = g₀ + k_gᵀa and var g = k_g − k_gᵀ(K_g + Λ⁻¹)⁻¹k_g, with a the `weights` and Λ the sites' precisions.
    """

    kernel: Kernel
    log_level: Annotated[float, Finite]
    X: Annotated[Array, Axes("s d")]
    weights: Annotated[Array, Axes("s")]
    precision: Annotated[Array, Axes("s"), NonNegative]
    method: Literal["exact", "state_space", "inducing", "vecchia"]
    points: Annotated[Array | None, Axes("m d")]

    def components(self, rows: Array, k: int) -> list[tuple[float, Any]]:
        mean, variance = self._posterior.latent(rows)
        nodes, weights = np.polynomial.hermite_e.hermegauss(9)
        # Far from the data the log variance is as uncertain as a priori, and its exponential would have a huge mean.
        logs = [np.clip(mean + node * np.sqrt(variance), *self._range) for node in nodes]
        variances = [np.exp(np.clip(self.log_level + log, -_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE)) for log in logs]
        return list(zip(weights / weights.sum(), variances, strict=True))

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The lowest and highest deviation from the level, within one standard deviation, at the training rows."""
        mean, variance = self._posterior.latent(self.X)
        return float((mean - np.sqrt(variance)).min()), float((mean + np.sqrt(variance)).max())

    @cached_property
    def _posterior(self) -> SitePosterior:
        prior = representation(self.method, self.X, self.kernel, self.points).prior(self.kernel)
        return _sites(prior, self.weights, self.precision)


@dataclass(frozen=True)
class Heteroscedastic(Noise):
    """Normal noise whose variance varies with the inputs, by a second process on its logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.gp import GPRegressor, Heteroscedastic
    >>> x = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.2 * x[:, 0] * np.random.default_rng(0).normal(size=80)
    >>> model = GPRegressor("rbf", noise=Heteroscedastic(), n_restarts=0, random_state=0).fit(x, y)
    >>> bool(np.diff(model.noise_std([[1.0], [5.0]]))[0] > 0.3)
    True
    """

    name = "heteroscedastic"
    words = "noise that varies"
    several_targets = True

    def objective(
        self, data: TrainingData, kernel: Kernel, noise_kernel: Kernel, fixed: bool
    ) -> HeteroscedasticObjective:
        observations = data.observations(kernel + noise_kernel)
        return HeteroscedasticObjective(kernel=kernel, observations=observations, noise_kernel=noise_kernel)
