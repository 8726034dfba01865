"""Normal noise, for which every inference method is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.likelihoods._likelihood import Likelihood

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """N(y | f, variance).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gaussian
    >>> Gaussian(0.5).derivatives(np.array([1.0]), np.array([0.0]))[0]
    array([2.])
    """

    variance: float = 1.0

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln N(y | f, variance)."""
        return -0.5 * (y - f) ** 2 / self.variance - 0.5 * math.log(2 * math.pi * self.variance)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """(y − f)/variance, −1/variance, 0."""
        gap = y - f
        return gap / self.variance, np.full_like(gap, -1.0 / self.variance), np.zeros_like(gap)

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln N(y | mean, var + variance) and its derivatives by the mean."""
        total, gap = var + self.variance, y - mean
        return -0.5 * gap**2 / total - 0.5 * np.log(2 * np.pi * total), gap / total, -1.0 / total

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln N(y | mean, variance) − var/(2·variance), and its derivatives."""
        first, second, _ = self.derivatives(y, mean + 0.0 * var)
        return self.log_prob(y, mean) - 0.5 * var / self.variance, first, 0.5 * second
