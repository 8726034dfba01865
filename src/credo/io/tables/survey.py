"""A first pass over the rows: names, width, and columns of codes.

Every row is counted here, because pandas silently fills short rows with missing values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from credo.io.errors import TableError, plural
from credo.io.tables.dialect import Dialect, records, separator_name
from credo.io.tables.source import too_many_cells

_CODE = re.compile(r"0\d+", re.ASCII)
# Fields that are looked at for codes; the width of every row is checked.
_CODE_FIELDS = 500_000


@dataclass(frozen=True)
class Survey:
    """Names as the file has them (empty where it has none), and the positions of columns like 007."""

    names: list[str]
    codes: frozenset[int]


def survey(text: str, dialect: Dialect, *, skipped: int = 0, max_cells: int) -> Survey:
    """Check that all rows have one width, and that they aren't too many; `skipped` lines stand above the text."""
    rows = records(text, dialect.separator, skipped=skipped)
    line, first = next(rows)
    if not dialect.header:
        names = [f"column_{j + 1}" for j in range(len(first))]
        return Survey(names, _checked(chain([(line, first)], rows), len(first), dialect, max_cells))
    second = next(rows, None)
    if second is None:
        raise TableError("it has a header but no rows below it")
    names = [name.strip() for name in first]
    if len(second[1]) == len(names) + 1:
        # One field more than names: a separator at the end of every row, or R's row names in front.
        names = [*names, ""] if not second[1][-1].strip() else ["", *names]
    return Survey(names, _checked(chain([second], rows), len(names), dialect, max_cells))


def _checked(rows: Iterable[tuple[int, list[str]]], width: int, dialect: Dialect, max_cells: int) -> frozenset[int]:
    codes: set[int] = set()
    cells = 0
    for line, row in rows:
        if len(row) != width:
            raise TableError(_ragged(len(row), width, line=line, dialect=dialect))
        cells += width
        if cells > max_cells:
            raise TableError(too_many_cells(f"line {line}", max_cells))
        if cells - width < _CODE_FIELDS:
            codes.update(j for j, cell in enumerate(row) if cell[:1] == "0" and _CODE.fullmatch(cell.rstrip()))
    return frozenset(codes)


def _ragged(found: int, width: int, *, line: int, dialect: Dialect) -> str:
    if dialect.separator == "," and found == 2 * width:
        hint = "decimal commas can't be distinguished from comma separators unless the numbers are quoted"
    else:
        hint = "correct the line, or set the separator"
    return (
        f"line {line} has {plural(found, 'field')} where the table has {plural(width, 'column')} "
        f"(separator: {separator_name(dialect.separator)}); {hint}"
    )
