"""Predictions of a fitted classifier: the posterior of latent functions, integrated out.

They are what a model file contains of a fitted classifier: arrays from which factors are made when first needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from credo.core.estimator import check_positive, check_shapes, choice
from credo.core.inference import (
    REPRESENTATIONS,
    Dense,
    FeatureWeights,
    ObservedPosterior,
    SitePosterior,
    SiteSums,
    representation,
)
from credo.core.inference.softmax import SoftmaxGaussian
from credo.distributions import Mixture, Normal
from credo.gp._row_sums import features_of
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.likelihoods import bernoulli as moderated

Array = NDArray[np.float64]

LINKS = ("probit", "logit")
# Points of the quadrature over the latent values of all classes: 2 to this power.
_LOG2_POINTS = 10


class _NormalPredictor(ABC):
    """Two classes, by a latent function that is normal at each row."""

    link: str

    @abstractmethod
    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent function."""

    def latent_dist(self, rows: Array) -> Normal:
        """The distribution of the latent function at each row."""
        mean, variance = self.latent(rows)
        return Normal(mean, np.sqrt(variance))

    def log_odds(self, rows: Array) -> Array:
        """ln P(+1) − ln P(−1), the latent function integrated out."""
        return Bernoulli(self.link).log_odds(*self.latent(rows))

    def probabilities(self, rows: Array) -> Array:
        """(n_rows, 2)."""
        return _of_two(self.log_odds(rows))


@dataclass(frozen=True, eq=False)
class SitePredictor(_NormalPredictor):
    """Two classes, by Gaussian sites at the training rows."""

    kernel: Kernel
    X: Array
    precision: Array
    location: Array
    link: str
    points: Array | None = None
    method: str = "exact"

    def _check_state(self) -> None:
        check_shapes(self, X="n d", precision="n", location="n", points="m d?")
        choice("method", self.method, tuple(REPRESENTATIONS))
        if (self.points is None) != (self.method != "inducing"):
            raise ValueError('inducing points belong to method="inducing", and to no other')
        check_positive(self, "precision", zero=True)
        choice("link", self.link, LINKS)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent function."""
        return self._posterior.latent(rows)

    @cached_property
    def _posterior(self) -> SitePosterior:
        rows = representation(self.method, self.X, self.kernel, self.points)
        return rows.prior(self.kernel).sites(self.precision, self.location)


@dataclass(frozen=True, eq=False)
class SumsPredictor(_NormalPredictor):
    """Two classes, by the sums over all rows of a table in parts; X are the inducing points."""

    kernel: Kernel
    X: Array
    gram: Array
    cross: Array
    link: str

    def _check_state(self) -> None:
        check_shapes(self, X="m d", gram="m m", cross="m")
        choice("link", self.link, LINKS)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent function."""
        return self._weights.latent(rows)

    @cached_property
    def _weights(self) -> FeatureWeights:
        return FeatureWeights.of(features_of(self.kernel, self.X), SiteSums(self.gram, self.cross))


@dataclass(frozen=True, eq=False)
class SiteMixturePredictor:
    """Two classes, by Gaussian sites for each of several kernels, whose predictions are averaged."""

    kernels: tuple[Kernel, ...]
    weights: Array
    X: Array
    precision: Array
    location: Array
    link: str
    method: str = "exact"

    @classmethod
    def of(
        cls,
        sites: Sequence[SitePosterior],
        kernels: tuple[Kernel, ...],
        weights: Array,
        *,
        X: Array,
        link: str,
        method: str,
    ) -> SiteMixturePredictor:
        """From one posterior for each kernel."""
        precision, location = (np.stack([getattr(q, name) for q in sites]) for name in ("precision", "location"))
        return cls(kernels, weights, X, precision, location, link, method)

    def _check_state(self) -> None:
        choice("method", self.method, tuple(REPRESENTATIONS))
        sizes = check_shapes(self, X="n d", precision="k n", location="k n", weights="k")
        check_positive(self, "precision", "weights", zero=True)
        choice("link", self.link, LINKS)
        if len(self.kernels) != sizes["k"] or abs(self.weights.sum() - 1.0) > 1e-6:
            raise ValueError(
                f"{sizes['k']} sets of sites belong to {len(self.kernels)} kernels, with weights that sum to 1"
            )

    def latent_dist(self, rows: Array) -> Mixture:
        """The distribution of the latent function at each row, over all kernels."""
        return Mixture([part.latent_dist(rows) for part in self._parts], self.weights)

    def log_odds(self, rows: Array) -> Array:
        """Log odds of the average probability over all kernels."""
        odds = np.stack([part.log_odds(rows) for part in self._parts])
        weights = self.weights[:, None]
        return logsumexp(log_expit(odds), axis=0, b=weights) - logsumexp(log_expit(-odds), axis=0, b=weights)

    def probabilities(self, rows: Array) -> Array:
        """(n_rows, 2)."""
        return _of_two(self.log_odds(rows))

    @cached_property
    def _parts(self) -> list[SitePredictor]:
        each = zip(self.kernels, self.precision, self.location, strict=True)
        return [
            SitePredictor(kernel, self.X, precision, location, self.link, method=self.method)
            for kernel, precision, location in each
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
    method: str = "auto"

    def _check_state(self) -> None:
        choice("method", self.method, ("auto", *REPRESENTATIONS))
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
