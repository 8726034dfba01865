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
