"""What the figures ask of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.frames import frame
from credo.plots._arrays import Vector
from credo.plots._classes import labels, places


def columns(model: Any) -> list[str]:
    """The names of a fitted model's columns, or x0, x1, … where it saw none; the only one is x."""
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    n = int(model.n_features_in_)
    return ["x"] if n == 1 else [f"x{i}" for i in range(n)]


def observations(model: Any) -> tuple[NDArray[np.float64], Vector] | None:
    """The rows and targets that a model keeps; None where it keeps none."""
    if not (hasattr(model, "X_train_") and hasattr(model, "y_train_")):
        return None
    rows, target = np.asarray(model.X_train_), np.asarray(model.y_train_)
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    if target.ndim != 1:
        raise ValueError(
            f"the model has {target.shape[1]} outputs, and this figure shows one: fit to one column of y at a time"
        )
    return rows, target


def rows_for(model: Any, X: NDArray[np.float64]) -> Any:
    """Rows whose columns are in the model's order, with the names that it was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else frame(dict(zip(names.tolist(), X.T, strict=True)))


def predictive(model: Any, X: NDArray[np.float64], *, latent: bool = False) -> Any:
    """The model's predictive distributions at the rows of an array; `latent` leaves the noise out."""
    rows = rows_for(model, X)
    return model.predict_dist(rows, latent=True) if latent else model.predict_dist(rows)


def labelled(
    model: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Rows and their labels' places in `classes_`, as given or as a classifier keeps them; no y, no places."""
    names, kind = columns(model), type(model).__name__
    if X is None:
        if y is not None:
            raise ValueError("labels need their rows: give X with y")
        if not (hasattr(model, "X_train_") and hasattr(model, "codes_")):
            raise ValueError(f"a {kind} keeps no training rows: give the rows to draw, and their labels")
        return np.asarray(model.X_train_), np.asarray(model.codes_)
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the rows must be numbers: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows):
        raise ValueError(f"X must have a row for each point and the model's {len(names)} columns; got {rows.shape}")
    whole = np.isfinite(rows).all(axis=1)
    if not whole.any():
        raise ValueError("there is nothing to draw: no row of X is finite")
    if y is None:
        return rows[whole], None
    found = labels("y", y)
    if len(found) != len(rows):
        raise ValueError(f"y must have one label for each of the {len(rows)} rows; got {len(found)}")
    return rows[whole], places("y", found, model.classes_.tolist())[whole]
