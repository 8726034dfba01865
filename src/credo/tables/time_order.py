"""The column of a table, if any, that says when each row was observed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.tables.columns import as_frame
from credo.tables.kinds import Profile, as_dates, date_style, days_since, is_number, profile, timestamps

Array = NDArray[np.float64]

# With fewer rows or dates, no order in time is inferred. Panel data has fewer times.
_MIN_ROWS, _MIN_DATES, _MIN_PANEL_TIMES = 20, 12, 8
# The share of rows that must have distinct times, and of steps that must be regular to within the tolerance.
_MIN_DISTINCT_SHARE, _MIN_REGULAR_SHARE, _STEP_TOLERANCE = 0.95, 0.7, 0.15
_TIME_WORDS = {
    "year", "yr", "date", "time", "timestamp", "month", "quarter", "week", "day", "hour", "minute", "period", "step",
    "t", "when",
}  # fmt: skip
# A quick test, because a wide table has thousands of names.
_TIME_LIKE = re.compile("|".join(sorted(_TIME_WORDS)), re.IGNORECASE)
# Divisions of a year that a second column may hold, and their number.
_YEAR_PARTS = {"quarter": 4, "month": 12, "week": 53}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_OTHER_WORDS = {
    "birth", "born", "dob", "birthday", "birthdate", "death", "died", "age", "built", "renovated", "hired", "hire",
    "joined", "founded", "released", "release", "expiry", "expires", "expiration", "due", "to", "of", "since", "until",
    "per", "spent", "duration", "elapsed", "studied", "worked", "response", "reaction", "survival", "delivery",
}  # fmt: skip
# Usual steps in days.
_STEP_DAYS = {
    "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """The column that says when each row was observed.

    Attributes
    ----------
    name : str
    values : array of shape (n_rows,)
        Days since `origin` for dates, years with fractions if `within` divides them, otherwise the numbers as they are.
    order : int array of shape (n_rows,)
        The rows from first to last.
    origin : str or None
        The first day, for dates.
    step : str
        The usual step between dates, such as "month"; empty for numbers and steps without a name.
    repeated : bool
        Whether each time has several rows, as in panel data; False for a single series.
    within : str or None
        The column of quarters, months or weeks that goes with a column of years.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import time_column
    >>> days = pd.date_range("2024-01-01", periods=40, freq="D").astype(str)
    >>> found = time_column(pd.DataFrame({"day": days, "load": range(40)}))
    >>> found.name, found.origin, found.step, found.values[:3]
    ('day', '2024-01-01', 'day', array([0., 1., 2.]))
    """

    name: str
    values: Array
    order: NDArray[np.intp]
    origin: str | None
    step: str
    repeated: bool
    within: str | None = None

    def dates(self, values: Array) -> NDArray[np.datetime64] | None:
        """Values of this column as dates, for the labels of an axis; None if it has numbers."""
        return None if self.origin is None else as_dates(values, self.origin)


def time_column(frame: Any) -> TimeColumn | None:
    """The column that puts the rows of a table in time order, or None.

    It is a column of dates, or of numbers under a name such as year, month or time, whose values differ in nearly
    every row and have nearly regular steps, or years together with a column of quarters, months or weeks. If every time
    has several rows instead, `repeated` says so. Dates of birth, identifiers and measured durations don't qualify.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import time_column
    >>> flow = pd.DataFrame({"year": range(1871, 1971), "flow": range(100)})
    >>> found = time_column(flow)
    >>> found.name, found.repeated
    ('year', False)
    """
    table = as_frame(frame)
    types = zip(table.columns.tolist(), table.dtypes, strict=True)
    named = [name for name, dtype in types if may_be_time(name, is_number=dtype.kind in "iuf")]
    times = [time for name in named if (time := _time(profile(name, table[name]))) is not None]
    # A single series before panel data, and dates before numbers.
    found = min(times, key=lambda time: (time.repeated, time.origin is None), default=None)
    return found if found is not None and not found.repeated else _divided_years(table) or found


def may_be_time(name: str, *, is_number: bool) -> bool:
    """Whether a column may hold times, by its name; dates may have any name except those of other dates."""
    if is_number and not _TIME_LIKE.search(name):
        return False
    words = name_words(name)
    return not words & _OTHER_WORDS and (not is_number or bool(words & _TIME_WORDS))


def name_words(name: str) -> set[str]:
    """The words of a column's name, such as patient_id or PatientID, in lower case."""
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))


