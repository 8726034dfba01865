"""Fitted laws of latent functions, each giving log odds or class probabilities at new rows.

They are what a model file holds of a fitted classifier: arrays from which factors are built again when first asked.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr, ndtri, softmax
from scipy.stats import qmc

from credo.inference import SiteGaussian
from credo.inference.softmax import SoftmaxGaussian
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.linalg import Factor, factorize

Array = NDArray[np.float64]

# Points of the quadrature over the latent values of all classes, the same for every row and every call.
_POINTS = 10
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)


@dataclass(frozen=True, eq=False)
class SiteLaw:
    """Two classes, by Gaussian sites at the training rows."""

    kernel: Kernel
    X: Array
    precision: Array
    location: Array
    link: str

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent function."""
        return self._posterior.latent(self.kernel._cross(rows, self.X), self.kernel._diagonal(rows))

    def log_odds(self, rows: Array) -> Array:
        """ln P(+1) − ln P(−1), the latent function integrated out."""
        return Bernoulli(self.link).log_odds(*self.latent(rows))

    @cached_property
    def _posterior(self) -> SiteGaussian:
        return SiteGaussian(self.kernel.gram(self.X), self.precision, self.location)


@dataclass(frozen=True, eq=False)
class SoftmaxLaw:
    """Several classes, by Laplace's approximation."""

    kernel: Kernel
    X: Array
    alpha: Array
    probabilities: Array
    weight: Array

    def table(self, rows: Array) -> Array:
        """Class probabilities, the latent functions integrated out over a fixed set of quasi-random points."""
        cross, prior = self.kernel._cross(rows, self.X), self.kernel._diagonal(rows)
        mean, cov = cross @ self.alpha.T, self._posterior.blocks(cross, prior)
        values, vectors = np.linalg.eigh(cov)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        total = np.zeros_like(mean)
        for point in self._points:
            total += softmax(mean + roots @ point, axis=1)
        return total / total.sum(axis=1, keepdims=True)

    @cached_property
    def _points(self) -> Array:
        cube = qmc.Sobol(len(self.alpha), scramble=True, rng=np.random.default_rng(0)).random_base2(_POINTS - 1)
        half = ndtri(np.clip(cube, 1e-12, 1 - 1e-12))
        # Mirrored, so that odd moments vanish.
        return np.vstack([half, -half])

    @cached_property
    def _posterior(self) -> SoftmaxGaussian:
        return SoftmaxGaussian(self.kernel.gram(self.X), self.probabilities, self.weight)


@dataclass(frozen=True, eq=False)
class DrawnLaw:
    """Two classes, by draws of the latent values at the training rows: one kernel, or one for each draw."""

    kernels: tuple[Kernel, ...]
    X: Array
    draws: Array
    link: str

    def log_odds(self, rows: Array) -> Array:
        """Log odds of the average probability over all draws."""
        total = np.zeros(len(rows))
        for k, kernel in enumerate(self.kernels):
            own = self.draws[k :: len(self.kernels)] if len(self.kernels) > 1 else self.draws
            cross, factor = kernel._cross(rows, self.X), self._factors[k]
            half = factor.half_solve(cross.T)
            variance = np.maximum(kernel._diagonal(rows) - np.einsum("ij,ij->j", half, half), 0.0)
            means = cross @ factor.solve(own.T)
            total += _average(means, variance, self.link) / len(self.kernels)
        return logit(np.clip(total, 1e-15, 1 - 1e-15))

    @cached_property
    def _factors(self) -> list[Factor]:
        return [factorize(kernel.gram(self.X), overwrite=True, assume_symmetric=True) for kernel in self.kernels]


def _average(means: Array, variance: Array, link: str) -> Array:
    """The probability of +1 averaged over the columns of means, each with the same variance of a row."""
    if link == "probit":
        return ndtr(means / np.sqrt(1.0 + variance)[:, None]).mean(axis=1)
    total = np.zeros(len(means))
    for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        shifted = means + node * np.sqrt(variance)[:, None]
        total += weight * (0.5 * (1.0 + np.tanh(0.5 * shifted))).mean(axis=1)
    return total
