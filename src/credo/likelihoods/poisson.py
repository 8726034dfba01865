"""Counts, whose log rate is the latent value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.likelihoods._likelihood import Likelihood

Array = NDArray[np.float64]

# Log rates beyond this count as this, so that squares of rates don't overflow.
_LARGEST = 300.0


@dataclass(frozen=True)
class Poisson(Likelihood):
    """p(y | f) = e^(yf − e^f)/y! for counts y = 0, 1, 2, …

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Poisson
    >>> Poisson().expected(np.array([2.0]), np.array([0.0]), np.array([0.0]))[0].round(6)
    array([-1.693147])
    """

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -5.0, -2.0, 0.0, 1.5, 3.0, 4.5, 6.0])

    def log_prob(self, y: Array, f: Array) -> Array:
        """yf − e^f − ln y!."""
        return y * f - _exp(f) - gammaln(y + 1.0)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """y − e^f, −e^f, −e^f."""
        rate = _exp(f)
        return y - rate, -rate, -rate

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """With E e^f = e^(mean + var/2)."""
        rate = _exp(mean + 0.5 * var)
        return y * mean - rate - gammaln(y + 1.0), y - rate, -0.5 * rate


def _exp(f: Array) -> Array:
    return np.exp(np.minimum(f, _LARGEST))
