"""Newton's method for the mode of ln p(y|f) − ½fᵀK⁻¹f, in a = K⁻¹f and f together, with a line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_STEPS = 100
# A full step of less than this share of f, at the mode.
_NOWHERE = 1e-4
NO_MODE = f"the mode was not found within {MAX_STEPS} Newton steps; try a smaller kernel variance or smaller weights"


@dataclass(frozen=True)
class Mode:
    """Where the search ended: a = K⁻¹f, f, the log posterior there, and whether it converged."""

    a: Array
    f: Array
    height: float
    n_iter: int
    converged: bool

    @property
    def message(self) -> str:
        return "converged" if self.converged else NO_MODE


def mode(
    height: Callable[[Array, Array], float],
    target: Callable[[Array], tuple[Array, Array]],
    *,
    shape: tuple[int, ...],
    guess: tuple[Array, Array] | None,
    tolerance: float,
) -> Mode:
    """The maximum of a concave height.

    Parameters
    ----------
    height : callable(f, a) -> float
    target : callable(f) -> a, f
        Where a full step from f leads.
    guess : pair of arrays, optional
        a and f, used as the start if their objective is higher than that of zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.
    """
    a, f = np.zeros(shape), np.zeros(shape)
    here = height(f, a)
    if guess is not None and height(guess[1], guess[0]) > here:
        a, f = guess
        here = height(f, a)
    for n_iter in range(1, MAX_STEPS + 1):
        wanted, there = target(f)
        ahead, forward = wanted - a, there - f
        size, gained = 1.0, -np.inf
        while size > 1e-8:
            gained = height(f + size * forward, a + size * ahead) - here
            if gained >= -1e-12 * abs(here):
                break
            size *= 0.5
        else:
            # Nothing climbs: at the mode, where a full step leads nowhere, or where the step has lost its digits.
            return Mode(a, f, here, n_iter, bool(np.abs(forward).max() <= _NOWHERE * (1.0 + np.abs(f).max())))
        a, f, here = a + size * ahead, f + size * forward, here + gained
        if gained < tolerance:
            arrived = size == 1.0 or np.abs(forward).max() <= _NOWHERE * (1.0 + np.abs(f).max())
            return Mode(a, f, here, n_iter, bool(arrived))
    return Mode(a, f, here, MAX_STEPS, False)
