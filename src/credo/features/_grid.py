"""Points on each column's own axis: given by the user, or spread over the training rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import positive_integer


def is_count(value: Any) -> bool:
    """Whether the argument asks for a number of points rather than giving them."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def given_points(name: str, value: Any, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Points the user gave, flat, with the column that each belongs to; sorted within a column.

    A list applies to every column; an array of shape (n_points, n_features) has one list for each column.
    """
    n_features = X.shape[1]
    try:
        points = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty((0, 0, 0))
    if points.ndim not in (1, 2) or points.size == 0:
        raise ValueError(
            f"{name} must be a number of points (int), a list of numbers such as [2.5], or an array of shape "
            f"(n_points, n_features); got {value!r}"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite; got {value!r}")
    if points.ndim == 1:
        points = np.repeat(np.unique(points)[:, None], n_features, axis=1)
    if points.shape[1] != n_features:
        raise ValueError(f"{name} of shape {points.shape} is for {points.shape[1]} columns, but X has {n_features}")
    return np.sort(points, axis=0).T.ravel(), np.repeat(np.arange(n_features), len(points))


def quantile_points(name: str, count: Any, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The quantiles k/(count+1) of each column, ties once, flat, with the column that each belongs to."""
    levels = np.arange(1, positive_integer(name, count) + 1) / (count + 1)
    axes = [np.unique(np.quantile(column, levels)) for column in X.T]
    return np.concatenate(axes), np.repeat(np.arange(X.shape[1]), [len(axis) for axis in axes])
