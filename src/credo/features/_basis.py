"""What all bases of numeric columns share: validation of X, and feature names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from credo.estimator import FittedState, check_places, check_shapes, named_by, numeric

# A wider dense design is surely a mistake: at 100 000 columns, a thousand rows already fill 0.8 GB.
MAX_COLUMNS = 100_000


class Basis(FittedState, TransformerMixin, BaseEstimator):
    """A transformer of numeric columns into basis functions.

    A subclass writes `_learn` (what `fit` stores), `_design` (the matrix Φ) and `_names` (one name for each
    column of Φ, given the names of the columns of X).
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    # The shapes of what `fit` stores, d the number of columns of X (see `check_shapes`).
    _SHAPES: ClassVar[dict[str, str]] = {}

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
        return np.asarray(distinct(self._names([str(name) for name in names])), dtype=object)

    def _check_state(self) -> None:
        """Raise a ValueError where state that came from a file can't be that of a fit."""
        if not 0 < self.n_features_in_ <= MAX_COLUMNS:
            raise ValueError(f"n_features_in_ is {self.n_features_in_}")
        check_shapes(self, {"d": self.n_features_in_}, **self._SHAPES)
        if "columns_" in self._SHAPES:
            check_places(self, "columns_", self.n_features_in_)
        bounded(self._width(), what=type(self).__name__, remedy="the file was changed")

    def _width(self) -> int:
        """The number of columns of Φ, as far as parameters decide it."""
        return 1

    def _learn(self, X: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _names(self, columns: list[str]) -> list[str]:
        raise NotImplementedError

    def _column_name(self, index: int) -> str:
        """How an error message calls column `index` of X."""
        names = getattr(self, "feature_names_in_", None)
        return f"x{index}" if names is None else str(names[index])


def bounded(n_columns: int, *, what: str, remedy: str) -> int:
    """The number of columns; an error if a dense design can't be that wide."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"{what} makes {n_columns:,} columns, more than the limit of {MAX_COLUMNS:,}; {remedy}")
    return n_columns


def distinct(names: Sequence[str]) -> list[str]:
    """The names, repeated ones marked with their position, because polars doesn't allow equal names."""
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name}#{i}" for i, name in enumerate(names)]


def exact(value: float) -> str:
    """The shortest decimal that reads back as exactly this number."""
    return repr(float(value)).removesuffix(".0")


def shifted(name: str, origin: float) -> str:
    """The expression name − origin as text.

    >>> shifted("year", 1950.0), shifted("x", -0.5), shifted("x", 0.0)
    ('(year-1950)', '(x+0.5)', 'x')
    """
    if origin == 0:
        return name
    return f"({name}-{exact(origin)})" if origin > 0 else f"({name}+{exact(-origin)})"
