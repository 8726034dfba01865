"""Centred, weighted rows and their triangular factor, gathered block by block.

    √w [X − x̄, y − ȳ] = Q R

The QR of stacked triangles is the QR of the stacked rows (Demmel, Grigori, Hoemmen & Langou 2012), so the rows
are read once and Q is never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from scipy.linalg import lapack

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Rows of a block and its factor stay in cache together.
BLOCK_ENTRIES = 400_000


# Training rows are kept up to this many numbers (64 MB), for what is asked about them later.
KEPT_ENTRIES = 8_000_000


@dataclass(frozen=True)
class Kept:
    """The training rows that carry weight, and where they stood among all that were given."""

    rows: Any
    weight: Array | None
    place: NDArray[np.intp]
    n_given: int

    @classmethod
    def of(cls, rows: Any, weight: Array | None, sample_weight: Any) -> Kept | None:
        """A copy of the rows, or None where they are too many to keep."""
        if rows.shape[0] * rows.shape[1] > KEPT_ENTRIES:
            return None
        given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        if given.ndim == 0:
            return cls(rows.copy(), weight, np.arange(rows.shape[0]), rows.shape[0])
        return cls(rows.copy(), weight, np.flatnonzero(given > 0), len(given))


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse array or matrix."""
    return bool(sp.issparse(X))


def means(X: Array, weight: Array | None) -> Array:
    """Weighted means of the columns, to the rounding error of the data.

    One pass errs by up to n·eps of an offset, which is enough to make a constant column vary and to spoil
    squares about the mean; a second pass averages what the first has left.
    """
    mean = np.average(X, axis=0, weights=weight)
    step = max(64, BLOCK_ENTRIES // X.shape[1])
    left = np.zeros_like(mean)
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        rest = X[part] - mean
        left += rest.sum(axis=0) if weight is None else weight[part] @ rest
    return mean + left / (len(X) if weight is None else weight.sum())


def centred(
    X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float
) -> tuple[Array, Array]:  # fmt: skip
    """√w (X − x̄) and √w (y − ȳ), as new arrays."""
    rows, target = X - x_mean, y - y_mean
    if weight is None:
        return rows, target
    root = np.sqrt(weight)
    rows *= root[:, None]
    target *= root
    return rows, target


def triangle(X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float) -> Array:
    """R of the centred, weighted [X, y], of order n_features + 1."""
    n_samples, width = X.shape[0], X.shape[1] + 1
    step = max(4 * width, BLOCK_ENTRIES // width)
    R = np.zeros((width, width))
    for start in range(0, n_samples, step):
        part = slice(start, start + step)
        rows, target = centred(X[part], y[part], None if weight is None else weight[part], x_mean=x_mean, y_mean=y_mean)
        stacked = np.empty((width + len(rows), width), order="F")
        stacked[:width], stacked[width:, :-1], stacked[width:, -1] = R, rows, target
        factor, _, _, _ = lapack.dgeqrf(stacked, lwork=64 * width, overwrite_a=1)
        R = np.triu(factor[:width])
    return R


def flat_columns(norms: Array, x_mean: Array, total: float) -> NDArray[np.bool_]:
    """Columns whose spread about their mean is no more than the rounding error of that mean."""
    return norms <= 8 * EPS * np.sqrt(total) * np.abs(x_mean)


def column_norms(A: Array) -> Array:
    """Euclidean norms that neither overflow nor underflow."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.square(A / unit).sum(axis=0))


def same_intercept(before: bool, now: bool) -> None:
    """Refuse a stream whose earlier rows were learned with another `fit_intercept`."""
    if bool(before) != bool(now):
        raise ValueError(
            f"fit_intercept was {before} for the rows seen so far and is {now} now, and those rows are kept in a form "
            "that can't be changed: set it back, or clone the model and begin again"
        )
