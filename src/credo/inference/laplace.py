"""Laplace's approximation: the mode of the posterior, and its curvature there.

Newton's method in a = K⁻¹f with a line search (Rasmussen & Williams alg. 3.1), and the evidence with its gradient,
including how the mode moves (alg. 5.1).
"""

import numpy as np
from numpy.typing import NDArray

from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

_MAX_STEPS = 100
# The mode is found when a step gains less than this many nats.
_GAIN = 1e-10


def laplace(K: Array, y: Array, likelihood: Likelihood, *, weight: Array, start: Array | None = None) -> Approximation:
    """The normal law around the mode.

    Parameters
    ----------
    K : array of shape (n, n)
    y : array of shape (n,)
    likelihood : Likelihood
    weight : array of shape (n,)
        How often each row was observed.
    start : array of shape (n,), optional
        A first guess of a = K⁻¹f.
    """
    a = np.zeros(len(y)) if start is None else start
    f = K @ a
    height = _height(likelihood, y, f, a, weight)
    converged, steps = False, 0
    while steps < _MAX_STEPS:
        steps += 1
        sites = _sites(K, y, likelihood, f, weight)
        ahead, forward = sites.alpha - a, sites.mean - f
        size, gained = 1.0, -np.inf
        while size > 1e-8:
            gained = _height(likelihood, y, f + size * forward, a + size * ahead, weight) - height
            if gained >= -1e-12 * abs(height):
                break
            size *= 0.5
        a, f, height = a + size * ahead, f + size * forward, height + gained
        if gained < _GAIN:
            converged = True
            break
    sites = _sites(K, y, likelihood, f, weight)
    # At the mode a = ∇ ln p(y|f); the variance of f times the change of curvature moves it (5.23).
    third = weight * likelihood.derivatives(y, f)[2]
    pull = 0.5 * sites.variance * third
    tilt = pull - sites.root * sites.factor.solve(sites.root * (K @ pull))
    message = "the mode was found" if converged else f"no mode after {_MAX_STEPS} steps: try a smaller kernel variance"
    return Approximation(sites, height - 0.5 * sites.factor.logdet, steps, converged, message, tilt)


def _height(likelihood: Likelihood, y: Array, f: Array, a: Array, weight: Array) -> float:
    """ln p(y|f) − ½fᵀK⁻¹f."""
    return float(weight @ likelihood.log_prob(y, f)) - 0.5 * float(a @ f)


def _sites(K: Array, y: Array, likelihood: Likelihood, f: Array, weight: Array) -> SiteGaussian:
    """The sites that touch ln p(y|f) at f to second order; their mean is Newton's next point."""
    first, second, _ = likelihood.derivatives(y, f)
    precision = np.maximum(-weight * second, 0.0)
    return SiteGaussian(K, precision, precision * f + weight * first)
