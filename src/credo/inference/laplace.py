"""Laplace's approximation: the mode of the posterior, and its curvature there.

Newton's method in a = K⁻¹f with a line search (Rasmussen & Williams alg. 3.1), and the evidence with its gradient,
including the derivative of the mode (alg. 5.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.inference._newton import mode
from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

_GAIN = 1e-10


def laplace(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: Array | None = None,
    tolerance: float = _GAIN,
) -> Approximation:
    """The normal distribution around the mode.

    Parameters
    ----------
    K : array of shape (n, n)
    y : array of shape (n,)
    likelihood : Likelihood
    weight : array of shape (n,)
        How often each row was observed.
    start : array of shape (n,), optional
        A first guess of a = K⁻¹f, used if it is better than zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.
    """

    def height(f: Array, a: Array) -> float:
        return float(weight @ likelihood.log_prob(y, f)) - 0.5 * float(a @ f)

    def target(f: Array) -> tuple[Array, Array]:
        sites = _sites(K, y, likelihood, f, weight)
        return sites.alpha, sites.mean

    guess = None if start is None else (start, K @ start)
    top = mode(height, target, shape=(len(y),), guess=guess, tolerance=tolerance)
    sites = _sites(K, y, likelihood, top.f, weight)
    # At the mode a = ∇ ln p(y|f); the variance of f times the change of curvature moves it (5.23).
    third = weight * likelihood.derivatives(y, top.f)[2]
    pull = 0.5 * sites.variance * third
    tilt = pull - sites.root * sites.factor.solve(sites.root * (K @ pull))
    value = top.height - 0.5 * sites.factor.logdet
    return Approximation(sites, value, top.n_iter, top.converged, top.message, tilt, start=top.a)


def _sites(K: Array, y: Array, likelihood: Likelihood, f: Array, weight: Array) -> SiteGaussian:
    """The sites that touch ln p(y|f) at f to second order; their mean is Newton's next point."""
    first, second, _ = likelihood.derivatives(y, f)
    precision = np.maximum(-weight * second, 0.0)
    return SiteGaussian(K, precision, precision * f + weight * first)
