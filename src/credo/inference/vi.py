"""Variational inference with a full normal law, by natural-gradient steps in its sites.

The bound E_q ln p(y|f) − KL[q ‖ N(0, K)] is largest where every site is τ = −2 ∂E/∂var, ν = ∂E/∂mean + τ·mean (Opper &
Archambeau, 2009), and a step towards those values is one along the natural gradient (Khan & Lin, 2017).
"""

import numpy as np
from numpy.typing import NDArray

from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

_MAX_STEPS = 200
_GAIN = 1e-9


def vi(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: tuple[Array, Array] | None = None,
    tolerance: float = _GAIN,
) -> Approximation:
    """The normal law of the highest bound on ln p(y).

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites of each row.
    tolerance : float
        The bound is at its maximum when a step gains less than this many nats.
    """
    precision, location = (weight * 0.25, weight * 0.0) if start is None else start
    here = SiteGaussian(K, precision, location)
    bound, size = _bound(here, y, likelihood, weight), 1.0
    converged, steps = False, 0
    while steps < _MAX_STEPS:
        steps += 1
        _, by_mean, by_var = likelihood.expected(y, here.mean, here.variance)
        wanted = np.maximum(-2.0 * weight * by_var, 0.0)
        wanted_location = weight * by_mean + wanted * here.mean
        gained = -np.inf
        while size > 1e-6:
            ahead = SiteGaussian(
                K,
                here.precision + size * (wanted - here.precision),
                here.location + size * (wanted_location - here.location),
            )
            gained = _bound(ahead, y, likelihood, weight) - bound
            if gained >= -1e-11 * abs(bound):
                break
            size *= 0.5
        else:
            break
        here, bound, size = ahead, bound + gained, min(1.0, 2.0 * size)
        if gained < tolerance:
            converged = True
            break
    message = "the bound is at its maximum" if converged else f"the bound still rose after {_MAX_STEPS} steps"
    return Approximation(here, bound, steps, converged, message, start=(here.precision, here.location))


def _bound(q: SiteGaussian, y: Array, likelihood: Likelihood, weight: Array) -> float:
    """E ln p(y|f) − KL."""
    expected, _, _ = likelihood.expected(y, q.mean, q.variance)
    return float(weight @ expected) - q.divergence
