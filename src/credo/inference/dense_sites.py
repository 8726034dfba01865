"""A latent Gaussian times one Gaussian site for each row, with dense matrices.

    q(f) ∝ N(f | 0, K) Πᵢ exp(−½ τᵢ fᵢ² + νᵢ fᵢ) = N(f | μ, Σ)
    Σ = (K⁻¹ + T)⁻¹,    B = I + T^½ K T^½,    R = (K + T⁻¹)⁻¹ = T^½ B⁻¹ T^½,    μ = K a,    a = ν − Tμ

Only B is factored, whose eigenvalues are at least one (Rasmussen & Williams 3.26): K may be singular, and a site may
have precision zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr2

from credo.inference.protocols import Gradient
from credo.linalg import Factor, factorize

if TYPE_CHECKING:
    from credo.inference.dense import DensePrior

Array = NDArray[np.float64]

# Below this share of the prior variance, 1 − (B⁻¹)ᵢᵢ has lost the digits of τΣ.
_FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class DenseSites:
    """N(f | 0, K) times one Gaussian site for each row; see `SitePosterior` for what the methods give."""

    prior: DensePrior
    precision: Array
    location: Array

    @cached_property
    def alpha(self) -> Array:
        return self.weights(self.location)

    @cached_property
    def mean(self) -> Array:
        return self.prior.multiply(self.alpha)

    @cached_property
    def variance(self) -> Array:
        """(1 − (B⁻¹)ᵢᵢ)/τᵢ, or Kᵢᵢ − ‖L⁻¹T^½kᵢ‖² where a site's precision is too small for that."""
        K = self.prior.gram
        prior = np.diagonal(K)
        faint = self.precision * prior < _FAINT
        shrunk = 1.0 - self._factor.inverse_diagonal()
        variance = shrunk / np.where(faint, 1.0, self.precision)
        if faint.any():
            half = self._factor.half_solve(self._root[:, None] * K[:, faint])
            variance[faint] = prior[faint] - np.einsum("ij,ij->j", half, half)
        return np.clip(variance, 1e-12 * prior, prior)

    @property
    def logdet(self) -> float:
        return self._factor.logdet

    @property
    def log_evidence(self) -> float:
        return 0.5 * (float(self.location @ self.mean) - self.logdet)

    @property
    def divergence(self) -> float:
        """tr(K⁻¹Σ) − n = −Σ τᵢΣᵢᵢ, and ln|K| − ln|Σ| = ln|B|."""
        return 0.5 * (float(self.alpha @ self.mean) - float(self.precision @ self.variance) + self.logdet)

    def weights(self, location: Array) -> Array:
        return location - self._root * self._factor.solve(self._root * self.prior.multiply(location))

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """Σ W∘∂K/∂θ with W = ½(aaᵀ + uaᵀ + auᵀ − R) and u = (I + TK)⁻¹s for the term sᵀ∂μ (alg. 5.1 there)."""
        W = self._factor.inverse()
        W *= -0.5 * self._root
        W *= self._root[:, None]
        a, b = self.alpha, 0.5 * self.alpha
        if by_mean is not None:
            b = b + self.weights(by_mean)
        # In C order the lower triangle is the one that kernels read.
        W = dsyr2(0.5, a, b, a=np.asfortranarray(W), lower=1, overwrite_a=1).T
        return Gradient(self.prior.kernel.pullback(self.prior.X, W, triangle=True))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        for block, cross, prior in self.prior.blocks(rows):
            half = self._factor.half_solve((cross * self._root).T)
            mean[block] = cross @ self.alpha
            variance[block] = np.maximum(prior - np.einsum("ij,ij->j", half, half), 0.0)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        half = self._factor.half_solve((self.prior.cross(rows) * self._root).T)
        if others is None:
            return self.prior.kernel.gram(rows) - half.T @ half
        other = self._factor.half_solve((self.prior.cross(others) * self._root).T)
        return self.prior.kernel.cross(rows, others) - half.T @ other

    def draw(self, rng: np.random.Generator) -> Array:
        return self._covariance_factor.L @ rng.standard_normal(len(self.location))

    @cached_property
    def _covariance_factor(self) -> Factor:
        K = self.prior.gram
        half = self._factor.half_solve(self._root[:, None] * K)
        return factorize(K - half.T @ half, overwrite=True, assume_symmetric=True)

    @cached_property
    def _root(self) -> Array:
        """T^½."""
        return np.sqrt(self.precision)

    @cached_property
    def _factor(self) -> Factor:
        """Of B."""
        B = self.prior.gram * self._root
        B *= self._root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        return factorize(B, overwrite=True, assume_symmetric=True)
