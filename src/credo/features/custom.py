"""Features computed by a user's function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import FitWarning
from credo.features._basis import Basis
from credo.notices import warn


class Custom(Basis):
    """The columns that a function computes from X.

        Φ = function(X)

    Parameters
    ----------
    function : callable
        Takes a float64 array of shape (n_samples, n_features), a copy that it may change, and returns numbers of
        shape (n_samples,) or (n_samples, n_columns). Row i of the result must depend only on row i of X;
        `fit` checks this for the first row and warns otherwise.
    names : sequence of str, optional
        One name for each column of the result; by default the function's name with a number.

    Attributes
    ----------
    n_columns_ : int
        How many columns the function returned for the training rows.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from credo.features import Custom
    >>> area = Custom(lambda X: X[:, 0] * X[:, 1], names=["area"])
    >>> area.fit_transform(np.array([[2.0, 3.0], [4.0, 5.0]])).ravel()
    array([ 6., 20.])
    >>> area.get_feature_names_out().tolist()
    ['area']
    """

    n_columns_: int

    def __init__(self, function: Callable[..., Any], *, names: Sequence[str] | None = None) -> None:
        self.function = function
        self.names = names

    def _learn(self, X: NDArray[np.float64]) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, as in Custom(numpy.sin); got {self.function!r}")
        Phi = self._call(X)
        self._check_names(Phi.shape[1])
        self.n_columns_ = Phi.shape[1]
        if len(X) > 1 and not self._keeps_rows_apart(X, Phi):
            warn(
                f"{self._title()} gives different values for the first row alone and together with other rows, so "
                "predictions would depend on which rows are predicted together; compute statistics of the training "
                "rows beforehand",
                FitWarning,
                stacklevel=3,
            )

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        Phi = self._call(X)
        if Phi.shape[1] != self.n_columns_:
            raise ValueError(
                f"{self._title()} returned {Phi.shape[1]} columns for these rows and {self.n_columns_} in fit; it "
                "must always return the same columns"
            )
        return Phi

    def _names(self, columns: list[str]) -> list[str]:
        if self.names is not None:
            return [str(name) for name in self.names]
        title = getattr(self.function, "__name__", "custom")
        title = title if title.isidentifier() else "custom"
        return [title] if self.n_columns_ == 1 else [f"{title}{i}" for i in range(self.n_columns_)]

    def _call(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The function's columns, checked for shape and finite values."""
        try:
            made = self.function(X.copy())
        except Exception as error:
            raise ValueError(
                f"{self._title()} failed on an array of shape {X.shape}: {type(error).__name__}: {error}"
            ) from error
        try:
            Phi = np.array(made, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._title()} must return an array of numbers; got {type(made).__name__}") from error
        if Phi.ndim not in (1, 2) or len(Phi) != len(X) or Phi.size == 0:
            raise ValueError(
                f"{self._title()} must return one row for each row of X, of shape ({len(X)},) or "
                f"({len(X)}, n_columns); got shape {Phi.shape}"
            )
        Phi = Phi.reshape(len(X), -1)
        bad = np.argwhere(~np.isfinite(Phi))
        if len(bad):
            row, column = bad[0]
            raise ValueError(f"{self._title()} returned {Phi[row, column]} at row {row}, column {column}")
        return Phi

    def _keeps_rows_apart(self, X: NDArray[np.float64], Phi: NDArray[np.float64]) -> bool:
        try:
            alone = self._call(X[:1])
        except ValueError:
            return False
        return alone.shape == Phi[:1].shape and np.allclose(alone, Phi[:1], rtol=1e-9, atol=0.0)

    def _check_names(self, n_columns: int) -> None:
        if self.names is None:
            return
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names):
            raise ValueError(f"names must be a list of strings, as in ['area']; got {self.names!r}")
        if len(self.names) != n_columns:
            raise ValueError(f"names has {len(self.names)} entries, but {self._title()} returns {n_columns} columns")

    def _title(self) -> str:
        return f"function {getattr(self.function, '__name__', repr(self.function))}"
