"""ln k(x, x′) of kernels that are never negative, accurate where k itself underflows.

    RBF −r²/2,  Exponential −r,  Matérn ln(1 + √3r) − √3r, …;  a product adds logs, a sum adds what they stand for

Distances are Euclidean in the kernel's own coordinates: columns in units of the length scale, and for a periodic kernel
points on circles, whose chords 2 sin(πd/p) make it an RBF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce, singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from credo.kernel_machines._rows import cross
from credo.kernels import (
    RBF,
    Categorical,
    Columns,
    Constant,
    Exp,
    Exponential,
    Kernel,
    Matern32,
    Matern52,
    Periodic,
    Product,
    RationalQuadratic,
    Sum,
    White,
)
from credo.kernels.stationary import Stationary

Array = NDArray[np.float64]

# ln r − r of an infinite r would be no number.
_FARTHEST = 1e300


def _matern32(kernel: Kernel, square: Array) -> Array:
    r = np.sqrt(3.0 * np.minimum(square, _FARTHEST))
    return np.log1p(r) - r


def _matern52(kernel: Kernel, square: Array) -> Array:
    r = np.sqrt(5.0 * np.minimum(square, _FARTHEST))
    return np.log1p(r + r * (r / 3.0)) - r


def _rational_quadratic(kernel: Kernel, square: Array) -> Array:
    shape = float(kernel.params["shape"])
    return -shape * np.log1p(square / (2.0 * shape))


# ln k as a function of r², without the variance, of the kernels that depend on a distance alone.
_PROFILES: dict[type[Kernel], Callable[[Kernel, Array], Array]] = {
    RBF: lambda _, square: -0.5 * square,
    Exponential: lambda _, square: -np.sqrt(square),
    Matern32: _matern32,
    Matern52: _matern52,
    RationalQuadratic: _rational_quadratic,
    Periodic: lambda _, square: -0.5 * square,
}


def log_weights(kernel: Kernel, X: Array, Z: Array) -> Array:
    """ln k(xᵢ, zⱼ), one row for each row of X; −∞ where the kernel is zero."""
    # Squares of distances may overflow and logs of zero be taken: both are weights of zero.
    with np.errstate(over="ignore", divide="ignore"):
        return _logs(kernel, X, Z)


def leaves(kernel: Kernel, X: Array) -> Iterator[tuple[Kernel, Array]]:
    """Every kernel of a composition that has a length scale, with its coordinates of the rows."""
    if isinstance(kernel, Columns):
        yield from leaves(kernel.kernel, _picked(kernel, X))
    elif isinstance(kernel, Exp):
        yield from leaves(kernel.kernel, X)
    elif isinstance(kernel, Sum | Product):
        for term in kernel.terms:
            yield from leaves(term, X)
    elif "lengthscale" in kernel.tree:
        yield kernel, _coordinates(kernel, X)


@singledispatch
def _logs(kernel: Kernel, X: Array, Z: Array) -> Array:
    if type(kernel) in _PROFILES:
        logs = _PROFILES[type(kernel)](kernel, cdist(*_both(kernel, X, Z), "sqeuclidean"))
        logs += np.log(float(kernel.params["variance"]))
        return logs
    return _logs_of_values(kernel, X, Z)


@_logs.register
def _(kernel: Product, X: Array, Z: Array) -> Array:
    if not all(map(_never_negative, kernel.terms)):
        return _logs_of_values(kernel, X, Z)
    return reduce(np.add, (_logs(term, X, Z) for term in kernel.terms))


@_logs.register
def _(kernel: Sum, X: Array, Z: Array) -> Array:
    if not all(map(_never_negative, kernel.terms)):
        return _logs_of_values(kernel, X, Z)
    return reduce(np.logaddexp, (_logs(term, X, Z) for term in kernel.terms))


@_logs.register
def _(kernel: Columns, X: Array, Z: Array) -> Array:
    return _logs(kernel.kernel, _picked(kernel, X), _picked(kernel, Z))


@_logs.register
def _(kernel: Exp, X: Array, Z: Array) -> Array:
    return cross(kernel.kernel, X, Z)


def _logs_of_values(kernel: Kernel, X: Array, Z: Array) -> Array:
    values = cross(kernel, X, Z)
    least = float(values.min(initial=0.0))
    if least < 0 or not np.isfinite(values).all():
        raise ValueError(
            f"the kernel's values are weights, and {kernel!r} gives "
            f"{f'{least:.3g}' if least < 0 else 'infinite values'} between some of them: use a kernel that is never "
            "negative, such as credo.kernels.RBF()"
        )
    return np.log(values)


def _never_negative(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return all(map(_never_negative, kernel.terms))
    if isinstance(kernel, Columns):
        return _never_negative(kernel.kernel)
    return type(kernel) in _PROFILES or isinstance(kernel, Constant | White | Categorical | Exp)


def _picked(kernel: Columns, X: Array) -> Array:
    index = kernel.columns if isinstance(kernel.columns, slice) else np.atleast_1d(kernel.columns)
    return X[:, index]


def _both(kernel: Kernel, X: Array, Z: Array) -> tuple[Array, Array]:
    # About the middle of the training rows, so that offsets cost no digits.
    center = Z.mean(axis=0)
    return _coordinates(kernel, X - center), _coordinates(kernel, Z - center)


def _coordinates(kernel: Kernel, X: Array) -> Array:
    lengthscale = kernel.params["lengthscale"]
    if not isinstance(kernel, Periodic):
        return X / kernel.column_lengthscales(X.shape[1]) if isinstance(kernel, Stationary) else X / lengthscale
    angle = 2.0 * np.pi * X / kernel.params["period"]
    return np.concatenate([np.cos(angle) / lengthscale, np.sin(angle) / lengthscale], axis=1)
