"""Names of columns for what has no place for them: arrays and sparse matrices.

A pipeline hands the very object that one step made to the next one. So the names are kept beside the object, for as
long as it lives, and whoever is given that object can ask for them; copies and slices are other objects, and have none.
The arrays stay what they were, of their own class, and a mark costs nothing until the names are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

Rows = TypeVar("Rows")
Names = Sequence[str] | NDArray[Any]

# By the object's id; an entry goes when the object does, before another one can have its id.
_NAMED: dict[int, tuple[ref[Any], Callable[[], Names]]] = {}


def named(X: Rows, names: Sequence[str]) -> Rows:
    """X itself, an array or sparse matrix whose columns Credo's estimators call by these names from now on.

    What `credo.features` makes has names in this way without being asked; data frames have their own.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    names : sequence of str
        One a column, all different.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.estimator import named
    >>> from credo.sparse import Lasso
    >>> X = named(np.array([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]]), ["dose", "age"])
    >>> Lasso(alpha=0.25).fit(X, [0.0, 1.0, 2.0, 3.0]).selected_
    ['dose']
    """
    if not (isinstance(X, np.ndarray) or issparse(X)) or X.ndim != 2:  # type: ignore[union-attr]
        raise TypeError(
            f"named takes an array or a sparse matrix of two dimensions; got {type(X).__name__}: a data frame has "
            "names of its own, and a list has to become an array first"
        )
    called = names_for(names, X.shape[1])  # type: ignore[union-attr]
    return _marked(X, lambda: called)


def named_by(X: Rows, transformer: Any) -> Rows:
    """X itself, which a transformer made: its `get_feature_names_out` is asked when an estimator wants to know."""
    # Of a copy: a further fit makes other columns.
    return _marked(X, copy(transformer).get_feature_names_out)


def _marked(X: Rows, names: Callable[[], Names]) -> Rows:
    key = id(X)
    _NAMED[key] = (ref(X, lambda _: _NAMED.pop(key, None)), names)
    return X


def names_of(X: Any) -> NDArray[Any] | None:
    """The names that this very object was given, where it still has as many columns."""
    entry = _NAMED.get(id(X))
    owner = None if entry is None else entry[0]()
    if entry is None or owner is None or owner is not X:
        return None
    called = entry[1]()
    return np.array(called, dtype=object) if len(called) == owner.shape[1] else None


def names_for(names: Sequence[str], n_features: int) -> list[str]:
    """Names for the columns of X, as many as there are and no two the same."""
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence of {n_features} names, one a column; got the one text {names!r}")
    called = [str(name) for name in names]
    if len(called) != n_features:
        raise ValueError(f"names has {len(called)} entries, but X has {n_features} columns: give one name a column")
    twice = [name for name, count in Counter(called).items() if count > 1]
    if twice:
        raise ValueError(f"names must be different, but {twice[0]!r} comes {called.count(twice[0])} times")
    return called
