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
from credo.inference.approximation import Approximation
from credo.inference.laplace import laplace
from credo.inference.protocols import LatentPrior, SitePosterior
from credo.likelihoods import Likelihood, Tempered

Array = NDArray[np.float64]
Sites = tuple[Array, Array]

_MAX_SWEEPS = 200
# Largest change of a marginal by the next update, relative to its standard deviation and variance, at convergence.
_TOLERANCE = 1e-8
_DAMPING, _MIN_DAMPING = 0.9, 0.005
# A step is too long if the next update would change the marginals this many times as much as the last.
_GROWTH = 2.0
# Sites whose next update would change a marginal by this many standard deviations diverge and would soon overflow.
_DIVERGED = 1e6


@dataclass(frozen=True)
class _State:
    """The posterior for sites z, precisions before locations; the update that they should get, and its size."""

    posterior: SitePosterior
    z: Array
    update: Array
    change: float
    n_negative: int


def ep(
    prior: LatentPrior,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: Sites | None = None,
    tolerance: float = _TOLERANCE,
) -> Approximation:
    """The normal distribution whose marginals match the moments of the tilted distributions.

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites; Laplace's, unless given.
    tolerance : float
        Largest change of any marginal's mean and variance, in units of its standard deviation and variance, at
        convergence.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Dense, ep
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Bernoulli
    >>> prior = Dense(np.array([[0.0], [1.0], [5.0]])).prior(RBF(1.0))
    >>> found = ep(prior, np.array([1.0, 1.0, -1.0]), Bernoulli("probit"), weight=np.ones(3))
    >>> found.posterior.mean.round(2), round(found.log_evidence, 3)
    (array([ 0.76,  0.76, -0.56]), -1.901)
    """
    if (weight != 1.0).any():
        likelihood = Tempered(likelihood, weight)
    n = len(y)

    def at(z: Array) -> _State:
        posterior = prior.sites(z[:n], z[n:])
        precision, location = _matched(posterior, y, likelihood)
        update = np.concatenate([np.maximum(precision, 0.0), location]) - z
        return _State(posterior, z, update, _change(posterior, update[:n], update[n:]), int((precision < 0).sum()))

    if start is None:
        # From flat sites the first parallel update would be far too large.
        mode = laplace(prior, y, likelihood, weight=np.ones(n)).posterior
        start = mode.precision, mode.location
    here = at(np.concatenate(start))
    mixing, damping, sweeps = Mixing(_DAMPING), _DAMPING, 0
    while here.change > tolerance and sweeps < _MAX_SWEEPS:
        sweeps += 1
        proposal = mixing.step(here.z, here.update)
        ahead = at(proposal) if proposal[:n].min() >= 0.0 else None
        if ahead is None or not ahead.change <= _GROWTH * here.change:
            # Oscillating sites need shorter steps; the shortest step is accepted in any case.
            mixing.forget()
            ahead = at(here.z + damping * here.update)
            while not ahead.change <= _GROWTH * here.change and damping > _MIN_DAMPING and sweeps < _MAX_SWEEPS:
                sweeps, damping = sweeps + 1, 0.4 * damping
                ahead = at(here.z + damping * here.update)
            if not ahead.change < max(_DIVERGED, here.change):
                break
            damping = min(_DAMPING, 1.5 * damping)
        here = ahead
    return _result(here, sweeps, tolerance, y, likelihood)


def _result(end: _State, sweeps: int, tolerance: float, y: Array, likelihood: Likelihood) -> Approximation:
    converged = end.change <= tolerance
    message = "converged" if converged else (
        f'EP did not converge in {sweeps} sweeps; try a smaller kernel variance or inference="laplace"'
    )  # fmt: skip
    if end.n_negative:
        message += f"; the precision of {end.n_negative} sites would be negative and was set to zero"
    sites = end.posterior.precision, end.posterior.location
    value = _log_evidence(end.posterior, y, likelihood)
    return Approximation(end.posterior, value, sweeps, converged and not end.n_negative, message, start=sites)


def _cavity(posterior: SitePosterior) -> tuple[Array, Array]:
    """Precision and location of each marginal without its site."""
    variance = posterior.variance
    precision = 1.0 / variance - posterior.precision
    return np.maximum(precision, 1e-10 / variance), posterior.mean / variance - posterior.location


def _matched(posterior: SitePosterior, y: Array, likelihood: Likelihood) -> Sites:
    """The sites that match the moments of the tilted distributions (Rasmussen & Williams 3.59)."""
    precision, location = _cavity(posterior)
    mean, var = location / precision, 1.0 / precision
    _, slope, curvature = likelihood.tilted(y, mean, var)
    rest = np.maximum(1.0 + curvature * var, 1e-12)
    return -curvature / rest, (slope - curvature * mean) / rest


def _change(posterior: SitePosterior, by_precision: Array, by_location: Array) -> float:
    """How much an update of the sites changes the marginals: means in standard deviations, variances relatively."""
    variance = posterior.variance
    mean = np.sqrt(variance) * np.abs(by_location - by_precision * posterior.mean)
    return float(max(mean.max(), (variance * np.abs(by_precision)).max()))


def _log_evidence(posterior: SitePosterior, y: Array, likelihood: Likelihood) -> float:
    """ln ∫ N(f|0, K) Π sites, each site scaled so that its cavity's normalising constant is the likelihood's."""
    precision, location = _cavity(posterior)
    log_z, _, _ = likelihood.tilted(y, location / precision, 1.0 / precision)
    total, joint = precision + posterior.precision, location + posterior.location
    scaled = log_z - 0.5 * np.log(precision / total) - 0.5 * (joint**2 / total - location**2 / precision)
    return float(scaled.sum()) + posterior.log_evidence
