"""What Laplace, EP and VI return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.protocols import Gradient, SitePosterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Approximation:
    """The Gaussian approximation of the posterior of f, its ln p(y), and whether the method converged.

    `start` is a warm start for a similar kernel. `by_mean` is the derivative of ln p(y) by the mean of the posterior,
    for Laplace; the evidences of EP and VI are stationary in their sites.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Dense, ep
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Bernoulli
    >>> prior = Dense(np.array([[0.0], [1.0], [2.0]])).prior(RBF(1.0))
    >>> found = ep(prior, np.array([-1.0, 1.0, 1.0]), Bernoulli(), weight=np.ones(3))
    >>> found.converged, round(found.log_evidence, 3), found.gradient().by_kernel.round(3)
    (True, -2.124, array([-0.181, -0.023]))
    """

    posterior: SitePosterior
    log_evidence: float
    n_iter: int
    converged: bool
    message: str
    start: Any = None
    by_mean: Array | None = None

    def gradient(self) -> Gradient:
        """The derivatives of ln p(y) by the kernel's parameters."""
        return self.posterior.gradient(self.by_mean)
