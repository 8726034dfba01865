"""Columns of frames as plain arrays, and numbers written as text: 1 234,5 or $1,234 or 12 %.

Every table passes through `as_frame`. A column of text is read as numbers only if all its values have the same form; a
note says what was removed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from credo.core.estimator import unmasked
from credo.core.wording import first_few, not_numbers, plural, quoted, shown
from credo.tables.errors import ColumnError, nearest, pandas

# Missing in any column.
NA_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "#NA", "<NA>")
# Missing in a column of numbers; in other columns these may be ordinary levels.
SUSPECT_WORDS = frozenset(
    ("-", "--", "---", "–", "—", "?", "??", ".", "..", "*", "none", "missing", "unknown", "unk", "n.a.", "n.d.",
     "nd", "na", "k.a.", "k. a.", "tbd", "#value!", "#div/0!", "#num!", "#ref!", "#name?", "not available",
     "not applicable", "not measured")
)  # fmt: skip
_CURRENCIES = "$€£"
_PLAIN = {
    decimal: re.compile(rf"[+-]?(\d+({point}\d*)?|{point}\d+)([eE][+-]?\d+)?", re.ASCII)
    for decimal, point in ((".", r"\."), (",", ","))
}
# Grouped thousands don't begin with a zero: 0,250 is a quarter.
_GROUPED = {
    decimal: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?P<group>[{groups}])\d{{3}}((?P=group)\d{{3}})*({point}\d+)?", re.ASCII)
    for decimal, point, groups in ((".", r"\.", ", '’\u00a0\u202f\u2009"), (",", ",", ". '’\u00a0\u202f\u2009"))
}
# What may follow a number: 12 %, 321 km or 3 °C, but not 1st.
_UNIT = r"[%‰$€£]|(?!(?:st|nd|rd|th)$)(?:[^\W\d_]|[°µ])[\w%°µ/^*·²³]*"
_WITH_UNIT = re.compile(rf"([+-]?[\d.,'’ \u00a0\u202f\u2009]*[\d.,])\s*({_UNIT})")
# Units of one quantity, which may be mixed in a column, as multiples of the first.
_CONVERTIBLE: tuple[dict[str, float], ...] = (
    {"m": 1.0, "km": 1e3, "dm": 0.1, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6},
    {"g": 1.0, "kg": 1e3, "mg": 1e-3, "µg": 1e-6, "t": 1e6},
    {"s": 1.0, "sec": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0},
    {"l": 1.0, "L": 1.0, "dl": 0.1, "cl": 1e-2, "ml": 1e-3, "mL": 1e-3},
)
# Words such as c12 or 85123A: among whole numbers they show that all are codes.
_CODE = re.compile(r"[A-Za-z]{1,4}[-_]?\d+|\d+[A-Z]", re.ASCII)
# A column with a larger share of other words, or with any among fewer rows, isn't numeric with typing errors.
_MAX_TYPO_SHARE, _MIN_TYPO_ROWS = 0.05, 20


@dataclass(frozen=True, eq=False)
class Reading:
    """A column of words read as numbers, notes on how, and their sign, such as % or $."""

    values: NDArray[np.float64]
    notes: tuple[str, ...]
    sign: str = ""


def read_numbers(words: NDArray[Any], *, name: str, decimal: str) -> Reading | None:
    """The numbers of a column of words, missing ones None or NaN; None if they aren't numbers."""
    missing = np.array([not isinstance(word, str) for word in words], dtype=bool)
    texts = [str(word).strip().replace("−", "-").replace("μ", "µ") for word in words[~missing]]
    for form in _forms(sorted(set(texts)), decimal=decimal):
        odd = [text for text in texts if text in form.odd]
        strange = sum(text.casefold() not in SUSPECT_WORDS for text in odd)
        if strange and (len(texts) < _MIN_TYPO_ROWS or strange > _MAX_TYPO_SHARE * len(texts)):
            continue
        if are_codes(odd, form.numbers.values()):
            continue
        values = np.full(len(words), np.nan)
        values[~missing] = [form.numbers.get(text, np.nan) for text in texts]
        notes = [f"Column {name!r} was read as numbers {' and '.join(form.notes)}."] if form.notes else []
        if odd:
            first = next(row for row, text in zip(np.flatnonzero(~missing), texts, strict=True) if text in form.odd)
            phrase = not_numbers(len(odd), sorted(set(odd)), int(first) + 1)
            notes.append(f"Column {name!r}: {phrase} treated as missing.")
        return Reading(values, tuple(notes), form.sign)
    return None


