"""The representations of training rows by name, and the one that "auto" chooses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credo.estimator import choice
from credo.inference.dense import Dense
from credo.inference.inducing import Inducing
from credo.inference.protocols import Representation
from credo.inference.vecchia import Vecchia
from credo.kernels import Kernel

Array = NDArray[np.float64]

# The name is what an estimator's `method` says.
REPRESENTATIONS: dict[str, Callable[[Array], Representation]] = {
    "exact": Dense,
    "inducing": Inducing,
    "vecchia": Vecchia,
}
# Beyond this many rows, an n×n matrix takes minutes to fit with.
_DENSE_ROWS = 5000


def choose(method: str, X: Array, kernel: Kernel, *, only_exact: str = "") -> tuple[str, str]:
    """The name of the representation, and why "auto" chose it; empty where there was nothing to choose.

    Parameters
    ----------
    only_exact : str
        What needs the exact representation, if anything does.

    >>> from credo.kernels import RBF
    >>> choose("auto", np.zeros((20_000, 3)), RBF())
    ('inducing', '20000 rows are more than 5000')
    """
    choice("method", method, ("auto", *REPRESENTATIONS))
    if method != "auto":
        if method != "exact" and only_exact:
            raise ValueError(f'{only_exact} needs method="exact"; got method="{method}"')
        return method, ""
    if len(X) <= _DENSE_ROWS or only_exact:
        return "exact", ""
    return "inducing", f"{len(X)} rows are more than {_DENSE_ROWS}"


def representation(
    method: str, X: Array, kernel: Kernel, points: Array | None = None, *, n_points: int | None = None
) -> Representation:
    """The representation of training rows by name; "auto" chooses one that suits the rows and the kernel.

    Parameters
    ----------
    points : array of shape (m, n_features), optional
        Inducing points that were chosen before.
    n_points : int, optional
        How many inducing points may be chosen.

    >>> from credo.kernels import RBF
    >>> type(representation("auto", np.zeros((3, 1)), RBF())).__name__
    'Dense'
    """
    made = REPRESENTATIONS[choose(method, X, kernel)[0]](X)
    return Inducing(X, points, n_points) if isinstance(made, Inducing) else made
