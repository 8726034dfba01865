"""Roots of covariances that may be singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

Array = NDArray[np.float64]
# In units of a coordinate's standard deviation: points nearer to the support than this are on it.
_ON_SUPPORT = 1e-6


@dataclass(frozen=True, eq=False)
class Support:
    """The subspace that supports a normal distribution with covariance C, from the eigenvectors of the correlations.

    Correlations, not covariances, because units must not decide what is singular. C = S V W Vᵀ S, where S holds the
    standard deviations (one where they are zero), and V the r eigenvectors whose eigenvalues W exceed
    rounding.
    """

    scale: Array
    eigenvectors: Array
    eigenvalues: Array

    @property
    def root(self) -> Array:
        """R of shape (n, r) with R Rᵀ = C."""
        return self.scale[:, None] * self.eigenvectors * np.sqrt(self.eigenvalues)

    def solve(self, b: Array) -> Array:
        """C⁻b with a generalised inverse C⁻ of C, for a vector or the columns of a matrix on the support."""
        scaled = self.eigenvectors.T @ (b.T / self.scale).T
        return ((self.eigenvectors @ (scaled.T / self.eigenvalues).T).T / self.scale).T

    def holds(self, d: Array) -> NDArray[np.bool_]:
        """Which rows of d, deviations from the mean, are on the support."""
        u = d / self.scale
        off = np.abs(u - (u @ self.eigenvectors) @ self.eigenvectors.T).max(axis=-1, initial=0.0)
        return off <= _ON_SUPPORT * np.maximum(1.0, np.abs(u).max(axis=-1, initial=0.0))

    def log_density(self, d: Array) -> Array:
        """The log density of the rows of d with respect to volume on the support; −∞ off it."""
        z = (d / self.scale) @ self.eigenvectors / np.sqrt(self.eigenvalues)
        # The squared volume of the root, det(RᵀR), is the product of C's positive eigenvalues.
        log_volume = np.log(np.abs(np.diagonal(qr(self.root, mode="economic")[1]))).sum()
        density = -0.5 * (z * z).sum(axis=-1) - log_volume - 0.5 * z.shape[-1] * np.log(2 * np.pi)
        return np.where(self.holds(d), density, -np.inf)


def support(cov: Array) -> Support:
    """The support of a covariance; raises an error if the matrix has a negative eigenvalue."""
    std = np.sqrt(np.diagonal(cov))
    scale = np.where(std > 0, std, 1.0)
    eigenvalues, eigenvectors = eigh(cov / scale[:, None] / scale)
    if eigenvalues[0] < -1e-6:
        raise ValueError(
            "cov is not positive semidefinite: its correlations have the eigenvalue "
            f"{eigenvalues[0]:.3g}; no distribution has this covariance"
        )
    kept = eigenvalues > 10 * len(cov) * np.finfo(np.float64).eps * max(1.0, eigenvalues[-1])
    return Support(scale, eigenvectors[:, kept], eigenvalues[kept])
