"""Dates in columns: which way of writing them a column uses, and their distance in days."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas

# Typed dates need no format; the others are strptime's. Where both of the last two fit, month first is taken.
TYPED, ISO = "typed", "ISO8601"
_DAYS = ("%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y", "%m/%d/%Y", "%d/%m/%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_LIKE_DATE = re.compile(r"\d{1,4}[-/. ]\w{1,9}([-/. ,].*)?|[A-Z][a-z]{2} \d{1,2}, \d{4}.*", re.ASCII)
_TRIAL = 50


def date_format(column: Any, values: NDArray[Any]) -> str | None:
    """How a column writes its dates, or None if it holds something else; `values` are its words."""
    if column.dtype.kind == "M":
        return TYPED
    if len(values) == 0:
        return None
    if all(isinstance(value, date) for value in column.dropna().tolist()):
        return TYPED
    if not all(_LIKE_DATE.fullmatch(word) for word in values):
        return None
    formats = (ISO, *(day + time for day in _DAYS for time in _TIMES))
    return next((style for style in formats if _fits(values, style)), None)


def is_ambiguous(values: NDArray[Any], style: str) -> bool:
    """Whether day and month could be the other way round."""
    return style.startswith("%m/%d") and _fits(values, "%d/%m" + style[5:])


def timestamps(column: Any, present: NDArray[np.bool_], values: NDArray[Any], style: str) -> NDArray[np.datetime64]:
    """The dates as datetime64 in UTC; NaT where a row has none, or none that is written in this style."""
    pd = pandas()
    stamps = np.full(len(column), np.datetime64("NaT", "us"))
    raw = column.to_numpy(dtype=object)
    # pandas would convert numbers to dates too.
    typed = present & np.array([isinstance(value, date) for value in raw], dtype=bool)
    written = present & np.array([isinstance(value, str) for value in raw], dtype=bool)
    stamps[typed] = _in_utc(pd.to_datetime(pd.Series(raw[typed], dtype=object), errors="coerce", utc=True))
    stamps[written] = _in_utc(_parsed(values[written], ISO if style == TYPED else style))
    return stamps


def days_since(stamps: NDArray[np.datetime64], origin: np.datetime64) -> NDArray[np.float64]:
    """Days, with their fractions, from the origin; NaN where there is no date."""
    days = (stamps - origin) / np.timedelta64(86_400_000_000, "us")
    return np.asarray(days, dtype=np.float64)


def as_dates(days: Any, origin: str) -> NDArray[np.datetime64]:
    """The dates that lie so many days after the origin, to the microsecond.

    >>> as_dates([0.0, 31.5], "2024-01-01").astype("datetime64[h]").tolist()[1].isoformat()
    '2024-02-01T12:00:00'
    """
    micro = np.round(np.asarray(days, dtype=np.float64) * 86_400_000_000)
    return np.datetime64(origin, "us") + micro.astype("timedelta64[us]")


def _in_utc(parsed: Any) -> NDArray[np.datetime64]:
    stamps: NDArray[np.datetime64] = parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    return stamps


def _fits(values: NDArray[Any], style: str) -> bool:
    return bool(_parsed(values[:_TRIAL], style).notna().all()) and bool(_parsed(values, style).notna().all())


def _parsed(values: NDArray[Any], style: str) -> Any:
    pd = pandas()
    return pd.to_datetime(pd.Series(list(values), dtype=object), format=style, errors="coerce", utc=True)
