"""The kind of a column (numbers, categories, text, dates or identifiers), and the format of dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import shown
from credo.tables.columns import Reading, are_codes, is_wordy, numbers, present_mask, reading_of, reject_complex, words
from credo.tables.errors import ColumnError, pandas

# Typed dates need no format; the others are strptime's, where %b is any English name of a month, long or short, and a
# weekday in front is ignored. Whole numbers from FIRST_DATE to LAST_DATE may be dates too.
TYPED, ISO, COMPACT = "typed", "ISO8601", "%Y%m%d"
FIRST_DATE, LAST_DATE = 1900_01_01, 2100_12_31
# If both formats of a pair fit, month first is used; with two-digit years, neither.
_NUMERIC = ("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%d-%m-%Y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y")
_NAMED = tuple(f"%d{mark}%b{mark.strip('.')}{year}" for mark in ("-", " ", "/", "", ". ") for year in ("%Y", "%y"))
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
# Everything before the last two digits of a date, its first part, and these digits; a time may follow.
_TWO_DIGITS = re.compile(r"(([0-9]+|[a-z]+)[^:]*)([0-9]{2})( [0-9]+:.*)?", re.IGNORECASE)
# Formats that a model file may pass to strptime and strftime: no widths, and nothing that depends on the machine.
_SAFE = re.compile(r"(%[aAbBdfGHIjmMpSuVyYzZ]|[^%]){1,60}")
# With fewer values, all numbers may look like dates by chance.
_MIN_DATE_NUMBERS = 6


def _plain(word: str) -> str:
    """A date without its weekday, and with three letters of its month."""
    if not _LETTER.search(word):
        return word
    return _MONTH.sub(lambda month: month[0][:3], _WEEKDAY.sub("", " ".join(word.split())))


def _shape(word: str) -> str:
    """The marks between the parts of a date, one or two digits written as 9."""
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
    """Whether values that fit a style can hardly be anything else, such as a day instead of a two-digit year."""
    if style == COMPACT:
        return len(set(values)) >= _MIN_DATE_NUMBERS and all(FIRST_DATE <= int(value) <= LAST_DATE for value in values)
    if "%y" not in style:
        return True
    # Numbers of versions and chapters have no leading zeros.
    if style.startswith("%d.%m.%y") and not all(re.match(r"\d\d\.\d\d\.", word) for word in values):
        return False
    if style.startswith(("%m/%d/%y", "%d/%m/%y")):
        time = style[8:]
        if _fits(values, "%m/%d/%y" + time):
            return not _fits(values, "%d/%m/%y" + time)
    # The last part of 15/07/30, 15-Jul-30 and Jul-30 may be a day: then it reaches 28 and takes more values than the
    # first part, or all else stays the same.
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
        return np.asarray(_in_utc(pd.to_datetime(column, utc=True)))
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
    """The dates this many days after the origin, to the microsecond."""
    micro = np.round(np.asarray(days, dtype=np.float64) * 86_400_000_000)
    return np.datetime64(origin, "us") + micro.astype("timedelta64[us]")


def _in_utc(parsed: Any) -> Any:
    return parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def _fits(values: Sequence[str], style: str) -> bool:
    return bool(_parsed(values[:50], style).notna().all()) and bool(_parsed(values, style).notna().all())


def _parsed(values: Sequence[str], style: str) -> Any:
    pd = pandas()
    # pandas would read words such as "today" and 2006072 as dates.
    readable = re.compile("[0-9]{8}" if style == COMPACT else ".*[0-9]", re.DOTALL)
    found = [word if readable.match(word) else "" for word in values]
    if style != ISO:
        found = [_plain(word) for word in found]
    later = np.zeros(len(found), dtype=np.intp)
    if "%V" in style and "%u" not in style:
        # A week counts as its Monday, and week 53, which many calendars give every year, as the one after week 52.
        later = np.array([7 * word.endswith("W53") for word in found], dtype=np.intp)
        found = [f"{word[:-2]}52-1" if late else f"{word}-1" for word, late in zip(found, later, strict=True)]
        style = f"{style}-%u"
    parsed = pd.to_datetime(pd.Series(found, dtype=object), format=style, errors="coerce", utc=True)
    return parsed + pd.to_timedelta(pd.Series(later), unit="D") if later.any() else parsed


Kind = Literal["numeric", "categorical", "text", "date", "constant", "identifier", "empty"]
KINDS: tuple[str, ...] = get_args(Kind)
# What users call some kinds.
SYNONYMS: dict[str, Kind] = {"number": "numeric", "category": "categorical"}

# With fewer values, distinct values don't show an identifier.
_MIN_IDENTIFIER_ROWS = 10
_MIN_COUNTING_ROWS = 20
# A numeric column may have a few typing errors; with more, it is text.
_MAX_TYPO_SHARE = 0.05
_MIN_TEXT_WORDS = 4
_ID_NAME = re.compile(
    r"(^|.*[\s_.\-])(id|ids|idx|uid|uuid|guid|index|key|nr|no|num|number|row|rownames|case|record|serial|obs|"
    r"observation|subject|patient|sample|participant)"
)
_ID_ENDING = re.compile(r".*[a-z](ID|Id)")
_TIME_NAME = re.compile(r".*(year|month|week|day|hour|minute|second|time|date|period|quarter|step|age).*|.")
# In a column with such a name, numbers such as 20240131 are dates.
_DATE_NAME = re.compile(r".*(date|day|time|when|datum|yyyymmdd|ymd).*", re.IGNORECASE | re.DOTALL)
# The first word of a pair counts as 1.
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("oui", "non"))


@dataclass(frozen=True)
class Column:
    """One column of a table: its kind, and details about it.

    `levels` are those of a categorical column, in their order; `ordered` says whether that order is a scale.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import Preparation
    >>> frame = pd.DataFrame({"size": ["low", "high", "medium", "low"], "price": [1.0, 3.0, 2.0, 1.5]})
    >>> [(column.name, column.kind, column.levels) for column in Preparation().fit(frame).columns_]
    [('size', 'categorical', ('low', 'medium', 'high')), ('price', 'numeric', ())]
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    detail: str = ""
    levels: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class Form:
    """How the cells of a column are read, so that other rows of the same table are read in the same way.

    `style` is the format of its dates, `pair` its words for true and false, and `absent` its words that count as
    missing; what is not given is detected from the rows.

    Examples
    --------
    >>> from credo.tables import Form
    >>> Form("boolean", pair=("nein", "ja"), absent=("k. A.",))
    Form(kind='boolean', style=None, pair=('nein', 'ja'), absent=('k. A.',))
    """

    kind: Kind
    style: str | None = None
    pair: tuple[str, str] | None = None
    absent: tuple[str, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Form:
        """Returns itself, since it is immutable: `clone` would copy the forms of all columns of wide tables."""
        return self


NUMERIC = Form("numeric")


@dataclass(frozen=True, eq=False)
class Profile:
    """A column with lazily computed properties that determine its kind; `present` marks rows with a value."""

    name: str
    column: Any
    present: NDArray[np.bool_]

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        values, odd = numbers(self.column, self.present)
        if self.column.dtype.kind == "m":
            values[self.present] = self.column[self.present].dt.total_seconds().to_numpy() / 86_400
            odd = np.empty(0, dtype=np.intp)
        return values, odd

    @property
    def values(self) -> NDArray[np.float64]:
        """The values as numbers, NaN if missing or not a number."""
        return self._numbers[0]

    @property
    def odd(self) -> NDArray[np.intp]:
        """The rows whose value isn't a number."""
        return self._numbers[1]

    @cached_property
    def words(self) -> NDArray[Any]:
        """The values as words, None where missing."""
        return words(self.column, self.present)

    @cached_property
    def distinct(self) -> list[str]:
        """The different words, in order of appearance."""
        return list(dict.fromkeys(self.words[self.present]))

    @cached_property
    def date_format(self) -> str | None:
        """How dates are written; None if a value isn't one."""
        return TYPED if is_typed(self.column) else date_format(self.distinct)

    @property
    def n_distinct(self) -> int:
        if self.is_typed_number:
            return len(np.unique(self.values[self.present]))
        if self.column.dtype.kind == "M":
            return int(self.column.nunique())
        return len(self.distinct)

    @property
    def is_typed_number(self) -> bool:
        """Whether the dtype alone shows that these are numbers."""
        return self.column.dtype.kind in "iufm"

    @property
    def n_present(self) -> int:
        return int(self.present.sum())

    @property
    def n_missing(self) -> int:
        return len(self.present) - self.n_present

    @cached_property
    def reading(self) -> Reading | None:
        """How words such as 321 km were read as numbers, or None if the numbers are plain or there are none."""
        return None if self.is_typed_number or not is_number(self) else reading_of(self.column, self.present)

    @property
    def slips(self) -> tuple[str, ...]:
        """The values of a numeric column that aren't numbers."""
        return tuple(dict.fromkeys(self.words[self.odd]))


def profile(name: str, column: Any) -> Profile:
    """The profile of a column; raises an error if its values can't be used."""
    reject_complex(column)
    if is_wordy(column):
        _reject_nested(name, column)
    return Profile(name, column, present_mask(column))


def _reject_nested(name: str, column: Any) -> None:
    for i, value in enumerate(column.tolist()):
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            nested = f"a {type(value).__name__} instead of a single value; make a column of each part"
            raise ColumnError(f"column {name!r}, row {i + 1}: {nested}")


def kind_of(found: Profile) -> tuple[Kind, str]:
    """The kind of a column, and the reason if it isn't obvious."""
    if not found.n_present:
        return "empty", "no value in any row"
    n_distinct = found.n_distinct
    if n_distinct == 1 and not found.n_missing:
        return "constant", f"always {shown(found.column.iat[0])}"
    if not found.is_typed_number and truth_pair(found.distinct) is not None:
        return "numeric", ""
    if date_style(found) is not None:
        return "date", ""
    if is_number(found):
        reason = _counts(found)
        return ("identifier", reason) if reason else ("numeric", "")
    return _kind_of_words(found, n_distinct)


def is_number(found: Profile) -> bool:
    """Whether the column holds numbers, apart from a few typing errors."""
    if not is_wordy(found.column):
        return found.column.dtype.kind != "M"
    slips = len(found.odd)
    if slips == 0:
        return True
    few = found.n_present >= _MIN_COUNTING_ROWS and slips <= _MAX_TYPO_SHARE * found.n_present
    return few and not are_codes(found.slips, found.values[np.isfinite(found.values)])


def date_style(found: Profile) -> str | None:
    """How a column writes its dates, or None if it has none; numbers must all be dates, under a name that says so."""
    if is_number(found):
        known = found.values[~np.isnan(found.values)]
        if not _DATE_NAME.fullmatch(found.name) or not ((known >= FIRST_DATE) & (known <= LAST_DATE)).all():
            return None
    return found.date_format


def _counts(found: Profile) -> str:
    """Why a column of whole numbers is an identifier, or an empty text."""
    values = found.values[found.present & ~np.isnan(found.values)]
    n = len(values)
    if n < _MIN_IDENTIFIER_ROWS or found.n_missing or len(np.unique(values)) < n or not np.isfinite(values).all():
        return ""
    if np.any(values != np.floor(values)) or values.min() < 0:
        return ""
    name = found.name.strip()
    if _ID_NAME.fullmatch(name.casefold()) or _ID_ENDING.fullmatch(name):
        return "unique whole numbers, and a name like an identifier"
    # Gaps are allowed, because the training rows of a fold must be classified like the whole table.
    steady = bool(np.all(np.diff(values) >= 1)) and values[0] <= max(5, 0.1 * n) and values[-1] <= 2.5 * n
    if n >= _MIN_COUNTING_ROWS and steady and not _TIME_NAME.fullmatch(name.casefold()):
        return "whole numbers that number the rows"
    return ""


def _kind_of_words(found: Profile, n_distinct: int) -> tuple[Kind, str]:
    n, share = found.n_present, n_distinct / found.n_present
    length = float(np.mean([len(word.split()) for word in found.distinct]))
    if length >= _MIN_TEXT_WORDS and share > 0.5 and n > 1:
        return "text", ""
    if n >= _MIN_IDENTIFIER_ROWS and n_distinct == n:
        return "identifier", "text that differs in every row"
    if n >= _MIN_COUNTING_ROWS and share > 0.5:
        return "identifier", "text that differs in most rows"
    return "categorical", ""


def truth_pair(distinct: Iterable[str]) -> tuple[str, str] | None:
    """The pair of words that a column consists of, true first, or None."""
    found = {word.casefold() for word in distinct}
    return next((pair for pair in _PAIRS if found == set(pair)), None)


def truth_values(pair: tuple[str, str]) -> dict[str, float]:
    """What each word counts as, 1 and 0 and True and False included."""
    true, false = pair
    return {"true": 1.0, "1": 1.0, true: 1.0, "false": 0.0, "0": 0.0, false: 0.0}
