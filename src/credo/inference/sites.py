"""A latent Gaussian times one Gaussian site for each row, shared by Laplace, EP and variational inference.

    q(f) ∝ N(f | 0, K) Πᵢ exp(−½ τᵢ fᵢ² + νᵢ fᵢ) = N(f | μ, Σ)
    Σ = (K⁻¹ + T)⁻¹,    B = I + T^½ K T^½,    μ = K a,    a = ν − Tμ

Only B is factored, whose eigenvalues are at least one (Rasmussen & Williams 3.26): K may be singular, and a site may
have precision zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.linalg import Factor, factorize

Array = NDArray[np.float64]

# Below this share of the prior variance, 1 − (B⁻¹)ᵢᵢ has lost the digits of τΣ.
_FAINT = 1e-6


@dataclass(frozen=True)
class SiteGaussian:
    """The normal distribution N(μ, Σ) that sites of precision τ and location ν make of a prior N(0, K)."""

    K: Array
    precision: Array
    location: Array

    @cached_property
    def root(self) -> Array:
        """T^½."""
        return np.sqrt(self.precision)

    @cached_property
    def factor(self) -> Factor:
        """Of B."""
        B = self.K * self.root
        B *= self.root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        return factorize(B, overwrite=True, assume_symmetric=True)

    @cached_property
    def alpha(self) -> Array:
        """a = K⁻¹μ."""
        pulled = self.root * (self.K @ self.location)
        return self.location - self.root * self.factor.solve(pulled)

    @cached_property
    def mean(self) -> Array:
        """μ."""
        return self.K @ self.alpha

    @cached_property
    def variance(self) -> Array:
        """The diagonal of Σ: (1 − (B⁻¹)ᵢᵢ)/τᵢ, or Kᵢᵢ − ‖L⁻¹T^½kᵢ‖² where a site's precision is too small for that."""
        prior = np.diagonal(self.K)
        faint = self.precision * prior < _FAINT
        shrunk = 1.0 - self.factor.inverse_diagonal()
        variance = shrunk / np.where(faint, 1.0, self.precision)
        if faint.any():
            half = self.factor.half_solve(self.root[:, None] * self.K[:, faint])
            variance[faint] = prior[faint] - np.einsum("ij,ij->j", half, half)
        return np.clip(variance, 1e-12 * prior, prior)

    @property
    def log_normalizer(self) -> float:
        """ln ∫ N(f | 0, K) Π sites df."""
        return 0.5 * (float(self.location @ self.mean) - self.factor.logdet)

    @property
    def divergence(self) -> float:
        """KL[N(μ, Σ) ‖ N(0, K)]: tr(K⁻¹Σ) − n = −Σ τᵢΣᵢᵢ and ln|K| − ln|Σ| = ln|B|."""
        spread = float(self.precision @ self.variance)
        return 0.5 * (float(self.alpha @ self.mean) - spread + self.factor.logdet)

    def kernel_weights(self) -> Array:
        """½(aaᵀ − R), the derivative by K of an evidence that is stationary in the sites; symmetric."""
        W = self.shrinkage()
        W *= -0.5
        W += 0.5 * np.outer(self.alpha, self.alpha)
        return W

    def shrinkage(self) -> Array:
        """R = (K + T⁻¹)⁻¹ = T^½B⁻¹T^½, whole."""
        inverse = self.factor.inverse()
        inverse *= self.root
        inverse *= self.root[:, None]
        return inverse

    def latent(self, cross: Array, prior: Array) -> tuple[Array, Array]:
        """Mean and variance of f at new rows, from the kernel between new and training rows and its diagonal."""
        half = self.factor.half_solve((cross * self.root).T)
        variance = prior - np.einsum("ij,ij->j", half, half)
        return cross @ self.alpha, np.maximum(variance, 0.0)

    def covariance(self, cross: Array, prior: Array) -> Array:
        """cov f between new rows, from the kernel's Gram matrix there."""
        half = self.factor.half_solve((cross * self.root).T)
        return prior - half.T @ half


@dataclass(frozen=True)
class Approximation:
    """The result of an inference method: the distribution of f, its ln p(y), and whether it converged.

    `tilt` is Laplace's u of ∂ ln p/∂K = ½(aaᵀ − R) + ½(uaᵀ + auᵀ): the derivative of the mode by the kernel. The other
    methods are stationary in their sites and have none. `start` is a warm start for a similar kernel.
    """

    posterior: SiteGaussian
    log_evidence: float
    n_iter: int
    converged: bool
    message: str
    tilt: Array | None = None
    start: Any = None

    def kernel_weights(self) -> Array:
        """∂ ln p(y)/∂K, symmetric; kernels turn it into derivatives by their parameters."""
        W = self.posterior.kernel_weights()
        if self.tilt is not None:
            cross = np.outer(self.tilt, self.posterior.alpha)
            W += 0.5 * (cross + cross.T)
        return W
