"""Elliptical slice sampling of latent values, and annealed importance sampling of the evidence.

Murray, Adams & MacKay (2010), and Neal (2001). The current state and a draw from N(0, K) define an ellipse; a slice of
the likelihood picks the next state from it. There is nothing to tune, and no proposal is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.linalg import Factor

Array = NDArray[np.float64]
LogLikelihood = Callable[[Array], float]


@dataclass(frozen=True)
class Walk:
    """Draws of f, (n_draws, n), and ln p(y | f) of each."""

    draws: Array
    log_likelihood: Array


def elliptical_step(
    f: Array, current: float, fresh: Array, log_likelihood: LogLikelihood, rng: np.random.Generator
) -> tuple[Array, float]:
    """The next state and its log likelihood, from the ellipse through f and a fresh draw of the prior."""
    level = current + math.log(rng.random())
    angle = rng.uniform(0.0, 2.0 * math.pi)
    low, high = angle - 2.0 * math.pi, angle
    # The bracket shrinks to the present state, where the likelihood is above the level.
    for _ in range(200):
        proposal = f * math.cos(angle) + fresh * math.sin(angle)
        value = log_likelihood(proposal)
        if value > level:
            return proposal, value
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return f, current


def elliptical_slice(
    factor: Factor,
    log_likelihood: LogLikelihood,
    *,
    n_draws: int,
    n_tune: int,
    rng: np.random.Generator,
    thin: int = 1,
    start: Array | None = None,
) -> Walk:
    """Draws from N(f | 0, LLᵀ) times a likelihood.

    Parameters
    ----------
    factor : Factor
        Of K.
    n_draws, n_tune : int
        Draws that are kept, and steps before them.
    thin : int, default 1
        Steps for each kept draw.
    """
    f = np.zeros(factor.n) if start is None else start
    value = log_likelihood(f)
    kept, values = np.empty((n_draws, factor.n)), np.empty(n_draws)
    for step in range(n_tune + n_draws * thin):
        f, value = elliptical_step(f, value, factor.L @ rng.standard_normal(factor.n), log_likelihood, rng)
        place, rest = divmod(step - n_tune, thin)
        if step >= n_tune and rest == thin - 1:
            kept[place], values[place] = f, value
    return Walk(kept, values)


def annealed_evidence(
    factor: Factor,
    log_likelihood: LogLikelihood,
    *,
    rng: np.random.Generator,
    n_runs: int = 8,
    n_temperatures: int = 400,
) -> tuple[float, float]:
    """ln ∫ p(y | f) N(f | 0, K) df by annealed importance sampling, and its standard error."""
    # Close steps near the prior, where the likelihood changes most.
    powers = np.linspace(0.0, 1.0, n_temperatures + 1) ** 4
    logs = np.empty(n_runs)
    for run in range(n_runs):
        f = factor.L @ rng.standard_normal(factor.n)
        value, total = log_likelihood(f), 0.0
        for cold, warm in zip(powers[1:], powers[:-1], strict=True):
            total += (cold - warm) * value
            fresh = factor.L @ rng.standard_normal(factor.n)
            f, heated = elliptical_step(f, cold * value, fresh, _tempered(log_likelihood, float(cold)), rng)
            value = heated / cold
        logs[run] = total
    largest = logs.max()
    shares = np.exp(logs - largest)
    return float(largest + np.log(shares.mean())), float(shares.std(ddof=1) / shares.mean() / math.sqrt(n_runs))


def _tempered(log_likelihood: LogLikelihood, power: float) -> LogLikelihood:
    return lambda f: power * log_likelihood(f)
