"""Predictions for Dask arrays and frames, one partition at a time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.core.estimator import is_dask
    >>> is_dask(da.ones(3)), is_dask([1.0, 1.0, 1.0])
    (True, False)
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def dask_module(name: str) -> Any:
    """A module of Dask, which is optional.

    Examples
    --------
    >>> from credo.core.estimator import dask_module
    >>> dask_module("dask.array").ones(3).sum().compute().item()
    3.0
    """
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is missing: pip install 'credo[dask]'") from None


def row_partitions(X: Any) -> list[Any]:
    """A delayed value for each partition of a Dask array or frame, with all of its columns.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.core.estimator import row_partitions
    >>> [part.compute().shape for part in row_partitions(da.ones((5, 2), chunks=(3, 1)))]
    [(3, 2), (2, 2)]
    """
    if not hasattr(X, "columns") and X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    found = X.to_delayed()
    return list(found.ravel()) if isinstance(found, np.ndarray) else list(found)


def example_rows(X: Any) -> Any:
    """A few rows with the columns and types of a Dask array or frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.core.estimator import example_rows
    >>> example_rows(da.ones((1000, 3), chunks=(100, 3))).shape[1]
    3
    """
    return X._meta_nonempty if hasattr(X, "columns") else np.zeros((1, X.shape[1]), dtype=X.dtype)


def over_partitions(method: Callable[..., Any], X: Any, **options: Any) -> Any:
    """What the method returns for each partition, as a Dask array; or several, if it returns several."""
    dask, da = dask_module("dask"), dask_module("dask.array")
    example = method(example_rows(X), **options)
    several = isinstance(example, tuple)
    empty = tuple(values[:0] for values in (example if several else (example,)))
    task = dask.delayed(_computed, pure=False, nout=len(empty))
    model = dask.delayed(method, pure=False, traverse=False)
    found = [task(model, part, empty, options) for part in row_partitions(X)]
    sizes = [np.nan] * len(found) if hasattr(X, "columns") else X.chunks[0]
    arrays = tuple(
        da.concatenate(
            [
                da.from_delayed(part[k], shape=(size, *none.shape[1:]), dtype=none.dtype)
                for part, size in zip(found, sizes, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for k, none in enumerate(empty)
    )
    return arrays if several else arrays[0]


def _computed(method: Callable[..., Any], rows: Any, empty: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if not len(rows):
        return empty
    found = method(rows, **options)
    return found if isinstance(found, tuple) else (found,)
