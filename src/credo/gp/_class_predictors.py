"""Predictions of a fitted classifier: the posterior of latent functions, integrated out.

They are what a model file contains of a fitted classifier: arrays from which factors are made when first needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from credo.core.estimator import check_positive, check_shapes, choice
from credo.core.inference import REPRESENTATIONS, Dense, ObservedPosterior, SitePosterior, representation
from credo.core.inference.softmax import SoftmaxGaussian
from credo.distributions import Distribution, Mixture, Normal
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.likelihoods import bernoulli as moderated

Array = NDArray[np.float64]

LINKS = ("probit", "logit")
# Points of the quadrature over the latent values of all classes: 2 to this power.
_LOG2_POINTS = 10


@dataclass(frozen=True, eq=False)
class SitePredictor:
    """Two classes, by Gaussian sites at the training rows for each of several kernels, over which it averages."""

    kernels: tuple[Kernel, ...]
    weights: Array
    X: Array
    precision: Array
    location: Array
    link: str
    points: Array | None
    method: str

    def _check_state(self) -> None:
        sizes = check_shapes(self, X="n d", precision="k n", location="k n", weights="k", points="m d?")
        choice("method", self.method, tuple(REPRESENTATIONS))
        choice("link", self.link, LINKS)
        check_positive(self, "precision", "weights", zero=True)
        if (self.points is None) != (self.method != "inducing"):
            raise ValueError('inducing points belong to method="inducing", and to no other')
        if len(self.kernels) != sizes["k"] or abs(self.weights.sum() - 1.0) > 1e-6:
            raise ValueError(
                f"{sizes['k']} sets of sites belong to {len(self.kernels)} kernels, with weights that sum to 1"
            )

    def latent_dist(self, rows: Array) -> Distribution:
        """The distribution of the latent function at each row: normal, or a mixture over all kernels."""
        parts = [Normal(mean, np.sqrt(variance)) for mean, variance in (each.latent(rows) for each in self._posteriors)]
        return parts[0] if len(parts) == 1 else Mixture(parts, self.weights)

    def log_odds(self, rows: Array) -> Array:
        """ln P(+1) − ln P(−1) of the average probability over all kernels, the latent function integrated out."""
        likelihood, weights = Bernoulli(self.link), self.weights[:, None]
        odds = np.stack([likelihood.log_odds(*each.latent(rows)) for each in self._posteriors])
        if len(odds) == 1:
            return odds[0]
        return logsumexp(log_expit(odds), axis=0, b=weights) - logsumexp(log_expit(-odds), axis=0, b=weights)

    def probabilities(self, rows: Array) -> Array:
        """(n_rows, 2)."""
        return _of_two(self.log_odds(rows))

    @cached_property
    def _posteriors(self) -> list[SitePosterior]:
        return [
            representation(self.method, self.X, kernel, self.points).prior(kernel).sites(precision, location)
            for kernel, precision, location in zip(self.kernels, self.precision, self.location, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class SoftmaxPredictor:
    """Several classes, by Laplace's approximation."""

    kernel: Kernel
    X: Array
    alpha: Array
    mode_probabilities: Array
    weight: Array

    def _check_state(self) -> None:
        check_shapes(self, X="n d", alpha="k n", mode_probabilities="k n", weight="n")
        check_positive(self, "mode_probabilities", "weight", zero=True)

    def probabilities(self, rows: Array) -> Array:
        """Class probabilities, the latent functions integrated out over a fixed set of quasi-random points."""
        mean, cov = self._posterior.latent(rows)
        values, vectors = np.linalg.eigh(cov)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        table = moderated.expected_softmax(self._points, mean, roots, np.eye(len(self.alpha)))
        return table / table.sum(axis=1, keepdims=True)

    @cached_property
    def _points(self) -> Array:
        return moderated.normal_points(len(self.alpha), log2=_LOG2_POINTS)

    @cached_property
    def _posterior(self) -> SoftmaxGaussian:
        return SoftmaxGaussian(Dense(self.X).prior(self.kernel), self.alpha, self.mode_probabilities, self.weight)


@dataclass(frozen=True, eq=False)
class DrawsPredictor:
    """Two classes, by draws of the latent values at the training rows: with one kernel, or one for each draw."""

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
        parts = [_average(*posterior.latent(rows), self.link) for posterior in self._posteriors]
        return logit(np.clip(np.mean(parts, axis=0), 1e-15, 1 - 1e-15))

    def probabilities(self, rows: Array) -> Array:
        """(n_rows, 2)."""
        return _of_two(self.log_odds(rows))

    @cached_property
    def _posteriors(self) -> list[ObservedPosterior]:
        """The latent function given each kernel's draws as values without noise."""
        n, training = len(self.kernels), Dense(self.X)
        return [
            training.prior(kernel).observe(np.ascontiguousarray(self.draws[k::n].T), 0.0)
            for k, kernel in enumerate(self.kernels)
        ]


def _of_two(log_odds: Array) -> Array:
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def _average(means: Array, variance: Array, link: str) -> Array:
    """The probability of +1 averaged over the columns of means, each with the same variance of a row."""
    wide = np.broadcast_to(variance[:, None], means.shape)
    return Bernoulli(link).probability(means.ravel(), wide.ravel()).reshape(means.shape).mean(axis=1)
