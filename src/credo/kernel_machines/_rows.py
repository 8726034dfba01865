"""Kernels and distances between new and training rows, block by block, and the default kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from credo.kernels import Kernel

Array = NDArray[np.float64]

# Entries of a block of rows times the training rows (16 MB); a few blocks are in memory at a time.
BLOCK_ENTRIES = 2_000_000
# Gram matrix, eigenvectors and LAPACK's workspace of this order need 13 GB.
MAX_ROWS = 20_000
# Covariances below this have finite squares, with room for sums over rows.
_MAX_ENTRY = 1e150


def blocks(n_rows: int, n_training: int) -> Iterator[slice]:
    """Slices of the rows, so that a block of rows times the training rows stays small."""
    step = max(1, BLOCK_ENTRIES // max(n_training, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def cross(kernel: Kernel, rows: Array, training: Array) -> Array:
    """k between new and training rows, zero if their distance overflows.

    The training rows come last: a kernel centers by the mean of its last argument, which one far new row mustn't move.
    """
    with np.errstate(over="ignore"):
        return kernel.cross(rows, training)


def finite_gram(kernel: Kernel, X: Array) -> Array:
    """K of the training rows; raises an error unless the squares of its entries are finite."""
    if len(X) > MAX_ROWS:
        raise ValueError(
            f"X has {len(X)} rows, whose Gram matrix and eigenvectors would fill {32e-9 * len(X) ** 2:.0f} GB: use at "
            f"most {MAX_ROWS} rows, or credo.linear.Ridge on credo.features.Radial or Fourier"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel.gram(X)
    if not max(K.max(), -K.min()) < _MAX_ENTRY:
        i, j = (int(k) for k in np.argwhere(~(np.abs(K) < _MAX_ENTRY))[0])
        raise ValueError(
            f"{kernel!r} gives {K[i, j]:.3g} for rows {i} and {j}, whose square overflows: rescale the columns of X, "
            "for example with StandardScaler"
        )
    return K


def sample(X: NDArray[Any], n: int = 1_000) -> NDArray[Any]:
    """At most n of the rows, spread evenly over the table."""
    return X if len(X) <= n else X[np.linspace(0, len(X) - 1, n).astype(np.intp)]


def distances(X: Array, Z: Array) -> Array:
    """Euclidean distances to the training rows Z, without squares that overflow or vanish."""
    center = Z.mean(axis=0)
    unit = float(np.abs(Z - center).max(initial=0.0)) or 1.0
    with np.errstate(over="ignore"):
        return cdist(np.clip((X - center) / unit, -1e150, 1e150), (Z - center) / unit) * unit


def median_distance(X: Array) -> float:
    """The median distance between distinct rows (of a thousand, if there are more); 1 if there is only one."""
    rows = sample(np.unique(X, axis=0))
    between = distances(rows, rows)[np.triu_indices(len(rows), k=1)]
    between = between[between > 0]
    median = float(np.median(between)) if len(between) else 1.0
    if not 1e-290 < median < 1e290:
        raise ValueError(
            f"the median distance between rows is {median:.3g}, which can't be the length scale of a kernel: "
            "change the units of the columns of X, for example by StandardScaler"
        )
    return median
