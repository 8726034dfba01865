"""Excel workbooks, through openpyxl: the values of one sheet as the text of a table."""

from __future__ import annotations

import csv
from datetime import date, datetime, time
from io import StringIO
from itertools import chain
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from credo.io.errors import TableError, nearest, plural, quoted
from credo.io.extras import openpyxl
from credo.io.tables.source import CELL, check_cells, too_large

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
