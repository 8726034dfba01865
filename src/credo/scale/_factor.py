"""Centred, weighted rows and their triangular factor, √w [X − x̄, y − ȳ] = Q R, computed block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

# Numbers in a block, which stays in cache with its factor.
BLOCK_ENTRIES = 400_000


def means_and_rest(X: Array, weight: Array | None) -> tuple[Array, Array]:
    """Weighted means of the columns, and what rounding has taken from them.

    The error of a single pass, up to n·eps of an offset, would make a constant column vary; a second pass averages the
    differences from the first mean.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.scale import means_and_rest
    >>> mean, rest = means_and_rest(np.array([[1.0, 4.0], [3.0, 6.0]]), np.array([1.0, 3.0]))
    >>> mean, rest
    (array([2.5, 5.5]), array([0., 0.]))
    """
    first = np.average(X, axis=0, weights=weight)
    step = max(64, BLOCK_ENTRIES // X.shape[1])
    left = np.zeros_like(first)
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        rest = X[part] - first
        left += rest.sum(axis=0) if weight is None else weight[part] @ rest
    left /= len(X) if weight is None else weight.sum()
    return two_sum(first, left)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its rounding error, for b smaller than a or of its size (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def centred(
    X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float
) -> tuple[Array, Array]:  # fmt: skip
    """√w (X − x̄) and √w (y − ȳ), as new arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.scale import centred
    >>> rows, target = centred(np.array([[1.0], [3.0]]), np.array([5.0, 7.0]), None, x_mean=np.array([2.0]), y_mean=6.0)
    >>> rows.tolist(), target
    ([[-1.0], [1.0]], array([-1.,  1.]))
    """
    rows, target = X - x_mean, y - y_mean
    if weight is None:
        return rows, target
    root = np.sqrt(weight)
    rows *= root[:, None]
    target *= root
    return rows, target


def triangle(X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float) -> Array:
    """R of the centred, weighted [X, y], of order n_features + 1; Q is never formed.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.scale import triangle
    >>> R = triangle(np.array([[1.0], [3.0]]), np.array([5.0, 9.0]), None, x_mean=np.array([2.0]), y_mean=7.0)
    >>> (R.T @ R).round(6).tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    n_samples, width = X.shape[0], X.shape[1] + 1
    step = max(4 * width, BLOCK_ENTRIES // width)
    R = np.zeros((width, width))
    for start in range(0, n_samples, step):
        part = slice(start, start + step)
        rows, target = centred(X[part], y[part], None if weight is None else weight[part], x_mean=x_mean, y_mean=y_mean)
        stacked = np.empty((width + len(rows), width), order="F")
        stacked[:width], stacked[width:, :-1], stacked[width:, -1] = R, rows, target
        R = qr_factor(stacked)
    return R


def qr_factor(A: Array) -> Array:
    """R of A = QR; the contents of A, in Fortran order, are lost."""
    width = A.shape[1]
    factor, _, _, _ = lapack.dgeqrf(A, lwork=64 * width, overwrite_a=1)
    return np.triu(factor[:width])
