"""Laplace's approximation: the mode of the posterior, and its curvature there.

Newton's method in a = K⁻¹f with a line search (Rasmussen & Williams alg. 3.1), and the evidence with its gradient,
including the derivative of the mode (alg. 5.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.inference._newton import mode
from credo.inference.approximation import Approximation
from credo.inference.protocols import LatentPrior, SitePosterior
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

_GAIN = 1e-10


def laplace(
    prior: LatentPrior,
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
    prior : LatentPrior
    y : array of shape (n,)
    likelihood : Likelihood
    weight : array of shape (n,)
        How often each row was observed.
    start : array of shape (n,), optional
        A first guess of a = K⁻¹f, used if it is better than zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Dense, laplace
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Poisson
    >>> prior = Dense(np.array([[0.0], [1.0], [5.0]])).prior(RBF(1.0))
    >>> found = laplace(prior, np.array([3.0, 4.0, 0.0]), Poisson(), weight=np.ones(3))
    >>> found.converged, np.exp(found.posterior.mean).round(1)  # rates
    (True, array([2.6, 3.1, 0.6]))
    """

    def log_posterior(f: Array, a: Array) -> float:
        return float(weight @ likelihood.log_prob(y, f)) - 0.5 * float(a @ f)

    def newton(f: Array) -> tuple[Array, Array]:
        sites = _sites(prior, y, likelihood, f, weight)
        return sites.alpha, sites.mean

    guess = None if start is None else (start, prior.multiply(start))
    top = mode(log_posterior, newton, shape=(len(y),), guess=guess, tolerance=tolerance)
    sites = _sites(prior, y, likelihood, top.f, weight)
    value = top.value - 0.5 * sites.logdet
    # Σᵢᵢ times the change of the curvature: the derivative of −½ ln|I + KT| by the mode (5.23).
    by_mode = 0.5 * sites.variance * weight * likelihood.derivatives(y, top.f)[2]
    return Approximation(sites, value, top.n_iter, top.converged, top.message, start=top.a, by_mean=by_mode)


def _sites(prior: LatentPrior, y: Array, likelihood: Likelihood, f: Array, weight: Array) -> SitePosterior:
    """The sites that equal ln p(y|f) at f to second order; their mean is Newton's next point."""
    first, second, _ = likelihood.derivatives(y, f)
    precision = np.maximum(-weight * second, 0.0)
    return prior.sites(precision, precision * f + weight * first)
