"""Random generators from what users pass as `random_state`."""

from __future__ import annotations

from typing import Any

import numpy as np


def generator(random_state: Any = None) -> np.random.Generator:
    """A Generator from None, a seed, a Generator, or a RandomState as scikit-learn passes it.

    A Generator is returned as it is, so that its stream advances. A RandomState draws the seed of a new Generator.
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
