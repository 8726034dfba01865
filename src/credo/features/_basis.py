"""What the bases share: validation of X, feature names, and points on the axis of each column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from credo.core.estimator import FittedState, named_by, numeric, positive_integer
from credo.core.fields import Axes, Size, Sometimes

# A wider dense design is probably a mistake: with 100 000 columns, a thousand rows need 0.8 GB.
MAX_COLUMNS = 100_000


class Basis(FittedState, TransformerMixin, BaseEstimator):
    """A transformer of numeric columns into basis functions.

    A subclass writes `_learn` (what `fit` stores), `_design` (the matrix Φ) and `_names` (one name for each
    column of Φ, given the names of the columns of X).
    """

    n_features_in_: Annotated[int, Size("d", MAX_COLUMNS)]
    feature_names_in_: Annotated[NDArray[Any], Axes("d"), Sometimes]

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn what the basis needs from the rows of X; y is ignored."""
        self._learn(validate_data(self, numeric(X), dtype=np.float64))
        return self

    def transform(self, X: ArrayLike) -> Any:
        """The design matrix Φ, of shape (n_samples, n_features_out)."""
        check_is_fitted(self)
        Phi = self._design(validate_data(self, numeric(X), reset=False, dtype=np.float64))
        return named_by(Phi, self)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each column of Φ."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.asarray(unique_names(self._names([str(name) for name in names])), dtype=object)

    def _check_state(self) -> None:
        """Raise a ValueError if state from a file can't be that of a fit."""
        checked_width(self._width(), what=type(self).__name__, remedy="the file was changed")

    def _width(self) -> int:
        """The number of columns of Φ, if it is determined by the parameters."""
        return 1

    def _learn(self, X: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _names(self, columns: list[str]) -> list[str]:
        raise NotImplementedError

    def _column_name(self, index: int) -> str:
        """The name of column `index` of X in error messages."""
        names = getattr(self, "feature_names_in_", None)
        return f"x{index}" if names is None else str(names[index])


def checked_width(n_columns: int, *, what: str, remedy: str) -> int:
    """The number of columns; an error if a dense design can't be that wide."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"{what} makes {n_columns:,} columns, more than the limit of {MAX_COLUMNS:,}; {remedy}")
    return n_columns


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, repeated ones marked with their position, because polars doesn't allow equal names."""
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name}#{i}" for i, name in enumerate(names)]


def shortest_decimal(value: float) -> str:
    """The shortest decimal that reads back as exactly this number."""
    return repr(float(value)).removesuffix(".0")


def shifted(name: str, origin: float) -> str:
    """The expression name − origin as text."""
    if origin == 0:
        return name
    return f"({name}-{shortest_decimal(origin)})" if origin > 0 else f"({name}+{shortest_decimal(-origin)})"


def is_count(value: Any) -> bool:
    """Whether the argument asks for a number of points rather than giving them."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def given_points(name: str, value: Any, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The points that the user gave, as one array sorted by column, and the column of each.

    A list applies to every column; an array of shape (n_points, n_features) has a list for each.
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
    """The distinct quantiles k/(count+1) of each column, as one array sorted by column, and the column of each."""
    levels = np.arange(1, positive_integer(name, count) + 1) / (count + 1)
    axes = [np.unique(np.quantile(column, levels)) for column in X.T]
    return np.concatenate(axes), np.repeat(np.arange(X.shape[1]), [len(axis) for axis in axes])
