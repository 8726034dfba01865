"""Encoders: what `fit` learned about a column, and how its cells become numbers; and the order of levels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from credo.core.fields import Axes, Finite, NonNegative, Where
from credo.core.notices import warn
from credo.core.wording import plural, quoted, shown
from credo.features import Words
from credo.tables.columns import not_a_number, numbers, present_mask, signs_of, unit_factor, without, words
from credo.tables.errors import ColumnError, TableWarning, pandas
from credo.tables.kinds import as_dates, days_since, is_style, timestamps

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Levels:
    """A 0/1 column for each level except the reference, or with many levels the effect of each on the target.

    `levels` have a column each; those in `pooled` share one, "other". Levels that were not seen in `fit` count as
    "other" if there is such a column. Otherwise they are unknown, and so is a missing value if none or few were missing
    in `fit`: an unknown row is coded by the training frequencies of the levels, so that a linear predictor averages
    over the levels. Both give a warning.

    `shares` are the training frequencies of `levels`, the reference and "other", in that order; `order` lists all
    levels that aren't pooled, including the reference, and `ordered` says whether that order is a scale.

    With `effect_names`, the columns of these names have the `effects` of the levels, from the smallest to the largest,
    and below them those of a missing value; nothing is pooled, and no level is a reference (see `tables.effects`).
    """

    name: str
    levels: tuple[str, ...]
    reference: str | None
    pooled: tuple[str, ...]
    missing: bool
    had_missing: bool
    shares: Annotated[tuple[float, ...], Axes("s"), Finite, NonNegative, Where(any, "positive for some level")]
    order: tuple[str, ...]
    ordered: bool
    effect_names: Annotated[tuple[str, ...], Axes("E")] = ()
    effects: Annotated[Array, Axes("s+1 E | 0 E"), Finite] = field(default_factory=lambda: np.zeros((0, 0)))

    def _sizes(self) -> dict[str, int]:
        return {"s": self.n_known}

    def names(self) -> list[str]:
        if self.effect_names:
            return list(self.effect_names)
        named = [f"{self.name}={level}" for level in self.levels]
        named += [f"{self.name}=other"] * bool(self.pooled)
        return named + [f"{self.name} is missing"] * self.missing

    def matrix(self, column: Any) -> Array:
        return self.coding()[self.codes(column)]

    @property
    def is_numeric(self) -> bool:
        """Whether its columns have numbers other than 0 and 1, which don't belong together."""
        return bool(self.effect_names)

    @property
    def n_known(self) -> int:
        """The number of levels, the reference and "other" included; also the code of a missing value."""
        return len(self.levels) + (self.reference is not None) + bool(self.pooled)

    @property
    def unknown(self) -> int:
        """The code of a row whose level is unknown."""
        return self.n_known + 1

    def frequencies(self) -> Array:
        """The training frequency of each known code."""
        return np.array(self.shares) / sum(self.shares)

    def coding(self) -> Array:
        """The prepared columns of each code: the levels, the reference, "other", missing, unknown."""
        n_levels, n_known = len(self.levels), self.n_known
        if self.effect_names:
            return np.vstack([self.effects, self.frequencies() @ self.effects[:n_known]])
        table = np.zeros((n_known + 2, len(self.names())))
        table[:n_levels, :n_levels] = np.eye(n_levels)
        if self.pooled:
            table[n_known - 1, n_levels] = 1.0
        table[n_known:] = self.frequencies() @ table[:n_known]
        if self.missing:
            table[n_known] = np.eye(table.shape[1])[-1]
        return table

    def codes(self, column: Any) -> NDArray[np.intp]:
        """The code of each row, with a warning about levels that were not seen."""
        known = self._known()
        elsewhere = self.n_known - 1 if self.pooled else self.unknown
        present = present_mask(column)
        codes = np.full(len(column), self.n_known if self.had_missing else self.unknown, dtype=np.intp)
        place, distinct = _distinct(column, present)
        codes[present] = np.array([known.get(word, elsewhere) for word in distinct], dtype=np.intp)[place]
        counts = np.bincount(place, minlength=len(distinct))
        unseen = {word: int(count) for word, count in zip(distinct, counts, strict=True) if word not in known}
        self._warn(unseen, 0 if self.had_missing else int((~present).sum()))
        return codes

    def with_effects(self, effects: Array) -> Levels:
        """The same levels with these effects, in the order of the first one.

        An average over many levels takes some of them, evenly spaced in that order.
        """
        order = np.argsort(effects[: self.n_known, 0], kind="stable")
        levels, shares = (tuple(part[i] for i in order.tolist()) for part in (self.levels, self.shares))
        return replace(self, levels=levels, shares=shares, effects=effects[[*order, self.n_known]])

    def outside(self, column: Any) -> tuple[NDArray[np.intp], list[str]]:
        """The rows whose level was not seen in `fit`, and a phrase for each."""
        known, present = self._known(), present_mask(column)
        place, distinct = _distinct(column, present)
        new = np.array([word not in known for word in distinct], dtype=bool)
        which = np.flatnonzero(new[place])
        unseen = [f"{self.name} = {shown(distinct[j])!r} (not in the training data)" for j in place[which]]
        return np.flatnonzero(present)[which], unseen

    def _known(self) -> dict[str, int]:
        """The code of every level that was seen."""
        known = {level: j for j, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.pooled, self.n_known - 1)
        return known if self.reference is None else {**known, self.reference: len(self.levels)}

    def _warn(self, unseen: dict[str, int], n_missing: int) -> None:
        average = "treated as an average over the levels, weighted by their frequency in the training data"
        if unseen:
            treatment = f"treated as {self.name + '=other'!r}" if self.pooled else average
            rows = sum(unseen.values())
            levels = f"{'has' if rows == 1 else 'have'} a level that is not in the training data ({quoted(unseen)})"
            warn(TableWarning(f"column {self.name!r}: {plural(rows, 'row')} {levels}, {treatment}"), stacklevel=6)
        if n_missing:
            values = f"{plural(n_missing, 'missing value')} {average}, because none was missing there"
            warn(TableWarning(f"column {self.name!r}: {values}"), stacklevel=6)


