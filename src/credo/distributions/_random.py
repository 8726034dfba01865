"""Categorical draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def choices(probs: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Columns of `probs` (n_rows, k) drawn with the probabilities of each row, of shape (n, n_rows)."""
    heights = np.cumsum(probs, axis=1)
    heights /= heights[:, -1:]
    level, chosen = rng.random((n, len(probs))), np.zeros((n, len(probs)), dtype=np.intp)
    for height in heights.T[:-1]:
        chosen += level >= height
    return chosen
