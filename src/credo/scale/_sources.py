"""Which arguments of `fit` are a table in parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from credo.estimator import is_dask
from credo.scale._dask import DaskParts
from credo.scale._parts import LocalParts, Parts


def in_parts(X: Any, y: Any) -> bool:
    """Whether the arguments of `fit` are a table in parts: a Dask collection, or chunks instead of X and y.

    Examples
    --------
    >>> from credo.scale import in_parts
    >>> in_parts([([[0.0]], [1.0]), ([[2.0]], [5.0])], None), in_parts([[0.0], [2.0]], [1.0, 5.0])
    (True, False)
    """
    if is_dask(X) or isinstance(X, Parts):
        return True
    if y is not None or isinstance(X, str | bytes | dict | set):
        return False
    if isinstance(X, list | tuple):
        first = X[0] if X else None
        return isinstance(first, tuple) and len(first) in (2, 3) and np.ndim(first[0]) > 0
    return callable(X) or (isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "__array__"))


def parts_of(X: Any, y: Any = None, sample_weight: Any = None) -> Parts:
    """The parts of a table, from the arguments of `fit` for which `in_parts` is true.

    Examples
    --------
    >>> from credo.scale import parts_of
    >>> type(parts_of([([[0.0]], [1.0]), ([[2.0]], [5.0])])).__name__
    'LocalParts'
    """
    if isinstance(X, Parts):
        return X
    if is_dask(X):
        return DaskParts.of(X, y, sample_weight)
    if sample_weight is not None:
        raise ValueError("weights of chunks are part of the chunks: pass tuples (X, y, weight), no sample_weight")
    return LocalParts(X)