@dataclass(frozen=True, eq=False)
class Scale(Levels):
    """The place of each level on a scale such as disagree, neutral, agree, and a 0/1 column for each other answer.

    `beside` are the answers beside the scale, such as no answer, the last of `order`. They and unknown levels have the
    average place. `levels` are those of `order`.
    """

    beside: tuple[str, ...] = ()

    def _check_state(self) -> None:
        n = len(self.order) - len(self.beside)
        if n < 1 or self.order[n:] != self.beside or self.levels != self.order or self.reference or self.pooled:
            raise ValueError(f"{self.name!r} must have the levels of a scale, followed by those beside it")

    @property
    def is_numeric(self) -> bool:
        return True

    def names(self) -> list[str]:
        others = [f"{self.name}={level}" for level in self.beside]
        return [self.name, *others, *[f"{self.name} is missing"] * self.missing]

    def coding(self) -> Array:
        """The prepared columns of each code: the levels of the scale, other answers, missing, unknown."""
        n_known, n_beside, shares = self.n_known, len(self.beside), self.frequencies()
        n = n_known - n_beside
        places, on_scale = np.arange(float(n)), shares[:n]
        table = np.zeros((n_known + 2, len(self.names())))
        table[:n, 0] = places
        table[n:, 0] = places @ on_scale / on_scale.sum() if on_scale.any() else places.mean()
        table[n:n_known, 1 : n_beside + 1] = np.eye(n_beside)
        table[n_known:, 1:] = shares @ table[:n_known, 1:]
        if self.missing:
            table[n_known, 1:] = np.eye(len(self.names()))[-1, 1:]
        return table


def _distinct(column: Any, present: NDArray[np.bool_]) -> tuple[NDArray[np.intp], list[str]]:
    """The index of each row's word among the distinct words of rows that have one, and these words."""
    pd = pandas()
    values = words(column, present)[present]
    place, distinct = pd.factorize(values)
    return np.asarray(place, dtype=np.intp), [str(word) for word in distinct]