def are_codes(odd: Iterable[str], numbers: Iterable[float]) -> bool:
    """Whether words such as c12 among whole numbers show that all of them are codes."""
    found = sum(_CODE.fullmatch(word) is not None for word in odd)
    return found > 1 and all(float(number).is_integer() for number in numbers)


def plain_number(text: str) -> float | None:
    """A number as programs write it, or None."""
    parsed = _parsed_number(text, decimal=".")
    return parsed[0] if parsed is not None and not parsed[1] else None


@dataclass(frozen=True, eq=False)
class _Form:
    """The number of each word, the words that aren't numbers, and how the numbers are written, with their sign."""

    numbers: dict[str, float]
    odd: set[str]
    notes: list[str]
    sign: str
    grouped: bool


def _forms(distinct: list[str], *, decimal: str) -> list[_Form]:
    """The readings of the words, most plausible first: with the decimal sign of the table, or with the other one."""
    own = _form(distinct, decimal=decimal)
    if own is not None and not own.odd:
        return [own]
    other = _form(distinct, decimal="," if decimal == "." else ".")
    if other is None:
        return [] if own is None else [own]
    other.notes.append(f"with {'commas' if decimal == '.' else 'points'} as decimal signs, unlike the rest")
    if own is None:
        return [other]
    # 1,250 is more than a thousand, unless 0,250 in the same column shows that its comma is a decimal sign.
    return [other, own] if own.grouped and len(other.odd) < len(own.odd) else [own, other]


def _form(distinct: list[str], *, decimal: str) -> _Form | None:
    """How the words are read with this decimal sign; None if they can't be."""
    numbers: dict[str, float] = {}
    groups: set[str] = set()
    affixes: dict[str, tuple[str, str]] = {}
    for text in distinct:
        before, rest = (text[:1], text[1:].strip()) if text[:1] in _CURRENCIES else ("", text)
        after, parsed = "", _parsed_number(rest, decimal=decimal)
        if parsed is None and (match := _WITH_UNIT.fullmatch(rest)):
            after, parsed = match[2], _parsed_number(match[1].strip(), decimal=decimal)
        if parsed is not None:
            numbers[text], group = parsed
            # 1 day and 2 days have the same unit.
            affixes[text] = before, after.removesuffix("s") if len(after) > 3 else after
            groups |= {group} - {""}
    factors, unit = _factors(Counter(affixes.values()))
    if not numbers or len(groups) > 1 or unit is None:
        return None
    # With four digits in a row before the decimal sign, other entries aren't grouped numbers.
    ungrouped = re.compile(rf"(?<!\d|{re.escape(decimal)})\d{{4,}}", re.ASCII)
    if groups and any(map(ungrouped.search, numbers)):
        return None
    sign = unit[0] or unit[1]
    names = {".": "points", ",": "commas", "'": "apostrophes", "’": "apostrophes"}
    notes = [f"with {names.get(group, 'spaces')} between thousands" for group in groups]
    if len(factors) > 1:
        notes.append(f"in {sign} (from {', '.join(sorted(after for _, after in factors))})")
    elif sign:
        what = "sign" if sign in _CURRENCIES + "%‰" else "unit"
        notes.append(f"without the {what} {sign!r}" + (" (12 % is 12)" if sign == "%" else ""))
    numbers = {text: number * factors[affixes[text]] for text, number in numbers.items()}
    return _Form(numbers, set(distinct) - numbers.keys(), notes, sign, bool(groups))


def _factors(found: Counter[tuple[str, str]]) -> tuple[dict[tuple[str, str], float], tuple[str, str] | None]:
    """What each sign or unit is worth in the commonest one, and that one; None if they can't be converted."""
    usual = found.most_common(1)[0][0] if found else None
    if usual is None or len(found) == 1:
        return dict.fromkeys(found, 1.0), usual
    factors = {affix: None if affix[0] else unit_factor(affix[1], usual[1]) for affix in found}
    known = {affix: factor for affix, factor in factors.items() if factor is not None}
    return (known, usual) if len(known) == len(found) else ({}, None)


