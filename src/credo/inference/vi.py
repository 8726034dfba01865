"""Variational inference with a full normal distribution, by natural-gradient steps in its sites.

The bound E_q ln p(y|f) − KL[q ‖ N(0, K)] is largest where every site is τ = −2 ∂E/∂var, ν = ∂E/∂mean + τ·mean (Opper &
Archambeau, 2009), and a step towards those values is one along the natural gradient (Khan & Lin, 2017). Steps are
accelerated by Anderson mixing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.inference._mixing import Mixing
from credo.inference.approximation import Approximation
from credo.inference.protocols import LatentPrior, SitePosterior
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

_MAX_STEPS = 200
_GAIN = 1e-9
_SHORTEST, _ROUNDING = 1e-6, 1e-11


NOT_CONVERGED = "the variational bound did not converge in {} steps; try a smaller kernel variance"


class State(Protocol):
    """The bound for natural parameters z, and those after a full step."""

    @property
    def bound(self) -> float: ...
    @property
    def z(self) -> Array: ...
    @property
    def target(self) -> Array: ...


S = TypeVar("S", bound=State)


def natural_ascent(at: Callable[[Array], S | None], start: Array, *, tolerance: float) -> tuple[S, int, bool]:
    """The maximum of a bound by steps towards its targets; the number of steps, and whether a last one gained little.

    Parameters
    ----------
    at : callable(z) -> State
        None where z are no parameters of a distribution.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from credo.inference import natural_ascent
    >>> def at(z):
    ...     return SimpleNamespace(z=z, bound=-float((z[0] - 2.0) ** 2), target=0.5 * z + 1.0)
    >>> end, n_steps, converged = natural_ascent(at, np.zeros(1), tolerance=1e-12)
    >>> end.z.round(4), converged
    (array([2.]), True)
    """
    here = at(start)
    if here is None:
        raise ValueError("the first natural parameters belong to no distribution")
    mixing, size, converged, n_steps = Mixing(1.0), 1.0, False, 0
    while n_steps < _MAX_STEPS and not converged:
        n_steps += 1
        step = here.target - here.z
        ahead = at(mixing.step(here.z, step))
        if ahead is None or ahead.bound <= here.bound:
            mixing.forget()
            while size > _SHORTEST:
                ahead = at(here.z + size * step)
                if ahead is not None and ahead.bound >= here.bound - _ROUNDING * abs(here.bound):
                    break
                size *= 0.5
            else:
                break
            size = min(1.0, 2.0 * size)
        converged, here = ahead.bound - here.bound < tolerance, ahead
    return here, n_steps, converged


@dataclass(frozen=True)
class _State:
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
    tolerance: float = _GAIN,
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
    >>> from credo.inference import Dense, vi
    >>> from credo.kernels import RBF
    >>> from credo.likelihoods import Bernoulli
    >>> prior = Dense(np.array([[0.0], [1.0], [5.0]])).prior(RBF(1.0))
    >>> found = vi(prior, np.array([1.0, 1.0, -1.0]), Bernoulli("probit"), weight=np.ones(3))
    >>> found.posterior.mean.round(2), round(found.log_evidence, 3)  # the bound; EP's estimate is higher
    (array([ 0.76,  0.76, -0.56]), -1.905)
    """

    def at(z: Array) -> _State | None:
        if z[: len(y)].min() < 0.0:
            return None
        q = prior.sites(z[: len(y)], z[len(y) :])
        expected, by_mean, by_var = likelihood.expected(y, q.mean, q.variance)
        precision = np.maximum(-2.0 * weight * by_var, 0.0)
        target = np.concatenate([precision, weight * by_mean + precision * q.mean])
        return _State(q, float(weight @ expected) - q.divergence, z, target)

    start = (weight * 0.25, weight * 0.0) if start is None else start
    here, n_steps, converged = natural_ascent(at, np.concatenate(start), tolerance=tolerance)
    message = "converged" if converged else NOT_CONVERGED.format(n_steps)
    return Approximation(here.q, here.bound, n_steps, converged, message, start=(here.q.precision, here.q.location))
