"""What is no number, though NumPy may take it for one: values under a mask, dates and durations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np

_ADVICE = {"dates": "days since a date", "durations": "days or seconds", "times": "hours since midnight"}
_KINDS = {"dates": (np.datetime64, date), "durations": (np.timedelta64, timedelta), "times": (time,)}


def numeric(table: Any, *, name: str = "X") -> Any:
    """The table as it came, or the data of a masked array that masks nothing.

    Dates, durations and masked values are refused: NumPy would read dates as counts of whatever unit they are stored
    in, and what is under a mask as if it had been seen.
    """
    for where, kind in _dated(table):
        by_itself = "; credo.io.TableModel(None, model) does so by itself" if kind == "dates" and name == "X" else ""
        raise ValueError(f"{where}{name} holds {kind}: turn them into numbers, such as {_ADVICE[kind]}{by_itself}")
    return unmasked(table, name=name)


def unmasked(values: Any, *, name: str) -> Any:
    """The data of a masked array that masks nothing, anything else as it came; masked values are refused."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden = np.argwhere(np.ma.getmaskarray(values))
    if not len(hidden):
        return np.ma.getdata(values)
    place = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), hidden[0].tolist(), strict=False))
    raise ValueError(
        f"{name} masks {len(hidden)} of its {values.size} values, the first in {place}, and what is under a mask isn't "
        f"known: leave such rows out, or put numbers there, as {name}.filled(value) does"
    )


def _dated(table: Any) -> Iterator[tuple[str, str]]:
    """The columns that hold no numbers but dates or the like, each as the beginning of a sentence, and what it holds.

    Where anything may be in a place, in lists and among objects, the first row is judged.
    """
    if nw.dependencies.is_into_dataframe(table):
        for series in nw.from_native(table, eager_only=True).iter_columns():
            yield from _told(_kind_of_series(series), f"column {str(series.name)!r} of ")
    elif nw.dependencies.is_into_series(table):
        yield from _told(_kind_of_series(nw.from_native(table, series_only=True)))
    elif isinstance(table, np.ndarray) and table.dtype.kind in "mM":
        yield "", "dates" if table.dtype.kind == "M" else "durations"
    elif isinstance(table, list | tuple) or (isinstance(table, np.ndarray) and table.dtype.kind == "O" and table.ndim):
        first = next(iter(table), None)
        if isinstance(first, list | tuple | np.ndarray):
            for j, value in enumerate(first):
                yield from _told(_kind_of(value), f"column {j} of ")
        else:
            yield from _told(_kind_of(first))


def _told(kind: str | None, where: str = "") -> Iterator[tuple[str, str]]:
    if kind is not None:
        yield where, kind


def _kind_of_series(series: nw.Series[Any]) -> str | None:
    dtype = series.dtype
    if dtype == nw.Object:
        return _kind_of(next(iter(series.head(1).to_list()), None))
    if not dtype.is_temporal():
        return None
    return "durations" if dtype == nw.Duration else "times" if dtype == nw.Time else "dates"


def _kind_of(value: Any) -> str | None:
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), None)
