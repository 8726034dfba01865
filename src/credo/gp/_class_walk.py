"""Draws of latent values, and of hyperparameters on request, for a classifier of two classes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credo.gp._class_problem import ClassProblem
from credo.inference import SiteGaussian, annealed_evidence, elliptical_slice
from credo.inference.mcmc import elliptical_step
from credo.kernels import Kernel
from credo.linalg import Factor, NotPositiveDefiniteError, factorize

Array = NDArray[np.float64]

_TUNE, _THIN = 200, 5
# Steps of the latent values between two of the hyperparameters.
_BETWEEN = 5


def latent_draws(
    problem: ClassProblem, kernel: Kernel, *, n_draws: int, rng: np.random.Generator
) -> tuple[Array, float, float]:
    """Draws of f under a known kernel, and the log evidence by annealing with its standard error.

    The ellipses are those of EP's normal distribution instead of the prior's, and the likelihood is replaced by its
    ratio to EP's sites: the target is the same, the chain starts in its bulk, and little annealing is needed.
    """
    base = problem.approximation(kernel).posterior
    assert isinstance(base, SiteGaussian)
    K = base.K
    factor = factorize(base.covariance(K, K), assume_symmetric=True)
    log_likelihood = _likelihood(problem)

    def ratio(gap: Array) -> float:
        f = base.mean + gap
        return log_likelihood(f) + float(0.5 * base.precision @ f**2 - base.location @ f)

    walk = elliptical_slice(factor, ratio, n_draws=n_draws, n_tune=_TUNE, thin=_THIN, rng=rng)
    value, error = annealed_evidence(factor, ratio, rng=rng, n_temperatures=100)
    return base.mean + walk.draws, base.log_normalizer + value, error


def joint_draws(problem: ClassProblem, start: Array, *, n_draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of hyperparameters and f: (n_draws, n_parameters) and (n_draws, n).

    Hyperparameters move while the whitened values L⁻¹f stay (Murray & Adams, 2010), coordinate by coordinate along
    slices; in between f moves on ellipses.
    """
    log_likelihood, prior = _likelihood(problem), problem.hyperprior.proper
    theta, factor = start.copy(), _factor(problem, problem.kernel_at(start))
    white = np.zeros(factor.n)
    thetas, latents = np.empty((n_draws, len(theta))), np.empty((n_draws, factor.n))

    def height(vector: Array) -> tuple[float, Factor | None]:
        try:
            there = _factor(problem, problem.kernel_at(vector))
        except NotPositiveDefiniteError:
            return -math.inf, None
        own = problem.tree.log_prior(vector, jacobian=True)[0] + prior.log_density(vector)[0]
        return log_likelihood(there.L @ white) + own, there

    for step in range(-_TUNE // _BETWEEN, n_draws):
        f = factor.L @ white
        value = log_likelihood(f)
        for _ in range(_BETWEEN):
            f, value = elliptical_step(f, value, factor.L @ rng.standard_normal(factor.n), log_likelihood, rng)
        white = factor.half_solve(f)
        for axis in range(len(theta)):
            theta, factor = _slice(theta, axis, factor, height, rng)
        if step >= 0:
            thetas[step], latents[step] = theta, factor.L @ white
    return thetas, latents


def _slice(
    theta: Array,
    axis: int,
    factor: Factor,
    height: Callable[[Array], tuple[float, Factor | None]],
    rng: np.random.Generator,
    width: float = 1.5,
) -> tuple[Array, Factor]:
    """One step along one coordinate, by stepping out and shrinking (Neal, 2003)."""

    def at(x: float) -> tuple[Array, float, Factor | None]:
        moved = theta.copy()
        moved[axis] = x
        return moved, *height(moved)

    level = height(theta)[0] + math.log(rng.random())
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
        moved, value, there = at(x)
        if value > level and there is not None:
            return moved, there
        low, high = (x, high) if x < theta[axis] else (low, x)
    return theta, factor


def _factor(problem: ClassProblem, kernel: Kernel) -> Factor:
    return factorize(kernel.gram(problem.X), overwrite=True, assume_symmetric=True)


def _likelihood(problem: ClassProblem) -> Callable[[Array], float]:
    likelihood, labels, weight = problem.likelihood, problem.labels, problem.weight
    return lambda f: float(weight @ likelihood.log_prob(labels, f))
