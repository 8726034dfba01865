"""The posterior of a classifier's latent functions: arrays from which factors are made when first needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from credo.core.estimator import Evidence
from credo.core.fields import Axes, Inner, NonNegative, Probabilities
from credo.core.inference import Dense, ObservedPosterior, representation
from credo.core.inference import SitePosterior as GaussianSites
from credo.core.inference.softmax import SoftmaxGaussian
from credo.distributions import Mixture, Normal
from credo.gp._observations import TrainingData
from credo.gp._search import few_threads
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.likelihoods import bernoulli as moderated

Array = NDArray[np.float64]

NO_LATENT = (
    'latent=True needs two classes and inference="ep", "laplace" or "vi": otherwise the latent function has no normal '
    "distribution"
)
# Covariances of new with training rows that are held at a time.
_BLOCK = 2**22
# Each of the sites' many factorisations is small: up to so many rows, BLAS uses one thread.
ONE_THREAD = 1000
# Points of the quadrature over the latent values of all classes: 2 to this power.
_LOG2_POINTS = 10


@dataclass(frozen=True, eq=False)
class ClassPosterior(ABC):
    """Latent functions given the labels: what a fit leaves behind, and what predicts.

    They have `kernels` with `weights`, one for each set of hyperparameters.
    """

    data: Annotated[TrainingData, Inner(n="n", d="d", m="m")]
    kernels: Annotated[tuple[Kernel, ...], Axes("k")]
    weights: Annotated[Array, Axes("k"), Probabilities]
    evidence: Evidence | None = field(default=None, kw_only=True)

    @abstractmethod
    def probabilities(self, rows: Array) -> Array:
        """(n_rows, n_classes), the latent functions integrated out."""

    def predictive(self, rows: Array, *, latent: bool = False) -> Any:
        """The probabilities of the classes, or the distribution of the latent function at each row."""
        if latent:
            raise ValueError(NO_LATENT)
        return self.in_blocks(rows, self.probabilities)

    def in_blocks(self, rows: Array, predict: Callable[[Array], Array]) -> Array:
        """Predictions for some rows at a time."""
        size = max(1, _BLOCK // (len(self.data.X) * self._n_functions))
        parts = np.split(rows, range(size, len(rows), size))
        with few_threads(len(self.data.X), ONE_THREAD):
            return np.concatenate([predict(np.ascontiguousarray(part)) for part in parts])

    @property
    def _n_functions(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class TwoClasses(ClassPosterior):
    """Two classes, of which one latent function is the log odds by a link."""

    link: Literal["probit", "logit"]

    @abstractmethod
    def log_odds(self, rows: Array) -> Array:
        """ln P(+1) − ln P(−1) of the average probability over all kernels, the latent function integrated out."""

    def probabilities(self, rows: Array) -> Array:
        log_odds = self.log_odds(rows)
        return np.column_stack([expit(-log_odds), expit(log_odds)])


@dataclass(frozen=True, eq=False)
class SitePosterior(TwoClasses):
    """By Gaussian sites at the training rows for each of several kernels, over which it averages."""

    precision: Annotated[Array, Axes("k n"), NonNegative]
    location: Annotated[Array, Axes("k n")]

    def predictive(self, rows: Array, *, latent: bool = False) -> Any:
        if not latent:
            return super().predictive(rows)
        parts = [Normal(mean, np.sqrt(variance)) for mean, variance in (each.latent(rows) for each in self._processes)]
        return parts[0] if len(parts) == 1 else Mixture(parts, self.weights)

    def log_odds(self, rows: Array) -> Array:
        likelihood, weights = Bernoulli(self.link), self.weights[:, None]
        odds = np.stack([likelihood.log_odds(*each.latent(rows)) for each in self._processes])
        if len(odds) == 1:
            return odds[0]
        return logsumexp(log_expit(odds), axis=0, b=weights) - logsumexp(log_expit(-odds), axis=0, b=weights)

    @cached_property
    def _processes(self) -> list[GaussianSites]:
        return [
            representation(self.data.method, self.data.X, kernel, self.data.points)
            .prior(kernel)
            .sites(precision, location)
            for kernel, precision, location in zip(self.kernels, self.precision, self.location, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class DrawsPosterior(TwoClasses):
    """By draws of the latent values at the training rows: with one kernel, or one for each draw."""

    latent_draws: Annotated[Array, Axes("s n")]

    def log_odds(self, rows: Array) -> Array:
        parts = [_average(*process.latent(rows), self.link) for process in self._processes]
        return logit(np.clip(np.mean(parts, axis=0), 1e-15, 1 - 1e-15))

    @cached_property
    def _processes(self) -> list[ObservedPosterior]:
        """The latent function given each kernel's draws as values without noise."""
        n, training = len(self.kernels), Dense(self.data.X)
        return [
            training.prior(kernel).observe(np.ascontiguousarray(self.latent_draws[k::n].T), 0.0)
            for k, kernel in enumerate(self.kernels)
        ]


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior(ClassPosterior):
    """Several classes, by Laplace's approximation."""

    alpha: Annotated[Array, Axes("c n")]
    mode_probabilities: Annotated[Array, Axes("c n"), NonNegative]

    def probabilities(self, rows: Array) -> Array:
        """Over a fixed set of quasi-random points."""
        mean, cov = self._process.latent(rows)
        values, vectors = np.linalg.eigh(cov)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        table = moderated.expected_softmax(self._points, mean, roots, np.eye(len(self.alpha)))
        return table / table.sum(axis=1, keepdims=True)

    @property
    def _n_functions(self) -> int:
        return len(self.alpha) - 1

    @cached_property
    def _points(self) -> Array:
        return moderated.normal_points(len(self.alpha), log2=_LOG2_POINTS)

    @cached_property
    def _process(self) -> SoftmaxGaussian:
        prior = Dense(self.data.X).prior(self.kernels[0])
        return SoftmaxGaussian(prior, self.alpha, self.mode_probabilities, self.data.weight)


def _average(means: Array, variance: Array, link: str) -> Array:
    """The probability of +1 averaged over the columns of means, each with the same variance of a row."""
    wide = np.broadcast_to(variance[:, None], means.shape)
    return Bernoulli(link).probability(means.ravel(), wide.ravel()).reshape(means.shape).mean(axis=1)
