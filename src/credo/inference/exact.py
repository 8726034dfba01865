"""Exact inference for a Gaussian process with Gaussian noise.

    y = Hb + f + ε,    f ~ N(0, K),    ε ~ N(0, Σ) with Σ diagonal,    b flat

The coefficients b of the mean are integrated out (Rasmussen & Williams 2.42–2.45). With C = K + Σ, A = HᵀC⁻¹H and
α = C⁻¹(y − Hb̂),

    ln p(y) = −½ yᵀα − ½ ln|C| − ½ ln|A| − ½(n − q) ln 2π
    ∂ ln p/∂θ = Σ W∘∂C/∂θ,    W = ½(ααᵀ + GGᵀ − C⁻¹),    GGᵀ = C⁻¹HA⁻¹HᵀC⁻¹

Several targets share the factor; their log densities add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.kernels import Kernel
from credo.kernels._jit import outer_minus_triangle
from credo.linalg import Factor, Workspace, factorize, parallel_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """ln p(y), and its derivatives with respect to the kernel's parameters and each observation's noise variance."""

    value: float
    by_kernel: Array
    by_noise: Array


def log_evidence(
    kernel: Kernel,
    X: Array,
    Y: Array,
    *,
    noise: Array | float,
    basis: Array,
    workspace: Workspace,
    gradient: bool = True,
) -> Evidence:
    """The log evidence of targets Y (n, n_targets) and its gradient in natural units: one factorisation, one inverse.

    `by_kernel` has an entry for each of the kernel's `names`.
    """

    def fill(C: Array) -> None:
        kernel.fill(X, C)
        np.einsum("ii->i", C)[...] += noise

    workspace.factor(fill)
    mean = _mean_terms(workspace, Y, basis)
    value = _log_density(Y, mean.alpha, workspace.logdet, mean.logdet, basis.shape[1])
    if not gradient:
        return Evidence(value, np.empty(0), np.empty(0))
    n_targets = Y.shape[1]
    V = workspace.invert()
    columns = np.ascontiguousarray(np.hstack([mean.alpha, math.sqrt(n_targets) * mean.root]))
    parallel_rows(outer_minus_triangle, len(V), columns, float(n_targets), V)
    return Evidence(value, kernel.pullback(X, V, triangle=True), np.diagonal(V).copy())


# The share of a prior variance that differences of covariances can't tell from zero.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class _MeanTerms:
    alpha: Array
    coefficients: Array
    spread: Array
    factor: Factor | None

    @property
    def logdet(self) -> float:
        return 0.0 if self.factor is None else self.factor.logdet

    @property
    def root(self) -> Array:
        """G of the module's equations, one column for each coefficient of the mean."""
        if self.factor is None:
            return np.empty((len(self.alpha), 0))
        return self.factor.half_solve(self.spread.T).T


def _mean_terms(C: Workspace | Factor, Y: Array, basis: Array) -> _MeanTerms:
    """α, b̂, C⁻¹H and the factor of A."""
    solved = C.solve(Y)
    if not basis.shape[1]:
        return _MeanTerms(solved, np.empty((0, Y.shape[1])), np.empty((len(Y), 0)), None)
    spread = C.solve(basis)
    factor = factorize(basis.T @ spread)
    coefficients = factor.solve(basis.T @ solved)
    return _MeanTerms(solved - spread @ coefficients, coefficients, spread, factor)


def _log_density(Y: Array, alpha: Array, logdet: float, logdet_mean: float, n_basis: int) -> float:
    n, n_targets = Y.shape
    constant = logdet + logdet_mean + (n - n_basis) * math.log(2 * math.pi)
    return -0.5 * float(np.einsum("ij,ij->", Y, alpha)) - 0.5 * n_targets * constant


@dataclass(frozen=True)
class Conditioned:
    """A Gaussian process given data: everything that predictions need."""

    factor: Factor
    alpha: Array
    coefficients: Array
    spread: Array
    mean_factor: Factor | None

    @classmethod
    def of(cls, factor: Factor, Y: Array, basis: Array) -> Conditioned:
        """The process from the factor of C."""
        mean = _mean_terms(factor, Y, basis)
        return cls(factor, mean.alpha, mean.coefficients, mean.spread, mean.factor)

    def log_evidence(self, Y: Array) -> float:
        """ln p(Y) of the targets that were conditioned on."""
        logdet_mean = 0.0 if self.mean_factor is None else self.mean_factor.logdet
        return _log_density(Y, self.alpha, self.factor.logdet, logdet_mean, len(self.coefficients))

    def mean_root(self) -> Array:
        """G of the module's equations: the reduction of the precision due to the unknown mean."""
        return _MeanTerms(self.alpha, self.coefficients, self.spread, self.mean_factor).root

    def mean(self, cross: Array, basis: Array) -> Array:
        """E f at new rows, (n_new, n_targets); `cross` is the kernel between new and training rows."""
        return cross @ self.alpha + basis @ self.coefficients

    def half(self, cross: Array) -> Array:
        """L⁻¹k for each new row: (n_train, n_new)."""
        return self.factor.half_solve(cross.T)

    def mean_slack(self, cross: Array, basis: Array) -> Array:
        """The contribution of the unknown mean coefficients to the covariance, as a root: (q, n_new)."""
        if self.mean_factor is None:
            return np.zeros((0, len(cross)))
        return self.mean_factor.half_solve((basis - cross @ self.spread).T)

    def variance(self, prior: Array, cross: Array, basis: Array) -> Array:
        """var f at new rows, never negative."""
        half, slack = self.half(cross), self.mean_slack(cross, basis)
        inner = prior - np.einsum("ij,ij->j", half, half)
        return np.maximum(inner, 0.0) + np.einsum("ij,ij->j", slack, slack)

    def covariance(self, prior: Array, cross: Array, basis: Array) -> Array:
        """cov f between new rows; variances that are negative by rounding are corrected."""
        half, slack = self.half(cross), self.mean_slack(cross, basis)
        cov = prior - half.T @ half
        diagonal = np.einsum("ii->i", cov)
        np.maximum(diagonal, _ROUNDING * np.diagonal(prior), out=diagonal)
        return cov + slack.T @ slack


def condition(K: Array, Y: Array, *, noise: Array | float, basis: Array) -> Conditioned:
    """The process given targets; K, the kernel's Gram matrix, is overwritten."""
    np.einsum("ii->i", K)[...] += noise
    return Conditioned.of(factorize(K, overwrite=True, assume_symmetric=True), Y, basis)
