"""Fits to Dask arrays and frames, by a task for each partition and a tree of merges; and predictions for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np

from credo.core.estimator import dask_module, example_rows, interval_level, is_dask, row_partitions
from credo.core.notices import on_one_line
from credo.core.parts.parts import Chunk, LocalParts, Mapped, PartError, Parts, joined

_TASK = "credo-partition"


class DaskParts(Parts):
    """Partitions of Dask collections, computed by the current client, or else by Dask's threads.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.core.parts import RowSummary, parts_of, summary_of
    >>> parts = parts_of(da.ones((6, 2), chunks=(3, 2)), da.arange(6, chunks=3))
    >>> type(parts).__name__, parts.map_reduce(summary_of, RowSummary.merge).n_rows
    ('DaskParts', 6)
    """

    def __init__(self, partitions: Sequence[tuple[Any, Any, Any]]) -> None:
        self._partitions = partitions

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> DaskParts:
        """The partitions of X with those of y and the weights."""
        if y is None:
            raise ValueError("y is missing: pass the targets as a Dask array or series with the partitions of X")
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}")
        rows = row_partitions(X)
        target, weight = _aligned(y, X, "y"), [sample_weight] * len(rows)
        if np.ndim(sample_weight):
            weight = _aligned(sample_weight, X, "sample_weight")
        for name, values in {"y": target, "sample_weight": weight}.items():
            if len(values) != len(rows):
                raise ValueError(
                    f"X has {len(rows)} partitions, but {name} has {len(values)}: repartition one of them, so that "
                    "each partition has the values of its rows"
                )
        return cls(list(zip(rows, target, weight, strict=True)))

    def _reduced(self, function: Callable[[Chunk], Mapped | None], merge: Callable[[Any, Any], Any]) -> Mapped | None:
        dask, run = dask_module("dask"), uuid4().hex
        task, fold = dask.delayed(_computed, pure=False), dask.delayed(_folded, pure=False)
        leaves = [
            task(function, i, *parts, dask_key_name=f"{_TASK}-{i}-{run}") for i, parts in enumerate(self._partitions)
        ]
        level = leaves
        while len(level) > 1:
            level = [fold(merge, list(group)) for group in _groups(level, 8)]
        try:
            (found,) = dask.compute(level[0])
        except PartError:
            raise
        except Exception as error:
            _raise_named(dask, leaves, error)
        return found


def _computed(function: Callable[[Chunk], Any], number: int, X: Any, y: Any, weight: Any) -> Any:
    return function(Chunk(X, _column(y), _column(weight), number, "partition"))


def _folded(merge: Callable[[Any, Any], Any], values: Sequence[Mapped | None]) -> Mapped | None:
    return joined(values, merge)


def _column(values: Any) -> Any:
    """A frame or array of one column as that column."""
    return np.asarray(values)[:, 0] if values is not None and np.shape(values)[1:] == (1,) else values


def _groups(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[k : k + size] for k in range(0, len(values), size))


def _raise_named(dask: Any, leaves: Sequence[Any], error: Exception) -> NoReturn:
    """Raise an error that names the failing partition, from the error itself or by computing the partitions."""
    known = re.search(rf"{_TASK}-(\d+)-", str(error))
    if known:
        raise PartError(f"partition {known[1]}: {on_one_line(error)}") from error
    # 32 partitions at a time, until one fails.
    for first, group in zip(range(0, len(leaves), 32), _groups(leaves, 32), strict=True):
        try:
            dask.compute(*group)
        except Exception:
            for number, leaf in enumerate(group, first):
                try:
                    dask.compute(leaf)
                except PartError:
                    raise
                except Exception as cause:
                    raise PartError(f"partition {number} can't be computed: {on_one_line(cause)}") from cause
    raise error


def _aligned(values: Any, X: Any, name: str) -> list[Any]:
    """The partitions of the values, split like those of X if sizes are known before the computation."""
    sizes: tuple[float, ...] = (np.nan,) if hasattr(X, "columns") else X.chunks[0]
    known = not np.isnan(sizes).any()
    if not is_dask(values):
        if not known:
            raise TypeError(
                f"{name} is a {type(values).__name__}, but X is a Dask collection whose partitions have unknown sizes: "
                f"pass {name} as a Dask array or series with the same partitions"
            )
        values = dask_module("dask.array").from_array(np.asarray(values), chunks=(len(values),))
    if known and hasattr(values, "chunks") and not np.isnan(values.chunks[0]).any():
        if sum(values.chunks[0]) != sum(sizes):
            raise ValueError(f"X has {sum(sizes)} rows, but {name} has {sum(values.chunks[0])}")
        values = values.rechunk({0: sizes})
    return row_partitions(values)


def in_parts(X: Any, y: Any) -> bool:
    """Whether the arguments of `fit` are a table in parts: a Dask collection, or chunks instead of X and y.

    Examples
    --------
    >>> from credo.core.parts import in_parts
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


