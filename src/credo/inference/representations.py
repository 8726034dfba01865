"""The representations of training rows by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credo.estimator import choice
from credo.inference.dense import Dense
from credo.inference.protocols import Representation
from credo.inference.state_space import StateSpace
from credo.kernels import Kernel

Array = NDArray[np.float64]

# The name is what an estimator's `method` says.
REPRESENTATIONS: dict[str, Callable[[Array], Representation]] = {"exact": Dense, "state_space": StateSpace}

# From so many rows of one column on, "auto" prefers the state space, which is exact as well.
_MANY = 1000


def representation(method: str, X: Array, kernel: Kernel) -> Representation:
    """The representation of training rows by name; "auto" chooses one that suits the rows and the kernel.

    >>> from credo.kernels import Matern32
    >>> type(representation("auto", np.zeros((3, 1)), Matern32())).__name__
    'Dense'
    """
    return REPRESENTATIONS[choose(method, X, kernel)[0]](X)


def choose(method: str, X: Array, kernel: Kernel) -> tuple[str, str]:
    """The name of the representation, and why "auto" chose it; empty where there was nothing to choose.

    >>> from credo.kernels import Matern32
    >>> choose("auto", np.zeros((5000, 1)), Matern32())
    ('state_space', 'method="state_space", which is exact for this kernel and 5000 rows of one column in linear time')
    """
    choice("method", method, ("auto", *REPRESENTATIONS))
    if method != "auto":
        return method, ""
    if len(X) >= _MANY and X.shape[1] == 1 and _is_markov(kernel, len(X)):
        return "state_space", (
            f'method="state_space", which is exact for this kernel and {len(X)} rows of one column in linear time'
        )
    return "exact", ""


def _is_markov(kernel: Kernel, n: int) -> bool:
    """Whether the kernel has a state-space form, whose state is small compared to the number of rows."""
    try:
        return _MANY * kernel.state_space().size <= 20 * n
    except (NotImplementedError, ValueError):
        return False
