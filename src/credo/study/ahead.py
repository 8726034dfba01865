"""The forecast after the last row of a table in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.notices import collected
from credo.core.wording import day, listing, number, shown
from credo.tables import TableModel, TimeColumn
from credo.tables.errors import pandas
from credo.tables.table_model import predictions

Vector = NDArray[np.float64]

# The most steps of a forecast, and how many times as many known values are shown before it.
_MOST_STEPS, _SHOWN = 200, 3
_OFFSETS = {"month": "months", "quarter": "months", "year": "years"}
# On how many rows it is tested whether a model needs a column.
_TESTED = 50


@dataclass(frozen=True, eq=False)
class Ahead:
    """Predictions of the next times, and the last known values.

    Attributes
    ----------
    table : data frame or None
        The time with mean, std, lower and upper; None if the model needs other columns than the time.
    sentence : str
        The first and the last forecast; or why there is none.
    at, known, values : arrays
        The times of the forecasts and of the last rows, and the targets of these; days since 1970 if `dated`.
    """

    table: Any
    sentence: str
    at: Vector
    known: Vector
    values: Vector
    dated: bool


def forecast_ahead(model: TableModel, data: Any, steps: int) -> Ahead:
    """The forecast for the times after the last row."""
    time, frame = data.time, data.frame.iloc[data.time.order]
    values = time.values[time.order]
    own = {time.name} if time.within is None else {time.name, time.within}
    empty = np.empty(0)
    needed = _needed(model, frame, own)
    if needed:
        them = listing([repr(name) for name in needed], at_most=4)
        said = (
            f"No forecast ahead: the model also needs {them} at future times. Predict rows that have them with "
            "credo predict."
        )
        return Ahead(None, said, empty, empty, empty, False)
    steps = min(steps, _MOST_STEPS)
    at, cells = _next(time, values, steps)
    rows = frame.iloc[[-1] * steps].reset_index(drop=True).assign(**cells)
    with collected():
        table = predictions(model, rows, level=0.95).drop(columns="outside", errors="ignore")
    table.insert(0, time.name, pandas().Series(cells[time.name], index=table.index))
    if time.within is not None:
        table.insert(1, time.within, cells[time.within])
    last = slice(max(0, len(values) - _SHOWN * steps), None)
    dated = time.origin is not None
    shift = (np.datetime64(time.origin) - np.datetime64("1970-01-01")) / np.timedelta64(1, "D") if dated else 0.0
    write = day if dated else shown
    ends = [
        f"{write(float(at[i] + shift))}: {number(float(table['mean'].iloc[i]))} (95 % interval "
        f"{number(float(table['lower'].iloc[i]))} to {number(float(table['upper'].iloc[i]))})"
        for i in dict.fromkeys([0, steps - 1])
    ]
    return Ahead(
        table, f"Forecast for {', for '.join(ends)}.", at + shift, values[last] + shift, data.y[time.order][last], dated
    )


def _needed(model: TableModel, frame: Any, own: set[str]) -> list[str]:
    """The columns other than those of the time on which predictions of the last rows depend."""
    rows = frame.tail(_TESTED)
    with collected():
        before = np.asarray(model.predict(rows))
        found = []
        for name in dict.fromkeys(model.preparation_.sources()):
            others = frame[name].iloc[:: -max(1, len(frame) // len(rows))].head(len(rows)).to_numpy()
            if name not in own and not np.array_equal(before, model.predict(rows.assign(**{name: others}))):
                found.append(str(name))
    return found


def _next(time: TimeColumn, values: Vector, steps: int) -> tuple[Vector, dict[str, Any]]:
    """The next times as values and as cells of the table."""
    count, last = np.arange(1.0, steps + 1), float(values[-1])
    if time.origin is not None and time.step in _OFFSETS:
        unit, size = _OFFSETS[time.step], 3 if time.step == "quarter" else 1
        start = pandas().Timestamp(time.dates(np.array([last]))[0])  # type: ignore[index]
        # From the last date, because the end of a month has no fixed day.
        stamps = [start + pandas().DateOffset(**{unit: int(size * k)}) for k in count]
        days = [(stamp - pandas().Timestamp(time.origin)) / pandas().Timedelta(days=1) for stamp in stamps]
        return np.array(days), {time.name: pandas().DatetimeIndex(stamps)}
    at = np.asarray(last + count * np.median(np.diff(np.unique(values))), dtype=np.float64)
    if time.within is None:
        dates = time.dates(at)
        return at, {time.name: at if dates is None else dates}
    parts = round(1 / float(np.median(np.diff(np.unique(values)))))
    whole = np.round(at * parts).astype(int)
    return at, {time.name: whole // parts, time.within: whole % parts + 1}
