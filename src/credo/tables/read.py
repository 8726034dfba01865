"""`read_table`: reads a file into a frame, with notes.

The bytes of a file, unpacked and limited in size, are a Parquet file, a workbook, or the text of JSON lines or a table.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from credo.tables.errors import CELL_BYTES, MAX_BYTES, TableError, existing, too_large
from credo.tables.formats import JSON_SUFFIXES, PARQUET, SEPARATOR, WORKBOOK, read_json, read_parquet, sheet_text
from credo.tables.text import parse, typed

if TYPE_CHECKING:
    import pandas as pd

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
# First bytes of files that users may mistake for tables.
_OTHER_FILES = {
    _ZIP: "a zip archive; unpack it first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save it as .xlsx or CSV",
    b"%PDF": "a PDF",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
}
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"),
         (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # fmt: skip
_SAMPLE_BYTES = 65_536


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table read from a file: the frame, notes about what was detected or changed, and the path.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credo import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "trial.csv").write_text("dose;growth\\n1,5;2\\n2,5;4\\n")
    ...     sheet = read_table(Path(folder) / "trial.csv")
    >>> sheet.frame["dose"].tolist(), sheet.notes
    ([1.5, 2.5], ())
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]
    path: Path


def read_table(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    decimal: str | None = None,
    na_words: Sequence[str] | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Sheet:
    """Read a table from a CSV, TSV or other text file (gzipped or not), JSON lines, Excel or Parquet.

    A file that isn't a table raises a `TableError` that names the line.

    Parameters
    ----------
    path : path of the file, or "-" for standard input
    separator : str, optional
        One character. By default the comma, semicolon, tab, bar or space that splits the rows evenly.
    decimal : {".", ","}, optional
        By default detected from the numbers.
    na_words : sequence of str, optional
        Words or numbers that mean "missing", beside NA, N/A, NaN, null and the like; with an empty sequence, only empty
        fields are missing. Words such as ?, - or "none" count as missing in columns whose other values are numbers.
    encoding : str, optional
        UTF-8, and UTF-16 with a byte order mark, are detected; anything else is read as cp1252 (Windows) or latin-1.
    header : bool, optional
        Whether the first row names the columns.
    sheet : str, optional
        Which sheet of an Excel workbook to read; by default the first.
    max_bytes : int, default 1 GiB
        The largest size of the file, unpacked, and of the table in memory, at 8 bytes a cell.

    Returns
    -------
    Sheet
        `.frame` (pandas), `.notes` (a sentence for everything detected or changed), `.path`.

    Examples
    --------
    >>> import tempfile
    >>> from credo.tables import read_table
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trees.csv"
    ...     _ = path.write_text("girth;height\\n8,3;70\\n8,6;65\\n")
    ...     sheet = read_table(path)
    >>> sheet.frame["girth"].tolist()
    [8.3, 8.6]
    """
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise ValueError(f"separator must be one ASCII character, such as ',' or ';'; got {separator!r}")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}")
    name = "standard input" if os.fspath(path) == "-" else str(Path(path))
    content = _content(path, name=name, max_bytes=max_bytes)
    if sheet is None and content.startswith(PARQUET):
        frame, notes = read_parquet(content, name=name, max_bytes=max_bytes)
        return Sheet(frame, tuple(notes), Path(path))
    if content.startswith(_ZIP) and WORKBOOK in content:
        text, notes = sheet_text(content, name=name, sheet=sheet, max_bytes=max_bytes)
        separator, decimal = SEPARATOR, decimal or "."
    elif sheet is not None:
        raise TableError(f"sheet= is for Excel workbooks (.xlsx), but {name!r} isn't one")
    else:
        text, notes = _decoded(content, name=name, encoding=encoding)
    # Memory for the frame.
    del content
    try:
        if separator is None and (Path(path).suffix.casefold() in JSON_SUFFIXES or text.lstrip().startswith('{"')):
            frame = read_json(text, max_cells=max_bytes // CELL_BYTES)
            more = typed(frame)
        else:
            given = {"separator": separator, "decimal": decimal, "header": header}
            frame, more = parse(text, na_words=na_words, max_bytes=max_bytes, **given)
    except TableError as error:
        raise TableError(f"can't read {name!r}: {error}") from None
    return Sheet(frame, (*notes, *more), Path(path))


def _content(path: str | os.PathLike[str], *, name: str, max_bytes: int) -> bytes:
    """All bytes of the file, or of standard input for the path "-", unpacked if they are gzipped."""
    if os.fspath(path) != "-":
        what = "a file; pipe the table into '-' or save it to a file first"
        with existing(path, what, TableError).open("rb") as handle:
            content = handle.read(max_bytes + 1)
    elif sys.stdin is None or sys.stdin.isatty():
        raise TableError("there is no table on standard input; pipe one into it, or name a file")
    else:
        content = sys.stdin.buffer.read(max_bytes + 1)
    size = f"more than {max_bytes:,} bytes"
    if content.startswith(_GZIP) and len(content) <= max_bytes:
        try:
            content, size = gzip.GzipFile(fileobj=BytesIO(content)).read(max_bytes + 1), f"{size} when unpacked"
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise TableError(f"{name!r} is a damaged or truncated gzip file; download or compress it again") from None
    if len(content) > max_bytes:
        raise too_large(name, size)
    return content


def _decoded(content: bytes, *, name: str, encoding: str | None) -> tuple[str, list[str]]:
    """The text, and notes about the encoding if it had to be detected."""
    if not content.strip():
        raise TableError(f"{name!r} is empty")
    encoding = encoding or next((found for bom, found in _BOMS if content.startswith(bom)), None)
    if encoding is not None:
        try:
            return content.decode(encoding), []
        except LookupError:
            common = "utf-8, utf-16, cp1252 and latin-1 are common"
            raise TableError(f"there is no encoding {encoding!r}; {common}") from None
        except UnicodeError as error:
            raise TableError(f"{name!r} is not in {encoding}: {error}") from None
    sample = content[:_SAMPLE_BYTES]
    controls = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\v\x1a\x1b")
    what = next((what for magic, what in _OTHER_FILES.items() if content.startswith(magic)), None)
    if what is not None or b"\x00" in sample or controls > 0.01 * len(sample):
        raise TableError(f"{name!r} is not a text table: it {f'is {what}' if what else 'holds binary data'}")
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        # Windows writes cp1252, which leaves five bytes undefined; latin-1 defines all.
        found = "latin-1" if any(byte in content for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
        wrong = "if characters look wrong, set the encoding (--encoding)"
        return content.decode(found), [f"The file is not in UTF-8; it was read as {found}: {wrong}."]
