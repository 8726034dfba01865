"""Fitted laws of latent functions, each giving log odds or class probabilities at new rows.

They are what a model file holds of a fitted classifier: arrays from which factors are built again when first asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr

from credo.estimator import check_positive, check_shapes, choice
from credo.inference import SiteGaussian
from credo.inference.softmax import SoftmaxGaussian
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli, moderated
from credo.linalg import Factor, factorize

Array = NDArray[np.float64]

LINKS = ("probit", "logit")
# Points of the quadrature over the latent values of all classes: 2 to this power.
_POINTS = 10


@dataclass(frozen=True, eq=False)
class SiteLaw:
    """Two classes, by Gaussian sites at the training rows."""

    kernel: Kernel
    X: Array
    precision: Array
    location: Array
    link: str

    def _check_state(self) -> None:
        check_shapes(self, X="n d", precision="n", location="n")
        check_positive(self, "precision", zero=True)
        choice("link", self.link, LINKS)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent function."""
        return self._posterior.latent(self.kernel.cross(rows, self.X), self.kernel.diagonal(rows))

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

    def _check_state(self) -> None:
        check_shapes(self, X="n d", alpha="k n", probabilities="k n", weight="n")
        check_positive(self, "probabilities", "weight", zero=True)

    def table(self, rows: Array) -> Array:
        """Class probabilities, the latent functions integrated out over a fixed set of quasi-random points."""
        cross, prior = self.kernel.cross(rows, self.X), self.kernel.diagonal(rows)
        mean, cov = cross @ self.alpha.T, self._posterior.blocks(cross, prior)
        values, vectors = np.linalg.eigh(cov)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        table = moderated.expected_softmax(self._points, mean, roots, np.eye(len(self.alpha)))
        return table / table.sum(axis=1, keepdims=True)

    @cached_property
    def _points(self) -> Array:
        return moderated.normal_points(len(self.alpha), log2=_POINTS)

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

    def _check_state(self) -> None:
        sizes = check_shapes(self, X="n d", draws="s n")
        choice("link", self.link, LINKS)
        if not 0 < len(self.kernels) <= sizes["s"]:
            raise ValueError(f"{sizes['s']} draws belong to {len(self.kernels)} kernels")

    def log_odds(self, rows: Array) -> Array:
        """Log odds of the average probability over all draws."""
        total = np.zeros(len(rows))
        for k, kernel in enumerate(self.kernels):
            own = self.draws[k :: len(self.kernels)] if len(self.kernels) > 1 else self.draws
            cross, factor = kernel.cross(rows, self.X), self._factors[k]
            half = factor.half_solve(cross.T)
            variance = np.maximum(kernel.diagonal(rows) - np.einsum("ij,ij->j", half, half), 0.0)
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
    wide = np.broadcast_to(variance[:, None], means.shape)
    return moderated.expected_sigmoid(means.ravel(), wide.ravel())[:, 1].reshape(means.shape).mean(axis=1)
