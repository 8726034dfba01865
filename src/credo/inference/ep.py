"""Expectation propagation: every site matches the moments of its tilted distribution.

All sites are updated in parallel, damped, with Anderson mixing of the last few updates. A row of weight k has one site,
for the likelihood to that power: k equal sites would be a coarser approximation and converge more slowly. Log-concave
likelihoods keep every site's precision positive; a precision that would be negative is set to zero, and the message
says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.inference._mixing import Mixing
from credo.inference.laplace import laplace
from credo.inference.sites import Approximation, SiteGaussian
from credo.likelihoods import Likelihood, Tempered

Array = NDArray[np.float64]
Sites = tuple[Array, Array]

_MAX_SWEEPS = 200
# Change of mean and variance that a site still wants of its own row, in units of the latter, when it has settled.
_SETTLED = 1e-8
_DAMPING, _SHORTEST = 0.9, 0.005
# A step after which the sites want to move this many times further than before was too long.
_GROWTH = 2.0
# Sites that want to move their marginals by so many standard deviations diverge, and would soon overflow.
_DIVERGED = 1e6


@dataclass(frozen=True)
class _Place:
    """The distribution for one set of sites, precisions before locations, and the updates of the sites."""

    posterior: SiteGaussian
    z: Array
    move: Array
    unrest: float
    n_negative: int


def ep(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: Sites | None = None,
    tolerance: float = _SETTLED,
) -> Approximation:
    """The normal distribution whose marginals match the moments of the tilted distributions.

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites; Laplace's, unless given.
    tolerance : float
        Largest change of any marginal's mean and variance, in units of its standard deviation and variance, at
        convergence.
    """
    if (weight != 1.0).any():
        likelihood = Tempered(likelihood, weight)
    n = len(y)

    def at(z: Array) -> _Place:
        posterior = SiteGaussian(K, z[:n], z[n:])
        precision, location = _matched(posterior, y, likelihood)
        move = np.concatenate([np.maximum(precision, 0.0), location]) - z
        return _Place(posterior, z, move, _unrest(posterior, move[:n], move[n:]), int((precision < 0).sum()))

    if start is None:
        # From nothing all sites would pull at once, each as if it were alone.
        mode = laplace(K, y, likelihood, weight=np.ones(n)).posterior
        start = mode.precision, mode.location
    here = at(np.concatenate(start))
    mixing, damping, sweeps = Mixing(_DAMPING), _DAMPING, 0
    while here.unrest > tolerance and sweeps < _MAX_SWEEPS:
        sweeps += 1
        leap = mixing.step(here.z, here.move)
        ahead = at(leap) if leap[:n].min() >= 0.0 else None
        if ahead is None or not ahead.unrest <= _GROWTH * here.unrest:
            # Sites that swing come to rest in shorter steps; a step that is short enough is taken whatever it does.
            mixing.forget()
            ahead = at(here.z + damping * here.move)
            while not ahead.unrest <= _GROWTH * here.unrest and damping > _SHORTEST and sweeps < _MAX_SWEEPS:
                sweeps, damping = sweeps + 1, 0.4 * damping
                ahead = at(here.z + damping * here.move)
            if not ahead.unrest < max(_DIVERGED, here.unrest):
                break
            damping = min(_DAMPING, 1.5 * damping)
        here = ahead
    return _reported(here, sweeps, tolerance, y, likelihood)


def _reported(end: _Place, sweeps: int, tolerance: float, y: Array, likelihood: Likelihood) -> Approximation:
    converged = end.unrest <= tolerance
    message = "converged" if converged else (
        f'EP did not converge in {sweeps} sweeps; try a smaller kernel variance or inference="laplace"'
    )  # fmt: skip
    if end.n_negative:
        message += f"; the precision of {end.n_negative} sites would be negative and was set to zero"
    sites = end.posterior.precision, end.posterior.location
    value = _log_evidence(end.posterior, y, likelihood)
    return Approximation(end.posterior, value, sweeps, converged and not end.n_negative, message, start=sites)


def _cavity(posterior: SiteGaussian) -> tuple[Array, Array]:
    """Precision and location of each marginal without its site."""
    variance = posterior.variance
    left = 1.0 / variance - posterior.precision
    return np.maximum(left, 1e-10 / variance), posterior.mean / variance - posterior.location


def _matched(posterior: SiteGaussian, y: Array, likelihood: Likelihood) -> Sites:
    """The sites that match the moments of the tilted distributions (Rasmussen & Williams 3.59)."""
    precision, location = _cavity(posterior)
    mean, var = location / precision, 1.0 / precision
    _, slope, curvature = likelihood.tilted(y, mean, var)
    rest = np.maximum(1.0 + curvature * var, 1e-12)
    return -curvature / rest, (slope - curvature * mean) / rest


def _unrest(posterior: SiteGaussian, more: Array, further: Array) -> float:
    """How much changes of the sites change their marginals: means in standard deviations, variances relatively."""
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
