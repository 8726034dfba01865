"""The representations of training rows by name, and the one that "auto" chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from credo.estimator import choice
from credo.inference.committee import Committee
from credo.inference.dense import Dense
from credo.inference.inducing import Inducing
from credo.inference.protocols import Representation
from credo.inference.state_space import StateSpace
from credo.inference.vecchia import Vecchia
from credo.kernels import Kernel

Array = NDArray[np.float64]

# The name is what an estimator's `method` says.
REPRESENTATIONS: dict[str, Callable[[Array], Representation]] = {
    "exact": Dense,
    "state_space": StateSpace,
    "inducing": Inducing,
    "vecchia": Vecchia,
    "committee": Committee,
}
# From so many rows of one column on, "auto" prefers the state space, which is exact as well.
_MANY = 1000
# Beyond this many rows, an n×n matrix takes minutes to fit with.
_DENSE_ROWS = 5000
# Columns for which "auto" conditions on neighbours rather than on inducing points.
_FEW_COLUMNS = 3


def choose(
    method: str, X: Array, kernel: Kernel, *, allowed: Sequence[str] = tuple(REPRESENTATIONS), purpose: str = ""
) -> tuple[str, str]:
    """The name of the representation, and why "auto" chose it; empty where it is the usual one.

    Parameters
    ----------
    allowed : names of representations
        Those that can do what is asked for.
    purpose : str
        What that is, for the error message.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import choose
    >>> from credo.kernels import RBF, Matern32
    >>> choose("auto", np.zeros((20_000, 5)), RBF())
    ('inducing', '20000 rows are more than 5000')
    >>> choose("auto", np.zeros((20_000, 1)), Matern32())
    ('state_space', 'it is exact in linear time for one column and this kernel')
    """
    choice("method", method, ("auto", *REPRESENTATIONS))
    if method != "auto":
        if method not in allowed:
            names = " or ".join(f'"{name}"' for name in allowed)
            raise ValueError(f'{purpose} needs method={names}; got method="{method}"')
        return method, ""
    n, n_columns = X.shape
    if "state_space" in allowed and n >= _MANY and n_columns == 1 and _is_markov(kernel, n):
        return "state_space", "it is exact in linear time for one column and this kernel"
    if n > _DENSE_ROWS and 1 < n_columns <= _FEW_COLUMNS and "vecchia" in allowed:
        return "vecchia", f"{n} rows are more than {_DENSE_ROWS}, and columns are few"
    if n > _DENSE_ROWS and "inducing" in allowed:
        return "inducing", f"{n} rows are more than {_DENSE_ROWS}"
    return "exact", ""


def _is_markov(kernel: Kernel, n: int) -> bool:
    """Whether the kernel has a state-space form, whose state is small compared to the number of rows."""
    try:
        return _MANY * kernel.state_space().size <= 20 * n
    except (NotImplementedError, ValueError):
        return False


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

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import representation
    >>> from credo.kernels import RBF
    >>> type(representation("auto", np.zeros((3, 1)), RBF())).__name__
    'Dense'
    """
    made = REPRESENTATIONS[choose(method, X, kernel)[0]](X)
    return Inducing(X, points, n_points) if isinstance(made, Inducing) else made
