"""Laplace's approximation, expectation propagation and variational inference by Gaussian sites.

Laplace: the mode of ln p(y|f) − ½fᵀK⁻¹f and its curvature there, by Newton's method in a = K⁻¹f with a line search
(Rasmussen & Williams alg. 3.1); the evidence's gradient includes the derivative of the mode (alg. 5.1).

Expectation propagation: every site matches the moments of its tilted distribution. All sites are updated in parallel,
damped, with Anderson mixing of the last few updates. A row of weight k has one site, for the likelihood to that power:
k equal sites would be a coarser approximation and converge more slowly. Log-concave likelihoods keep every site's
precision positive; a precision that would be negative is set to zero, with a note in the message.

Variational inference with a full normal distribution, by natural-gradient steps in its sites. The bound E_q ln p(y|f) −
KL[q ‖ N(0, K)] is largest where every site is τ = −2 ∂E/∂var, ν = ∂E/∂mean + τ·mean (Opper & Archambeau, 2009), and a
step towards those values is one along the natural gradient (Khan & Lin, 2017).

Anderson mixing accelerates fixed-point iterations z = g(z) by the last few steps. With residuals r = g(z) − z and their
differences ΔR, the next point is the one whose residual would vanish if g were affine (Walker & Ni, 2011):
z + βr − (ΔZ + βΔR)γ with γ = argmin ‖r − ΔRγ‖.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.inference.protocols import Approximation, LatentPrior, SitePosterior
from credo.likelihoods import Likelihood, Tempered

Array = NDArray[np.float64]

_HISTORY_STEPS = 6
# The history is discarded if the residual grows by more than this factor.
_MAX_RESIDUAL_GROWTH = 1.5


class AndersonAcceleration:
    """Anderson mixing of one iteration: steps are damped by β, and more so when residuals grow.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import AndersonAcceleration
    >>> z, mixing = np.ones(1), AndersonAcceleration(damping=1.0)
    >>> for _ in range(6):
    ...     z = mixing.step(z, np.cos(z) - z)
    >>> bool(np.abs(np.cos(z) - z).max() < 1e-8)  # z = cos z after six steps
    True
    """

    def __init__(self, damping: float) -> None:
        self.damping = self._largest = damping
        self._points: deque[Array] = deque(maxlen=_HISTORY_STEPS)
        self._residuals: deque[Array] = deque(maxlen=_HISTORY_STEPS)
        self._last = np.inf

    def step(self, z: Array, residual: Array) -> Array:
        """The next point."""
        size = float(np.linalg.norm(residual))
        if size > _MAX_RESIDUAL_GROWTH * self._last:
            self.restart()
            self.damping = max(0.1, 0.6 * self.damping)
        else:
            self.damping = min(self._largest, 1.2 * self.damping)
        self._last = size
        self._points.append(z)
        self._residuals.append(residual)
        plain = z + self.damping * residual
        if len(self._points) < 2:
            return plain
        dR = np.diff(np.stack(self._residuals), axis=0).T
        dZ = np.diff(np.stack(self._points), axis=0).T
        mix = np.linalg.lstsq(dR, residual, rcond=1e-10)[0]
        return plain - (dZ + self.damping * dR) @ mix

    def restart(self) -> None:
        """Discard the previous steps."""
        self._points.clear()
        self._residuals.clear()


MAX_STEPS = 100
NO_MODE = f"the mode was not found within {MAX_STEPS} Newton steps; try a smaller kernel variance or smaller weights"


@dataclass(frozen=True)
class Mode:
    """Where Newton's method ended: a = K⁻¹f, f, the log posterior there, and whether it converged."""

    a: Array
    f: Array
    value: float
    n_iter: int
    converged: bool

    @property
    def message(self) -> str:
        return "converged" if self.converged else NO_MODE


def mode(
    log_posterior: Callable[[Array, Array], float],
    newton: Callable[[Array], tuple[Array, Array]],
    *,
    shape: tuple[int, ...],
    guess: tuple[Array, Array] | None,
    tolerance: float,
) -> Mode:
    """The maximum of a concave log posterior.

    Parameters
    ----------
    log_posterior : callable(f, a) -> float
    newton : callable(f) -> a, f
        The end of a full Newton step from f.
    guess : pair of arrays, optional
        a and f, used as the start if their log posterior is higher than that of zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.
    """
    a, f = np.zeros(shape), np.zeros(shape)
    value = log_posterior(f, a)
    if guess is not None and log_posterior(guess[1], guess[0]) > value:
        a, f = guess
        value = log_posterior(f, a)
    for n_iter in range(1, MAX_STEPS + 1):
        new_a, new_f = newton(f)
        step_a, step_f = new_a - a, new_f - f
        size, gain = 1.0, -np.inf
        while size > 1e-8:
            gain = log_posterior(f + size * step_f, a + size * step_a) - value
            if gain >= -1e-12 * abs(value):
                break
            size *= 0.5
        else:
            # No step increases the log posterior: this is the mode, or the step is dominated by rounding errors.
            return Mode(a, f, value, n_iter, _is_small(step_f, f))
        a, f, value = a + size * step_a, f + size * step_f, value + gain
        if gain < tolerance:
            return Mode(a, f, value, n_iter, size == 1.0 or _is_small(step_f, f))
    return Mode(a, f, value, MAX_STEPS, False)


def _is_small(step: Array, f: Array) -> bool:
    return bool(np.abs(step).max() <= 1e-4 * (1.0 + np.abs(f).max()))


