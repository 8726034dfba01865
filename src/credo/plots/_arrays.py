"""What the figures are drawn from: finite rows, few enough to see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def vector(name: str, values: ArrayLike, *, length: int | None = None) -> Vector:
    """One-dimensional float64 values, of a given length where the figure needs one."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} must have one value for each of the {length} rows; got {len(array)}")
    return array


def along(name: str, values: Any, *, length: int | None = None) -> Vector:
    """Values along one axis: a vector, an array of shape (n, 1) or a frame of one column."""
    array = np.asarray(values, dtype=np.float64)
    return vector(name, array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array, length=length)


def name_of(values: Any) -> str | None:
    """What a series or the only column of a frame is called; None for what has no name."""
    columns = getattr(values, "column_names", getattr(values, "columns", None))
    if columns is not None:
        return str(next(iter(columns))) if len(columns) == 1 else None
    name = getattr(values, "name", None)
    return None if name is None or callable(name) or name == "" else str(name)


def predicted(
    y: Vector, prediction: Any, interval: tuple[ArrayLike, ArrayLike] | None, level: float
) -> tuple[Vector, Vector | None, Vector | None]:
    """Mean and interval of a prediction that is a distribution, or an array of means with its interval."""
    if hasattr(prediction, "interval"):
        interval = interval or prediction.interval(level)
        prediction = prediction.mean
    mean = vector("prediction", prediction, length=len(y))
    if interval is None:
        return mean, None, None
    lower = vector("the interval's lower end", interval[0], length=len(y))
    upper = vector("the interval's upper end", interval[1], length=len(y))
    return mean, lower, upper


def some(finite: NDArray[np.bool_], *, at_most: int) -> NDArray[np.intp]:
    """The indices to draw: finite rows, or as many of them at random; the same ones every time."""
    indices = np.flatnonzero(finite)
    if not len(indices):
        raise ValueError("there is nothing to draw: no row has finite values")
    if len(indices) > at_most:
        indices = np.sort(np.random.default_rng(0).choice(indices, size=at_most, replace=False))
    return indices


def limits(*arrays: Vector) -> tuple[float, float]:
    """The range of all values with a margin; a constant gets a range around itself."""
    low = min(float(array.min()) for array in arrays)
    high = max(float(array.max()) for array in arrays)
    margin = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    return low - margin, high + margin
