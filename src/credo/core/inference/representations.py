"""The representations of training rows by name, and the one that "auto" chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import choice
from credo.core.inference.dense import Dense
from credo.core.inference.inducing import Inducing
from credo.core.inference.protocols import Representation
from credo.core.inference.state_space import MAX_STATE_SIZE, StateSpace
from credo.core.inference.vecchia import Vecchia
from credo.core.linalg import NotPositiveDefiniteError
from credo.kernels import Kernel

Array = NDArray[np.float64]

# By the names of an estimator's `method`.
REPRESENTATIONS: dict[str, Callable[[Array], Representation]] = {
    "exact": Dense,
    "state_space": StateSpace,
    "inducing": Inducing,
    "vecchia": Vecchia,
}
# Seconds on one core for an evaluation of the evidence with its gradient, measured: of a dense matrix once, for each
# entry and kernel in a sum or product, and for each step of its factorization and inverse; of a state space once, for
# each row, and for each entry of the state's covariance in each row. Only their ratios matter.
_DENSE_SECONDS = (1e-4, 1.5e-8, 1e-11)
_STATE_SECONDS = (2e-4, 1e-7, 2e-8)
# With more rows, fitting with an n×n matrix takes minutes.
_MAX_DENSE_ROWS = 5000
# With more columns, "auto" chooses inducing points instead of neighbors.
_MAX_NEIGHBOR_COLUMNS = 3


def choose(
    method: str, X: Array, kernel: Kernel, *, allowed: Sequence[str] = tuple(REPRESENTATIONS), purpose: str = ""
) -> tuple[str, str]:
    """The name of the representation, and why "auto" chose it; empty if it is the usual one.

    Parameters
    ----------
    allowed : names of representations
        The ones to choose from.
    purpose : str
        What needs one of them, for the error message.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import choose
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
    if "state_space" in allowed and _relative_cost(X, kernel) < 1.0:
        return "state_space", "it is exact in linear time for one column and this kernel"
    if n > _MAX_DENSE_ROWS and 1 < n_columns <= _MAX_NEIGHBOR_COLUMNS and "vecchia" in allowed:
        return "vecchia", f"{n} rows are more than {_MAX_DENSE_ROWS}, and columns are few"
    if n > _MAX_DENSE_ROWS and "inducing" in allowed:
        return "inducing", f"{n} rows are more than {_MAX_DENSE_ROWS}"
    return "exact", ""


def cost_remark(method: str, X: Array, kernel: Kernel) -> str:
    """A note if a method takes many times as long as another exact method; otherwise empty.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import cost_remark
    >>> from credo.kernels import Matern32, Periodic
    >>> cost_remark("state_space", np.zeros((125, 1)), Matern32() * Periodic() + Matern32())
    'for 125 rows and this kernel, method="state_space" takes about 14 times as long as method="exact"'
    """
    other = {"exact": "state_space", "state_space": "exact"}.get(method)
    if other is None:
        return ""
    cost = _relative_cost(X, kernel)
    ratio = cost if method == "state_space" else 1.0 / cost
    # A factor below ten isn't worth a remark.
    if not 10.0 <= ratio < np.inf:
        return ""
    return (
        f'for {len(X)} rows and this kernel, method="{method}" takes about {ratio:.2g} times as long as '
        f'method="{other}"'
    )


def _relative_cost(X: Array, kernel: Kernel) -> float:
    """How many times as long as a dense matrix a state space takes, on average over the starts of a search.

    Infinite if there is no state-space form.
    """
    n, n_columns = X.shape
    if n_columns != 1:
        return np.inf
    squares = []
    # The starts of a search are scattered by about one e-folding.
    for step in (-1.0, 0.0, 1.0):
        tree = kernel.tree
        try:
            own = kernel.with_tree(tree.unflatten(tree.flatten() + step)) if step and tree.names else kernel
            squares.append(own.state_space().size ** 2)
        except NotPositiveDefiniteError:
            # Too many harmonics.
            squares.append(MAX_STATE_SIZE**2)
        except (NotImplementedError, ValueError):
            return np.inf
    states = np.dot(_STATE_SECONDS, (1.0, n, n * float(np.mean(squares))))
    return float(states / np.dot(_DENSE_SECONDS, (1.0, n**2 * _n_parts(kernel), float(n) ** 3)))


def _n_parts(kernel: Kernel) -> int:
    """The number of kernels that a kernel is made of."""
    parts = getattr(kernel, "terms", None) or [part for part in [getattr(kernel, "kernel", None)] if part is not None]
    return sum(map(_n_parts, parts)) if parts else 1


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
    >>> from credo.core.inference import representation
    >>> from credo.kernels import RBF
    >>> type(representation("auto", np.zeros((3, 1)), RBF())).__name__
    'Dense'
    """
    made = REPRESENTATIONS[choose(method, X, kernel)[0]](X)
    return Inducing(X, points, n_points) if isinstance(made, Inducing) else made
