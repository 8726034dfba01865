"""The representations of training rows by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credo.estimator import choice
from credo.inference.dense import Dense
from credo.inference.inducing import Inducing
from credo.inference.protocols import Representation

Array = NDArray[np.float64]

# The name is what an estimator's `method` says.
REPRESENTATIONS: dict[str, Callable[[Array], Representation]] = {"exact": Dense, "inducing": Inducing}


def representation(method: str, X: Array) -> Representation:
    """The representation of training rows by name; "auto" chooses one.

    >>> representation("auto", np.zeros((3, 1))).X.shape
    (3, 1)
    """
    choice("method", method, ("auto", *REPRESENTATIONS))
    return REPRESENTATIONS["exact" if method == "auto" else method](X)
