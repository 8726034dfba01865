"""Dates in columns: which way of writing them a column uses, and their distance in days."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.tables.columns import words

# Typed dates need no format; the others are strptime's, where %b is any English name of a month, long or short, and a
# weekday in front is ignored. The whole numbers from FIRST to LAST may be dates too.
TYPED, ISO, COMPACT = "typed", "ISO8601", "%Y%m%d"
FIRST, LAST = 1900_01_01, 2100_12_31
# Where both ways of a pair fit, month first is taken; of years with two digits, neither.
_NUMERIC = ("%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y")
_NAMED = tuple(f"%d{mark}%b{mark}{year}" for mark in ("-", " ", "/", "") for year in ("%Y", "%y"))
_DAYS = (*_NUMERIC, *_NAMED, "%b %d, %Y", "%b %d %Y")
_PERIODS = ("%b %Y", "%b-%Y", "%b/%Y", "%b-%y", "%G-W%V", "%GW%V", "%G-W%V-%u")
_FORMATS = (*(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")), *_PERIODS, COMPACT)
_LIKE_ISO = re.compile(r"\d{4}[-/. ]\w{1,9}([-/. ,].*)?", re.ASCII)
_LETTER = re.compile("[A-Za-z]")
_WEEKDAY = re.compile(r"^(mon|tues?|wed(nes)?|thu(rs?)?|fri|sat(ur)?|sun)(day)?[,.]? +", re.IGNORECASE)
_MONTH = re.compile(
    r"(?<![^\W\d_])(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?|september|oct(ober)?|"
    r"nov(ember)?|dec(ember)?)(?![^\W\d_])",
    re.IGNORECASE,
)
# All before the last two digits of a day, its first part, and these digits; a time may follow.
_TWO_DIGITS = re.compile(r"(([0-9]+|[a-z]+)[^:]*)([0-9]{2})( [0-9]+:.*)?", re.IGNORECASE)
# What strptime and strftime may be asked for by a model file: no widths, and nothing that depends on the machine.
_SAFE = re.compile(r"(%[aAbBdfGHIjmMpSuVyYzZ]|[^%]){1,60}")
_TRIAL = 50
# With fewer values, that all numbers are dates may be chance.
_FEWEST_NUMBERS = 6


def _plain(word: str) -> str:
    """A date without its weekday, and with three letters of its month."""
    if not _LETTER.search(word):
        return word
    return _MONTH.sub(lambda month: month[0][:3], _WEEKDAY.sub("", " ".join(word.split())))


def _shape(word: str) -> str:
    """The marks between the parts of a date, one or two digits written as 9.

    >>> _shape("Sunday 2 July 2006 08:15")
    '9 b 9999 9:9'
    """
    return re.sub("(?<!9)99(?!9)", "9", re.sub("[0-9]", "9", _MONTH.sub("b", _plain(word))))


def _by_shape() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for style in _FORMATS:
        example = datetime(2006, 10, 22, 11, 30, 50).strftime(style.replace("%b", "Oct"))
        found.setdefault(_shape(example), []).append(style)
    return found


_STYLES = _by_shape()


def date_format(values: Sequence[str]) -> str | None:
    """How dates are written, or None if these words are something else."""
    if len(values) == 0:
        return None
    if all(_LIKE_ISO.fullmatch(word) for word in values) and _fits(values, ISO):
        return ISO
    styles = _STYLES.get(_shape(values[0]), ())
    return next((style for style in styles if _fits(values, style) and _is_certain(values, style)), None)


def is_typed(column: Any) -> bool:
    """Whether the values are dates by their type."""
    return column.dtype.kind == "M" or all(isinstance(value, date) for value in column.dropna().tolist())


def is_style(style: Any) -> bool:
    """Whether this can be how a column writes its dates."""
    return style in (TYPED, ISO) or (isinstance(style, str) and "%" in style and _SAFE.fullmatch(style) is not None)


def _is_certain(values: Sequence[str], style: str) -> bool:
    """Whether numbers that fit a style can hardly be anything else, such as a year of two digits a day."""
    if style == COMPACT:
        return len(set(values)) >= _FEWEST_NUMBERS and all(FIRST <= int(value) <= LAST for value in values)
    if "%y" not in style:
        return True
    if style.startswith(("%m/%d/%y", "%d/%m/%y")):
        time = style[8:]
        if _fits(values, "%m/%d/%y" + time):
            return not _fits(values, "%d/%m/%y" + time)
    # The last part of 15/07/30, 15-Jul-30 and Jul-30 may be a day: then it reaches 28 and takes more values than the
    # first part, or the rest stays the same.
    parts = [match.groups() for word in values if (match := _TWO_DIGITS.fullmatch(_plain(word)))]
    rest, first, last, _ = map(set, zip(*parts, strict=True))
    if not last <= {f"{number:02d}" for number in range(1, 32)}:
        return True
    return len(rest) > 1 and (max(last) < "28" or len(first) >= len(last))


def is_ambiguous(values: Sequence[str], style: str) -> bool:
    """Whether day and month could be the other way round."""
    return style.startswith("%m/%d") and _fits(values, "%d/%m" + style[5:])


def timestamps(column: Any, present: NDArray[np.bool_], style: str) -> NDArray[np.datetime64]:
    """The dates as datetime64 in UTC; NaT where a row has none, or none that is written in this style."""
    pd = pandas()
    if column.dtype.kind == "M":
        return _in_utc(pd.to_datetime(column, utc=True))
    stamps = np.full(len(column), np.datetime64("NaT", "us"))
    raw = column.to_numpy(dtype=object)
    # pandas would convert any number to a date.
    typed = present & np.array([isinstance(value, date) for value in raw], dtype=bool)
    written = present & np.array([isinstance(value, str) or style == COMPACT for value in raw], dtype=bool) & ~typed
    stamps[typed] = _in_utc(pd.to_datetime(pd.Series(raw[typed], dtype=object), errors="coerce", utc=True))
    codes, known = pd.factorize(words(column, present)[written])
    stamps[written] = _in_utc(_parsed(known, ISO if style == TYPED else style))[codes]
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


def _fits(values: Sequence[str], style: str) -> bool:
    return bool(_parsed(values[:_TRIAL], style).notna().all()) and bool(_parsed(values, style).notna().all())


def _parsed(values: Sequence[str], style: str) -> Any:
    pd = pandas()
    # pandas would read words such as "today", and 2006072 as a date.
    readable = re.compile("[0-9]{8}" if style == COMPACT else ".*[0-9]", re.DOTALL)
    found = [word if readable.match(word) else "" for word in values]
    if style != ISO:
        found = [_plain(word) for word in found]
    if "%V" in style and "%u" not in style:
        # A week counts as its Monday.
        found, style = [f"{word}-1" for word in found], f"{style}-%u"
    return pd.to_datetime(pd.Series(found, dtype=object), format=style, errors="coerce", utc=True)
