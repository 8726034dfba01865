"""Expectation propagation: every site matches the moments that its likelihood makes of the rest.

All sites are updated at once, damped, and mixed with the last few updates. A row of weight k has one site, for the
likelihood to that power: k equal sites would be a coarser law, and fight each other. Log-concave likelihoods keep every
site's precision positive; should a site leave that ground, it is held at zero and the message says so.
"""

import numpy as np
from numpy.typing import NDArray

from credo.inference._mixing import Mixing
from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood, Tempered

Array = NDArray[np.float64]
Sites = tuple[Array, Array]

_MAX_SWEEPS = 200
# Change of mean and variance that a site still wants of its own row, in units of the latter, when it has settled.
_SETTLED = 1e-8
_DAMPING = 0.9


def ep(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: Sites | None = None,
    tolerance: float = _SETTLED,
) -> Approximation:
    """The normal law whose marginals agree with those of each site's likelihood in place of the site.

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites.
    tolerance : float
        Change of its row's mean and variance, in units of the latter, that no site may still want.
    """
    if (weight != 1.0).any():
        likelihood = Tempered(likelihood, weight)
    precision, location = (np.zeros(len(y)), np.zeros(len(y))) if start is None else start
    mixing = Mixing(_DAMPING)
    negative, converged, sweeps = 0, False, 0
    while True:
        posterior = SiteGaussian(K, precision, location)
        wanted, asked = _matched(posterior, y, likelihood)
        negative = int((wanted < 0).sum())
        more, further = np.maximum(wanted, 0.0) - precision, asked - location
        if _unrest(posterior, more, further) <= tolerance:
            converged = True
            break
        if sweeps == _MAX_SWEEPS:
            break
        sweeps += 1
        ahead = mixing.step(np.concatenate([precision, location]), np.concatenate([more, further]))
        if ahead[: len(y)].min() < 0.0:
            mixing.forget()
            ahead[: len(y)], ahead[len(y) :] = precision + mixing.damping * more, location + mixing.damping * further
        precision, location = ahead[: len(y)], ahead[len(y) :]
    message = "the sites agree with their moments" if converged else (
        f"the sites still moved after {_MAX_SWEEPS} sweeps: try a smaller kernel variance or Laplace's method"
    )  # fmt: skip
    if negative:
        message += f"; {negative} sites asked for a negative precision and were held at zero"
    value = _log_evidence(posterior, y, likelihood)
    return Approximation(posterior, value, sweeps, converged and not negative, message, start=(precision, location))


def _cavity(posterior: SiteGaussian) -> tuple[Array, Array]:
    """Precision and location of each marginal without its site."""
    variance = posterior.variance
    left = 1.0 / variance - posterior.precision
    return np.maximum(left, 1e-10 / variance), posterior.mean / variance - posterior.location


def _matched(posterior: SiteGaussian, y: Array, likelihood: Likelihood) -> Sites:
    """The sites whose moments the tilted laws have (Rasmussen & Williams 3.59, in terms of derivatives of ln Z)."""
    precision, location = _cavity(posterior)
    mean, var = location / precision, 1.0 / precision
    _, slope, curvature = likelihood.tilted(y, mean, var)
    rest = np.maximum(1.0 + curvature * var, 1e-12)
    return -curvature / rest, (slope - curvature * mean) / rest


def _unrest(posterior: SiteGaussian, more: Array, further: Array) -> float:
    """How far changes of the sites would move their own marginals: the mean in standard deviations, the variance."""
    variance = posterior.variance
    moved = np.sqrt(variance) * np.abs(further - more * posterior.mean)
    return float(max(moved.max(), (variance * np.abs(more)).max()))


def _log_evidence(posterior: SiteGaussian, y: Array, likelihood: Likelihood) -> float:
    """ln ∫ N(f|0, K) Π sites, each site scaled so that its cavity's normalising constant is the likelihood's."""
    precision, location = _cavity(posterior)
    log_z, _, _ = likelihood.tilted(y, location / precision, 1.0 / precision)
    total, joint = precision + posterior.precision, location + posterior.location
    scaled = log_z - 0.5 * np.log(precision / total) - 0.5 * (joint**2 / total - location**2 / precision)
    return float(scaled.sum()) + posterior.log_normalizer
