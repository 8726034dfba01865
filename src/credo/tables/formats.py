"""Excel workbooks, through openpyxl: the values of one sheet as the text of a table.

JSON lines: one flat object on each line, or a list of such objects.

Parquet files, through pyarrow.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from credo.core.parts import READING, record_batches
from credo.tables.columns import unique_names
from credo.tables.errors import TableError, arrow, nearest, openpyxl, pandas, parquet, plural, quoted
from credo.tables.source import CELL, PARQUET, check_cells, too_large

SEPARATOR = "\t"
# Bytes that are measured at a time: more than any cell takes, because Excel allows 32,767 characters in one, of at most
# ten bytes each.
_CHUNK = 2**20
# Elements of XML that are in memory at a time; each takes some 300 bytes.
_MOST_MARKS = 2_000_000
# What a row takes besides its cells, as a number of cells.
_ROW_CELLS = 8


def is_workbook(handle: IO[bytes]) -> bool:
    """Whether a zip file is an Excel workbook."""
    try:
        with ZipFile(handle) as packed:
            return "xl/workbook.xml" in packed.namelist()
    except (BadZipFile, OSError, ValueError):
        return False
    finally:
        handle.seek(0)


def sheet_text(handle: IO[bytes], *, name: str, sheet: str | None, max_bytes: int) -> tuple[str, list[str]]:
    """The values of a sheet, without formulas, as lines of quoted fields, and notes."""
    library = openpyxl()
    try:
        _check_size(handle, name=name, max_bytes=max_bytes)
        book = library.load_workbook(handle, read_only=True, data_only=True)
        names = [page.title for page in book.worksheets]
        chosen, notes = _chosen(names, sheet, name=name)
        rows = _rows(book[chosen], name=name, max_cells=max_bytes // CELL)
    except (TableError, MemoryError):
        raise
    # A damaged workbook makes openpyxl raise errors of many types.
    except Exception as error:
        raise TableError(f"{name!r} is a damaged Excel workbook ({str(error)[:200]})") from None
    rows, more = _table(rows, name=f"{name!r}, sheet {chosen!r},", max_cells=max_bytes // CELL)
    return _text(rows, name=name, max_bytes=max_bytes), [*notes, *more]


def _check_size(handle: IO[bytes], *, name: str, max_bytes: int) -> None:
    """Unpack the parts of a workbook once to measure them, because their declared sizes may be wrong."""
    size = 0
    with ZipFile(handle) as packed:
        for member in packed.infolist():
            marks = 0
            with packed.open(member) as part:
                while chunk := part.read(_CHUNK):
                    size += len(chunk)
                    if size > max_bytes:
                        raise too_large(name, f"more than {max_bytes:,} bytes when unpacked")
                    if len(chunk) == _CHUNK and b"<" not in chunk and member.filename.endswith(".xml"):
                        raise TableError(f"{name!r}: {member.filename!r} holds a cell longer than Excel allows")
                    # openpyxl forgets a row or a shared text once it is read.
                    rest = max(chunk.rfind(b"</row>"), chunk.rfind(b"</si>"))
                    marks = _marks(chunk[rest:]) if rest >= 0 else marks + _marks(chunk)
                    if marks > _MOST_MARKS:
                        raise TableError(f"{name!r} isn't a table: {member.filename!r} holds too many elements")
    handle.seek(0)


def _marks(xml: bytes) -> int:
    """About how many elements and attributes there are."""
    return xml.count(b"<") + xml.count(b"=")


def _rows(page: Any, *, name: str, max_cells: int) -> list[list[str]]:
    """The rows of a sheet, each up to its last cell; a sheet may say that it is far larger than what it holds."""
    page.reset_dimensions()
    rows = []
    cells = written = 0
    for row in page.iter_rows(values_only=True):
        rows.append([_cell(value) for value in row])
        cells += len(row) + _ROW_CELLS
        written += 1 + sum(value is not None for value in row)
        check_cells(f"{name!r}", cells, written, max_cells)
    return rows


def _chosen(names: list[str], sheet: str | None, *, name: str) -> tuple[str, list[str]]:
    if not names:
        raise TableError(f"{name!r} has no worksheet")
    if sheet is None:
        notes = [f"Read the first of {len(names)} sheets, {names[0]!r}; sheet= (--sheet) chooses another."]
        return names[0], notes if len(names) > 1 else []
    if sheet not in names:
        near = nearest(sheet, names, most=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise TableError(f"{name!r} has no sheet {sheet!r}{hint}; it has {quoted(names, most=15)}")
    return sheet, []


def _table(rows: list[list[str]], *, name: str, max_cells: int) -> tuple[list[list[str]], list[str]]:
    """The rows from the header on, without empty columns at the end, and notes."""
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell), default=0)
    if not width:
        raise TableError(f"{name} is empty")
    written = len(rows) + sum(map(bool, chain.from_iterable(rows)))
    check_cells(name, width * len(rows), written, max_cells)
    padded = [(row + [""] * width)[:width] for row in rows]
    # A title above the table fills one cell, and the header nearly all.
    start = next((i for i, row in enumerate(padded) if sum(map(bool, row)) > (width > 1)), 0)
    titles = sum(any(row) for row in padded[:start])
    notes = [f"Skipped {plural(titles, 'row')} above the table."] if titles else []
    return padded[start:], notes


def _text(rows: list[list[str]], *, name: str, max_bytes: int) -> str:
    text = StringIO()
    writer = csv.writer(text, delimiter=SEPARATOR, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        if text.tell() > max_bytes:
            raise too_large(name, f"more than {max_bytes:,} characters")
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


# The longest row, in characters. Nested lists take up to thirty bytes of memory for each.
_LONGEST = 2**24
_BLANKS = re.compile(r"[ \t\r\n]*")
_FLAT = re.compile(r'\{(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\}', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
SUFFIXES = (".jsonl", ".ndjson", ".json")


def is_json(text: str, *, suffix: str) -> bool:
    """Whether a text is JSON by its name, or begins with an object."""
    if suffix.casefold() in SUFFIXES:
        return True
    first = text[:100_000].lstrip("\ufeff \t\r\n").partition("\n")[0]
    if not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def read_json(text: str, *, max_cells: int) -> Any:
    """The frame of the objects: a row each, with a column for every key."""
    # Each list ends with the last value of its key: padding all of them in every row would take quadratic time.
    columns: dict[str, list[Any]] = {}
    n_rows = n_values = 0
    for place, record in _records(text.removeprefix("\ufeff")):
        if not isinstance(record, dict):
            raise TableError(f'{place} holds {type(record).__name__}, not an object such as {{"x": 1}}')
        for key, value in record.items():
            if isinstance(value, dict | list):
                nested = "list" if isinstance(value, list) else "nested object"
                raise TableError(f"{place}: {key!r} holds a {nested}; only flat objects make a table")
            _check_text(key, place)
            _check_text(value, place)
            column = columns.setdefault(key, [])
            if len(column) < n_rows:
                column.extend([None] * (n_rows - len(column)))
            column.append(value)
        n_rows += 1
        n_values += len(record)
        check_cells(f"{place}: the table", n_rows * len(columns), n_rows + n_values, max_cells)
    if not n_rows or not columns:
        raise TableError("it has no rows")
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    return pandas().DataFrame(columns)


def _check_text(value: Any, place: str) -> None:
    """Half of a surrogate pair is valid JSON, but no character, and can't be written to any file."""
    if isinstance(value, str) and not value.isascii() and (found := _SURROGATE.search(value)):
        raise TableError(
            f"{place} holds {found[0]!a}, half of a surrogate pair; write the character itself, or both escapes"
        )


