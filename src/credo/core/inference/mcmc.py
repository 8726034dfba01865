"""Elliptical slice sampling of latent values, and annealed importance sampling of the evidence.

Murray, Adams & MacKay (2010), and Neal (2001). The current state and a draw from N(0, K) define an ellipse; a slice of
the likelihood picks the next state from it. There is nothing to tune, and no proposal is rejected. Both methods need
draws from the Gaussian only, as a function without arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LogLikelihood = Callable[[Array], float]
Draw = Callable[[], Array]


@dataclass(frozen=True)
class Chain:
    """Draws of f, (n_draws, n), and ln p(y | f) of each.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import elliptical_slice
    >>> rng = np.random.default_rng(0)
    >>> chain = elliptical_slice(
    ...     lambda: rng.normal(size=2), lambda f: -0.5 * float(f @ f), start=np.zeros(2), n_draws=5, n_tune=10, rng=rng
    ... )
    >>> chain.draws.shape, chain.log_likelihood.shape
    ((5, 2), (5,))
    """

    draws: Array
    log_likelihood: Array


def elliptical_step(
    f: Array, value: float, draw: Array, log_likelihood: LogLikelihood, rng: np.random.Generator
) -> tuple[Array, float]:
    """The next state and its log likelihood, from the ellipse through f and a draw from the prior."""
    level = value + math.log(rng.random())
    angle = rng.uniform(0.0, 2.0 * math.pi)
    low, high = angle - 2.0 * math.pi, angle
    # The bracket shrinks to the present state, where the likelihood is above the level.
    for _ in range(200):
        proposal = f * math.cos(angle) + draw * math.sin(angle)
        proposed = log_likelihood(proposal)
        if proposed > level:
            return proposal, proposed
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return f, value


def elliptical_slice(
    draw: Draw,
    log_likelihood: LogLikelihood,
    *,
    start: Array,
    n_draws: int,
    n_tune: int,
    rng: np.random.Generator,
    thin: int = 1,
) -> Chain:
    """Draws from a Gaussian of mean zero times a likelihood.

    Parameters
    ----------
    draw : callable() -> array of shape (n,)
        Draws from the Gaussian.
    log_likelihood : callable(f) -> float
    start : array of shape (n,)
    n_draws, n_tune : int
        Draws that are kept, and steps before them.
    thin : int, default 1
        Steps for each kept draw.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import elliptical_slice
    >>> rng = np.random.default_rng(0)
    >>> chain = elliptical_slice(
    ...     lambda: rng.normal(size=1), lambda f: -0.5 * float(f @ f), start=np.ones(1), n_draws=2000, n_tune=9, rng=rng
    ... )
    >>> bool(abs(chain.draws.var() - 0.5) < 0.06)  # N(0, 1) times exp(−f²/2) is N(0, 1/2)
    True
    """
    f, value = start, log_likelihood(start)
    draws, values = np.empty((n_draws, len(f))), np.empty(n_draws)
    for step in range(-n_tune, n_draws * thin):
        f, value = elliptical_step(f, value, draw(), log_likelihood, rng)
        if step >= 0 and step % thin == thin - 1:
            draws[step // thin], values[step // thin] = f, value
    return Chain(draws, values)


def annealed_evidence(
    draw: Draw,
    log_likelihood: LogLikelihood,
    *,
    rng: np.random.Generator,
    n_runs: int = 8,
    n_temperatures: int = 400,
) -> tuple[float, float]:
    """ln E p(y | f) over the Gaussian by annealed importance sampling, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import annealed_evidence
    >>> rng = np.random.default_rng(0)
    >>> value, error = annealed_evidence(lambda: rng.normal(size=1), lambda f: -0.5 * float(f @ f), rng=rng)
    >>> bool(abs(value - np.log(0.5) / 2) < 4 * error + 0.01)  # E exp(−f²/2) = 1/√2
    True
    """
    # Close steps near the prior, where the likelihood changes most.
    powers = np.linspace(0.0, 1.0, n_temperatures + 1) ** 4
    logs = np.empty(n_runs)
    for run in range(n_runs):
        f = draw()
        value, total = log_likelihood(f), 0.0
        for power, previous in zip(powers[1:], powers[:-1], strict=True):
            total += (power - previous) * value
            f, tempered = elliptical_step(f, power * value, draw(), _tempered(log_likelihood, float(power)), rng)
            value = tempered / power
        logs[run] = total
    largest = logs.max()
    weights = np.exp(logs - largest)
    return float(largest + np.log(weights.mean())), float(weights.std(ddof=1) / weights.mean() / math.sqrt(n_runs))


def _tempered(log_likelihood: LogLikelihood, power: float) -> LogLikelihood:
    return lambda f: power * log_likelihood(f)
