"""What the figures ask of a fitted model."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credo.plots._arrays import Vector


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


@contextmanager
def unnamed() -> Iterator[None]:
    """Ask a model about plain arrays, whose columns are known to be in its own order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def predictive(model: Any, X: NDArray[np.float64], *, latent: bool = False) -> Any:
    """The model's predictive distributions at the rows of an array; `latent` leaves the noise out."""
    with unnamed():
        return model.predict_dist(X, latent=True) if latent else model.predict_dist(X)