# One scale on each line, its words in order. A column matches if all its levels are words of the scale.
_SCALES = (Path(__file__).parent / "scales.txt").read_text(encoding="utf-8").splitlines()
_RANKS = tuple({word: rank for rank, word in enumerate(scale.split("/"))} for scale in _SCALES)
# M and S alone may mean married and single, not sizes.
_LETTERS = {"s", "m", "l"}

_NUMBER = r"[$€£]?\s*(-?\d[\d,]*(?:\.\d+)?)\s*([kKmM%]?)"
_UNIT = r"\s*(?P<unit>[^\W\d]*)"
_BETWEEN = re.compile(rf"[\[(]?\s*{_NUMBER}\s*(?:-|–|—|,|to|\.\.)\s*{_NUMBER}\s*[\])]?{_UNIT}")
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_AT_LEAST = re.compile(
    rf"{_NUMBER}(?:\s*[^\W\d]+)??\s*(?:\+|(?:and|or) (?:over|more|above|older|up)){_UNIT}", re.IGNORECASE
)
_FACTORS = {"k": 1e3, "m": 1e6}

_NUMBERED = re.compile(r"[(\[]?(\d{1,3})\s*[.):\]-]\s*([^\d\s].*)")
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th)\b.*", re.IGNORECASE)
_COUNTED = re.compile(r"(.*?[^\d\s.-])[\s_-]*(\d{1,4})")
_COUNTING_WORDS = {
    "day", "grade", "level", "month", "phase", "q", "quarter", "rank", "stage", "step", "tier", "week", "year",
}  # fmt: skip
_MAX_LEVEL_CHARACTERS = 100
_COMPARES = re.compile(r"[<>≤≥]|\b(less|more|under|over|above|below)\b", re.IGNORECASE)


def in_order(levels: Iterable[str], dtype: Any = None) -> tuple[list[str], bool]:
    """The levels in their order, and whether that order is a scale; without one they are in alphabetical order.

    Numbered levels keep the order of their numbers even if it isn't a scale, as in 1. North, 2. South.

    Parameters
    ----------
    levels : iterable of str
    dtype : dtype of the column; an ordered pandas Categorical defines the order
    """
    words = sorted(levels)
    if getattr(dtype, "ordered", None):
        rank = {str(value).strip(): place for place, value in enumerate(dtype.categories)}
        if rank.keys() >= set(words):
            return sorted(words, key=rank.__getitem__), True
    # Levels of a scale are shorter; the patterns below would try all splits of a run of blanks or digits.
    if any(len(word) > _MAX_LEVEL_CHARACTERS for word in words):
        return words, False
    for keys, is_scale in ((_scale(words), True), (_ranges(words), True), _numbers(words)):
        if keys is not None:
            return [word for _, word in sorted(zip(keys, words, strict=True))], is_scale
    return words, False


_NO_ANSWERS = {
    "can't say", "cannot say", "decline to answer", "declined", "declined to answer", "did not answer", "do not know",
    "don't know", "dont know", "dk", "no answer", "no opinion", "no response", "not applicable", "not asked",
    "not available", "not known", "not stated", "not sure", "prefer not to answer", "prefer not to say", "refused",
    "refused to answer", "rather not say", "unknown", "unsure",
}  # fmt: skip


def answers(levels: Iterable[str], dtype: Any = None) -> tuple[list[str], list[str]]:
    """The levels of a scale in their order, and answers beside it, such as no answer; both empty without a scale.

    Examples
    --------
    >>> from credo.tables.encoders import answers
    >>> answers(["yes", "perhaps", "no", "don't know"])
    (['no', 'perhaps', 'yes'], ["don't know"])
    """
    every = sorted(levels)
    others = [word for word in every if _plain(word) in _NO_ANSWERS]
    # In no, not sure, yes it is a place on the scale.
    for beside in ([], others):
        order, is_scale = in_order([word for word in every if word not in beside], dtype)
        if is_scale:
            return order, beside
    return [], []


