"""Principal axes of weighted rows, and the rows that a model stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import has_weight
from credo.core.linalg import column_norms, constant_columns, graded_svd
from credo.core.parts import BLOCK_ENTRIES as BLOCK_ENTRIES
from credo.core.parts import centred, compensated_mean, r_factor

Array = NDArray[np.float64]

# Training rows are stored up to this many numbers (64 MB), for methods that need them later.
MAX_STORED_ENTRIES = 8_000_000


@dataclass(frozen=True)
class StoredRows:
    """The training rows of positive weight, and their positions among all rows given."""

    rows: Any
    weight: Array | None
    positions: NDArray[np.intp]
    n_given: int

    @classmethod
    def of(cls, rows: Any, weight: Array | None, sample_weight: Any) -> StoredRows | None:
        """A copy of the rows, or None if there are too many."""
        if rows.shape[0] * rows.shape[1] > MAX_STORED_ENTRIES:
            return None
        used = has_weight(sample_weight, rows.shape[0])
        return cls(rows.copy(), weight, np.flatnonzero(used), len(used))


def means(X: Array, weight: Array | None) -> Array:
    """Weighted means of the columns, to the rounding error of the data."""
    return compensated_mean(X, weight)[0]


def collinear(rank: int, n_features: int, advice: str) -> str:
    """The message for columns of lower rank."""
    return (
        f"the {n_features} columns are collinear (rank {rank}), so the coefficients are not unique and those of "
        f"smallest norm are given: {advice}"
    )


def same_intercept(before: bool, now: bool) -> None:
    """Raise an error if `fit_intercept` has changed between two calls of `partial_fit`."""
    if bool(before) != bool(now):
        raise ValueError(
            f"fit_intercept was {before} for the rows seen so far and is {now} now: set it back, or clone the model "
            "and start again"
        )


def graded_axes(X: Array, weight: Array | None, *, center: Array, size: Array) -> tuple[Array, Array, Array]:
    """R, s and V with √w(X − c) = Q R and R = U diag(s) Vᵀ.

    R is triangular, or consists of the rows themselves if they are few. Columns that are constant up to the rounding
    error of numbers of this `size` are zero in it.
    """
    n_samples, n_features = X.shape
    nothing = np.zeros(n_samples)
    if n_samples > n_features:
        R = r_factor(X, nothing, weight, x_mean=center, y_mean=0.0)[:-1, :-1]
    else:
        R, _ = centred(X, nothing, weight, x_mean=center, y_mean=0.0)
    total = n_samples if weight is None else float(weight.sum())
    R[:, constant_columns(column_norms(R), size, total)] = 0.0
    _, s, V = graded_svd(R, order=n_samples)
    return R, s, V
