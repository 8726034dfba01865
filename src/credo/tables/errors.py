"""Errors and warnings about tables and model files, limits on size, and lazy imports of optional libraries."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_BYTES = 2**30
# The least memory of a cell of a frame. A short or compressed text may hold many cells.
CELL_BYTES = 8
# A table with a value in fewer than one of this many cells takes time and memory out of proportion to its file, unless
# it is small.
_MAX_CELLS_PER_VALUE, _SMALL_TABLE_CELLS = 100, 1_000_000


class TableError(ValueError):
    """A file can't be read as a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credo import read_table
    >>> from credo.tables import TableError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "empty.csv").touch()
    ...     try:
    ...         read_table(Path(folder) / "empty.csv")
    ...     except TableError as error:
    ...         print("empty" in str(error))
    True
    """


class ColumnError(ValueError):
    """A column is missing, or holds an invalid value.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import Preparation
    >>> from credo.tables import ColumnError
    >>> try:
    ...     Preparation().fit(pd.DataFrame({"dose": [1.0, 2.0, 4.0]})).transform(pd.DataFrame({"does": [3.0]}))
    ... except ColumnError as error:
    ...     print(error)
    the table has no column 'dose' (did you mean 'does'?); it has 'does'
    """


class ModelFileError(ValueError):
    """A model can't be saved, or a file isn't a complete and known model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import credo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "no.credo").write_text("x,y")
    ...     try:
    ...         credo.load(Path(folder) / "no.credo")
    ...     except credo.tables.ModelFileError:
    ...         print("refused")
    refused
    """


class TableWarning(UserWarning):
    """Something about the rows that the user should know, although they could be prepared.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from credo import Preparation
    >>> from credo.tables import TableWarning
    >>> seen = Preparation().fit(pd.DataFrame({"dose": [1.0, 2.0, 4.0, 8.0]}))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = seen.transform(pd.DataFrame({"dose": [3.0, None]}))
    >>> [warning.category is TableWarning for warning in caught], str(caught[0].message)
    ([True], "column 'dose': 1 missing value replaced by the median 3")
    """


def too_large(name: str, size: str) -> TableError:
    """The error about a file or a table that takes more memory than is allowed."""
    return TableError(f"{name!r} holds {size}; raise the limit with max_bytes= in Python, or use part of the rows")


def check_cells(place: str, cells: int, max_cells: int, written: int | None = None) -> None:
    """Raise a TableError if a table has too many cells, or too many for the values and rows that the file writes."""
    if cells > max_cells:
        allowed = f"more cells than the {max_cells:,} that max_bytes={CELL_BYTES * max_cells:,} allows"
        raise TableError(f"{place} has {allowed}; raise the limit in Python, or use part of the rows")
    if written is not None and cells > max(_SMALL_TABLE_CELLS, _MAX_CELLS_PER_VALUE * written):
        advice = "delete cells far from the others, and write keys that vary between rows as values of a column"
        raise TableError(
            f"{place} has a value in fewer than one of {_MAX_CELLS_PER_VALUE} cells ({cells:,} in all); {advice}"
        )


def nearest(name: str, candidates: Iterable[str], *, most: int = 3) -> list[str]:
    """The candidates most similar to the name, best first, regardless of case."""
    by_fold: dict[str, str] = {}
    for candidate in candidates:
        by_fold.setdefault(candidate.casefold(), candidate)
    return [by_fold[fold] for fold in get_close_matches(name.casefold(), by_fold, n=most, cutoff=0.6)]


# An integer with more digits isn't a finite float.
_MAX_DIGITS = 310


def strict_json(text: str) -> Any:
    """The value of a JSON text; raises a ValueError if it isn't one, or repeats a name in an object.

    >>> strict_json('[{"x": 1.5}]')
    [{'x': 1.5}]
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"an object has the name {repeated[:100]!r} more than once")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} isn't a JSON value; a missing value is null")


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer has {len(digits)} digits")
    return int(digits)


def existing(path: str | os.PathLike[str], what: str, error: type[Exception] = OSError) -> Path:
    """The path of an existing file; otherwise an error that suggests similar names.

    A pipe or a device raises `error`, which says that it isn't `what`.
    """
    file = Path(path)
    if file.is_file():
        return file
    if file.is_dir():
        raise IsADirectoryError(f"{str(file)!r} is a folder; name a file in it")
    if file.exists():
        raise error(f"{str(file)!r} is a pipe or a device, not {what}")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(file.parent)!r}, so no file {file.name!r} in it")
    near = nearest(file.name, sorted(os.listdir(file.parent))[:10_000])
    hint = f"; did you mean {str(file.with_name(near[0]))!r}?" if near else ""
    raise FileNotFoundError(f"there is no file {str(file)!r}{hint}")


def pandas() -> Any:
    """The pandas library."""
    return _library("pandas", "reading and preparing tables needs pandas: pip install 'credo[cli]'")


def arrow() -> Any:
    """The pyarrow library, with its modules for Parquet files and functions of arrays."""
    _library("pyarrow.parquet", "reading Parquet files needs pyarrow: pip install 'credo[parquet]'")
    import_module("pyarrow.compute")
    return import_module("pyarrow")


def openpyxl() -> Any:
    """The openpyxl library."""
    return _library("openpyxl", "reading Excel workbooks needs openpyxl: pip install 'credo[excel]'")


def _library(name: str, sentence: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(sentence) from None
