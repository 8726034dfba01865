"""Text tables: detecting separator, decimal sign and header, and parsing the text into a frame."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import plural, quoted
from credo.tables.columns import NA_WORDS, SIGNS, SUSPECT_WORDS, read_numbers, unique_names
from credo.tables.errors import CELL_BYTES, TableError, check_cells, pandas
from credo.tables.layout import without_headings, without_totals

# The first of these wins a tie: commas and spaces are more likely to occur inside fields.
SEPARATORS = ("\t", ";", "|", ",", " ")
_NAMES = {"\t": "tab", ";": "semicolon", "|": "vertical bar", ",": "comma", " ": "space"}
# A control character that no text contains, for tables of one column.
NO_SEPARATOR = "\x1f"
# Rows, fields and columns that are used to detect the dialect.
_SAMPLE_ROWS = 500
_SAMPLE_FIELDS = 50_000
_SAMPLE_COLUMNS = 1000
_PART_CHARACTERS = 2**20
# Fields that are searched for codes like 007.
_CODE_FIELDS = 500_000

_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d*)\.\d+([eE][+-]?\d+)?", re.ASCII)
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+", re.ASCII)
# 1,234: a number with three decimals, or one thousand two hundred thirty-four.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3}){2,}", re.ASCII)
_SPACED = re.compile(r"(?<=\d)[ '’\u00a0\u202f](?=\d)")
# The possessive *+ prevents blanks from being tried both as part of the number and after it.
_NUMBER = re.compile(r"[+-]?[$€£]?\s*(\d[\d .,'’\u00a0\u202f]*+|[.,]\d+)([eE][+-]?\d+)?\s*[%$€£]?", re.ASCII)
_YEAR = re.compile(r"1[5-9]\d\d|2[01]\d\d", re.ASCII)
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
    """Line number and fields of every row that isn't blank; `skipped` lines precede the text."""
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
            advice = "shorten it, or look for an unclosed quotation mark above"
            raise TableError(f"{line} has a field of more than {limit} characters; {advice}") from None
        raise TableError(f"{line} can't be split into fields ({error}); look for an unclosed quotation mark") from None


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, part by part: a StringIO of the whole would take four bytes per character."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PART_CHARACTERS) + 1 or len(text)
        yield from StringIO(text[start:end])
        start = end


def sniff(text: str, *, separator: str | None, decimal: str | None, header: bool | None, skipped: int = 0) -> Dialect:
    """The dialect of a text; parts given by options are not detected."""
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
            advice = "header=True (--header) reads it as names"
            notes.append(f"The first row looks like data, so columns were numbered; {advice}.")
    if decimal is None:
        decimal, doubt = _decimal(rows[1:] if header else rows, separator)
        notes += doubt
    return Dialect(separator, decimal, header, tuple(notes))


def names_and_codes(text: str, dialect: Dialect, *, skipped: int, max_cells: int) -> tuple[list[str], set[int]]:
    """The names in the file (empty if missing), and the positions of columns of codes like 007.

    Checks that all rows have the same width, because pandas silently fills short ones with missing values, and that
    they aren't too many; `skipped` lines precede the text.
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
            # One more field than names: a separator at the end of every row, or R's row names in front.
            names = [*names, ""] if not second[1][-1].strip() else ["", *names]
    codes, cells, width = set[int](), 0, len(names)
    for line, row in chain([first], rows):
        if len(row) != width:
            raise TableError(_ragged(len(row), width, line=line, dialect=dialect))
        if cells < _CODE_FIELDS:
            codes.update(j for j, cell in enumerate(row) if cell[:1] == "0" and _CODE.fullmatch(cell.rstrip()))
        cells += width
        if cells > max_cells:
            check_cells(f"line {line}", cells, max_cells)
    return names, codes


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
    """The first rows; at least twenty, even if they are wide."""
    fields = 0
    for count, (_, row) in enumerate(records(text, separator, skipped=skipped)):
        if count >= _SAMPLE_ROWS or (fields > _SAMPLE_FIELDS and count >= 20):
            return
        fields += len(row)
        yield row


def _separator(text: str) -> str:
    """The separator that splits most rows into the same number of fields."""
    best, best_share = NO_SEPARATOR, 0.0
    for candidate in SEPARATORS:
        if candidate not in text:
            continue
        widths: list[int] = []
        # A row that can't be split raises an error when the table is read; here it is skipped.
        with suppress(TableError):
            widths.extend(len(row) for row in _sample(text, candidate))
        # If the first row doesn't contain it, it is part of the values, as in 1,5 below the name of a single column.
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
        return ",", [f"Numbers like {either[0]!r} were read with a decimal comma; {other}."]
    return ".", []


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: it has text above numbers, or none of its fields looks like data."""
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
    return named > 0 or repeated == 0 or (_are_years(first) and not any(map(_are_years, rest)))


def _are_years(row: list[str]) -> bool:
    """Whether the numbers of a row are years at equal distances, which name columns such as 2019, 2020 and 2021."""
    fields = [field.strip() for field in row if _is_value(field)]
    if len(fields) < 2 or not all(map(_YEAR.fullmatch, fields)):
        return False
    steps = np.diff([int(field) for field in fields])
    return bool(steps[0] != 0 and (steps == steps[0]).all())


def _is_value(field: str) -> bool:
    text = field.strip()
    return _NUMBER.fullmatch(text) is not None or _DATE.fullmatch(text) is not None


def _is_missing(field: str) -> bool:
    return field.strip() in NA_WORDS or field.strip().casefold() in SUSPECT_WORDS


# Cells processed at a time.
_PART_CELLS = 1_000_000
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_EMPTY_ROW = "".join(SEPARATORS)


