"""The objective of a search: the evidence as a function of the hyperparameters, with weak priors.

A prior is a normal distribution of the natural logarithm: wide enough that the evidence dominates, narrow enough to
exclude zero noise and infinite length scales. The length scales of one kernel have a hierarchical prior, which shrinks
them towards a common value if there are too few rows to tell them apart:

    ln ℓⱼ = centerⱼ + c + δⱼ,   c ~ N(0, width²),   δⱼ ~ N(0, τ²),   τ one of several values, equally probable.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import center_and_scale
from credo.core.inference import Representation
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.params import Parameter, ParameterTree, Positive
from credo.gp._observations import Observations
from credo.kernels import Kernel

Array = NDArray[np.float64]

Index = NDArray[np.intp]

_ROOT_2PI = math.sqrt(2 * math.pi)
_FIRST_NOISE, _NOISE_WIDTH = 0.05, 3.0
# The values of τ. With the smallest, length scales are equal up to a factor of two.
_DEVIATIONS = np.array([0.3, 0.5, 1.0, 2.0, 4.0])


@dataclass(frozen=True)
class Hyperprior:
    """N(center, width²) for each entry of the flat vector; an infinite width is no prior.

    `own` marks the entries whose parameter has a prior in the tree, which replaces this one. The entries of each of
    `shared` are length scales of one kernel, with the hierarchical prior.
    """

    center: Array
    width: Array
    own: NDArray[np.bool_]
    shared: tuple[Index, ...] = ()

    @classmethod
    def of(cls, tree: ParameterTree, *defaults: Array) -> Hyperprior:
        """Around the default of each entry; entries without one start at the tree's value.

        `defaults` are the mean and standard deviation of the logarithm of every free entry, one array for each part of
        the tree.
        """
        center, width = np.concatenate(defaults).T
        leaves = [_parameter(tree, name) for name in tree.names]
        own = np.array([leaf.prior is not None for leaf in leaves], dtype=bool)
        center = np.where(np.isnan(center), tree.flatten(), center)
        width = np.where(own, np.inf, width)
        for i, leaf in enumerate(leaves):
            if np.isfinite(width[i]) and not isinstance(leaf.bijector, Positive):
                # Bounds replace the prior, and the start if that lies outside of them.
                value = math.exp(center[i])
                inside = bool(leaf.bijector.contains(value))
                center[i] = float(leaf.bijector.inverse(value)) if inside else tree.flatten()[i]
                width[i] = np.inf
        return cls(center, width, own, _lengthscales(tree, np.isfinite(width)))

    @cached_property
    def proper(self) -> Hyperprior:
        """With a finite width for every entry, as a sampler needs it."""
        filled = np.where(np.isfinite(self.width) | self.own, self.width, _NOISE_WIDTH)
        return replace(self, width=filled)

    def log_density(self, vector: Array) -> tuple[float, Array]:
        """The log density of all entries that have a prior here, with its gradient."""
        gap = vector - self.center
        alone = np.isfinite(self.width)
        for together in self.shared:
            alone[together] = False
        score = np.where(alone, gap / self.width, 0.0)
        value = -0.5 * float(score @ score) - float(np.log(_ROOT_2PI * self.width[alone]).sum())
        gradient = -score / self.width
        for together in self.shared:
            own, gradient[together] = _hierarchical(gap[together], float(self.width[together[0]]))
            value += own
        return value, gradient


def _hierarchical(gap: Array, width: float) -> tuple[float, Array]:
    """ln of the mean over τ of N(gap; 0, τ²I + width²·11ᵀ), with its gradient."""
    n, common = len(gap), float(gap.mean())
    deviation, variance = gap - common, _DEVIATIONS**2
    # The variance of the mean entry under each τ.
    shared = variance / n + width**2
    logs = -0.5 * (
        (n - 1) * np.log(variance) + np.log(n * shared) + deviation @ deviation / variance + common**2 / shared
    )
    top = float(logs.max())
    weights = np.exp(logs - top)
    total = float(weights.sum())
    weights /= total
    value = top + math.log(total / len(variance)) - n * math.log(_ROOT_2PI)
    return value, -deviation * float(weights @ (1 / variance)) - common / n * float(weights @ (1 / shared))


def _lengthscales(tree: ParameterTree, has_prior: NDArray[np.bool_]) -> tuple[Index, ...]:
    """The entries of each vector of several length scales that have a default prior."""
    entries: dict[str, list[int]] = {}
    for i, name in enumerate(tree.names):
        path, _, entry = name.partition("[")
        if entry and has_prior[i] and path.rpartition(".")[2] == "lengthscale":
            entries.setdefault(path, []).append(i)
    return tuple(np.array(found) for found in entries.values() if len(found) > 1)


def _parameter(tree: ParameterTree, name: str) -> Parameter:
    found = tree[name.split("[")[0]]
    assert isinstance(found, Parameter)
    return found


def kernel_defaults(kernel: Kernel, X: Array, weight: Array) -> Array:
    """Typical values of a kernel's free parameters on this table."""
    return kernel.default_priors(center_and_scale(X, weight)[1])