def reject_parts(model: Any, X: Any, y: Any) -> None:
    """Raise an error for a table in parts, for a model that would read the rows dozens of times.

    Examples
    --------
    >>> from credo import GPClassifier
    >>> from credo.core.parts import reject_parts
    >>> reject_parts(GPClassifier(), [[0.0], [1.0]], ["a", "b"])
    """
    if in_parts(X, y):
        raise ValueError(
            f"{type(model).__name__} does not fit from parts: it would read all rows dozens of times. Fit it to a "
            "sample of the rows in memory, or use LogisticRegression, which fits from parts in a few passes"
        )


def parts_of(X: Any, y: Any = None, sample_weight: Any = None) -> Parts:
    """The parts of a table, from the arguments of `fit` for which `in_parts` is true.

    Examples
    --------
    >>> from credo.core.parts import parts_of
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


def predict(model: Any, X: Any, *, level: float = 0.95) -> Any:
    """Means, standard deviations and intervals for the rows of a Dask array or frame.

    Computation is lazy, until for example `to_parquet`; each partition is then predicted where it is stored.

    Parameters
    ----------
    model : fitted model with `predict_dist`
    X : Dask array or frame
    level : float, default 0.95
        Probability of the interval from `lower` to `upper`.

    Returns
    -------
    Dask frame with the partitions of X
        The columns of `predict_dist(...).to_frame(level)`: mean, std, lower, upper, or the most probable label and the
        probability of each class.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo import LinearRegression
    >>> from credo.core import parts
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> found = parts.predict(model, da.from_array([[4.0], [5.0]], chunks=(1, 1)))
    >>> found.npartitions, found.compute().round(2)["mean"].tolist()
    (2, [3.9, 4.86])
    """
    dask, dd = dask_module("dask"), dask_module("dask.dataframe")
    level = interval_level(level)
    meta = _frame(model, example_rows(X), level, None).iloc[:0]
    task, shared = dask.delayed(_frame, pure=False), dask.delayed(model, pure=False, traverse=False)
    return dd.from_delayed([task(shared, part, level, meta) for part in row_partitions(X)], meta=meta)


def predict_dist(model: Any, X: Any) -> list[Any]:
    """The predictive distribution of each partition of a Dask array or frame, as delayed values.

    `dask.compute(*predict_dist(model, X))` gives the distributions; functions of them can be delayed as well, so that
    only small results come back.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> from credo import LinearRegression
    >>> from credo.core import parts
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> found = parts.predict_dist(model, da.from_array([[4.0], [5.0]], chunks=(1, 1)))
    >>> [dist.mean.round(2).tolist() for dist in dask.compute(*found)]
    [[3.9], [4.86]]
    """
    dask = dask_module("dask")
    shared = dask.delayed(model, pure=False, traverse=False)
    return [dask.delayed(_dist, pure=False)(shared, part) for part in row_partitions(X)]


def _dist(model: Any, rows: Any) -> Any:
    return model.predict_dist(rows)


def _frame(model: Any, rows: Any, level: float, empty: Any) -> Any:
    """The predictions of a partition, with its index."""
    if empty is not None and not len(rows):
        return empty
    found = model.predict_dist(rows).to_frame(level, backend="pandas")
    return found.set_axis(rows.index, axis=0) if hasattr(rows, "index") else found
