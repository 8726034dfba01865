"""Tables in parts, chunks of an iterable or partitions of Dask collections, with one `map_reduce`; and row samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.notices import on_one_line


class PartError(ValueError):
    """A part of a table that can't be used; the message names the chunk or partition.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.parts import PartError
    >>> try:
    ...     LinearRegression().fit([([[0.0], [1.0]], [1.0, 3.0]), ([[2.0, 7.0]], [5.0])])
    ... except PartError as error:
    ...     print("chunk 1" in str(error))
    True
    """


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table with their targets and weights, as they were given; `name` is for error messages.

    Examples
    --------
    >>> from credo.core.parts import Chunk, summary_of
    >>> chunk = Chunk([[0.0], [1.0]], [1.0, 3.0], number=4)
    >>> chunk.columns(), chunk.is_empty, summary_of(chunk).mean
    ((1, None), False, array([0.5, 2. ]))
    """

    X: Any
    y: Any
    weight: Any = None
    number: int = 0
    name: str = "chunk"

    @property
    def is_empty(self) -> bool:
        """Whether no row has a weight."""
        return np.shape(self.X)[:1] == (0,) or (self.weight is not None and not np.any(np.asarray(self.weight)))

    def columns(self) -> tuple[int, tuple[str, ...] | None]:
        """The number of columns, and the names of those of a frame."""
        shape = np.shape(self.X)
        if len(shape) != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; its shape is {shape}")
        if not nw.dependencies.is_into_dataframe(self.X):
            return int(shape[1]), None
        return int(shape[1]), tuple(map(str, nw.from_native(self.X, eager_only=True).columns))


@dataclass(frozen=True)
class Mapped:
    """The value of a function for one chunk or several, their rows, and the columns of the first of them."""

    value: Any
    name: str
    n_rows: int
    n_features: int
    names: tuple[str, ...] | None

    def merged(self, other: Mapped, merge: Callable[[Any, Any], Any]) -> Mapped:
        """The value for the chunks of both, which must have the same columns."""
        if self.n_features != other.n_features:
            raise PartError(
                f"{other.name} has {other.n_features} columns, but {self.name} has {self.n_features}: all parts of a "
                "table must have the same columns"
            )
        if None not in (self.names, other.names) and self.names != other.names:
            raise PartError(
                f"{other.name} has the columns {', '.join(other.names or ())}, but {self.name} has "
                f"{', '.join(self.names or ())}: all parts of a table must have the same columns in the same order"
            )
        names = other.names if self.names is None else self.names
        n_rows = self.n_rows + other.n_rows
        return replace(self, value=merge(self.value, other.value), n_rows=n_rows, names=names)


def mapped(function: Callable[[Chunk], Any], chunk: Chunk) -> Mapped | None:
    """The function's value for a chunk, None if no row has a weight; its errors name the chunk."""
    name = f"{chunk.name} {chunk.number}"
    try:
        if chunk.is_empty:
            return None
        return Mapped(function(chunk), name, np.shape(chunk.X)[0], *chunk.columns())
    except PartError:
        raise
    except Exception as error:
        raise PartError(f"{name}: {on_one_line(error)}") from error


def joined(values: Iterable[Mapped | None], merge: Callable[[Any, Any], Any]) -> Mapped | None:
    """The values merged one after the other; None if there are none."""
    found: Mapped | None = None
    for value in values:
        found = value if found is None else found if value is None else found.merged(value, merge)
    return found


