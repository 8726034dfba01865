"""Choosing a batch of points that say most about a function."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A variance of less than this share of the largest is rounding error.
_NOTHING = 1e-12


def greedy_batch(variance: Array, column: Callable[[int], Array], noise: Array, n: int) -> NDArray[np.intp]:
    """Rows of largest joint entropy, one after the other: each the most uncertain given those before it.

    Parameters
    ----------
    variance : array of shape (n_rows,)
        var f at each candidate.
    column : callable(i) -> array of shape (n_rows,)
        cov(f, fᵢ).
    noise : array of shape (n_rows,)
        Variance of an observation at each candidate.
    """
    variance, largest = variance.copy(), float(variance.max(initial=0.0))
    taken: list[Array] = []
    chosen: list[int] = []
    for _ in range(n):
        best = int(np.argmax(np.where(np.isin(np.arange(len(variance)), chosen), -np.inf, variance)))
        chosen.append(best)
        # One more column of the Cholesky factor of the candidates' covariance, pivoted by what is left.
        left = column(best)
        for earlier in taken:
            left = left - earlier * earlier[best]
        whole = left[best] + noise[best]
        # Where nothing is left to learn, a point tells nothing of the others.
        left = left / math.sqrt(whole) if whole > _NOTHING * (largest + noise[best]) else np.zeros_like(left)
        taken.append(left)
        variance = np.maximum(variance - left**2, 0.0)
    return np.array(chosen, dtype=np.intp)