def _plain(word: str) -> str:
    word = re.sub("(?<=[a-z])(?=[A-Z])", " ", word)  # StronglyAgree
    return re.sub(r"[\s_\-]+", " ", word.casefold().replace("’", "'")).strip(" .")


def _scale(words: list[str]) -> list[float] | None:
    plain = [_plain(word) for word in words]
    if len(set(plain)) < max(len(plain), 2) or (set(plain) < _LETTERS):
        return None
    return next(([float(rank[word]) for word in plain] for rank in _RANKS if rank.keys() >= set(plain)), None)


def _ranges(words: list[str]) -> list[tuple[float, float]] | None:
    found = [_range(word) for word in words]
    keys = [key for key, _ in found if key is not None]
    # Months and years can't be compared by their numbers.
    units = {unit.casefold().rstrip("s") for _, unit in found if unit}
    return keys if len(keys) == len(words) > 1 and len(units) <= 1 else None


def _range(word: str) -> tuple[tuple[float, float] | None, str]:
    """The ends of a range, or None, and its unit."""
    if match := _BETWEEN.fullmatch(word):
        low, high = _value(match[1], match[2] or match[4]), _value(match[3], match[4])
        return (low, high) if low <= high else None, match["unit"]
    if match := _BELOW.fullmatch(word):
        return (-math.inf, _value(match[1], match[2])), match["unit"]
    if match := _ABOVE.fullmatch(word) or _AT_LEAST.fullmatch(word):
        return (_value(match[1], match[2]), math.inf), match["unit"]
    return None, ""


def _value(digits: str, factor: str) -> float:
    return float(digits.replace(",", "")) * _FACTORS.get(factor.casefold(), 1.0)


def _numbers(words: list[str]) -> tuple[list[float] | None, bool]:
    """The numbers of levels that are, start with or end with a number, and whether they are a scale."""
    try:
        return [float(word) for word in words], False
    except ValueError:
        pass
    if all(matches := [_ORDINAL.fullmatch(word) for word in words]):
        return [float(match[1]) for match in matches if match], True
    if all(matches := [_NUMBERED.fullmatch(word) for word in words]):
        names = [match[2] for match in matches if match]
        keys = [float(match[1]) for match in matches if match]
        named: Sequence[Any] = _scale(names) or _ranges(names) or ()
        agree = bool(named) and sorted(named) == [key for _, key in sorted(zip(keys, named, strict=True))]
        return keys, agree or any(map(_COMPARES.search, names))
    if all(matches := [_COUNTED.fullmatch(word) for word in words]):
        prefixes = {match[1].strip().casefold() for match in matches if match}
        if len(prefixes) == 1:
            return [float(match[2]) for match in matches if match], prefixes <= _COUNTING_WORDS
    return None, False


