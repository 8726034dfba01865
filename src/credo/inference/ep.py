"""Expectation propagation: every site matches the moments that its likelihood makes of the rest.

All sites are updated at once and damped. A row that was observed k times has k equal sites; one of weight below one has
one site for a likelihood to that power. Log-concave likelihoods keep every site's precision positive; should a site
leave that ground, it is held at zero and the message says so.
"""

import numpy as np
from numpy.typing import NDArray

from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood, Tempered

Array = NDArray[np.float64]

_MAX_SWEEPS = 200
# Changes of mean and standard deviation, in units of the latter, below which the sites have settled.
_SETTLED = 1e-7
_DAMPING = 0.9


def ep(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: tuple[Array, Array] | None = None,
) -> Approximation:
    """The normal law whose marginals agree with those of each site's likelihood in place of the site.

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites of one observation.
    """
    n = len(y)
    if (weight < 1.0).any():
        likelihood = Tempered(likelihood, np.minimum(weight, 1.0))
        weight = np.maximum(weight, 1.0)
    precision, location = (np.zeros(n), np.zeros(n)) if start is None else start
    posterior = SiteGaussian(K, weight * precision, weight * location)
    damping, last, negative, converged, sweeps = _DAMPING, np.inf, 0, False, 0
    while sweeps < _MAX_SWEEPS:
        sweeps += 1
        wanted_precision, wanted_location = _matched(posterior, precision, location, y, likelihood)
        negative = int((wanted_precision < 0).sum())
        wanted_precision = np.maximum(wanted_precision, 0.0)
        precision = precision + damping * (wanted_precision - precision)
        location = location + damping * (wanted_location - location)
        ahead = SiteGaussian(K, weight * precision, weight * location)
        change = _change(posterior, ahead)
        posterior = ahead
        if change <= _SETTLED:
            converged = True
            break
        # Sites that swing from sweep to sweep come to rest in shorter steps.
        damping = max(0.1, 0.7 * damping) if change > last else min(_DAMPING, 1.1 * damping)
        last = change
    message = "the sites agree with their moments" if converged else (
        f"the sites still moved after {_MAX_SWEEPS} sweeps: try a smaller kernel variance or Laplace's method"
    )  # fmt: skip
    if negative:
        message += f"; {negative} sites asked for a negative precision and were held at zero"
    value = _log_evidence(posterior, precision, location, y, likelihood, weight)
    return Approximation(posterior, value, sweeps, converged and not negative, message)


def _cavity(posterior: SiteGaussian, precision: Array, location: Array) -> tuple[Array, Array]:
    """Precision and location of each marginal with one of its sites taken away."""
    variance = posterior.variance
    left = 1.0 / variance - precision
    return np.maximum(left, 1e-10 / variance), posterior.mean / variance - location


def _matched(
    posterior: SiteGaussian, precision: Array, location: Array, y: Array, likelihood: Likelihood
) -> tuple[Array, Array]:
    """The sites whose moments the tilted laws have (Rasmussen & Williams 3.59, in terms of derivatives of ln Z)."""
    cavity_precision, cavity_location = _cavity(posterior, precision, location)
    mean, var = cavity_location / cavity_precision, 1.0 / cavity_precision
    _, slope, curvature = likelihood.tilted(y, mean, var)
    rest = np.maximum(1.0 + curvature * var, 1e-12)
    return -curvature / rest, (slope - curvature * mean) / rest


def _change(before: SiteGaussian, after: SiteGaussian) -> float:
    std = np.sqrt(after.variance)
    moved = np.abs(after.mean - before.mean) / std
    widened = np.abs(np.sqrt(before.variance) / std - 1.0)
    return float(max(moved.max(), widened.max()))


def _log_evidence(
    posterior: SiteGaussian, precision: Array, location: Array, y: Array, likelihood: Likelihood, weight: Array
) -> float:
    """ln ∫ N(f|0, K) Π sites, each site scaled so that its cavity's normalising constant is the likelihood's."""
    cavity_precision, cavity_location = _cavity(posterior, precision, location)
    log_z, _, _ = likelihood.tilted(y, cavity_location / cavity_precision, 1.0 / cavity_precision)
    total = cavity_precision + precision
    joint = cavity_location + location
    scaled = (
        log_z
        - 0.5 * np.log(cavity_precision / total)
        - 0.5 * (joint**2 / total - cavity_location**2 / cavity_precision)
    )
    normal = 0.5 * float(posterior.location @ posterior.mean) - 0.5 * posterior.factor.logdet
    return float(weight @ scaled) + normal
