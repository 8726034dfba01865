"""Errors and warnings about tables and model files, and the texts that they share.

The optional libraries of this package, imported when first needed; an error says how to install them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

# What a sentence shows of a name.
_LONGEST = 100


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
    """Something about the rows that the user should know; they could be prepared all the same.

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


def nearest(name: str, candidates: Iterable[str], *, most: int = 3) -> list[str]:
    """The candidates most similar to the name, best first, regardless of case.

    >>> nearest("Agee", ["height", "age"])
    ['age']
    """
    by_fold: dict[str, str] = {}
    for candidate in candidates:
        by_fold.setdefault(candidate.casefold(), candidate)
    return [by_fold[fold] for fold in get_close_matches(name.casefold(), by_fold, n=most, cutoff=0.6)]


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


def quoted(names: Iterable[object], *, most: int = 5) -> str:
    """Names as they appear in a sentence: 'a', 'b' and 3 more; very long names are shortened.

    >>> quoted("abc", most=2)
    "'a', 'b' and 1 more"
    """
    listed = [repr(_clipped(str(name))) for name in names]
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")


def _clipped(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 row, 2 rows.

    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def not_numbers(count: int, examples: Iterable[object]) -> str:
    """A phrase about values that aren't numbers.

    >>> not_numbers(2, ["?", "none"])
    "2 values that aren't numbers ('?', 'none')"
    """
    verb = "that isn't a number" if count == 1 else "that aren't numbers"
    return f"{plural(count, 'value')} {verb} ({quoted(examples)})"


def shown(value: object) -> str:
    """A value of a table in a sentence: whole numbers without a decimal point or commas, others to six digits.

    >>> shown(2007.0), shown(0.1234567), shown(1234567)
    ('2007', '0.123457', '1234567')
    """
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        number = float(value)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"
    return _clipped(str(value))


def pandas() -> Any:
    """The pandas library."""
    return _library("pandas", "reading and preparing tables needs pandas: pip install 'credo[cli]'")


def parquet() -> Any:
    """pyarrow's module for Parquet files."""
    return _library("pyarrow.parquet", "reading Parquet files needs pyarrow: pip install 'credo[parquet]'")


def arrow() -> Any:
    """The pyarrow library, with its functions of arrays."""
    parquet()
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
