"""The distribution of a noise variance that varies with the inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_positive, check_shapes
from credo.inference import SiteGaussian
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Variances further than this many e-foldings from one are out of reach for standardised targets.
EXTREME = 60.0


@dataclass(frozen=True)
class NoiseProcess:
    """The distribution of the log noise variance g anywhere, given Gaussian sites at the training rows.

    E g = g₀ + k_gᵀ pull and var g = k_g − k_gᵀ(K_g + Λ⁻¹)⁻¹k_g, with Λ the sites' precisions.
    """

    kernel: Kernel
    log_level: float
    X: Array
    pull: Array
    precision: Array

    def _check_state(self) -> None:
        check_shapes(self, X="n d", pull="n", precision="n")
        check_positive(self, "precision", zero=True)

    def log_variance(self, rows: Array) -> tuple[Array, Array]:
        """Mean and variance of ln σ² at new rows."""
        cross = self.kernel.cross(rows, self.X)
        mean, variance = self._law.latent(cross, self.kernel.diagonal(rows))
        return self.log_level + mean, variance

    def stretched(self, factor: float) -> NoiseProcess:
        """The distribution of the logarithm of factor·σ²."""
        return replace(self, log_level=self.log_level + math.log(factor))

    @cached_property
    def _law(self) -> SiteGaussian:
        return noise_law(self.kernel.gram(self.X), self.pull, self.precision)


def noise_law(K: Array, pull: Array, precision: Array) -> SiteGaussian:
    """The sites of that precision whose mean is K_g·pull."""
    return SiteGaussian(K, precision, pull + precision * (K @ pull))
