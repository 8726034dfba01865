"""Elliptical slice sampling of latent values (Murray, Adams & MacKay 2010).

The current state and a draw from N(0, K) define an ellipse; a slice of the likelihood picks the next state from it.
There is nothing to tune, and no proposal is rejected. It needs draws from the Gaussian only, as a function without
arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LogLikelihood = Callable[[Array], float]


def _step(
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
    draw: Callable[[], Array],
    log_likelihood: LogLikelihood,
    *,
    start: Array,
    n_draws: int,
    n_tune: int,
    rng: np.random.Generator,
    thin: int = 1,
) -> Array:
    """Draws from a Gaussian of mean zero times a likelihood: shape (n_draws, n).

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
    >>> draws = elliptical_slice(
    ...     lambda: rng.normal(size=1), lambda f: -0.5 * float(f @ f), start=np.ones(1), n_draws=2000, n_tune=9, rng=rng
    ... )
    >>> bool(abs(draws.var() - 0.5) < 0.06)  # N(0, 1) times exp(−f²/2) is N(0, 1/2)
    True
    """
    f, value = start, log_likelihood(start)
    draws = np.empty((n_draws, len(f)))
    for step in range(-n_tune, n_draws * thin):
        f, value = _step(f, value, draw(), log_likelihood, rng)
        if step >= 0 and step % thin == thin - 1:
            draws[step // thin] = f
    return draws