class Parts:
    """A table in parts. Statistics that can be merged are computed by `map_reduce`, wherever the parts are.

    A subclass defines `_reduced`.

    Examples
    --------
    >>> from operator import add
    >>> from credo.core.parts import parts_of
    >>> parts = parts_of([([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0])])
    >>> parts.map_reduce(lambda chunk: sum(chunk.y), add)
    9.0
    """

    # How many rows the first pass gave.
    _n_rows: int | None = None

    def map_reduce(self, function: Callable[[Chunk], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """The values of the function for all chunks, merged: merge(a, b) must be associative.

        One pass over the table. Chunks without rows of positive weight are left out. All chunks must have the same
        columns, and every pass as many rows as the first.
        """
        found = self._reduced(partial(mapped, function), merge)
        n_rows = 0 if found is None else found.n_rows
        if self._n_rows not in (None, n_rows):
            raise ValueError(
                f"the table had {self._n_rows:,} rows when it was read for the first time, and has {n_rows:,} now: "
                "this model reads the rows several times, and must get the same ones each time"
            )
        self._n_rows = n_rows
        if found is None:
            raise ValueError("the table has no rows, or all sample weights are zero: at least one row is needed")
        return found.value

    def _reduced(self, function: Callable[[Chunk], Mapped | None], merge: Callable[[Any, Any], Any]) -> Mapped | None:
        raise NotImplementedError


class LocalParts(Parts):
    """Chunks of an iterable, one at a time in memory; `source` gives a new iterator for each pass.

    Examples
    --------
    >>> from credo.core.parts import RowSummary, parts_of, summary_of
    >>> parts = parts_of([([[0.0], [1.0]], [1.0, 3.0]), ([[2.0]], [5.0])])
    >>> type(parts).__name__, parts.map_reduce(summary_of, RowSummary.merge).mean
    ('LocalParts', array([1., 3.]))
    """

    def __init__(self, source: Any) -> None:
        self._source, self._used = source, False

    def _reduced(self, function: Callable[[Chunk], Mapped | None], merge: Callable[[Any, Any], Any]) -> Mapped | None:
        return joined(map(function, self._chunks()), merge)

    def _chunks(self) -> Iterator[Chunk]:
        once = isinstance(self._source, Iterator)
        if once and self._used:
            raise ValueError(
                "this model reads the rows several times, but the chunks come from an iterator, which can be read "
                "once: pass a list, an object that can be iterated again, or a function that returns an iterator"
            )
        self._used = True
        given = self._source() if callable(self._source) else self._source
        if not isinstance(given, Iterable):
            raise TypeError(
                f"the function passed to fit returned an object of type {type(given).__name__}; it must return an "
                "iterable of chunks, tuples (X, y) or (X, y, weight)"
            )
        for number, parts in enumerate(given):
            check()
            if not isinstance(parts, tuple) or len(parts) not in (2, 3):
                size = f" of length {len(parts)}" if isinstance(parts, tuple | list) else ""
                raise PartError(
                    f"chunk {number} is a {type(parts).__name__}{size}; a chunk must be a tuple (X, y) or "
                    "(X, y, weight)"
                )
            yield Chunk(parts[0], parts[1], parts[2] if len(parts) == 3 else None, number)


Array = NDArray[np.float64]

# The rows of a sample; a wide table has fewer, but at least the second number.
_MAX_SAMPLE_ROWS, _MIN_SAMPLE_ROWS = 20_000, 1000


@dataclass(frozen=True)
class RowSample:
    """The rows with the smallest of random keys, one for each row: a sample without replacement that can be merged.

    `extra` are values of each row, such as its target or weight; `n_rows` counts the rows that the sample is of, and
    `names` are those of its columns, if they were given.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import RowSample
    >>> first = RowSample.of(np.zeros((3, 2)), np.arange(3.0), number=0)
    >>> second = RowSample.of(np.ones((2, 2)), np.arange(2.0), number=1)
    >>> both = first.merge(second)  # of few rows, all are kept
    >>> both.rows.shape, both.extra[0].tolist()
    ((5, 2), [0.0, 1.0, 2.0, 0.0, 1.0])
    >>> both.n_rows, both.is_complete
    (5, True)
    """

    rows: Array
    extra: tuple[NDArray[Any], ...]
    keys: Array
    n_rows: int
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, rows: Array, *extra: NDArray[Any], number: int = 0, names: Sequence[str] = (), n_rows: int | None = None
    ) -> RowSample:
        """A sample of the rows of a chunk; the keys depend on its number alone.

        x0, x1, … are the names of columns without names.
        """
        given = tuple(names) if list(names) != [f"x{i}" for i in range(len(names))] else None
        keys = np.random.default_rng([0, number]).random(len(rows))
        return cls(rows, extra, keys, len(rows) if n_rows is None else n_rows, given)._smallest()

    @property
    def is_complete(self) -> bool:
        """Whether it has all rows."""
        return len(self.keys) == self.n_rows

    def merge(self, other: RowSample) -> RowSample:
        """A sample of the rows of both."""
        extra = tuple(np.concatenate(pair) for pair in zip(self.extra, other.extra, strict=True))
        rows, keys = np.concatenate([self.rows, other.rows]), np.concatenate([self.keys, other.keys])
        names = self.names if other.names is None else other.names
        return RowSample(rows, extra, keys, self.n_rows + other.n_rows, names)._smallest()

    def _smallest(self) -> RowSample:
        most = max(_MIN_SAMPLE_ROWS, min(_MAX_SAMPLE_ROWS, 4_000_000 // self.rows.shape[1]))
        if len(self.keys) <= most:
            return self
        chosen = np.argpartition(self.keys, most)[:most]
        extra = tuple(values[chosen] for values in self.extra)
        return replace(self, rows=self.rows[chosen], extra=extra, keys=self.keys[chosen])
