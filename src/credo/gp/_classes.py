"""Classification by a latent process: the evidence as a function of the hyperparameters, draws, and the posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from credo.core.estimator import Evidence
from credo.core.fields import Axes, Inner, NonNegative, Probabilities, Where
from credo.core.inference import (
    Approximation,
    Dense,
    ObservedPosterior,
    SoftmaxApproximation,
    elliptical_slice,
    ep,
    laplace,
    representation,
    softmax_laplace,
    vi,
)
from credo.core.inference import SitePosterior as GaussianSites
from credo.core.inference.softmax import SoftmaxGaussian
from credo.core.learning.integration import few_points
from credo.core.linalg import EPS
from credo.distributions import Mixture, Normal
from credo.gp._objective import EvidenceObjective
from credo.gp._observations import TrainingData
from credo.gp._posterior import MAX_DIVERGENCE
from credo.gp._search import blas_threads
from credo.kernels import Kernel
from credo.likelihoods import Bernoulli
from credo.likelihoods import bernoulli as moderated

Array = NDArray[np.float64]

INFERENCES: dict[str, Callable[..., Approximation]] = {"laplace": laplace, "ep": ep, "vi": vi}

# Tolerances during a search. The evidence is stationary at convergence, so its error is the square of theirs.
_SEARCH_TOLERANCE = {"laplace": 1e-9, "ep": 1e-6, "vi": 1e-8}
# Steps of MCMC before the first draw, and between draws.
_TUNING_STEPS, _THINNING = 200, 5


@dataclass(frozen=True, kw_only=True)
class ClassificationObjective(EvidenceObjective):
    """Rows, their classes (as targets) and weights, a kernel, and the inference that approximates the posterior.

    `n_classes` is 2 for a likelihood of one latent function; more classes are joined by the softmax, with Laplace's
    approximation. `found` collects the approximation at every vector, if it is a dictionary.
    """

    n_classes: int
    likelihood: Bernoulli
    inference: str
    found: dict[bytes, Approximation | SoftmaxApproximation] | None = None

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The index of each label among the classes."""
        return self.observations.Y[:, 0].astype(np.intp)

    @cached_property
    def labels(self) -> Array:
        """−1 and +1."""
        return np.where(self.codes == 1, 1.0, -1.0)

    def approximation(self, kernel: Kernel) -> Approximation | SoftmaxApproximation:
        """The approximate posterior of the latent values under a kernel."""
        prior = self.rows.prior(kernel)
        options: dict[str, Any] = {"weight": self.observations.weight}
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

    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        """ln p(y) as the inference approximates it."""
        found = self.approximation(self.kernel_at(vector))
        if self.found is not None:
            self.found[vector.tobytes()] = found
        return found.log_evidence, lambda: found.gradient().by_kernel


def sample_latent(
    objective: ClassificationObjective, kernel: Kernel, *, n_draws: int, rng: np.random.Generator
) -> Array:
    """Draws of f under a known kernel.

    The ellipses are those of EP's normal distribution instead of the prior's, and the likelihood is replaced by its
    ratio to EP's sites. The target is the same, but the chain starts near its mode.
    """
    found = objective.approximation(kernel)
    assert isinstance(found, Approximation)
    base, labels, weight = found.posterior, objective.labels, objective.observations.weight

    def log_ratio(deviation: Array) -> float:
        f = base.mean + deviation
        return float(
            weight @ objective.likelihood.log_prob(labels, f) + 0.5 * base.precision @ f**2 - base.location @ f
        )

    start = np.zeros(objective.n_rows)
    deviations = elliptical_slice(
        lambda: base.draw(rng), log_ratio, start=start, n_draws=n_draws, n_tune=_TUNING_STEPS, thin=_THINNING, rng=rng
    )
    return np.asarray(base.mean + deviations)


NO_LATENT = (
    'latent=True needs two classes and inference="ep", "laplace" or "vi": otherwise the latent function has no normal '
    "distribution"
)
# Covariances between new and training rows held in memory at a time.
_BLOCK_ENTRIES = 2**22
# An evaluation has many small factorizations: up to this many rows, BLAS uses one thread.
SINGLE_THREAD_ROWS = 1000


def _has_labels(data: TrainingData) -> bool:
    return bool((data.Y >= 0).all() and (np.floor(data.Y) == data.Y).all())