def _divided_years(table: Any) -> TimeColumn | None:
    """A column of years with one that divides them, if these two put the rows in order."""
    if len(table) <= _MIN_ROWS:
        return None
    words = {name: name_words(name) for name in table.columns.tolist() if _TIME_LIKE.search(name)}
    parts = [(part, name) for part in _YEAR_PARTS for name in words if part in words[name]]
    for year in (name for name in words if parts and words[name] & {"year", "yr"}):
        whole = _whole_numbers(table[year])
        if whole is None or not may_be_time(year, is_number=True) or not _are_years(whole):
            continue
        for part, name in parts:
            number = _numbered(table[name], part)
            if number is None:
                continue
            values = whole + (number - 1) / _YEAR_PARTS[part]
            known = np.unique(values)
            if len(known) >= _MIN_DISTINCT_SHARE * len(values) and _is_regular(known, _MIN_DATES):
                return TimeColumn(year, values, np.argsort(values, kind="stable"), None, part, False, name)
    return None


def _numbered(column: Any, part: str) -> Array | None:
    """The quarters, months or weeks of a column from 1 on, which may be names such as March or Q1."""
    if column.dtype.kind not in "iuf":
        words = column.astype(str).str.strip().str.casefold()
        if part == "month" and words.str[:3].isin(_MONTHS).all():
            return np.array([_MONTHS.index(word[:3]) + 1.0 for word in words])
        column = words.str.strip("q")
    values = _whole_numbers(column)
    return values if values is not None and 1 <= values.min() <= values.max() <= _YEAR_PARTS[part] else None


def _whole_numbers(column: Any) -> Array | None:
    found = profile("", column)
    if found.n_missing or not (found.is_typed_number or is_number(found)) or len(found.odd):
        return None
    return found.values if bool((found.values == np.floor(found.values)).all()) else None


def _are_years(known: Array) -> bool:
    return bool((known == np.floor(known)).all()) and known.min() > 1500 and known.max() < 2200


def _time(found: Profile) -> TimeColumn | None:
    if found.n_missing or found.n_present <= _MIN_ROWS:
        return None
    style = date_style(found)
    if style is None:
        is_time = is_number(found) and found.column.dtype.kind != "m" and not len(found.odd)
        return regular_times(found.name, found.values, None) if is_time else None
    stamps = timestamps(found.column, found.present, style)
    origin = str(stamps.min().astype("datetime64[D]"))
    return regular_times(found.name, days_since(stamps, np.datetime64(origin, "us")), origin)


def regular_times(name: str, values: Array, origin: str | None) -> TimeColumn | None:
    """The column as one of times if its days since the origin, or its numbers if that is None, are regular enough."""
    if len(values) <= _MIN_ROWS or (origin is None and not may_be_time(name, is_number=True)):
        return None
    known, counts = np.unique(values, return_counts=True)
    repeated = len(known) < _MIN_DISTINCT_SHARE * len(values)
    if not np.isfinite(known).all() or not _is_regular(known, _MIN_PANEL_TIMES if repeated else _MIN_DATES):
        return None
    # In panel data most times have several rows and are dates or years, not the months of every year or the like.
    if repeated and (np.median(counts) < 2 or not (origin is not None or _are_years(known))):
        return None
    usual = float(np.median(np.diff(known)))
    named = [name for name, days in _STEP_DAYS.items() if abs(usual - days) <= _STEP_TOLERANCE * days]
    step = named[0] if named and origin is not None else ""
    return TimeColumn(name, values, np.argsort(values, kind="stable"), origin, step, repeated)


def _is_regular(known: Array, fewest: int) -> bool:
    if len(known) < fewest:
        return False
    steps = np.diff(known)
    usual = float(np.median(steps))
    regular = np.abs(steps - usual) <= _STEP_TOLERANCE * usual
    return bool(regular.mean() >= _MIN_REGULAR_SHARE)
