"""Tables in Excel workbooks (openpyxl), JSON lines or lists of flat objects, and Parquet files (pyarrow)."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from credo.core.parts import READING, record_batches
from credo.core.wording import plural, quoted
from credo.tables.columns import unique_names
from credo.tables.errors import CELL_BYTES, TableError, arrow, check_cells, nearest, openpyxl, pandas, too_large

SEPARATOR = "\t"
# A member of every workbook; a zip file holds its name uncompressed.
WORKBOOK = b"xl/workbook.xml"
# Bytes that are measured at a time: more than any cell, because Excel allows 32,767 characters of at most ten bytes.
_CHUNK_BYTES = 2**20
# XML elements in memory at a time; each takes about 300 bytes.
_MAX_ELEMENTS = 2_000_000
# Memory of a row besides its cells, in cells.
_ROW_CELLS = 8


def sheet_text(content: bytes, *, name: str, sheet: str | None, max_bytes: int) -> tuple[str, list[str]]:
    """The values of a sheet, without formulas, as lines of quoted fields, and notes."""
    library = openpyxl()
    try:
        _check_size(content, name=name, max_bytes=max_bytes)
        book = library.load_workbook(BytesIO(content), read_only=True, data_only=True)
        chosen, notes = _chosen([page.title for page in book.worksheets], sheet, name=name)
        rows, width = _rows(book[chosen], place=f"{name!r}, sheet {chosen!r},", max_cells=max_bytes // CELL_BYTES)
    except (TableError, MemoryError):
        raise
    # A damaged workbook makes openpyxl raise errors of many types.
    except Exception as error:
        raise TableError(f"{name!r} is a damaged Excel workbook ({str(error)[:200]})") from None
    # A title above the table fills one cell; the header fills nearly all.
    start = next((i for i, row in enumerate(rows) if sum(map(bool, row)) > (width > 1)), 0)
    titles = sum(any(row) for row in rows[:start])
    text = StringIO()
    writer = csv.writer(text, delimiter=SEPARATOR, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows[start:]:
        writer.writerow((row + [""] * width)[:width])
        if text.tell() > max_bytes:
            raise too_large(name, f"more than {max_bytes:,} characters")
    return text.getvalue(), notes + [f"Skipped {plural(titles, 'row')} above the table."] * bool(titles)


def _check_size(content: bytes, *, name: str, max_bytes: int) -> None:
    """Unpack the parts of a workbook once to measure them, because their declared sizes may be wrong."""
    size = 0
    with ZipFile(BytesIO(content)) as packed:
        for member in packed.infolist():
            marks = 0
            with packed.open(member) as part:
                while chunk := part.read(_CHUNK_BYTES):
                    size += len(chunk)
                    if size > max_bytes:
                        raise too_large(name, f"more than {max_bytes:,} bytes when unpacked")
                    if len(chunk) == _CHUNK_BYTES and b"<" not in chunk and member.filename.endswith(".xml"):
                        raise TableError(f"{name!r}: {member.filename!r} holds a cell longer than Excel allows")
                    # openpyxl releases a row or a shared text once it is read.
                    rest = max(chunk.rfind(b"</row>"), chunk.rfind(b"</si>"))
                    marks = _marks(chunk[rest:]) if rest >= 0 else marks + _marks(chunk)
                    if marks > _MAX_ELEMENTS:
                        raise TableError(f"{name!r} isn't a table: {member.filename!r} holds too many elements")


def _marks(xml: bytes) -> int:
    """About how many elements and attributes there are."""
    return xml.count(b"<") + xml.count(b"=")


def _rows(page: Any, *, place: str, max_cells: int) -> tuple[list[list[str]], int]:
    """The rows of a sheet, each up to its last cell, and their width; a sheet may declare a far larger size."""
    page.reset_dimensions()
    rows: list[list[str]] = []
    cells = written = width = 0
    for values in page.iter_rows(values_only=True):
        row = [_cell(value) for value in values]
        rows.append(row)
        filled = [j + 1 for j, cell in enumerate(row) if cell]
        width = max([width, *filled])
        cells += len(row) + _ROW_CELLS
        written += 1 + len(filled)
        check_cells(place, max(cells, width * len(rows)), max_cells, written)
    if not width:
        raise TableError(f"{place} is empty")
    return rows, width


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


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


# Nested lists take up to thirty bytes of memory per character.
_MAX_ROW_CHARACTERS = 2**24
_FLAT_OBJECT = re.compile(r'\{(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\}', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


def read_json(text: str, *, max_cells: int) -> Any:
    """The objects as a frame, with a row for each and a column for every key."""
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
            # Half of a surrogate pair is valid JSON, but not a character, and can't be written to a file.
            if half := _SURROGATE.search(key) or (isinstance(value, str) and _SURROGATE.search(value)):
                advice = "write the character itself, or both escapes"
                raise TableError(f"{place} holds {half[0]!a}, half of a surrogate pair; {advice}")
            column = columns.setdefault(key, [])
            if len(column) < n_rows:
                column.extend([None] * (n_rows - len(column)))
            column.append(value)
        n_rows += 1
        n_values += len(record)
        check_cells(f"{place}: the table", n_rows * len(columns), max_cells, n_rows + n_values)
    if not n_rows or not columns:
        raise TableError("it has no rows")
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    return pandas().DataFrame(columns)


def _records(text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        yield from _listed(text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line := line.strip():
            record, end = _decoded(line, f"line {number}")
            if end < len(line):
                raise TableError(f"line {number} isn't valid JSON (extra data at character {end + 1})")
            yield f"line {number}", record


def _listed(text: str) -> Iterator[tuple[str, Any]]:
    """The records of a list, decoded one at a time to save memory."""
    at, number = text.index("[") + 1, 0
    for number, record in enumerate(_FLAT_OBJECT.finditer(text, at), start=1):
        if text[at : record.start()].strip() != "," * (number > 1):
            raise TableError(f'record {number} is not a flat object such as {{"x": 1}}, after a comma')
        yield f"record {number}", _decoded(record[0], f"record {number}")[0]
        at = record.end()
    if text[at:].strip() != "]":
        raise TableError(f"the list doesn't end after record {number}, its last flat object")


def _decoded(text: str, place: str) -> tuple[Any, int]:
    """The value that a text begins with, and its length."""
    if len(text) > _MAX_ROW_CHARACTERS:
        raise TableError(f"{place} is longer than {_MAX_ROW_CHARACTERS:,} characters")
    try:
        return _DECODER.raw_decode(text)
    except RecursionError:
        raise TableError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise TableError(f"{place} isn't valid JSON ({error})") from None


PARQUET = b"PAR1"
# Rows that are decoded at a time.
_BATCH_ROWS = 65_536
# Memory of a Python date, time or decimal number.
_OBJECT_BYTES = 64


def read_parquet(content: bytes, *, name: str, max_bytes: int) -> tuple[Any, list[str]]:
    """The frame of a Parquet file, and notes; its size in memory is computed before all of it is read."""
    pandas()
    try:
        with arrow().parquet.ParquetFile(BytesIO(content)) as opened:
            # Repeated values are small on disk, but not in memory.
            if (size := _declared_size(opened)) > max_bytes:
                raise too_large(name, f"about {size:,} bytes")
            flat, other = _flat_columns(opened.schema_arrow)
            _check_texts(content, opened.schema_arrow, name=name, max_bytes=max_bytes)
            table = opened.read(columns=flat)
        # Text that isn't UTF-8 would otherwise fail much later.
        table.validate(full=True)
        frame = _frame(table)
    except (TableError, MemoryError):
        raise
    # A damaged file makes pyarrow and pandas raise errors of many types.
    except Exception as error:
        raise TableError(f"{name!r} is a damaged Parquet file ({str(error)[:200]})") from None
    notes = [f"Left out columns of lists, structures or bytes: {quoted(other)}."] if other else []
    if len(frame) == 0 or frame.shape[1] == 0:
        raise TableError(" ".join([f"{name!r} is empty: it has {len(frame)} rows and no columns to read.", *notes]))
    names, renamed = unique_names([str(name) for name in frame.columns])
    return frame.set_axis(names, axis=1), [*notes, *renamed]


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
        """The table of a file, or None if it isn't a Parquet file or is damaged."""
        if os.fspath(path) == "-" or not Path(path).is_file():
            return None
        with Path(path).open("rb") as handle:
            if handle.read(len(PARQUET)) != PARQUET:
                return None
        try:
            with arrow().parquet.ParquetFile(path) as opened:
                meta, size = opened.metadata, _declared_size(opened)
                return cls(Path(path), meta.num_rows, max(meta.num_columns, 1), meta.num_row_groups, size)
        # `read_parquet` says what is wrong with the file.
        except (OSError, ValueError):
            return None

    def frames(self) -> Iterator[Any]:
        """The rows as data frames of at most 65 536 rows."""
        return (_frame(arrow().Table.from_batches([batch])) for batch in self._batches())

    def group(self, number: int) -> Any:
        """The rows of one of the file's row groups as a data frame."""
        with arrow().parquet.ParquetFile(self.path) as opened:
            return _frame(opened.read_row_group(number, columns=_flat_columns(opened.schema_arrow)[0]))

    def sample(self, n: int, seed: int = 0) -> Any:
        """Random rows, in their order, as a data frame."""
        rows = np.sort(np.random.default_rng(seed).choice(self.n_rows, size=min(n, self.n_rows), replace=False))
        found, start = [], 0
        for batch in self._batches():
            first, last = np.searchsorted(rows, [start, start + batch.num_rows])
            found.append(batch.take(arrow().array(rows[first:last] - start)))
            start += batch.num_rows
        return _frame(arrow().Table.from_batches(found))

    def _batches(self) -> Iterator[Any]:
        with arrow().parquet.ParquetFile(self.path, **READING) as opened:
            yield from record_batches(opened, _BATCH_ROWS, _flat_columns(opened.schema_arrow)[0])


