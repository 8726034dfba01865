"""Newton's method for the mode of ln p(y|f) − ½fᵀK⁻¹f, in a = K⁻¹f and f together, with a line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_STEPS = 100
# At the mode, a full step is less than this share of f.
_STATIONARY = 1e-4
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
        Where a full Newton step from f leads.
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
            # No step increases the log posterior: this is the mode, or rounding errors have spoiled the step.
            return Mode(a, f, value, n_iter, _is_small(step_f, f))
        a, f, value = a + size * step_a, f + size * step_f, value + gain
        if gain < tolerance:
            return Mode(a, f, value, n_iter, size == 1.0 or _is_small(step_f, f))
    return Mode(a, f, value, MAX_STEPS, False)


def _is_small(step: Array, f: Array) -> bool:
    return bool(np.abs(step).max() <= _STATIONARY * (1.0 + np.abs(f).max()))
