"""The data of the figures: arrays, and attributes of fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import column_names, describe, has_column_names, rows_for

Vector = NDArray[np.float64]


def vector(name: str, values: ArrayLike, *, length: int | None = None) -> Vector:
    """One-dimensional float64 values."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} must have one value for each of the {length} rows; got {len(array)}")
    return array


def single_column(name: str, values: Any, *, length: int | None = None) -> Vector:
    """A vector; also accepts an array of shape (n, 1) or a frame of one column."""
    array = np.asarray(values, dtype=np.float64)
    return vector(name, array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array, length=length)


def name_of(values: Any) -> str | None:
    """The name of a series or of the only column of a frame; None if there is none."""
    columns = getattr(values, "column_names", getattr(values, "columns", None))
    if columns is not None:
        return str(next(iter(columns))) if len(columns) == 1 else None
    name = getattr(values, "name", None)
    return None if name is None or callable(name) or name == "" else str(name)


def sample_rows(finite: NDArray[np.bool_], *, at_most: int) -> NDArray[np.intp]:
    """The indices of finite rows; if there are more than `at_most`, of a sample with a fixed seed."""
    indices = np.flatnonzero(finite)
    if not len(indices):
        raise ValueError("there is nothing to draw: no row has finite values")
    if len(indices) > at_most:
        indices = np.sort(np.random.default_rng(0).choice(indices, size=at_most, replace=False))
    return indices


def limits(*arrays: Vector) -> tuple[float, float]:
    """The range of all values with a margin; a range around a constant."""
    low = min(float(array.min()) for array in arrays)
    high = max(float(array.max()) for array in arrays)
    margin = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    return low - margin, high + margin


def grid_rows(across: Vector, up: Vector) -> NDArray[np.float64]:
    """The points of a grid as rows (x, y), row by row from the bottom."""
    return np.column_stack([part.ravel() for part in np.meshgrid(across, up)])


def feature_names(model: Any) -> list[str]:
    """The names of a fitted model's columns, or x0, x1, …; a single one is x."""
    check_is_fitted(model)
    names = column_names(model)
    return names if len(names) > 1 or has_column_names(model) else ["x"]


def rows_of(model: Any, X: ArrayLike, *, name: str = "X") -> NDArray[np.float64]:
    """The rows of an argument as numbers, which must be the model's columns."""
    n_columns = len(feature_names(model))
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the rows must be numbers: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != n_columns or not len(rows):
        raise ValueError(
            f"{name} must have a row for each point and the model's {n_columns} columns; got shape {rows.shape}"
        )
    return rows


def only_feature(model: Any, draws: str, advice: str = "") -> str:
    """The name of a model's only column; with more, an error that starts with `draws` and ends with the advice."""
    names = feature_names(model)
    if len(names) != 1:
        raise ValueError(f"{draws} column; this {type(model).__name__} has {len(names)}{advice}")
    return names[0]


def observations(model: Any) -> tuple[NDArray[np.float64], Vector] | None:
    """The training rows and targets that a model keeps; None if it doesn't."""
    kept = describe(model).data
    if kept is None:
        return None
    rows, target = kept
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    if target.ndim != 1:
        raise ValueError(
            f"the model has {target.shape[1]} outputs, but this figure shows one: fit to one column of y at a time"
        )
    return rows, target


def predictive(model: Any, X: NDArray[np.float64], *, latent: bool = False) -> Any:
    """The predictive distributions at the rows of an array; without noise if `latent`."""
    rows = rows_for(model, X)
    return model.predict_dist(rows, latent=True) if latent else model.predict_dist(rows)


def pair_of(argument: str, pair: Sequence[int | str], known: Sequence[str], *, what: str) -> list[int]:
    """The indices of two different members, given by name or index in `argument`."""
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"{argument} must be two {what}s, by name or index; got {pair!r}")
    places = [index_of(each, known, what) for each in pair]
    if places[0] == places[1]:
        raise ValueError(f"{argument} must be two different {what}s; got {pair!r}")
    return places


def index_of(each: int | str, known: Sequence[str], what: str) -> int:
    """The index of a member that is given by its name or index."""
    if isinstance(each, str) and each in known:
        return list(known).index(each)
    if not isinstance(each, str) and 0 <= int(each) < len(known):
        return int(each)
    few = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
    raise ValueError(f"the model has no {what} {each!r}; it has {len(known)}: {few}")
