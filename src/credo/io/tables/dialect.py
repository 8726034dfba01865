"""How a text table is written (separator, decimal sign, header), and the check that its rows have one width."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain

from credo.io.errors import TableError, plural
from credo.io.tables.numbers import NA_WORDS, SUSPECT_WORDS
from credo.io.tables.source import too_many_cells

# The first of these wins a tie: commas and spaces are more likely to occur inside fields.
SEPARATORS = ("\t", ";", "|", ",", " ")
_NAMES = {"\t": "tab", ";": "semicolon", "|": "vertical bar", ",": "comma", " ": "space"}
# A control character that no text contains, for tables of one column.
NO_SEPARATOR = "\x1f"
# How much of the text is used to detect the dialect.
_SAMPLE_ROWS = 500
_SAMPLE_FIELDS = 50_000
_SAMPLE_COLUMNS = 1000
_PART = 2**20
# Fields that are searched for codes like 007; the width of every row is checked.
_CODE_FIELDS = 500_000

_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d*)\.\d+([eE][+-]?\d+)?", re.ASCII)
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+", re.ASCII)
# 1,234: a number with three decimals, or one thousand two hundred thirty-four.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3}){2,}", re.ASCII)
_SPACED = re.compile(r"(?<=\d)[ '’\u00a0\u202f](?=\d)")
# The possessive *+ keeps blanks from being tried both as part of the number and as what follows it.
_NUMBER = re.compile(r"[+-]?[$€£]?\s*(\d[\d .,'’\u00a0\u202f]*+|[.,]\d+)([eE][+-]?\d+)?\s*[%$€£]?", re.ASCII)
_CODE = re.compile(r"0\d+", re.ASCII)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([ T].*)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How a text table is written, and notes about what was guessed."""

    separator: str
    decimal: str
    header: bool
    notes: tuple[str, ...] = ()


def records(text: str, separator: str, *, skipped: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row that isn't blank; `skipped` lines stand above the text."""
    lines = _lines(text)
    if separator == " ":
        lines = (line.strip() + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if any(field.strip() for field in row[:1]) or len(row) > 1:
                yield skipped + reader.line_num, row
    except csv.Error as error:
        line = f"line {skipped + reader.line_num}"
        if "field limit" in str(error):
            limit = f"{csv.field_size_limit():,}"
            raise TableError(
                f"{line} has a field of more than {limit} characters, the most that can be read; shorten it, or look "
                "for an unclosed quotation mark above"
            ) from None
        raise TableError(f"{line} can't be split into fields ({error}); look for an unclosed quotation mark") from None


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, part by part: a StringIO of all of it takes four bytes for each character."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PART) + 1 or len(text)
        yield from StringIO(text[start:end])
        start = end


def sniff(text: str, *, separator: str | None, decimal: str | None, header: bool | None, skipped: int = 0) -> Dialect:
    """The dialect of a text, as far as the options leave it open."""
    notes: list[str] = []
    if separator is None:
        separator = _separator(text)
    rows = list(_sample(text, separator, skipped=skipped))
    if not rows:
        raise TableError("it has no rows")
    # Every k-th column of a wide table.
    rows = [row[:: 1 + len(rows[0]) // _SAMPLE_COLUMNS] for row in rows]
    if header is None:
        header = _has_header(rows)
        if not header:
            notes.append(
                "The first row looks like data, so columns were numbered; header=True (--header) reads it as names."
            )
    if decimal is None:
        decimal, doubt = _decimal(rows[1:] if header else rows, separator)
        notes += doubt
    return Dialect(separator, decimal, header, tuple(notes))


def names_and_codes(
    text: str, dialect: Dialect, *, skipped: int = 0, max_cells: int
) -> tuple[list[str], frozenset[int]]:
    """The names as the file has them (empty where it has none), and the positions of columns of codes like 007.

    Checks that all rows have the same width, because pandas silently fills short ones with missing values, and that
    they aren't too many; `skipped` lines stand above the text.
    """
    rows = records(text, dialect.separator, skipped=skipped)
    first = next(rows)
    if not dialect.header:
        names = [f"column_{j + 1}" for j in range(len(first[1]))]
    else:
        names, second = [name.strip() for name in first[1]], next(rows, None)
        if second is None:
            raise TableError("it has a header but no rows below it")
        first = second
        if len(second[1]) == len(names) + 1:
            # One field more than names: a separator at the end of every row, or R's row names in front.
            names = [*names, ""] if not second[1][-1].strip() else ["", *names]
    return names, _checked(chain([first], rows), len(names), dialect, max_cells)


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
        hint = "correct the line, or set the separator (--separator)"
    return (
        f"line {line} has {plural(found, 'field')} where the table has {plural(width, 'column')} "
        f"(separator: {_NAMES.get(dialect.separator, repr(dialect.separator))}); {hint}"
    )


def _sample(text: str, separator: str, *, skipped: int = 0) -> Iterator[list[str]]:
    """The first rows, at least twenty of them however wide they are."""
    fields = 0
    for count, (_, row) in enumerate(records(text, separator, skipped=skipped)):
        if count >= _SAMPLE_ROWS or (fields > _SAMPLE_FIELDS and count >= 20):
            return
        fields += len(row)
        yield row


def _separator(text: str) -> str:
    """The sign that splits most rows into the same number of fields."""
    best, best_share = NO_SEPARATOR, 0.0
    for candidate in SEPARATORS:
        if candidate not in text:
            continue
        widths: list[int] = []
        # A row that can't be split raises an error when the table is read; here it is skipped.
        with suppress(TableError):
            widths.extend(len(row) for row in _sample(text, candidate))
        # If the first row doesn't have it, it is part of the values: 1,5 below the name of a single column.
        if not widths or widths[0] < 2:
            continue
        width, count = Counter(widths).most_common(1)[0]
        share = count / len(widths) if width > 1 else 0.0
        if share > best_share:
            best, best_share = candidate, share
    return best


def _decimal(rows: list[list[str]], separator: str) -> tuple[str, list[str]]:
    fields = [_SPACED.sub("", field.strip(" %$€£")) for row in rows for field in row]
    if any(map(_GROUPED_COMMA.fullmatch, fields)):
        return ",", []
    either = [field for field in fields if _EITHER.fullmatch(field)]
    comma = sum(_COMMA.fullmatch(field) is not None for field in fields) - len(either)
    point = sum(_POINT.fullmatch(field) is not None for field in fields)
    if comma > point:
        return ",", []
    if either and not point and separator != "," and not any(map(_THOUSANDS.fullmatch, fields)):
        other = "decimal='.' (--decimal .) reads it as a thousands separator"
        note = f"Numbers like {either[0]!r} were read with a decimal comma; {other}."
        return ",", [note]
    return ".", []


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: a word is above numbers, or no first field looks like data."""
    first, rest = rows[0], rows[1:]
    if not rest:
        return not any(_is_value(field) for field in first)
    named = repeated = 0
    for j, field in enumerate(first):
        below = [row[j].strip() for row in rest if j < len(row) and not _is_missing(row[j])]
        if not below or field.strip() in NA_WORDS:
            continue
        values = sum(map(_is_value, below)) > 0.8 * len(below)
        named += values and not _is_value(field)
        repeated += values and _is_value(field)
        repeated += not values and field.strip() in below
    return named > 0 or repeated == 0


def _is_value(field: str) -> bool:
    text = field.strip()
    return _NUMBER.fullmatch(text) is not None or _DATE.fullmatch(text) is not None


def _is_missing(field: str) -> bool:
    return field.strip() in NA_WORDS or field.strip().casefold() in SUSPECT_WORDS