def parse(text: str, *, na_words: Sequence[str] | None, max_bytes: int, **given: Any) -> tuple[Any, list[str]]:
    """The frame of a text table, and notes; a frame that takes more than `max_bytes` raises an error.

    Separator, decimal and header are detected unless `given`.
    """
    text, declared, skipped, notes = _without_preamble(text)
    given["separator"] = given["separator"] or declared
    dialect = sniff(text, **given, skipped=skipped)
    names, coded = names_and_codes(text, dialect, skipped=skipped, max_cells=max_bytes // CELL_BYTES)
    names, renamed = unique_names(names)
    codes = [names[j] for j in sorted(coded)]
    if len(names) == 1:
        # Only in a table with one column is a blank line a row.
        text = text.rstrip("\n")
        check_cells("it", text.count("\n"), max_bytes // CELL_BYTES)
    frame = _frame(text, dialect, names=names, codes=codes, na_words=na_words)
    notes += [*dialect.notes, *renamed]
    if len(names) == 1 and frame[names[0]].isna().any() and _BLANK_LINE.search(text):
        notes.append("Blank lines were read as missing values, because the table has only one column.")
    if codes:
        notes.append(f"Columns kept as text because of leading zeros: {quoted(codes)}.")
    empty = frame.isna().all(axis=1)
    if empty.any() and len(names) > 1:
        if empty.all():
            raise TableError("it has a header but no values below it")
        # The index keeps the row numbers of the file.
        frame = frame[~empty]
        notes.append(f"Left out {plural(int(empty.sum()), 'empty row')}.")
    frame, headings = without_headings(frame, decimal=dialect.decimal) if dialect.header else (frame, [])
    read = typed(frame, decimal=dialect.decimal, skip=set(codes))
    frame, totals = without_totals(frame)
    return frame, [*notes, *headings, *read, *totals]


def typed(frame: Any, *, decimal: str = ".", skip: Collection[str] = ()) -> list[str]:
    """Trim columns of text in place, convert those that hold numbers, and return the notes.

    Removed signs, such as % or $, are kept in the frame's `attrs`.
    """
    notes: list[str] = []
    signs: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if dtype.kind in "biuf":
            continue
        words, is_changed = _trimmed(frame[name])
        reading = None if name in skip else read_numbers(words, name=name, decimal=decimal)
        # Replacing a column takes memory again: for all columns together, as much as the table.
        if reading is not None:
            frame[name] = reading.values
            notes += reading.notes
            signs |= {name: reading.sign} if reading.sign else {}
        elif is_changed:
            frame[name] = words
    frame.attrs[SIGNS] = signs
    return notes


def _without_preamble(text: str) -> tuple[str, str | None, int, list[str]]:
    """The text from its first row on, the separator of Excel's `sep=` line, the lines skipped, and notes."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    declared: str | None = None
    start = skipped = comments = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end].strip()
        sep = re.fullmatch(r"\"?sep=(.)\"?", line, re.IGNORECASE)
        if sep:
            declared = sep[1]
        elif line.startswith("#"):
            comments += 1
        # Spreadsheets write empty rows above a table as separators only.
        elif line.strip(_EMPTY_ROW):
            break
        start, skipped = end, skipped + 1
    if start >= len(text):
        raise TableError("it has no rows")
    return text[start:], declared, skipped, [f"Skipped {plural(comments, 'comment line')} at the top."] * bool(comments)


def _frame(text: str, dialect: Dialect, *, names: list[str], codes: list[str], na_words: Sequence[str] | None) -> Any:
    """The rows; columns that look numeric only in some of pandas' chunks are read again as text."""
    pd = pandas()
    # Since 3.1, pandas reads floats exactly by default, and warns about the option.
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact = {} if version >= (3, 1) else {"float_precision": "round_trip"}

    def read(words: list[str]) -> Any:
        return pd.read_csv(
            _Reader(text),
            sep=r"\s+" if dialect.separator == " " else dialect.separator,
            decimal=dialect.decimal,
            header=0 if dialect.header else None,
            names=names,
            index_col=False,
            dtype=dict.fromkeys(words, str),
            na_values=[""] if na_words is not None and not len(na_words) else [*NA_WORDS, *(na_words or ())],
            keep_default_na=False,
            skipinitialspace=True,
            skip_blank_lines=len(names) > 1,
            **exact,
        )

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = read(codes)
            objects = [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]
            mixed = [name for name in objects if pd.api.types.infer_dtype(frame[name]).startswith("mixed")]
            if mixed:
                frame = read([*codes, *mixed])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError, ValueError) as error:
        raise TableError(f"it isn't a table ({str(error).strip()[:200]})") from None
    # The copy joins columns of one type into one array; otherwise every access takes time for each column.
    return frame.copy()


class _Reader:
    """A text as a file for pandas, without the copy of `StringIO`, which takes four bytes per character."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, size: int = -1) -> str:
        start, self._at = self._at, len(self._text) if size < 0 else self._at + size
        return self._text[start : self._at]

    def __iter__(self) -> _Reader:
        # pandas requires this of a file object.
        return self


def _trimmed(column: Any) -> tuple[NDArray[Any], bool]:
    """The words of a column, and whether any of them changed; part by part, to save memory."""
    words, is_changed = np.empty(len(column), dtype=object), column.dtype.kind == "O" and str(column.dtype) != "str"
    for start in range(0, len(column), _PART_CELLS):
        found = column.iloc[start : start + _PART_CELLS].tolist()
        words[start : start + len(found)] = part = [_word(value) for value in found]
        is_changed = is_changed or any(a is not b and a == a for a, b in zip(found, part, strict=True))
    return words, is_changed


def _word(value: Any) -> str | None:
    """A trimmed word, or None: pandas leaves integers beyond 64 bits and mixed columns as objects."""
    if value is None or value != value:
        return None
    return str(value).strip() or None
