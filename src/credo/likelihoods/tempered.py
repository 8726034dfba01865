"""A likelihood that counts for less than one observation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.likelihoods._likelihood import Likelihood

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tempered(Likelihood):
    """p(y | f)^power, one power for each row.

    >>> import numpy as np
    >>> from credo.likelihoods import Gaussian
    >>> Tempered(Gaussian(1.0), np.array([0.5])).derivatives(np.array([1.0]), np.array([0.0]))[0]
    array([0.5])
    """

    likelihood: Likelihood
    power: Array

    @property
    def _bends(self) -> Array:  # type: ignore[override]
        return self.likelihood._bends

    def log_prob(self, y: Array, f: Array) -> Array:
        """power·ln p(y | f)."""
        return self.power * self.likelihood.log_prob(y, f)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """power times those of ln p."""
        first, second, third = self.likelihood.derivatives(y, f)
        return self.power * first, self.power * second, self.power * third