def laplace(
    prior: LatentPrior,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: Array | None = None,
    tolerance: float = 1e-10,
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
    >>> from credo.core.inference import Dense, laplace
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


Sites = tuple[Array, Array]

_MAX_SWEEPS = 200
# Largest change of a marginal by the next update, relative to its standard deviation and variance, at convergence.
_TOLERANCE = 1e-8
_DAMPING, _MIN_DAMPING = 0.9, 0.005
# A step is too long if the next update would change the marginals by more than this factor times the last.
_MAX_GROWTH = 2.0


@dataclass(frozen=True)
class _EpState:
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
    >>> from credo.core.inference import Dense, ep
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

    def at(z: Array) -> _EpState:
        posterior = prior.sites(z[:n], z[n:])
        precision, location = _matched(posterior, y, likelihood)
        update = np.concatenate([np.maximum(precision, 0.0), location]) - z
        return _EpState(posterior, z, update, _change(posterior, update[:n], update[n:]), int((precision < 0).sum()))

    if start is None:
        # From flat sites the first parallel update would be far too large.
        mode = laplace(prior, y, likelihood, weight=np.ones(n)).posterior
        start = mode.precision, mode.location
    here = at(np.concatenate(start))
    mixing, damping, sweeps = AndersonAcceleration(_DAMPING), _DAMPING, 0
    while here.change > tolerance and sweeps < _MAX_SWEEPS:
        sweeps += 1
        proposal = mixing.step(here.z, here.update)
        ahead = at(proposal) if proposal[:n].min() >= 0.0 else None
        if ahead is None or not ahead.change <= _MAX_GROWTH * here.change:
            # Oscillating sites need shorter steps; the shortest step is accepted in any case.
            mixing.restart()
            ahead = at(here.z + damping * here.update)
            while not ahead.change <= _MAX_GROWTH * here.change and damping > _MIN_DAMPING and sweeps < _MAX_SWEEPS:
                sweeps, damping = sweeps + 1, 0.4 * damping
                ahead = at(here.z + damping * here.update)
            # Sites diverge if an update changes a marginal by a million standard deviations.
            if not ahead.change < max(1e6, here.change):
                break
            damping = min(_DAMPING, 1.5 * damping)
        here = ahead
    return _result(here, sweeps, tolerance, y, likelihood)


def _result(end: _EpState, sweeps: int, tolerance: float, y: Array, likelihood: Likelihood) -> Approximation:
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
    """ln ∫ N(f|0, K) Π sites, each site scaled so that its cavity's normalizing constant is the likelihood's."""
    precision, location = _cavity(posterior)
    log_z, _, _ = likelihood.tilted(y, location / precision, 1.0 / precision)
    total, joint = precision + posterior.precision, location + posterior.location
    scaled = log_z - 0.5 * np.log(precision / total) - 0.5 * (joint**2 / total - location**2 / precision)
    return float(scaled.sum()) + posterior.log_evidence


_MAX_STEPS = 200


@dataclass(frozen=True)
class _ViState:
    """The posterior for sites z, precisions before locations; its bound, and the sites after a full step."""

    q: SitePosterior
    bound: float
    z: Array
    target: Array


def vi(
    prior: LatentPrior,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array,
    start: tuple[Array, Array] | None = None,
    tolerance: float = 1e-9,
) -> Approximation:
    """The normal distribution that maximizes the lower bound on ln p(y).

    Parameters
    ----------
    start : pair of arrays of shape (n,), optional
        First precisions and locations of the sites of each row.
    tolerance : float
        The bound is at its maximum when a step gains less than this many nats.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, vi
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Bernoulli
    >>> prior = Dense(np.array([[0.0], [1.0], [5.0]])).prior(RBF(1.0))
    >>> found = vi(prior, np.array([1.0, 1.0, -1.0]), Bernoulli("probit"), weight=np.ones(3))
    >>> found.posterior.mean.round(2), round(found.log_evidence, 3)  # the bound; EP's estimate is higher
    (array([ 0.76,  0.76, -0.56]), -1.905)
    """

    def at(z: Array) -> _ViState | None:
        if z[: len(y)].min() < 0.0:
            return None
        q = prior.sites(z[: len(y)], z[len(y) :])
        expected, by_mean, by_var = likelihood.expected(y, q.mean, q.variance)
        precision = np.maximum(-2.0 * weight * by_var, 0.0)
        target = np.concatenate([precision, weight * by_mean + precision * q.mean])
        return _ViState(q, float(weight @ expected) - q.divergence, z, target)

    start = (weight * 0.25, weight * 0.0) if start is None else start
    here = at(np.concatenate(start))
    if here is None:
        raise ValueError("the first sites belong to no distribution")
    mixing, size, converged, n_steps = AndersonAcceleration(1.0), 1.0, False, 0
    while n_steps < _MAX_STEPS and not converged:
        n_steps += 1
        step = here.target - here.z
        ahead = at(mixing.step(here.z, step))
        if ahead is None or ahead.bound <= here.bound:
            mixing.restart()
            while size > 1e-6:
                ahead = at(here.z + size * step)
                if ahead is not None and ahead.bound >= here.bound - 1e-11 * abs(here.bound):
                    break
                size *= 0.5
            else:
                break
            size = min(1.0, 2.0 * size)
        converged, here = ahead.bound - here.bound < tolerance, ahead
    message = f"the variational bound did not converge in {n_steps} steps; try a smaller kernel variance"
    message = "converged" if converged else message
    return Approximation(here.q, here.bound, n_steps, converged, message, start=(here.q.precision, here.q.location))