def _frame(table: Any) -> Any:
    """Rows as a data frame, without an unnamed index."""
    frame = table.to_pandas(ignore_metadata=True)
    frame = frame[[name for name in frame.columns if not str(name).startswith("__index_level_")]]
    return frame.set_axis(unique_names([str(name) for name in frame.columns])[0], axis=1)


def _declared_size(opened: Any) -> int:
    """The size of the table in memory that the file declares."""
    meta, types = opened.metadata, arrow().types
    declared = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    objects = (types.is_decimal, types.is_date, types.is_time)
    widths = (_OBJECT_BYTES if any(is_kind(f.type) for is_kind in objects) else CELL_BYTES for f in opened.schema_arrow)
    return int(max(declared, meta.num_rows * sum(widths)))


def _flat_columns(schema: Any) -> tuple[list[str], list[str]]:
    """The names of the columns of single values, and of those of lists, structures or bytes."""
    types = arrow().types
    others = (types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    left_out = [field.name for field in schema if any(is_kind(field.type) for is_kind in others)]
    return [field.name for field in schema if field.name not in left_out], left_out


def _check_texts(content: bytes, schema: Any, *, name: str, max_bytes: int) -> None:
    """Raise an error if the texts are too large; each distinct text is read once, since a file may repeat it."""
    types = arrow().types
    texts = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
    if not texts:
        return
    pc, size = arrow().compute, 0
    with arrow().parquet.ParquetFile(BytesIO(content), read_dictionary=texts) as opened:
        for batch in opened.iter_batches(_BATCH_ROWS, columns=texts, use_threads=False):
            for column in batch.columns:
                lengths = pc.binary_length(column.dictionary)
                size += pc.sum(lengths.take(column.indices).cast("int64")).as_py() or 0
            if size > max_bytes:
                raise too_large(name, f"more than {max_bytes:,} bytes")