def noise_defaults(n_entries: int = 1) -> Array:
    """A typical noise variance of standardized targets."""
    return np.tile([math.log(_FIRST_NOISE), _NOISE_WIDTH], (n_entries, 1))


@dataclass(frozen=True, kw_only=True)
class EvidenceObjective(ABC):
    """Data, a kernel and a model of the observations, whose evidence depends on a flat vector.

    `hyperpriors` adds weak priors to the log evidence. `last` holds the end of the last evaluation, for warm starts;
    without it each starts from scratch.
    """

    kernel: Kernel
    observations: Observations
    hyperpriors: bool = True
    last: dict[str, Any] | None = None
    # Smaller relative changes of the log evidence are rounding errors.
    tolerance: ClassVar[float] = 1e-9

    def _noise_parameters(self) -> tuple[Any, list[Array]]:
        """The parameters of the noise, if there are any, and typical values of those that are free."""
        return None, []

    @cached_property
    def tree(self) -> ParameterTree:
        """The parameters by name."""
        noise = self._noise_parameters()[0]
        return ParameterTree({"kernel": self.kernel.tree} | ({} if noise is None else {"noise": noise}))

    @cached_property
    def hyperprior(self) -> Hyperprior:
        """Weak priors around data-driven values."""
        return Hyperprior.of(self.tree, self._defaults(self.kernel), *self._noise_parameters()[1])

    def _defaults(self, kernel: Kernel) -> Array:
        return kernel_defaults(kernel, self.observations.X, self.observations.weight)

    @property
    def rows(self) -> Representation:
        """The training rows."""
        return self.observations.representation

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.observations.Y)

    @abstractmethod
    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        """ln p(y) of the standardized targets, or a bound, and a function for its gradient by natural parameters."""

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) of the standardized targets, or a bound, and its gradient with respect to the vector."""
        value, natural = self.at(vector)
        return value, natural() * self.tree.derivative(vector) if gradient else np.empty(0)

    def subset(self, rows: NDArray[np.intp]) -> Self:
        """The same objective on some of the rows."""
        return replace(self, observations=self.observations.subset(rows))

    def starts(self, first: Array, n_restarts: int, rng: np.random.Generator) -> list[Array]:
        """The starting points of a search: the first, and others around it."""
        return [first, *(first + rng.normal(size=len(first)) for _ in range(n_restarts))]

    def adapted(self, vector: Array) -> Self:
        """The same, with a representation for the kernel at this vector."""
        return replace(self, observations=self.observations.adapted(self.kernel_at(vector)))

    def started(self, vector: Array) -> Self:
        """The same for one run of an optimizer from this vector; an evaluation may use the sites of the last one."""
        return replace(self.adapted(vector), last={})

    def __call__(self, vector: Array, *, proper: bool = False) -> tuple[float, Array]:
        """Log evidence plus log priors, with the gradient; −∞ if the matrix can't be factored.

        `proper` is the log density of the vector itself given the data: every entry has a proper prior.
        """
        try:
            value, natural = self.at(vector)
            gradient = natural() * self.tree.derivative(vector)
        except NotPositiveDefiniteError:
            return -math.inf, np.zeros_like(vector)
        own, by_own = self._log_prior(vector, proper=proper)
        return value + own, gradient + by_own

    def information(self, vector: Array) -> Array | None:
        """The Fisher information of the evidence, plus the curvature of the log priors; None if it isn't known."""
        return None

    def log_posterior(self, vector: Array) -> tuple[float, Array]:
        """The log density of the vector itself given the data, up to a constant: every entry has a proper prior."""
        return self(vector, proper=True)

    def log_posterior_value(self, vector: Array) -> float:
        """The same without its gradient, which takes most of the time."""
        try:
            value = self.at(vector)[0]
        except NotPositiveDefiniteError:
            return -math.inf
        return value + self._log_prior(vector, proper=True)[0]

    def kernel_at(self, vector: Array) -> Kernel:
        """The kernel at a vector."""
        own = self.tree.unflatten(vector)["kernel"]
        assert isinstance(own, ParameterTree)
        return self.kernel.with_tree(own)

    def _log_prior(self, vector: Array, *, proper: bool = False) -> tuple[float, Array]:
        own, by_own = self.tree.log_prior(vector, jacobian=proper)
        if not (proper or self.hyperpriors):
            return own, by_own
        weak, by_weak = (self.hyperprior.proper if proper else self.hyperprior).log_density(vector)
        return own + weak, by_own + by_weak