def unit_factor(unit: str, other: str) -> float | None:
    """How many of the other unit make one of this one; None if they can't be converted.

    >>> unit_factor("km", "m"), unit_factor("km", "kg")
    (1000.0, None)
    """
    return next((units[unit] / units[other] for units in _CONVERTIBLE if unit in units and other in units), None)


def _parsed_number(text: str, *, decimal: str) -> tuple[float, str] | None:
    """A number and the sign that groups its digits, or None."""
    if _PLAIN[decimal].fullmatch(text):
        return float(text.replace(decimal, ".")), ""
    grouped = _GROUPED[decimal].fullmatch(text)
    if grouped:
        return float(text.replace(grouped["group"], "").replace(decimal, ".")), grouped["group"]
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return float(text), ""
    return None


# Not all larger whole numbers are floats.
MAX_EXACT_INTEGER = 2.0**53
# Numbers that conventionally code a missing value: written with nines only, as in −9, 99, −999 or 9999.9.
SENTINELS = np.array(
    [
        sign * float("9" * digits + ("." + "9" * decimals if decimals else ""))
        for digits in range(1, 10)
        for decimals in range(3)
        for sign in (-1, 1)
        if (sign, digits) != (1, 1)
    ]
)


def sentinels(values: NDArray[np.float64]) -> list[float]:
    """The numbers of a column that code missing values, such as −999.

    They have the conventional form, occur at least twice, and are impossible beside the others: further from all of
    them than these are from each other, or negative where no other is.
    """
    known, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    coded = np.isin(known, SENTINELS)
    others = known[~coded]
    if len(others) < 2:
        return []
    low, high = others[0], others[-1]
    with np.errstate(over="ignore"):
        isolated = (known < low - (high - low)) | (known > high + (high - low)) | ((known < 0) & (low >= 0))
    return [float(value) for value in known[coded & (counts > 1) & isolated]]


def sentinel_note(name: str, values: NDArray[np.float64], found: list[float]) -> str:
    """The sentence about the sentinels of a column."""
    others = values[np.isfinite(values) & ~np.isin(values, found)]
    parts = [f"{value:.15g} ({plural(int(np.count_nonzero(values == value)), 'row')})" for value in found]
    span = f"all others are between {shown(others.min())} and {shown(others.max())}"
    return (
        f"Column {name!r}: {' and '.join(parts)} was treated as missing, because {span}; keep_sentinels=True "
        "(--keep-sentinels) keeps it as a number."
    )


def as_frame(table: Any) -> Any:
    """The table as a pandas frame whose column names are distinct strings.

    Also accepts frames of other libraries and mappings of name to column; an array's columns are x0, x1, ….
    """
    pd = pandas()
    frame = table if isinstance(table, pd.DataFrame) else _converted(table, pd)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise ColumnError("the table has a multi-level column index; flatten it first")
    given = frame.columns.tolist()
    names = [str(name) for name in given]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise ColumnError(f"the table has more than one column named {quoted(repeated)}; rename them")
    return frame if names == given else frame.set_axis(names, axis=1)


def column_named(frame: Any, name: str, *, what: str = "column") -> str:
    """The name, if the frame has such a column; otherwise an error that suggests the nearest."""
    if name in frame.columns:
        return name
    raise ColumnError(missing_columns([name], list(frame.columns), what=what))


def row_weights(frame: Any, name: str) -> NDArray[np.float64]:
    """The weights of the rows in a column, each a number that isn't negative."""
    values: NDArray[np.float64] = pandas().to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if len(bad):
        raise ValueError(f"the weight {name!r} must be a number that is not negative; see row {int(bad[0]) + 1}")
    return values