@dataclass(frozen=True, eq=False)
class Outside:
    """Which rows lie outside the training data, and why.

    Attributes
    ----------
    rows : bool array of shape (n_rows,)
    reasons : list of str, one for each row
        Such as "year = 3000 (training: 1871 to 1970)"; empty for a row inside.
    columns : dict of column name to the number of its rows that are outside
    forecasts : dict of a column of times to a phrase about its rows that are beyond those of the training data
        Such rows aren't outside, unless they are further away than the training data are long.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import Preparation
    >>> seen = Preparation().fit(pd.DataFrame({"dose": [1.0, 2.0, 4.0, 8.0]}))
    >>> found = seen.outside(pd.DataFrame({"dose": [3.0, 50.0]}))
    >>> found.rows, found.reasons
    (array([False,  True]), ['', 'dose = 50 (training: 1 to 8)'])
    """

    rows: NDArray[np.bool_]
    reasons: list[str]
    columns: dict[str, int]
    forecasts: dict[str, str] = field(default_factory=dict)

    def note(self) -> str | None:
        """A sentence about these rows, or None if there are none."""
        count = int(self.rows.sum())
        said = [f"Forecasts: {'; '.join(self.forecasts.values())}."] * bool(self.forecasts)
        if count:
            first = self.reasons[int(np.argmax(self.rows))]
            said.append(
                f"{plural(count, 'row')} of {len(self.rows):,} {'is' if count == 1 else 'are'} outside the training "
                f"data (columns {quoted(self.columns)}; first: {first}). Predictions there are extrapolations."
            )
        return " ".join(said) or None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Measured:
    """A number for each row, the median `fill` where it is missing, and an indicator of missing values.

    `value` and `indicator` say which of the two columns exist; `low` and `high` are the range of the fitted rows. A
    value is outside if it is beyond them by more than a tenth of their distance or, in a column of `times`, by more
    than all of it: before that it is a forecast.
    """

    name: str
    fill: Annotated[float, Finite]
    value: bool = True
    indicator: bool = False
    had_missing: bool = False
    low: float = np.nan
    high: float = np.nan
    times: bool = False

    @property
    def title(self) -> str:
        """The name of the column of numbers."""
        return self.name

    def names(self) -> list[str]:
        return [self.title] * self.value + [f"{self.name} is missing"] * self.indicator

    def matrix(self, column: Any) -> Array:
        return self.filled(self.values(column))

    def filled(self, values: Array) -> Array:
        """The columns of the table's numbers."""
        infinite = np.isinf(values)
        if infinite.any():
            self._warn(f"{plural(int(infinite.sum()), 'infinite value')} treated as missing")
        missing = np.isnan(values) | infinite
        if missing.any() and not self.had_missing:
            self._warn(f"{plural(int(missing.sum()), 'missing value')} replaced by the median {self.fill:g}")
        filled = np.where(missing, self.fill, values)
        return np.column_stack([filled] * self.value + [missing.astype(float)] * self.indicator)

    def usual(self) -> Array:
        """The columns of a row with the median."""
        return self.filled(np.array([self.fill]))

    def outside(self, column: Any) -> tuple[NDArray[np.intp], list[str]]:
        """The rows that lie too far beyond the range, and a phrase for each."""
        values, beyond = self._beyond(column)
        rows = np.flatnonzero(beyond > (1.0 if self.times else 0.1))
        training = f"(training: {self.text(self.low)} to {self.text(self.high)})"
        return rows, [f"{self.name} = {self.text(values[i])} {training}" for i in rows]

    def forecast(self, column: Any) -> str | None:
        """A phrase about the rows beyond the range of a column of times, or None if there are none."""
        values, beyond = self._beyond(column) if self.times else (np.empty(0), np.empty(0))
        ahead = values[(beyond > 0) & (beyond <= 1.0)]
        if not len(ahead):
            return None
        span = f"{self.name} {self.text(ahead.min())} to {self.text(ahead.max())}"
        return f"{plural(len(ahead), 'row')} with {span} (training: {self.text(self.low)} to {self.text(self.high)})"

    def _beyond(self, column: Any) -> tuple[Array, Array]:
        """The values, and by how much each is beyond the range, as a share of its width."""
        if not self.value or not self.low < self.high:
            return np.full(len(column), np.nan), np.zeros(len(column))
        values = self.values(column)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.maximum(self.low - values, values - self.high) / (self.high - self.low)
        return values, np.where(np.isfinite(values), beyond, 0.0)

    def values(self, column: Any) -> Array:
        """The column's numbers, NaN where they are missing."""
        raise NotImplementedError

    def text(self, value: float) -> str:
        """A value as it appears in a sentence."""
        return shown(value)

    def _warn(self, sentence: str) -> None:
        warn(TableWarning(f"column {self.name!r}: {sentence}"), stacklevel=6)


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers(_Measured):
    """A column of numbers, used unchanged.

    `words` gives the numbers of words such as yes and no; `absent` are words and numbers, such as −999, that count as
    missing. `sign` is that of the file, such as % or $; empty if it had none, None if there was no file.
    """

    words: Annotated[dict[str, float] | None, Where(_are_finite, "finite numbers")] = None
    absent: tuple[str, ...] = ()
    sign: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether finite numbers are used unchanged, in one column."""
        return self.value and not self.indicator and self.words is None and not self.absent

    def values(self, column: Any) -> Array:
        """The column's numbers, NaN where they are missing."""
        present = present_mask(column)
        if self.words is not None:
            return self._truths(column, present)
        if column.dtype.kind == "m":
            return np.asarray(column.dt.total_seconds() / 86_400, dtype=np.float64)
        values, odd = numbers(column, present, unit=self.sign)
        unknown = np.array([i for i in odd if str(column.iat[i]).strip() not in self.absent], dtype=np.intp)
        if len(unknown):
            raise ColumnError(
                f"{not_a_number(column, unknown)}; the model expects a number there: correct it, leave the field "
                "empty, or list it in na_words (--na)"
            )
        # A file's numbers were read without their unit.
        factor = unit_factor((signs_of(column) or {}).get(self.name, ""), self.sign or "")
        return without(values, self.absent) * (factor or 1.0)

    def changed_sign(self, signs: Mapping[str, str] | None, table: Any) -> str | None:
        """A sentence if the numbers are written in another way than in the training data, otherwise None.

        `signs` are those of the table's file, None if unknown.
        """
        sign = None if signs is None else signs.get(self.name, "")
        if self.sign in (None, sign) or self.words is not None or unit_factor(sign or "", self.sign or "") is not None:
            return None
        values = self.values(table[self.name])
        known = np.abs(values[np.isfinite(values)])
        largest = max(abs(self.low), abs(self.high))
        if self.sign == "%" and not sign and len(known) and known.max() <= 1.0 < largest:
            trained = f"the training data had percentages (up to {self.text(largest)} %)"
            return f"column {self.name!r}: the values look like fractions, but {trained}; multiply them by 100"
        if sign is None:
            return None
        now, then = (f"with {mark!r}" if mark else "without a sign" for mark in (sign, self.sign))
        return f"column {self.name!r}: the numbers are written {now}, but in the training data {then}"

    def _truths(self, column: Any, present: NDArray[np.bool_]) -> Array:
        known = self.words or {}
        values = np.full(len(column), np.nan)
        for i, word in enumerate(words(column, present)):
            if word is None:
                continue
            if word.casefold() not in known:
                raise ColumnError(f"column {self.name!r}, row {i + 1}: {word!r} is not one of {quoted(known)}")
            values[i] = known[word.casefold()]
        return values


