"""Partitions of Dask arrays and frames: a task for each and a tree of merges, which Dask schedules and repeats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np

from credo.estimator import dask_module, is_dask, row_partitions
from credo.notices import on_one_line
from credo.scale._parts import Chunk, Mapped, PartError, Parts, joined

# Values that are merged in one task, and partitions that are computed at a time to find one that fails.
_FAN_IN, _GROUP = 8, 32
_TASK = "credo-partition"


class DaskParts(Parts):
    """Partitions of Dask collections, computed where the current client says, or else by Dask's own threads.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.scale import RowSummary, parts_of, summary_of
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
            level = [fold(merge, list(group)) for group in _groups(level, _FAN_IN)]
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
    """Raise an error that names the partition which fails: the one that the error names, or else by computing them."""
    known = re.search(rf"{_TASK}-(\d+)-", str(error))
    if known:
        raise PartError(f"partition {known[1]}: {on_one_line(error)}") from error
    for first, group in zip(range(0, len(leaves), _GROUP), _groups(leaves, _GROUP), strict=True):
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
    """The partitions of the values, as those of X as far as sizes are known before the computation."""
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
