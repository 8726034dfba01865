"""The representations of training rows by name, and the one that "auto" chooses."""

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
# Beyond this many rows, an n×n matrix takes minutes to fit with.
_DENSE_ROWS = 5000


def chosen_method(method: str, n_rows: int, *, only_exact: str = "") -> tuple[str, str]:
    """The representation that a `method` stands for, and why "auto" chose another one than the exact one.

    Parameters
    ----------
    only_exact : str
        What needs the exact representation, if anything does.

    >>> chosen_method("auto", 20_000)
    ('inducing', '20000 rows are more than 5000')
    """
    choice("method", method, ("auto", *REPRESENTATIONS))
    if method != "auto":
        if method != "exact" and only_exact:
            raise ValueError(f'{only_exact} needs method="exact"; got method="{method}"')
        return method, ""
    if n_rows <= _DENSE_ROWS or only_exact:
        return "exact", ""
    return "inducing", f"{n_rows} rows are more than {_DENSE_ROWS}"


def representation(
    method: str, X: Array, points: Array | None = None, *, n_points: int | None = None
) -> Representation:
    """The representation of training rows by name; "auto" chooses one by their number.

    Parameters
    ----------
    points : array of shape (m, n_features), optional
        Inducing points that were chosen before.
    n_points : int, optional
        How many inducing points may be chosen.

    >>> representation("auto", np.zeros((3, 1))).X.shape
    (3, 1)
    """
    made = REPRESENTATIONS[chosen_method(method, len(X))[0]](X)
    return Inducing(X, points, n_points) if isinstance(made, Inducing) else made
