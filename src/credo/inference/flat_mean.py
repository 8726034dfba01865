"""Coefficients of a mean function under a flat prior, integrated out; the same for every representation.

    y = Hb + f + ε,    C = cov(f + ε) = LLᵀ,    b flat

(Rasmussen & Williams 2.42–2.45.) Only the whitened targets L⁻¹Y and basis L⁻¹H and ln|C| are needed: with
A = HᵀC⁻¹H = (L⁻¹H)ᵀ(L⁻¹H), b̂ = A⁻¹HᵀC⁻¹y and the whitened residual r = L⁻¹(y − Hb̂),

    ln p(y) = −½ rᵀr − ½ ln|C| − ½ ln|A| − ½(n − q) ln 2π
    ∂ ln p/∂θ = Σ W∘∂C/∂θ,    W = ½(ααᵀ + GGᵀ − C⁻¹),    α = L⁻ᵀr,    G = L⁻ᵀL⁻¹HA^(−½)

Several targets share C; their log densities add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.linalg import Factor, factorize

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FlatMean:
    """The estimate b̂ with the whitened residuals and basis; `factor` is that of A, None without a basis."""

    coefficients: Array
    residual: Array
    basis: Array
    factor: Factor | None

    @classmethod
    def of(cls, Y: Array, H: Array) -> FlatMean:
        """From whitened targets (n, n_targets) and a whitened basis (n, q)."""
        if not H.shape[1]:
            return cls(np.empty((0, Y.shape[1])), Y, H, None)
        factor = factorize(H.T @ H)
        coefficients = factor.solve(H.T @ Y)
        return cls(coefficients, Y - H @ coefficients, H, factor)

    def at(self, Y: Array, H: Array) -> FlatMean:
        """The same coefficients, for other whitened targets and their basis."""
        return FlatMean(self.coefficients, Y - H @ self.coefficients, H, self.factor)

    def coefficients_only(self) -> FlatMean:
        """The same coefficients, for no targets."""
        return self.at(np.empty((0, self.residual.shape[1])), np.empty((0, self.basis.shape[1])))

    def log_evidence(self, logdet: float, n: int | None = None) -> float:
        """ln p(Y), from ln|C|; n is the number of rows, where the whitened vectors have another one."""
        n_rows, n_targets = self.residual.shape
        n = n_rows if n is None else n
        logdet += 0.0 if self.factor is None else self.factor.logdet
        constant = logdet + (n - self.basis.shape[1]) * math.log(2 * math.pi)
        return -0.5 * float(np.einsum("ij,ij->", self.residual, self.residual)) - 0.5 * n_targets * constant

    @property
    def root(self) -> Array:
        """LᵀG: the whitened basis, made orthonormal."""
        return self.basis if self.factor is None else self.factor.half_solve(self.basis.T).T

    def uncertainty(self, H: Array, half: Array) -> Array:
        """A root (q, n_new) of what the unknown b adds to the covariance at new rows.

        From their basis H and whitened covariance with the training rows, `half` = L⁻¹k.
        """
        if self.factor is None:
            return np.zeros((0, len(H)))
        return self.factor.half_solve(H.T - self.basis.T @ half)
