"""A likelihood raised to a power: an observation that counts more or less than once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.likelihoods._likelihood import Likelihood

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tempered(Likelihood):
    """p(y | f)^power, one power for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gaussian, Tempered
    >>> Tempered(Gaussian(1.0), np.array([0.5])).derivatives(np.array([1.0]), np.array([0.0]))[0]
    array([0.5])
    """

    likelihood: Likelihood
    power: Array

    @property
    def _breakpoints(self) -> Array:  # type: ignore[override]
        return self.likelihood._breakpoints

    def log_prob(self, y: Array, f: Array) -> Array:
        """power·ln p(y | f)."""
        return self.power * self.likelihood.log_prob(y, f)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """power times those of ln p."""
        first, second, third = self.likelihood.derivatives(y, f)
        return self.power * first, self.power * second, self.power * third

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """As of any likelihood; rows of power 1 in closed form, where the likelihood has one."""
        rest = self.power != 1.0
        if rest.all():
            return super().tilted(y, mean, var)
        log_z, slope, curvature = (part.copy() for part in self.likelihood.tilted(y, mean, var))
        if rest.any():
            part = Tempered(self.likelihood, self.power[rest])
            log_z[rest], slope[rest], curvature[rest] = part.tilted(y[rest], mean[rest], var[rest])
        return log_z, slope, curvature
