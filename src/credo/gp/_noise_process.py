"""The law of a noise variance that varies with the inputs."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.kernels import Kernel
from credo.linalg import Factor, factorize

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoiseProcess:
    """The law of the log noise variance g anywhere, given Gaussian sites at the training rows.

    E g = g₀ + k_gᵀ pull and var g = k_g − k_gᵀ(K_g + Λ⁻¹)⁻¹k_g, with Λ the sites' precisions.
    """

    kernel: Kernel
    log_level: float
    X: Array
    pull: Array
    precision: Array

    def log_variance(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of ln σ² at new rows."""
        cross = self.kernel._cross(np.ascontiguousarray(rows), self.X)
        half = self._factor.half_solve((cross * np.sqrt(self.precision)).T)
        variance = self.kernel._diagonal(rows) - np.einsum("ij,ij->j", half, half)
        return self.log_level + cross @ self.pull, np.maximum(variance, 0.0)

    def stretched(self, factor: float) -> "NoiseProcess":
        """The law of the logarithm of factor·σ²."""
        return replace(self, log_level=self.log_level + math.log(factor))

    @cached_property
    def _factor(self) -> Factor:
        return site_factor(self.kernel.gram(self.X), self.precision)


def site_factor(K: Array, precision: Array) -> Factor:
    """The factor of I + Λ^½K_gΛ^½, whose eigenvalues are at least one."""
    root = np.sqrt(precision)
    B = root[:, None] * K * root
    B.flat[:: len(B) + 1] += 1.0
    return factorize(B, overwrite=True, assume_symmetric=True)
