"""Parquet files, through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from credo.io.errors import TableError, quoted
from credo.io.extras import arrow, pandas, parquet
from credo.io.tables.columns import unique_names
from credo.io.tables.source import CELL, PARQUET, too_large
from credo.scale import READING, record_batches

# Rows of text that are decoded at a time while their size is counted.
_ROWS = 65_536
# What Python's dates, times and decimal numbers take in memory.
_OBJECT = 64


def read_parquet(handle: IO[bytes], *, name: str, max_bytes: int) -> tuple[Any, list[str]]:
    """The frame of a Parquet file, and notes; its size in memory is computed before all of it is read."""
    pandas()
    pq = parquet()
    try:
        with pq.ParquetFile(handle) as opened:
            _check_declared(opened, name=name, max_bytes=max_bytes)
            _check_texts(handle, opened.schema_arrow, name=name, max_bytes=max_bytes)
            flat, nested = _flat_columns(opened.schema_arrow)
            table = opened.read(columns=flat if nested else None)
        # Text that isn't UTF-8 would be an error much later.
        table.validate(full=True)
        table, binary = _without_binary(table)
        frame = table.to_pandas()
    except (TableError, MemoryError):
        raise
    # A damaged file makes pyarrow and pandas raise errors of many types.
    except Exception as error:
        raise TableError(f"{name!r} is a damaged Parquet file ({str(error)[:200]})") from None
    notes = [f"Left out columns of lists or structures: {quoted(nested)}."] if nested else []
    notes += [f"Left out columns of binary data: {quoted(binary)}."] if binary else []
    if len(frame) == 0 or frame.shape[1] == 0:
        raise TableError(" ".join([f"{name!r} is empty: it has {len(frame)} rows and no columns to read.", *notes]))
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named:
        frame = frame.reset_index(named)
    names, renamed = unique_names([str(name) for name in frame.columns])
    frame.columns = names
    return frame.reset_index(drop=True), [*notes, *renamed]


@dataclass(frozen=True)
class LargeTable:
    """A Parquet file that is read in parts: its rows, and its size in memory in bytes."""

    path: Path
    n_rows: int
    n_columns: int
    n_groups: int
    size: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> LargeTable | None:
        """The table of a file, or None if that isn't a Parquet file, or a damaged one."""
        if os.fspath(path) == "-" or not Path(path).is_file():
            return None
        with Path(path).open("rb") as handle:
            if handle.read(len(PARQUET)) != PARQUET:
                return None
        try:
            with parquet().ParquetFile(path) as opened:
                meta = opened.metadata
                return cls(
                    Path(path), meta.num_rows, max(meta.num_columns, 1), meta.num_row_groups, _declared_size(opened)
                )
        # `read_parquet` says what is wrong with the file.
        except (OSError, ValueError):
            return None

    def frames(self) -> Iterator[Any]:
        """The rows as data frames of at most 65 536 rows."""
        with parquet().ParquetFile(self.path, **READING) as opened:
            for batch in record_batches(opened, _ROWS, _flat_columns(opened.schema_arrow)[0]):
                yield _frame(arrow().Table.from_batches([batch]))

    def group(self, number: int) -> Any:
        """The rows of one of the file's row groups as a data frame."""
        with parquet().ParquetFile(self.path) as opened:
            return _frame(opened.read_row_group(number, columns=_flat_columns(opened.schema_arrow)[0]))

    def sample(self, n: int, seed: int = 0) -> Any:
        """Random rows, in their order, as a data frame."""
        rows = np.sort(np.random.default_rng(seed).choice(self.n_rows, size=min(n, self.n_rows), replace=False))
        found, start = [], 0
        with parquet().ParquetFile(self.path, **READING) as opened:
            for batch in record_batches(opened, _ROWS, _flat_columns(opened.schema_arrow)[0]):
                first, last = np.searchsorted(rows, [start, start + batch.num_rows])
                found.append(batch.take(arrow().array(rows[first:last] - start)))
                start += batch.num_rows
        return _frame(arrow().Table.from_batches(found))


def _frame(table: Any) -> Any:
    """Rows as a data frame, without columns of bytes that aren't text and without an index."""
    frame = _without_binary(table)[0].to_pandas(ignore_metadata=True)
    frame = frame[[name for name in frame.columns if not str(name).startswith("__index_level_")]]
    return frame.set_axis(unique_names([str(name) for name in frame.columns])[0], axis=1)


def _check_declared(opened: Any, *, name: str, max_bytes: int) -> None:
    """Raise where the file declares too much: runs of one value are small on disk, but not in memory."""
    size = _declared_size(opened)
    if size > max_bytes:
        raise too_large(name, f"about {size:,} bytes")


def _declared_size(opened: Any) -> int:
    """The size of the table in memory, as far as the file declares it."""
    meta = opened.metadata
    declared = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    return int(max(declared, meta.num_rows * sum(_width(field.type) for field in opened.schema_arrow)))


def _flat_columns(schema: Any) -> tuple[list[str], list[str]]:
    """The names of the columns, and of those of lists or structures."""
    nested = [field.name for field in schema if arrow().types.is_nested(field.type)]
    return [field.name for field in schema if field.name not in nested], nested


def _check_texts(handle: IO[bytes], schema: Any, *, name: str, max_bytes: int) -> None:
    """Raise where the texts are too large; each distinct one is read once, since a file may repeat it many times."""
    texts = [field.name for field in schema if _is_text(field.type)]
    if not texts:
        return
    pc, size = arrow().compute, 0
    with parquet().ParquetFile(handle, read_dictionary=texts) as opened:
        for batch in opened.iter_batches(_ROWS, columns=texts, use_threads=False):
            for column in batch.columns:
                lengths = pc.binary_length(column.dictionary)
                size += pc.sum(lengths.take(column.indices).cast("int64")).as_py() or 0
            if size > max_bytes:
                raise too_large(name, f"more than {max_bytes:,} bytes")


def _without_binary(table: Any) -> tuple[Any, list[str]]:
    """The table with its columns of bytes as text, where they are text, and the names of those that aren't."""
    pa, left_out = arrow(), []
    for j in reversed(range(table.num_columns)):
        field = table.field(j)
        if not (pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type) or _is_fixed(field.type)):
            continue
        try:
            table = table.set_column(j, field.name, table.column(j).cast(pa.binary()).cast(pa.string()))
        except pa.ArrowInvalid:
            left_out.append(field.name)
            table = table.remove_column(j)
    return table, left_out[::-1]


def _width(kind: Any) -> int:
    """What a value takes in memory, apart from texts."""
    types = arrow().types
    if types.is_decimal(kind) or types.is_date(kind) or types.is_time(kind):
        return _OBJECT
    return max(CELL, kind.byte_width) if _is_fixed(kind) else CELL


def _is_text(kind: Any) -> bool:
    types = arrow().types
    known = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(kind) for is_kind in known)


def _is_fixed(kind: Any) -> bool:
    return bool(arrow().types.is_fixed_size_binary(kind))