@dataclass(frozen=True, eq=False)
class ClassPosterior(ABC):
    """Latent functions given the labels: the result of a fit, which predicts.

    They have `kernels` with `weights`, one for each set of hyperparameters.
    """

    data: Annotated[TrainingData, Inner(n="n", d="d"), Where(_has_labels, "of labels")]
    kernels: Annotated[tuple[Kernel, ...], Axes("k")]
    weights: Annotated[Array, Axes("k"), Probabilities]
    evidence: Evidence | None = field(default=None, kw_only=True)

    @abstractmethod
    def probabilities(self, rows: Array) -> Array:
        """(n_rows, n_classes), with the latent functions integrated out."""

    def predictive(self, rows: Array, *, latent: bool = False) -> Any:
        """The probabilities of the classes, or the distribution of the latent function at each row."""
        if latent:
            raise ValueError(NO_LATENT)
        return self.in_blocks(rows, self.probabilities)

    def in_blocks(self, rows: Array, predict: Callable[[Array], Array]) -> Array:
        """Predictions in blocks of rows, which limits memory."""
        size = max(1, _BLOCK_ENTRIES // (len(self.data.X) * self._n_functions))
        parts = np.split(rows, range(size, len(rows), size))
        with blas_threads(len(self.data.X), SINGLE_THREAD_ROWS):
            return np.concatenate([predict(np.ascontiguousarray(part)) for part in parts])

    @property
    def _n_functions(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class TwoClasses(ClassPosterior):
    """Two classes, whose probabilities are a link of one latent function."""

    link: Literal["probit", "logit"]

    def _sizes(self) -> dict[str, int]:
        return {"c": 2}

    @abstractmethod
    def log_odds(self, rows: Array) -> Array:
        """ln P(+1) − ln P(−1) of the average probability over all kernels, with the latent function integrated out."""

    def probabilities(self, rows: Array) -> Array:
        log_odds = self.log_odds(rows)
        return np.column_stack([expit(-log_odds), expit(log_odds)])


@dataclass(frozen=True, eq=False)
class SitePosterior(TwoClasses):
    """Gaussian sites at the training rows for each of several kernels, over which predictions average."""

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


def predicting_points(
    posteriors: Sequence[GaussianSites], likelihood: Bernoulli, weights: Array, most: int
) -> tuple[NDArray[np.intp], Array]:
    """The indices of at most `most` posteriors, and weights with which they predict nearly the same probabilities.

    The divergence between probabilities is ½(Δp)²/(p(1 − p)), and new rows are like training rows whose sites are left
    out.
    """
    if most >= len(weights):
        return np.arange(len(weights)), weights
    values = []
    for q in posteriors:
        # The precision without the row's own site is positive up to rounding errors.
        precision = np.maximum(1.0 / q.variance - q.precision, EPS / q.variance)
        values.append(likelihood.probability((q.mean / q.variance - q.location) / precision, 1.0 / precision))
    p = np.stack(values)
    average = np.clip(weights @ p, 1e-6, 1.0 - 1e-6)
    kept, own = few_points(p / np.sqrt(average * (1.0 - average) * p.shape[1]), weights, most, MAX_DIVERGENCE)
    return kept[own > 0], own[own > 0]


@dataclass(frozen=True, eq=False)
class DrawsPosterior(TwoClasses):
    """Draws of the latent values at the training rows."""

    latent_draws: Annotated[Array, Axes("s n")]

    def log_odds(self, rows: Array) -> Array:
        means, variance = self._process.latent(rows)
        wide = np.broadcast_to(variance[:, None], means.shape)
        every = Bernoulli(self.link).probability(means.ravel(), wide.ravel()).reshape(means.shape)
        return logit(np.clip(every.mean(axis=1), 1e-15, 1 - 1e-15))

    @cached_property
    def _process(self) -> ObservedPosterior:
        """The latent function given the draws, as values without noise."""
        return Dense(self.data.X).prior(self.kernels[0]).observe(np.ascontiguousarray(self.latent_draws.T), 0.0)


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior(ClassPosterior):
    """Several classes, by Laplace's approximation."""

    alpha: Annotated[Array, Axes("c n")]
    mode_probabilities: Annotated[Array, Axes("c n"), NonNegative]

    def probabilities(self, rows: Array) -> Array:
        """Averages over a fixed set of quasi-random points."""
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
        return moderated.normal_points(len(self.alpha), log2=10)

    @cached_property
    def _process(self) -> SoftmaxGaussian:
        prior = Dense(self.data.X).prior(self.kernels[0])
        return SoftmaxGaussian(prior, self.alpha, self.mode_probabilities, self.data.weight)
