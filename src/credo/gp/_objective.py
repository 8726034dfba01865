"""The evidence as a function of one flat vector of hyperparameters: what a search maximizes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior, kernel_defaults, noise_defaults
from credo.gp._observations import Observations
from credo.inference import Representation
from credo.kernels import Kernel
from credo.learning.ascent import curvature_at
from credo.linalg import NotPositiveDefiniteError
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]


class EvidenceObjective(ABC):
    """Data, a kernel and a model of the observations, whose evidence depends on a flat vector.

    `hyperpriors` adds weak priors to the log evidence; `tolerance` is the relative change below which its digits are
    rounding errors.
    """

    kernel: Kernel
    hyperpriors: bool
    tolerance: float

    @property
    @abstractmethod
    def tree(self) -> ParameterTree:
        """The parameters by name."""

    @property
    @abstractmethod
    def hyperprior(self) -> Hyperprior:
        """Weak priors around data-driven values."""

    @property
    @abstractmethod
    def rows(self) -> Representation:
        """The training rows."""

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.rows.X)

    @abstractmethod
    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) of the standardised targets, and its gradient with respect to the vector."""

    @abstractmethod
    def subset(self, rows: NDArray[np.intp]) -> Self:
        """The same objective on some of the rows."""

    def starts(self, first: Array, n_restarts: int, rng: np.random.Generator) -> list[Array]:
        """Where a search starts: the first, and others around it."""
        return [first, *(first + rng.normal(size=len(first)) for _ in range(n_restarts))]

    @abstractmethod
    def adapted(self, vector: Array) -> Self:
        """The same, with a representation for the kernel at this vector."""

    def started(self, vector: Array) -> Self:
        """The same for one run of an optimizer from this vector; an evaluation may use the sites of the last one."""
        return self.adapted(vector)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Log evidence plus log priors, with the gradient; −∞ where the matrix can't be factored."""
        return self._posterior(vector, self.hyperprior if self.hyperpriors else None, jacobian=False)

    def information(self, vector: Array) -> Array | None:
        """The Fisher information of the evidence, plus the curvature of the log priors; None where it isn't known."""
        return None

    def log_posterior(self, vector: Array) -> tuple[float, Array]:
        """The log density of the vector itself given the data, up to a constant: every entry has a proper prior."""
        return self._posterior(vector, self.hyperprior.proper, jacobian=True)

    def log_posterior_value(self, vector: Array) -> float:
        """The same without its gradient, which takes most of the time."""
        try:
            value = self.evidence(vector, gradient=False)[0]
        except NotPositiveDefiniteError:
            return -math.inf
        return value + self.tree.log_prior(vector, jacobian=True)[0] + self.hyperprior.proper.log_density(vector)[0]

    def kernel_at(self, vector: Array) -> Kernel:
        """The kernel at a vector."""
        own = self.tree.unflatten(vector)["kernel"]
        assert isinstance(own, ParameterTree)
        return self.kernel.with_tree(own)

    def _posterior(self, vector: Array, prior: Hyperprior | None, *, jacobian: bool) -> tuple[float, Array]:
        try:
            value, gradient = self.evidence(vector)
        except NotPositiveDefiniteError:
            return -math.inf, np.zeros_like(vector)
        own, by_own = self._log_prior(vector, prior, jacobian=jacobian)
        return value + own, gradient + by_own

    def _log_prior(self, vector: Array, prior: Hyperprior | None, *, jacobian: bool) -> tuple[float, Array]:
        own, by_own = self.tree.log_prior(vector, jacobian=jacobian)
        weak, by_weak = (0.0, 0.0) if prior is None else prior.log_density(vector)
        return own + weak, by_own + by_weak


@dataclass(frozen=True)
class GaussianObjective(EvidenceObjective):
    """The evidence of targets with one noise variance for all rows, learned where `learns_noise`.

    `extra` are known variances that are added to the noise, one for each row.
    """

    kernel: Kernel
    observations: Observations
    noise: float
    learns_noise: bool
    extra: Array
    hyperpriors: bool = True
    tolerance: float = 1e-11

    @cached_property
    def tree(self) -> ParameterTree:
        noise = Parameter(max(self.noise, 1e-12), fixed=not self.learns_noise)
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        own = kernel_defaults(self.kernel, self.observations.X, self.observations.weight)
        return Hyperprior.of(self.tree, own, noise_defaults(int(self.learns_noise)))

    @property
    def rows(self) -> Representation:
        return self.observations.representation

    def subset(self, rows: NDArray[np.intp]) -> GaussianObjective:
        return replace(self, observations=self.observations.subset(rows), extra=self.extra[rows])

    def adapted(self, vector: Array) -> GaussianObjective:
        return replace(self, observations=self.observations.adapted(self.kernel_at(vector)))

    def noise_at(self, vector: Array) -> Array:
        """The noise variance of one observation at each row."""
        return (self.learned_noise(vector) if self.learns_noise else self.noise) + self.extra

    def learned_noise(self, vector: Array) -> float:
        """The noise variance that all rows share."""
        noise = self.tree.unflatten(vector)["noise"]
        assert isinstance(noise, Parameter)
        return float(noise.value)

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        value, found = self.observations.evidence(self.kernel_at(vector), self.noise_at(vector), gradient=gradient)
        if found is None:
            return value, np.empty(0)
        natural = np.append(found.by_kernel, found.by_noise.sum()) if self.learns_noise else found.by_kernel
        return value, natural * self.tree.derivative(vector)

    def information(self, vector: Array) -> Array | None:
        natural = self.observations.condition(self.kernel_at(vector), self.noise_at(vector)).information()
        if natural is None:
            return None
        n, units = len(vector), self.tree.derivative(vector)
        prior = partial(self._log_prior, prior=self.hyperprior if self.hyperpriors else None, jacobian=False)
        return units[:, None] * natural[:n, :n] * units + curvature_at(prior, vector)
