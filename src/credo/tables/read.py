"""`read_table`: one file, one frame, and notes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from credo.tables import source
from credo.tables.errors import TableError
from credo.tables.formats import SEPARATOR, is_json, is_workbook, read_json, read_parquet, sheet_text
from credo.tables.text import parse, typed

if TYPE_CHECKING:
    import pandas as pd


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
    max_bytes: int = source.MAX_BYTES,
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
        The words that mean "missing", in place of NA, N/A, NaN, null and the like; empty fields always do.
        Words such as ?, - or "none" count as missing in columns that are numbers otherwise.
    encoding : str, optional
        UTF-8 and UTF-16 are detected; anything else is read as cp1252 (Windows) or latin-1.
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
    is_stdin = os.fspath(path) == "-"
    name = source.STDIN if is_stdin else str(Path(path))
    with source.opened(path, max_bytes=max_bytes) as handle:
        if sheet is None and source.begins_with(handle, source.PARQUET):
            frame, notes = read_parquet(handle, name=name, max_bytes=max_bytes)
            return Sheet(frame, tuple(notes), Path(path))
        if source.begins_with(handle, source.ZIP) and is_workbook(handle):
            text, notes = sheet_text(handle, name=name, sheet=sheet, max_bytes=max_bytes)
            separator, decimal = SEPARATOR, decimal or "."
        elif sheet is not None:
            raise TableError(f"sheet= is for Excel workbooks (.xlsx), and {name!r} isn't one")
        else:
            text, notes = source.decode(
                source.read_bytes(handle, name=name, max_bytes=max_bytes), name=name, encoding=encoding
            )
    try:
        if separator is None and is_json(text, suffix=Path(path).suffix):
            frame = read_json(text, max_cells=max_bytes // source.CELL)
            more = typed(frame)
        else:
            frame, more = parse(
                text, separator=separator, decimal=decimal, na_words=na_words, header=header, max_bytes=max_bytes
            )
    except TableError as error:
        raise TableError(f"can't read {name!r}: {error}") from None
    return Sheet(frame, (*notes, *more), Path(path))
