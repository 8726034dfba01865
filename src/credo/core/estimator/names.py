"""Feature names for arrays and sparse matrices, which can't store them.

A pipeline passes the object that one step returns to the next step, so names are looked up by the identity of the
object and dropped with it. Copies and slices are other objects and have no names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator.rows import is_sparse
from credo.core.frames import frame

Rows = TypeVar("Rows")
Names = Sequence[str] | NDArray[Any]

# By the object's id; an entry is removed with its object, before another object can get that id.
_NAMED: dict[int, tuple[ref[Any], Callable[[], Names]]] = {}


def named(X: Rows, names: Sequence[str]) -> Rows:
    """X itself, an array or sparse matrix, after storing names of its columns for Credo's estimators.

    The output of `credo.features` has such names already; data frames have their own.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    names : sequence of str
        One for each column, all different.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import named
    >>> from credo.sparse import Lasso
    >>> X = named(np.array([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]]), ["dose", "age"])
    >>> Lasso(alpha=0.25).fit(X, [0.0, 1.0, 2.0, 3.0]).selected_
    ['dose']
    """
    if not (isinstance(X, np.ndarray) or is_sparse(X)) or X.ndim != 2:  # type: ignore[attr-defined]
        raise TypeError(
            f"named takes a two-dimensional array or sparse matrix; got {type(X).__name__}: a data frame has names of "
            "its own, and a list must be converted to an array first"
        )
    called = names_for(names, X.shape[1])  # type: ignore[attr-defined]
    return _marked(X, lambda: called)


def named_by(X: Rows, transformer: Any) -> Rows:
    """X itself, the output of a transformer, whose `get_feature_names_out` is called when the names are needed.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import named_by
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> powers = PolynomialFeatures(2, include_bias=False)
    >>> X = named_by(powers.fit_transform([[0.0], [1.0], [2.0], [4.0]]), powers)
    >>> "x0^2" in str(LinearRegression().fit(X, [0.1, 1.0, 4.2, 15.9]).summary())
    True
    """
    # A copy, because the transformer may be fitted again.
    return _marked(X, copy(transformer).get_feature_names_out)


def _marked(X: Rows, names: Callable[[], Names]) -> Rows:
    key = id(X)
    _NAMED[key] = (ref(X, lambda _: _NAMED.pop(key, None)), names)
    return X


def names_of(X: Any) -> NDArray[Any] | None:
    """The names stored for this very object, unless its number of columns has changed."""
    entry = _NAMED.get(id(X))
    owner = None if entry is None else entry[0]()
    if entry is None or owner is None or owner is not X:
        return None
    called = entry[1]()
    return np.array(called, dtype=object) if len(called) == owner.shape[1] else None


def names_for(names: Sequence[str], n_features: int) -> list[str]:
    """The names as a list; raises an error unless there is one for each column and all are different.

    Examples
    --------
    >>> from credo.core.estimator import names_for
    >>> names_for(("dose", "age"), 2)
    ['dose', 'age']
    >>> names_for(("dose", "dose"), 2)
    Traceback (most recent call last):
    ...
    ValueError: names must be different, but 'dose' occurs 2 times
    """
    if isinstance(names, str):
        raise ValueError(
            f"names must be a sequence of {n_features} names, one for each column; got the string {names!r}"
        )
    called = [str(name) for name in names]
    if len(called) != n_features:
        raise ValueError(f"names has {len(called)} entries, but X has {n_features} columns: pass one name for each")
    twice = [name for name, count in Counter(called).items() if count > 1]
    if twice:
        raise ValueError(f"names must be different, but {twice[0]!r} occurs {called.count(twice[0])} times")
    return called


def has_column_names(model: Any) -> bool:
    """Whether any model was fitted to rows with column names.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import has_column_names
    >>> has_column_names(LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]))
    False
    """
    return getattr(model, "feature_names_in_", None) is not None


def column_names(model: Any) -> list[str]:
    """The names of the columns that any model was fitted to; x0, x1, … if they had none.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import column_names
    >>> column_names(LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]))
    ['x0']
    """
    if has_column_names(model):
        return [str(name) for name in model.feature_names_in_]
    return [f"x{i}" for i in range(int(model.n_features_in_))]


def rows_for(model: Any, X: NDArray[np.float64]) -> Any:
    """Rows of numbers with the column names to which any model was fitted, if there were names.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import rows_for
    >>> model = LinearRegression().fit(pd.DataFrame({"dose": [0.0, 1.0, 2.0]}), [0.0, 1.0, 2.5])
    >>> list(rows_for(model, np.array([[3.0]])).columns)
    ['dose']
    """
    return frame(dict(zip(column_names(model), X.T, strict=True))) if has_column_names(model) else X
