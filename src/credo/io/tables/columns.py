"""Frames and their columns as plain arrays; every table passes through `as_frame`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from credo.estimator import unmasked
from credo.io.errors import ColumnError, nearest, quoted
from credo.io.extras import pandas
from credo.io.tables.numbers import plain_number

# Whole numbers beyond this are not all floats.
EXACT = 2.0**53
# How many unnamed columns a note lists.
_LISTED = 10


def as_frame(table: Any) -> Any:
    """The table as a pandas frame with names that are words and differ.

    Frames of other libraries and mappings of name to column are taken too; an array's columns are x0, x1, ….
    """
    pd = pandas()
    frame = table if isinstance(table, pd.DataFrame) else _converted(table, pd)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise ColumnError("the table has a multi-level column index; flatten it first")
    given = frame.columns.tolist()
    names = [str(name) for name in given]
    if len(set(names)) < len(names):
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ColumnError(f"the table has more than one column named {quoted(repeated)}; rename them")
    if names != given:
        frame = frame.set_axis(names, axis=1)
    return frame


def column_named(frame: Any, name: str, *, what: str = "column") -> str:
    """The name, if the frame has such a column; otherwise an error that suggests the nearest."""
    if name in frame.columns:
        return name
    raise ColumnError(missing_columns([name], list(frame.columns), what=what))


def missing_columns(missing: list[str], present: list[str], *, what: str = "column") -> str:
    """The sentence about columns that a table should have."""
    parts = []
    for name in missing[:5]:
        near = nearest(str(name), present, most=1)
        parts.append(f"{str(name)!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    rest = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return (
        f"the table has no {what}{'s' if len(missing) > 1 else ''} {', '.join(parts)}{rest}; "
        f"it has {quoted(present, most=15) if present else 'no columns at all'}"
    )


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names for unnamed columns, a number after repeated ones, and notes about both.

    >>> unique_names(["a", "a", ""])[0]
    ['a', 'a_2', 'column_3']
    """
    unnamed = [j + 1 for j, name in enumerate(names) if not name]
    # An unnamed first column is what pandas and R make of row numbers.
    named = [name or ("row" if j == 0 else f"column_{j + 1}") for j, name in enumerate(names)]
    taken = set(named)
    # The last number that each name was given: beginning at 2 for each repetition would take quadratic time.
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
    which = ", ".join(map(str, unnamed[:_LISTED])) + (f" and {len(unnamed) - _LISTED} more" * (len(unnamed) > _LISTED))
    notes = [f"Columns without a name (number {which}) were given one."] if unnamed else []
    if repeated:
        notes.append(f"Column names that occur more than once were numbered: {quoted(dict.fromkeys(repeated))}.")
    return unique, notes


def finite_columns(table: Any, names: Collection[str]) -> tuple[list[str], NDArray[np.float64]]:
    """Of the named columns those that hold only finite numbers by their type, and their values, a column each.

    All at once, because a wide table has thousands of columns, and pandas is slow to access each.
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
    """Whether the column is an array of NumPy numbers; these are handled fast, because wide tables have many."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"


def words(column: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Every value as a trimmed word, None where missing; whole floats lose their .0, so that 1.0 and 1 agree."""
    result = _mapped(column, _word)
    result[~present] = None
    return result


def numbers(column: Any, present: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The column as floats, NaN where missing, and the rows whose value isn't a number."""
    if _is_plain(column):
        return column.to_numpy(dtype=np.float64, copy=True), np.empty(0, dtype=np.intp)
    refuse_complex(column)
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
    return values, np.flatnonzero(odd)


def refuse_complex(column: Any) -> None:
    """Raise an error if the column holds complex numbers."""
    if column.dtype.kind == "c":
        raise ColumnError(f"column {str(column.name)!r} holds complex numbers; use their real or imaginary parts")


def not_a_number(column: Any, odd: NDArray[np.intp], *, what: str = "column") -> str:
    """The sentence about the first value that isn't a number."""
    more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
    return f"{what} {str(column.name)!r}, row {odd[0] + 1}: {column.iat[odd[0]]!r} is not a number{more}"


def has_names(table: Any) -> bool:
    """Whether the table names its columns, unlike an array."""
    return _is_dict(table) or nw.dependencies.is_into_dataframe(table)


def _is_dict(table: Any) -> bool:
    # scipy's dictionary of keys calls itself a mapping.
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