def amounts(frame: Any, name: str, *, what: str) -> NDArray[np.float64]:
    """The positive numbers of a column, such as an exposure; an error names the first other cell."""
    values: NDArray[np.float64] = pandas().to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        label = frame.index[bad[0]]
        row = label + 1 if isinstance(label, int | np.integer) else label
        found = "missing" if frame[name].isna().iloc[bad[0]] else frame[name].iloc[bad[0]]
        raise ColumnError(
            f"the {what} {name!r} must be a positive number in every row; it is {found} in row {row}: enter it, or "
            "leave out such rows"
        )
    return values


def missing_columns(missing: list[str], present: list[str], *, what: str = "column") -> str:
    """The sentence about columns that a table should have."""
    parts = []
    for name in missing[:5]:
        near = nearest(str(name), present, most=1)
        parts.append(f"{str(name)!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return (
        f"the table has no {what}{'s' if len(missing) > 1 else ''} {', '.join(parts)}{more}; "
        f"it has {quoted(present, most=15) if present else 'no columns at all'}"
    )


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names for unnamed columns, a number after repeated ones, and notes about both."""
    unnamed = [str(j + 1) for j, name in enumerate(names) if not name]
    # pandas and R write row numbers as an unnamed first column.
    named = [name or ("row" if j == 0 else f"column_{j + 1}") for j, name in enumerate(names)]
    taken = set(named)
    # The last number given to each name: starting from 2 for each repetition would take quadratic time.
    last: dict[str, int] = {}
    unique, repeated = [], []
    for name in named:
        final = name
        if name in last:
            while final in taken:
                last[name] += 1
                final = f"{name}_{last[name]}"
            repeated.append(name)
        last.setdefault(name, 1)
        taken.add(final)
        unique.append(final)
    notes = [f"Columns without a name (number {first_few(unnamed, most=10)}) were given one."] if unnamed else []
    if repeated:
        notes.append(f"Column names that occur more than once were numbered: {quoted(dict.fromkeys(repeated))}.")
    return unique, notes


def finite_columns(table: Any, names: Collection[str]) -> tuple[list[str], NDArray[np.float64]]:
    """The named columns of numeric type with only finite values, and these values, a column each.

    All are read at once, because wide tables have thousands of columns, and pandas accesses them slowly.
    """
    types, names = zip(table.columns.tolist(), table.dtypes, strict=True), set(names)
    plain = [name for name, kind in types if name in names and isinstance(kind, np.dtype) and kind.kind in "iuf"]
    part = table if len(plain) == table.shape[1] else table[plain]
    # Fortran order: sums along a column are then pairwise, and keep their digits.
    values = np.asfortranarray(part.to_numpy(dtype=np.float64))
    finite = np.isfinite(values).all(axis=0)
    if finite.all():
        return plain, values
    return [name for name, kept in zip(plain, finite, strict=True) if kept], values[:, finite]


def present_mask(column: Any) -> NDArray[np.bool_]:
    """Which rows have a value; blank text counts as missing."""
    if _is_plain(column):
        return ~np.isnan(column.to_numpy())
    present = np.asarray(column.notna(), dtype=bool)
    if is_wordy(column):
        present = present & _mapped(column, _is_filled).astype(bool)
    return present


def is_wordy(column: Any) -> bool:
    """Whether the column may hold words: not numbers, truth values or dates by its type."""
    return column.dtype.kind not in "biufcMm"


def _is_plain(column: Any) -> bool:
    """Whether the column is an array of NumPy numbers, for a fast path in wide tables."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"


