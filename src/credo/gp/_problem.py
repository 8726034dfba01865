"""The evidence of a Gaussian process as a function of one flat vector of hyperparameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior, kernel_habits, noise_habits
from credo.gp._marginal import Marginal
from credo.gp._noise_process import NoiseProcess
from credo.kernels import Kernel
from credo.linalg import NotPositiveDefiniteError
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What follows from one vector: the kernel, and the noise variance of one observation at each row.

    A noise that varies has a law, `noise_process`, and a `bound` on the evidence.
    """

    kernel: Kernel
    noise: Array
    bound: float = math.nan
    noise_process: NoiseProcess | None = None


class Evident(Protocol):
    """What has an evidence that depends on a flat vector: data, a kernel, and a model of the observations."""

    @property
    def hyperpriors(self) -> bool: ...

    @property
    def tolerance(self) -> float:
        """Relative change of the objective below which its digits are noise."""
        ...

    @property
    def tree(self) -> ParameterTree: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def hyperprior(self) -> Hyperprior: ...

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]: ...

    def subset(self, rows: NDArray[np.intp]) -> Evident: ...

    def fresh(self) -> Evident:
        """The same for one climb, which may begin each evaluation where the last one ended."""
        ...


class Noisy(Evident, Protocol):
    """One whose observations are the latent values and normal noise."""

    @property
    def marginal(self) -> Marginal: ...

    def at(self, vector: Array) -> Setting: ...


def objective(problem: Evident, vector: Array) -> tuple[float, Array]:
    """Log evidence plus log priors, with the gradient; −∞ where the matrix can't be factored."""
    return _posterior(problem, vector, problem.hyperprior if problem.hyperpriors else None, jacobian=False)


def log_posterior(problem: Evident, vector: Array) -> tuple[float, Array]:
    """The log density of the vector itself given the data, up to a constant: every entry has a proper prior."""
    return _posterior(problem, vector, problem.hyperprior.proper, jacobian=True)


def _posterior(problem: Evident, vector: Array, prior: Hyperprior | None, *, jacobian: bool) -> tuple[float, Array]:
    try:
        value, gradient = problem.evidence(vector)
    except NotPositiveDefiniteError:
        return -math.inf, np.zeros_like(vector)
    own, own_slope = problem.tree.log_prior(vector, jacobian=jacobian)
    weak, weak_slope = (0.0, 0.0) if prior is None else prior.log_density(vector)
    return value + own + weak, gradient + own_slope + weak_slope


@dataclass(frozen=True)
class Problem:
    """Standardised data, a kernel, and one noise variance for all rows, learned where `learns_noise`.

    `extra` are known variances that are added to the noise, one for each row.
    """

    kernel: Kernel
    marginal: Marginal
    noise: float
    learns_noise: bool
    extra: Array
    hyperpriors: bool = True
    tolerance: float = 1e-11

    @cached_property
    def tree(self) -> ParameterTree:
        """The kernel's parameters and the noise, by name."""
        noise = Parameter(max(self.noise, 1e-12), fixed=not self.learns_noise)
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        """Around data-driven values."""
        own = kernel_habits(self.kernel, self.marginal.X, self.marginal.weight)
        return Hyperprior.of(self.tree, own, noise_habits(int(self.learns_noise)))

    @property
    def n_rows(self) -> int:
        """The size of the matrix that an evaluation factors."""
        return len(self.marginal.X)

    def subset(self, rows: NDArray[np.intp]) -> Problem:
        """The same problem on some of the rows."""
        return replace(self, marginal=self.marginal.subset(rows), extra=self.extra[rows])

    def fresh(self) -> Problem:
        """Itself: an evaluation needs no start."""
        return self

    def at(self, vector: Array) -> Setting:
        """Kernel and noise at a vector."""
        return Setting(*self.pieces(vector))

    def pieces(self, vector: Array) -> tuple[Kernel, Array]:
        """Kernel and noise of one observation at each row."""
        tree = self.tree.unflatten(vector)
        kernel_tree, noise = tree["kernel"], tree["noise"]
        assert isinstance(kernel_tree, ParameterTree) and isinstance(noise, Parameter)
        level = float(noise.value) if self.learns_noise else self.noise
        return self.kernel.with_tree(kernel_tree), level + self.extra

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) of the standardised targets, and its gradient with respect to the vector."""
        kernel, noise = self.pieces(vector)
        found = self.marginal.evidence(kernel, noise, gradient=gradient)
        if not gradient:
            return found.value, np.empty(0)
        natural = found.by_kernel
        if self.learns_noise:
            natural = np.append(natural, found.by_noise.sum())
        return found.value, natural * self.tree.derivative(vector)