def _are_finite(words: dict[str, float]) -> bool:
    return bool(np.isfinite([*words.values()]).all())


def _is_date(text: str) -> bool:
    return not np.isnat(np.datetime64(text, "us"))


# Cycles of the calendar and their days, and the day from which their phase is counted, a Monday.
CYCLES = {"hour": 1.0, "day of year": 365.2425}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_MONDAY = np.datetime64("2001-01-01", "us")


def _are_waves(waves: tuple[str, ...]) -> bool:
    return all(re.fullmatch(rf"({'|'.join(CYCLES)}) [1-9]", wave) for wave in waves)


def _are_weekdays(days: tuple[int, ...]) -> bool:
    return set(days) <= set(range(7))


@dataclass(frozen=True, eq=False, kw_only=True)
class Days(_Measured):
    """A date as days since the first date of the fitted rows, `origin`, and parts of the calendar.

    `style` is how dates are written. Each of `waves`, such as "hour 1" or "day of year 2", is a pair of columns,
    sin(2πkt/T) and cos(2πkt/T); each of `weekdays`, counted from 0 for Monday, is a 0/1 column. A missing date has
    zeros there. With `since`, the name of an earlier date, days are counted from that date of the same row; `lag` is
    their median.
    """

    style: Annotated[str, Where(is_style, "a known format of dates")]
    origin: Annotated[str, Where(_is_date, "a date")]
    waves: Annotated[tuple[str, ...], Where(_are_waves, "waves of cycles of the calendar")] = ()
    weekdays: Annotated[tuple[int, ...], Where(_are_weekdays, "days of the week")] = ()
    since: str | None = None
    lag: Annotated[float, Finite] = 0.0

    def names(self) -> list[str]:
        waves = [f"{self.name} ({function} {wave})" for wave in self.waves for function in ("sin", "cos")]
        return [*super().names(), *waves, *(f"{self.name}={WEEKDAYS[day]}" for day in self.weekdays)]

    def groups(self) -> list[str]:
        """A label for each column: the waves of one cycle share theirs, and so do the weekdays."""
        waves = [f"{self.name} ({wave[:-2]})" for wave in self.waves for _ in range(2)]
        return [*super().names(), *waves, *[f"{self.name} (weekday)"] * len(self.weekdays)]

    def filled(self, values: Array, earlier: Array | None = None) -> Array:
        """The columns of days since the origin; `earlier` are those of the column `since`."""
        found = np.column_stack([super().filled(values), self._calendar(values)])
        if self.since is not None:
            days = np.full(len(values), np.nan) if earlier is None else values - earlier
            found[:, 0] = np.where(np.isfinite(days), days, self.lag)
        return found

    def _calendar(self, days: Array) -> Array:
        missing = ~np.isfinite(days)
        since = np.where(missing, 0.0, days) + days_since(np.array([self.origin], "datetime64[us]"), FIRST_MONDAY)
        columns = []
        for wave in self.waves:
            cycle, k = wave[:-2], int(wave[-1])
            angle = 2 * np.pi * k * (since / CYCLES[cycle] % 1.0)
            columns += [np.sin(angle), np.cos(angle)]
        # Rounded to the microsecond that dates are stored in.
        weekday = np.floor(np.round(since * 86_400e6) / 86_400e6) % 7
        columns += [(weekday == day).astype(np.float64) for day in self.weekdays]
        found = np.array(columns).reshape(len(columns), len(days)).T
        return np.where(missing[:, None], 0.0, found)

    @property
    def title(self) -> str:
        """The name of the column of days."""
        return f"{self.name} (days since {self.origin if self.since is None else self.since})"

    def text(self, value: float) -> str:
        """A number of days as a date."""
        return str(self.dates(value).astype("datetime64[D]"))

    def dates(self, days: Any) -> NDArray[np.datetime64]:
        """The dates of numbers of days since the origin."""
        return as_dates(days, self.origin)

    def values(self, column: Any) -> Array:
        """The column's days since the origin, NaN where a date is missing."""
        return days_since(self.timestamps(column), np.datetime64(self.origin, "us"))

    def timestamps(self, column: Any) -> NDArray[np.datetime64]:
        """The column's dates in UTC, NaT where one is missing."""
        present = present_mask(column)
        stamps = timestamps(column, present, self.style)
        odd = np.flatnonzero(present & np.isnat(stamps))
        if len(odd):
            place, found = f"column {self.name!r}, row {odd[0] + 1}", str(column.iat[odd[0]])
            raise ColumnError(f"{place}: {found!r} is not a date in the format of the training data")
        return stamps


@dataclass(frozen=True, eq=False)
class Texts:
    """A 0/1 column for each word of the vocabulary; a missing text has no words."""

    name: str
    words: Words

    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words.vocabulary_]

    def matrix(self, column: Any) -> Any:
        texts = words(column, present_mask(column))
        return self.words.transform([text or "" for text in texts])

    def outside(self, column: Any) -> tuple[NDArray[np.intp], list[str]]:
        """The rows whose text has no word of the vocabulary, and a phrase for each; an empty text isn't outside."""
        known = np.asarray(self.matrix(column).sum(axis=1)).ravel() > 0
        rows = np.flatnonzero(present_mask(column) & ~known)
        return rows, [f"{self.name}: no word of the training data"] * len(rows)


# Each has a name, the `names()` of its prepared columns, their values `matrix(column)`, and rows `outside(column)`.
Encoder = Numbers | Days | Levels | Scale | Texts