def words(column: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Every value as a trimmed word, None where missing; whole floats lose their .0, so that 1.0 and 1 agree."""
    result = _mapped(column, _word)
    result[~present] = None
    return result


def reading_of(column: Any, present: NDArray[np.bool_]) -> Reading | None:
    """The numbers of a column of words that aren't all plain numbers, such as 321 km; None for others."""
    if not is_wordy(column) or not any(isinstance(value, str) and plain_number(value) is None for value in column):
        return None
    return read_numbers(words(column, present), name=str(column.name), decimal=".")


def numbers(
    column: Any, present: NDArray[np.bool_], *, unit: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The column as floats, NaN where missing, and the rows whose value isn't a number.

    Numbers that are written with another unit are converted to `unit`.
    """
    if _is_plain(column):
        return column.to_numpy(dtype=np.float64, copy=True), np.empty(0, dtype=np.intp)
    reject_complex(column)
    values = np.full(len(column), np.nan)
    if column.dtype.kind in "biuf":
        values[present] = column[present].to_numpy(dtype=np.float64)
        return values, np.empty(0, dtype=np.intp)
    if not is_wordy(column):
        return values, np.flatnonzero(present)
    found = _mapped(column, _number)
    found[~present] = np.nan
    odd = np.array([number is None for number in found], dtype=bool)
    values[~odd] = found[~odd].astype(np.float64)
    if odd.any() and (reading := reading_of(column, present)) is not None:
        factor = unit_factor(reading.sign, unit) if unit else None
        return reading.values * (factor or 1.0), np.flatnonzero(present & np.isnan(reading.values))
    return values, np.flatnonzero(odd)


def without(values: NDArray[np.float64], absent: Collection[str]) -> NDArray[np.float64]:
    """The values, NaN instead of those that are among the words, such as −999."""
    codes = [number for word in absent if (number := plain_number(word)) is not None]
    return np.where(np.isin(values, codes), np.nan, values) if codes else values


# Key in a frame's `attrs` for the signs and units that numbers were written with.
SIGNS = "signs"


def signs_of(table: Any) -> dict[str, str] | None:
    """The signs and units of a file's columns, such as % or km; None if the table wasn't read from a file."""
    found = table.attrs.get(SIGNS)
    return found if isinstance(found, dict) else None


def reject_complex(column: Any) -> None:
    """Raise an error if the column holds complex numbers."""
    if column.dtype.kind == "c":
        raise ColumnError(f"column {str(column.name)!r} holds complex numbers; use their real or imaginary parts")


def not_a_number(column: Any, odd: NDArray[np.intp], *, what: str = "column") -> str:
    """The sentence about the first value that isn't a number."""
    more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
    return f"{what} {str(column.name)!r}, row {odd[0] + 1}: {column.iat[odd[0]]!r} is not a number{more}"


def without_words(table: Any, words: Sequence[str]) -> Any:
    """The table without the cells that are one of these words."""
    if not len(words):
        return table
    marked = {name: table[name].astype(str).str.strip().isin(words) for name in table if is_wordy(table[name])}
    marked = {name: cells for name, cells in marked.items() if cells.any()}
    if not marked:
        return table
    found = table.copy(deep=False)
    for name, cells in marked.items():
        found[name] = table[name].mask(cells)
    return found


def has_names(table: Any) -> bool:
    """Whether the table names its columns, unlike an array."""
    return _is_dict(table) or nw.dependencies.is_into_dataframe(table)


def _is_dict(table: Any) -> bool:
    # scipy's dok_matrix is a Mapping.
    return isinstance(table, Mapping) and not sparse.issparse(table)


def _converted(table: Any, pd: Any) -> Any:
    if _is_dict(table):
        try:
            return pd.DataFrame(dict(table))
        except ValueError as error:
            raise ColumnError(f"the columns of the dict don't form a table: {error}") from None
    if has_names(table):
        native = nw.from_native(table, eager_only=True)
        return pd.DataFrame({name: native[name].to_list() for name in native.columns})
    rows = check_array(unmasked(table, name="X"), dtype=None, ensure_all_finite=False, input_name="X")
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])


def _mapped(column: Any, function: Callable[[Any], Any]) -> NDArray[Any]:
    """The function of each value, as objects; for text, computed once for each distinct value."""
    pd = pandas()
    result = np.empty(len(column), dtype=object)
    if pd.api.types.infer_dtype(column, skipna=True) == "string":
        codes, known = pd.factorize(column)
        found = np.empty(len(known) + 1, dtype=object)
        # Missing values have the code −1.
        found[:] = [*map(function, known.tolist()), function(None)]
        return found[codes]
    result[:] = [function(value) for value in column.tolist()]
    return result


def _is_filled(value: Any) -> bool:
    return not isinstance(value, str) or bool(value.strip())


def _word(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _number(value: Any) -> float | None:
    if isinstance(value, Real | Decimal | np.bool_):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, 1 if value > 0 else -1)  # type: ignore[operator]
    return plain_number(value.strip()) if isinstance(value, str) else None
