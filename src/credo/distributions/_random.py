"""One meaning of `random_state` for every draw, and draws of one among many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def generator(random_state: Any = None) -> np.random.Generator:
    """A Generator from None, a seed, a Generator, or a RandomState as scikit-learn passes it.

    A Generator is used as it is, so that its stream advances; a RandomState gives the seed of a new one, and
    advances by that.
    """
    if hasattr(random_state, "randint"):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, a non-negative whole number, a numpy Generator or a RandomState; "
            f"got {random_state!r}"
        ) from None


def choices(probs: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Columns of `probs` (n_rows, k) drawn with the probabilities of each row, of shape (n, n_rows)."""
    heights = np.cumsum(probs, axis=1)
    heights /= heights[:, -1:]
    level, chosen = rng.random((n, len(probs))), np.zeros((n, len(probs)), dtype=np.intp)
    for height in heights.T[:-1]:
        chosen += level >= height
    return chosen
