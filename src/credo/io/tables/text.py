"""From text to a frame: the parsing itself, once the dialect is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import TableError, plural, quoted
from credo.io.extras import pandas
from credo.io.tables.columns import unique_names
from credo.io.tables.dialect import SEPARATORS, Dialect, names_and_codes, sniff
from credo.io.tables.numbers import NA_WORDS, read_numbers
from credo.io.tables.source import CELL, too_many_cells

# Where a frame keeps the sign that the numbers of a column were written with.
_SIGNS = "signs"
# Cells that pandas reads at a time, and the fewest rows: it spends as long on a column as on a hundred of its cells.
_PART_CELLS, _PART_ROWS = 1_000_000, 100
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_EMPTY_ROW = "".join(SEPARATORS)
# Numbers that often code missing values.
_CODES = (-99, -999, -9999, -99999, 999, 9999, 99999)


class Signs(dict[str, str]):
    """The sign of each column that was written with one; never copied, because pandas deep-copies `attrs` often."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Signs:
        return self


def parse(
    text: str,
    *,
    separator: str | None,
    decimal: str | None,
    na_words: Sequence[str] | None,
    header: bool | None,
    max_bytes: int,
) -> tuple[Any, list[str]]:
    """The frame of a text table, and notes; a frame that takes more than `max_bytes` raises an error."""
    text, declared, skipped, notes = _without_preamble(text)
    dialect = sniff(text, separator=separator or declared, decimal=decimal, header=header, skipped=skipped)
    names, coded = names_and_codes(text, dialect, skipped=skipped, max_cells=max_bytes // CELL)
    names, renamed = unique_names(names)
    codes = [names[j] for j in sorted(coded)]
    if len(names) == 1:
        # Only in such a table is a blank line a row.
        text = text.rstrip("\n")
        if text.count("\n") > max_bytes // CELL:
            raise TableError(too_many_cells("it", max_bytes // CELL))
    frame = _frame(text, dialect, names=names, codes=codes, na_words=na_words)
    notes += [*dialect.notes, *renamed]
    if len(names) == 1 and frame[names[0]].isna().any() and _BLANK_LINE.search(text):
        notes.append("Blank lines were read as missing values, because the table has only one column.")
    if codes:
        notes.append(f"Columns kept as text because of leading zeros: {quoted(codes)}.")
    frame, dropped = _without_empty_rows(frame)
    return frame, [*notes, *dropped, *typed(frame, decimal=dialect.decimal, skip=set(codes))]


def typed(frame: Any, *, decimal: str = ".", skip: Collection[str] = ()) -> list[str]:
    """Turn the columns of words into numbers that are numbers, in place; returns the notes.

    The signs that were taken away, as % or $, are kept in the frame's `attrs`.
    """
    notes, signs = _words_to_numbers(frame, decimal=decimal, skip=skip)
    frame.attrs[_SIGNS] = Signs(signs)
    return [*notes, *_missing_codes(frame)]


def signs_of(frame: Any) -> dict[str, str] | None:
    """The signs of the columns that were written with one, as % or $; None if the frame wasn't read from a file."""
    found = frame.attrs.get(_SIGNS)
    return found if isinstance(found, dict) else None


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
        # Spreadsheets write the empty rows above a table as separators alone.
        elif line.strip(_EMPTY_ROW):
            break
        start, skipped = end, skipped + 1
    if start >= len(text):
        raise TableError("it has no rows")
    notes = [f"Skipped {plural(comments, 'comment line')} at the top."] if comments else []
    return text[start:], declared, skipped, notes


def _frame(text: str, dialect: Dialect, *, names: list[str], codes: list[str], na_words: Sequence[str] | None) -> Any:
    """The rows, read part by part, because pandas keeps the position of every cell in memory while it reads."""
    pd = pandas()
    # Since 3.1, pandas reads floats exactly by default, and warns about the option.
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact = {} if version >= (3, 1) else {"float_precision": "round_trip"}
    try:

        def parts(words: list[str]) -> list[Any]:
            reader = pd.read_csv(
                _Reader(text),
                sep=r"\s+" if dialect.separator == " " else dialect.separator,
                decimal=dialect.decimal,
                header=0 if dialect.header else None,
                names=names,
                index_col=False,
                dtype=dict.fromkeys(words, str),
                na_values=list(NA_WORDS if na_words is None else ["", *na_words]),
                keep_default_na=False,
                skipinitialspace=True,
                skip_blank_lines=len(names) > 1,
                low_memory=False,
                chunksize=max(_PART_ROWS, _PART_CELLS // len(names)),
                **exact,
            )
            with reader:
                return list(reader)

        found = parts(codes)
        mixed = _mixed(found, names) if len(found) > 1 else []
        if mixed:
            found = parts([*codes, *mixed])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError, ValueError) as error:
        raise TableError(f"it isn't a table ({str(error).strip()[:200]})") from None
    # The copy joins columns of one type into one array, without which every access takes a time for each column.
    return found[0].copy() if len(found) == 1 else pd.concat(found, ignore_index=True)


class _Reader:
    """A text as a file for pandas: without a copy, which `StringIO` would make at four bytes a character."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, size: int = -1) -> str:
        start, self._at = self._at, len(self._text) if size < 0 else self._at + size
        return self._text[start : self._at]

    def __iter__(self) -> _Reader:
        # pandas takes an object for a file if it has this.
        return self


def _mixed(parts: list[Any], names: list[str]) -> list[str]:
    """The columns that look like numbers in some parts only; they are read again as text in all parts."""
    kinds = {"i": "number", "f": "number", "b": "truth", "u": "large"}
    found = []
    # A wide table has thousands of columns, and pandas is slow to access each: types first, all at once.
    seen = [[kinds.get(dtype.kind, "word") for dtype in part.dtypes] for part in parts]
    for name, those in zip(names, zip(*seen, strict=True), strict=True):
        if len(set(those)) > 1:
            held = {kind for kind, part in zip(those, parts, strict=True) if part[name].notna().any()}
            found += [name] if len(held) > 1 else []
    return found


def _without_empty_rows(frame: Any) -> tuple[Any, list[str]]:
    empty = frame.isna().all(axis=1)
    if not empty.any() or frame.shape[1] == 1:
        return frame, []
    if empty.all():
        raise TableError("it has a header but no values below it")
    note = f"Left out {plural(int(empty.sum()), 'empty row')}."
    # The index keeps counting the rows of the file.
    return frame[~empty], [note]


def _words_to_numbers(frame: Any, *, decimal: str, skip: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """Trim the columns of words in place, and turn those into numbers that are numbers; the notes and signs."""
    notes: list[str] = []
    signs: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if dtype.kind in "biuf":
            continue
        words, is_changed = _trimmed(frame[name])
        reading = None if name in skip else read_numbers(words, name=name, decimal=decimal)
        # What is written again takes memory again, all columns together as much as the table.
        if reading is not None or is_changed:
            frame[name] = words if reading is None else reading.values
        if reading is not None:
            notes += reading.notes
            signs |= {name: reading.sign} if reading.sign else {}
    return notes, signs


def _missing_codes(frame: Any) -> list[str]:
    """Notes about numbers such as −999 that are far from all others, and may mean that a value is missing."""
    notes = []
    numeric = [j for j, dtype in enumerate(frame.dtypes) if dtype.kind in "iuf"]
    # Many columns at once: a wide table has thousands, and pandas is slow to access each.
    width = max(1, _PART_CELLS // max(1, len(frame)))
    for part in (numeric[start : start + width] for start in range(0, len(numeric), width)):
        block = frame.iloc[:, part].to_numpy(dtype=np.float64, na_value=np.nan)
        for code in _CODES:
            matches = block == code
            for k in np.flatnonzero(np.count_nonzero(matches, axis=0) > 1):
                others = block[~matches[:, k] & np.isfinite(block[:, k]), k]
                if len(others) and np.abs(others).max() < abs(code) / 5:
                    notes.append(
                        f"Column {frame.columns[part[k]]!r}: {code:.0f} occurs {matches[:, k].sum():,} times, far from "
                        "all other values; if it means missing, list it in na_words (--na)."
                    )
    return notes


def _trimmed(column: Any) -> tuple[NDArray[Any], bool]:
    """The words of a column, and whether any of them is another value than before; part by part, to save memory."""
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
