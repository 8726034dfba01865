"""Random generators from what users pass as `random_state`."""

from __future__ import annotations

from collections.abc import Iterator
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


def reseeded(model: Any, rng: np.random.Generator) -> Any:
    """The model with a new seed for every `random_state`, those of nested models included."""
    return model.set_params(**{name: int(rng.integers(2**31)) for name in random_states(model)})


def random_states(model: Any) -> Iterator[str]:
    """The names of all parameters that are a `random_state`, sorted."""
    return (key for key in sorted(model.get_params()) if key == "random_state" or key.endswith("__random_state"))
