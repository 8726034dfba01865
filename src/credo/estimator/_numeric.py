"""What NumPy takes for numbers and isn't: values under a mask, dates and durations."""

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np

_ADVICE = {"dates": "days since a date", "durations": "days or seconds", "times": "hours since midnight"}


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

    Lists and arrays of objects are judged by their first row.
    """
    if nw.dependencies.is_into_dataframe(table):
        for column, dtype in nw.from_native(table, eager_only=True).schema.items():
            if dtype.is_temporal():
                yield f"column {str(column)!r} of ", _kind(dtype)
        return
    if nw.dependencies.is_into_series(table):
        series = nw.from_native(table, series_only=True)
        if series.dtype.is_temporal():
            yield "", _kind(series.dtype)
        return
    dtype = getattr(table, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        yield "", "dates" if dtype.kind == "M" else "durations"
    elif isinstance(table, list | tuple) or (isinstance(table, np.ndarray) and table.dtype.kind == "O"):
        first = next(iter(table), ())
        for j, value in enumerate(first if isinstance(first, list | tuple | np.ndarray) else ()):
            if isinstance(value, np.datetime64 | np.timedelta64):
                yield f"column {j} of ", "dates" if isinstance(value, np.datetime64) else "durations"


def _kind(dtype: nw.dtypes.DType) -> str:
    return "durations" if dtype == nw.Duration else "times" if dtype == nw.Time else "dates"
