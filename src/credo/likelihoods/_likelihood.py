"""The base class of likelihoods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.likelihoods._quadrature import expectation, tilted_moments

Array = NDArray[np.float64]


class Likelihood(ABC):
    """p(y | f) of one observation given one latent value; immutable, vectorised over rows.

    A subclass defines `log_prob` and `derivatives`. The integrals are computed by quadrature unless it overrides them;
    that of `tilted` needs an ln p that is concave in f.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Likelihood, Poisson
    >>> isinstance(Poisson(), Likelihood)
    True
    >>> slope, curvature, third = Poisson().derivatives(np.array([3.0]), np.array([0.0]))
    >>> slope, curvature
    (array([2.]), array([-1.]))
    """

    # Values of f around which ln p bends, for the quadrature.
    _breakpoints: ClassVar[Array] = np.empty(0)

    @abstractmethod
    def log_prob(self, y: Array, f: Array) -> Array:
        """ln p(y | f)."""

    @abstractmethod
    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first, second and third derivative of ln p(y | f) by f."""

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln ∫ p(y | f) N(f | mean, var) df, and its first and second derivative by the mean."""
        return tilted_moments(self.log_prob, self.derivatives, y, mean, var, breakpoints=self._breakpoints)

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """∫ ln p(y | f) N(f | mean, var) df, and its derivatives by mean and by variance."""
        return expectation(self.log_prob, self.derivatives, y, mean, var, breakpoints=self._breakpoints)
