"""A process with inducing points times one Gaussian site for each training row.

f = ψᵀv + e with independent e ~ N(0, r) at the training rows (see `inducing`). A site exp(−½τf² + νf), integrated over
e, is one of ψᵀv with precision p = τ/(1 + τr) and location h = ν/(1 + τr). So with B = I + ΨPΨᵀ

    v ~ N(B⁻¹Ψh, B⁻¹),    E f = (ψᵀE v + rν)/(1 + τr),    var f = r/(1 + τr) + ψᵀB⁻¹ψ/(1 + τr)²
    a = K⁻¹μ = h − pψᵀE v,    ln|I + KT| = ln|B| + Σ ln(1 + τr)

The derivative of the evidence by K is W of `dense_sites`, a matrix of low rank and a diagonal. Since the prior's
covariance is Q + diag(K − Q), the diagonal of W multiplies that of ∂K, and W without it ∂Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from credo.inference.inducing_sums import FeatureWeights
from credo.inference.protocols import Gradient
from credo.linalg import Factor, factorize

if TYPE_CHECKING:
    from credo.inference.inducing import InducingPrior

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InducingSites:
    """A process with inducing points times Gaussian sites; see `SitePosterior` for what the methods give."""

    prior: InducingPrior
    precision: Array
    location: Array

    @cached_property
    def alpha(self) -> Array:
        return self.weights(self.location)

    @cached_property
    def mean(self) -> Array:
        return (self.prior.applied(self._weights) + self.prior.residual * self.location) / self._growth

    @cached_property
    def variance(self) -> Array:
        variance = self.prior.residual / self._growth
        for part, psi in self.prior.chunks():
            half = self._factor.half_solve(psi.T)
            variance[part] += np.einsum("ij,ij->j", half, half) / self._growth[part] ** 2
        return variance

    @property
    def logdet(self) -> float:
        return self._factor.logdet + float(np.log(self._growth).sum())

    @property
    def log_evidence(self) -> float:
        return 0.5 * (float(self.location @ self.mean) - self.logdet)

    @property
    def divergence(self) -> float:
        """tr(K⁻¹Σ) − n = −Σ τᵢΣᵢᵢ, and ln|K| − ln|Σ| = ln|I + KT|."""
        return 0.5 * (float(self.alpha @ self.mean) - float(self.precision @ self.variance) + self.logdet)

    def weights(self, location: Array) -> Array:
        own = location / self._growth
        return own - self.precision / self._growth * self.prior.applied(self._factor.solve(self._gathered(own)))

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """With 2W = ½(abᵀ + baᵀ) − P + PΨᵀB⁻¹ΨP, and b = a + 2u with u = (I + TK)⁻¹s for a term sᵀ∂μ."""
        features, kernel = self.prior.features, self.prior.kernel
        a, p = self.alpha, self.precision / self._growth
        b = a if by_mean is None else a + 2.0 * self.weights(by_mean)
        inverse = self._factor.inverse()
        pulled_a, pulled_b = self._gathered(a), self._gathered(b)
        by_kernel, V = np.zeros(len(kernel.names)), np.zeros((features.size, features.size))
        for part, psi in self.prior.chunks():
            rows, shrunk = self.prior.X[part], psi @ inverse
            diagonal = a[part] * b[part] - p[part] + p[part] ** 2 * np.einsum("ij,ij->i", shrunk, psi)
            # Twice W without its diagonal, times Ψᵀ, where PΨᵀB⁻¹ΨPΨᵀ = PΨᵀ(I − B⁻¹).
            W = -diagonal[:, None] * psi - p[part][:, None] * shrunk
            W += 0.5 * (np.outer(a[part], pulled_b) + np.outer(b[part], pulled_a))
            V += psi.T @ W
            by_kernel += kernel.pullback_diagonal(rows, 0.5 * diagonal)
            by_kernel += kernel.pullback_cross(rows, features.points, features.factor.half_solve(W.T, transpose=True).T)
        V = features.factor.half_solve(features.factor.half_solve(V, transpose=True).T, transpose=True)
        return Gradient(by_kernel + kernel.pullback(features.points, -0.5 * V))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        known = FeatureWeights(self.prior.features, self._factor, self._weights)
        # Predictions need nothing else of the training rows.
        self.prior.release()
        return known.latent(rows)

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        kernel, psi = self.prior.kernel, self.prior.features(rows)
        half = self._factor.half_solve(psi.T)
        if others is None:
            return kernel.gram(rows) - psi @ psi.T + half.T @ half
        other = self.prior.features(others)
        return kernel.cross(rows, others) - psi @ other.T + half.T @ self._factor.half_solve(other.T)

    def draw(self, rng: np.random.Generator) -> Array:
        v = self._factor.half_solve(rng.standard_normal(self.prior.features.size), transpose=True)
        rest = np.sqrt(self.prior.residual / self._growth) * rng.standard_normal(len(self.location))
        return self.prior.applied(v) / self._growth + rest

    @cached_property
    def _growth(self) -> Array:
        """1 + τr."""
        return 1.0 + self.precision * self.prior.residual

    @cached_property
    def _weights(self) -> Array:
        """E v."""
        return self._factor.solve(self._gathered(self.location / self._growth))

    def _gathered(self, values: Array) -> Array:
        """Ψ times a vector with an entry for each row."""
        return np.sum([psi.T @ values[part] for part, psi in self.prior.chunks()], axis=0)

    @cached_property
    def _factor(self) -> Factor:
        """Of B."""
        size = self.prior.features.size
        B, root = np.eye(size, order="F"), np.sqrt(self.precision / self._growth)
        for part, psi in self.prior.chunks():
            B = dsyrk(1.0, (psi * root[part][:, None]).T, beta=1.0, c=B, lower=1, overwrite_c=1)
        B += np.tril(B, -1).T
        return factorize(B, overwrite=True, assume_symmetric=True)