def _records(text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        yield from _listed(text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parsed(line, f"line {number}")


def _listed(text: str) -> Iterator[tuple[str, Any]]:
    """The records of a list, one after another: nested lists of all its text would take far more memory."""
    at, number = _BLANKS.match(text, text.index("[") + 1).end(), 0  # type: ignore[union-attr]
    while text[at : at + 1] != "]":
        number += 1
        flat = _FLAT.match(text, at)
        # A record that isn't flat raises an error, and its beginning is enough for the message.
        record, length = _decoded(flat[0] if flat else text[at : at + _LONGEST], f"record {number}")
        yield f"record {number}", record
        at = _BLANKS.match(text, at + length).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _BLANKS.match(text, at + 1).end()  # type: ignore[union-attr]
        elif text[at : at + 1] != "]":
            raise TableError(f"record {number} isn't followed by a comma or the end of the list")
    if text[at + 1 :].strip():
        raise TableError("the list is followed by more text; use one list, or one object on each line")


def _parsed(text: str, place: str) -> Any:
    record, end = _decoded(text.strip(), place)
    if end < len(text.strip()):
        raise TableError(f"{place} isn't valid JSON (extra data at character {end + 1})")
    return record


def _decoded(text: str, place: str) -> tuple[Any, int]:
    """The value that a text begins with, and its length."""
    if len(text) > _LONGEST:
        raise TableError(f"{place} is longer than {_LONGEST:,} characters")
    try:
        return _DECODER.raw_decode(text)
    except RecursionError:
        raise TableError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise TableError(f"{place} isn't valid JSON ({error})") from None


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
