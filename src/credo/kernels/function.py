"""Kernels from user functions, and a check that they are kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from credo.core.estimator import numeric
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.params import Parameter, ParameterTree
from credo.kernels._kernel import Kernel
from credo.kernels.checks import combine

Array = NDArray[np.float64]

# Eigenvalues this far below zero, relative to the largest, are rounding error.
_TOLERANCE = 1e-8


class Function(Kernel):
    """variance · f(x, x′) for a function of two rows; made by `from_function`.

    Examples
    --------
    >>> from credo.kernels import from_function
    >>> kernel = from_function(lambda x, z: min(x[0], z[0]), variance=2.0)
    >>> type(kernel).__name__, kernel.gram([[1.0], [3.0]]).tolist()
    ('Function', [[2.0, 2.0], [2.0, 6.0]])
    """

    _fields = ("function", "tree")

    def __init__(self, function: Callable[[Array, Array], float], *, variance: float = 1.0) -> None:
        if not callable(function):
            raise TypeError(f"from_function takes a function of two rows; got {function!r}")
        self.function = function
        self.tree = ParameterTree({"variance": Parameter(variance)})

    def _cross(self, X: Array, Z: Array) -> Array:
        return float(self.params["variance"]) * self._values(X, Z)

    def _values(self, X: Array, Z: Array) -> Array:
        values = np.array([[self.function(x, z) for z in Z] for x in X], dtype=np.float64)
        if values.shape != (len(X), len(Z)):
            raise ValueError(
                f"the function must return a number for two rows; it returned an array of shape {values.shape[2:]}"
            )
        if not np.isfinite(values).all():
            i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
            raise ValueError(f"the function returned {values[i, j]} for rows {i} and {j}")
        return values

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        values = self._cross(X, X)
        check = _verdict(values)
        if not check:
            raise NotPositiveDefiniteError(f"{check.message}")
        combine(K, values, mode)

    def _diagonal(self, X: Array) -> Array:
        return float(self.params["variance"]) * np.array([float(self.function(x, x)) for x in X])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return np.array([np.sum(W * self._values(X, Z))])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.array([sum(each * float(self.function(x, x)) for each, x in zip(w, X, strict=True))])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        raise ValueError("a kernel made by from_function has no derivative with respect to its inputs")

    def _key(self) -> Any:
        return self.function, self.tree

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "function")
        return f"{float(self.params['variance']):.6g} * from_function({name})"


def require_kernel(kernel: Any) -> Kernel:
    """The argument if it is a kernel; otherwise an error that says what to pass."""
    if isinstance(kernel, Kernel):
        return kernel
    if type(kernel).__module__.startswith("sklearn."):
        name = type(kernel).__name__
        raise TypeError(
            f"kernel is scikit-learn's {name}: use a kernel of credo.kernels, such as RBF, Matern52 or Periodic (sums "
            "and products work the same way; the noise is an argument of the model instead of a WhiteKernel)"
        )
    if callable(kernel):
        raise TypeError(f"kernel is a function: wrap it with credo.kernels.from_function; got {kernel!r}")
    raise TypeError(f"kernel must be a kernel such as credo.kernels.RBF(), or None; got {kernel!r}")


def from_function(function: Callable[[Array, Array], float], *, variance: float = 1.0) -> Function:
    """A kernel from a function f(x, x′) of two rows, times a variance that can be fitted.

    The function must be symmetric and positive semidefinite; `check_kernel` tests that on given rows, and a Gram matrix
    that is not raises an error.

    Examples
    --------
    >>> from credo.kernels import from_function
    >>> from_function(lambda x, z: min(x[0], z[0])).gram([[1.0], [2.0]])  # Brownian motion
    array([[1., 1.],
           [1., 2.]])
    """
    return Function(function, variance=variance)


@dataclass(frozen=True)
class KernelCheck:
    """The result of `check_kernel`: works as a bool, and has the reason.

    `worst_eigenvalue` is the smallest of the Gram matrix, and `where` the rows with the largest entries of its
    eigenvector.

    Examples
    --------
    >>> from credo.kernels import check_kernel
    >>> found = check_kernel(lambda x, z: -abs(float(x[0] - z[0])), [[0.0], [1.0]])
    >>> bool(found), found.where, round(found.worst_eigenvalue, 6)
    (False, (0, 1), -1.0)
    """

    symmetric: bool
    positive: bool
    worst_eigenvalue: float
    where: tuple[int, ...]
    message: str

    def __bool__(self) -> bool:
        return self.symmetric and self.positive


def check_kernel(kernel: Kernel | Callable[[Array, Array], float], X: ArrayLike) -> KernelCheck:
    """Whether a kernel, or a function of two rows, is symmetric and positive semidefinite on these rows.

    Examples
    --------
    >>> from credo.kernels import check_kernel
    >>> check_kernel(lambda x, z: -abs(float(x[0] - z[0])), [[0.0], [1.0]]).message
    'not positive semidefinite: the Gram matrix has the eigenvalue -1, mostly in rows 0 and 1'
    """
    rows = check_array(numeric(X), dtype=np.float64)
    kernel = kernel if isinstance(kernel, Kernel) else from_function(kernel)
    K = kernel.cross(rows, rows) if isinstance(kernel, Function) else kernel.gram(rows)
    return _verdict(K)


def _verdict(K: Array) -> KernelCheck:
    gap = np.abs(K - K.T)
    scale = max(float(np.abs(K).max()), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    worst = float(values[0])
    where = tuple(int(i) for i in np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:2])
    if gap.max() > _TOLERANCE * scale:
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gap)), gap.shape))
        message = f"not symmetric: k(x, z) and k(z, x) differ by {gap[i, j]:.3g} for rows {i} and {j}"
        return KernelCheck(False, worst >= -_TOLERANCE * scale, worst, where, message)
    if worst < -_TOLERANCE * max(float(values[-1]), scale):
        rows = " and ".join(map(str, sorted(where)))
        message = f"not positive semidefinite: the Gram matrix has the eigenvalue {worst:.3g}, mostly in rows {rows}"
        return KernelCheck(True, False, worst, where, message)
    return KernelCheck(True, True, worst, where, "symmetric and positive semidefinite on these rows")
