"""Encoders: what `fit` learned about a column, and how its cells become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.features import Words
from credo.io.errors import ColumnError, TableWarning, plural, quoted, shown
from credo.io.preparation.dates import as_dates, days_since, is_style, timestamps
from credo.io.preparation.levels import Levels
from credo.io.tables.columns import not_a_number, numbers, present_mask, words
from credo.notices import warn

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outside:
    """Which rows lie outside the training data, and why.

    Attributes
    ----------
    rows : bool array of shape (n_rows,)
    reasons : list of str, one for each row
        Such as "year = 3000 (training: 1871 to 1970)"; empty for a row inside.
    columns : dict of column name to the number of its rows that are outside

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

    def note(self) -> str | None:
        """A sentence about these rows, or None if there are none."""
        count = int(self.rows.sum())
        if not count:
            return None
        first = self.reasons[int(np.argmax(self.rows))]
        return (
            f"{plural(count, 'row')} of {len(self.rows):,} {'is' if count == 1 else 'are'} outside the training data "
            f"(columns {quoted(self.columns)}; first: {first}). Predictions there are extrapolations."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Measured:
    """A number for each row, the median `fill` where it is missing, and an indicator of missing values.

    `value` and `indicator` say which of the two columns are made; `low` and `high` are the range of the fitted rows. A
    value is outside if it is beyond them by more than the share `margin` of their distance.
    """

    name: str
    fill: float
    value: bool = True
    indicator: bool = False
    had_missing: bool = False
    low: float = np.nan
    high: float = np.nan
    margin: float = 0.1

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

    def outside(self, column: Any) -> tuple[NDArray[np.intp], list[str]]:
        """The rows that lie beyond the range by more than the margin, and a phrase for each."""
        if not self.value or not self.low < self.high:
            return np.empty(0, dtype=np.intp), []
        values, margin = self.values(column), self.margin * (self.high - self.low)
        rows = np.flatnonzero(np.isfinite(values) & ((values < self.low - margin) | (values > self.high + margin)))
        training = f"(training: {self.text(self.low)} to {self.text(self.high)})"
        return rows, [f"{self.name} = {self.text(values[i])} {training}" for i in rows]

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

    `words` gives the numbers of words such as yes and no; `absent` are words that count as missing. `sign` is that of
    the file, as % or $; empty if it had none, None if there was no file.
    """

    words: dict[str, float] | None = None
    absent: tuple[str, ...] = ()
    sign: str | None = None

    def _check_state(self) -> None:
        """Raise a ValueError where state that came from a file can't be that of a fit."""
        if not np.isfinite([self.fill, *(self.words or {}).values()]).all():
            raise ValueError(f"the numbers of column {self.name!r} aren't finite")

    @property
    def is_plain(self) -> bool:
        """Whether finite numbers are used unchanged, in one column."""
        return self.value and not self.indicator and self.words is None

    def values(self, column: Any) -> Array:
        """The column's numbers, NaN where they are missing."""
        present = present_mask(column)
        if self.words is not None:
            return self._truths(column, present)
        if column.dtype.kind == "m":
            return np.asarray(column.dt.total_seconds() / 86_400, dtype=np.float64)
        values, odd = numbers(column, present)
        unknown = np.array([i for i in odd if str(column.iat[i]).strip() not in self.absent], dtype=np.intp)
        if len(unknown):
            raise ColumnError(f"{not_a_number(column, unknown)}; the model expects a number there")
        return values

    def changed_sign(self, sign: str | None, column: Any) -> str | None:
        """The sentence about numbers that are written in another way than the training data, or None.

        `sign` is empty for a column of a file without one, and None where nothing is known.
        """
        if self.sign is None or self.sign == sign:
            return None
        values = self.values(column)
        known = np.abs(values[np.isfinite(values)])
        largest = max(abs(self.low), abs(self.high))
        if self.sign == "%" and not sign and len(known) and known.max() <= 1.0 < largest:
            return (
                f"column {self.name!r}: the values look like fractions, and the training data had percentages (up to "
                f"{self.text(largest)} %); multiply them by 100"
            )
        if sign is None:
            return None
        now, then = (f"with {mark!r}" if mark else "without a sign" for mark in (sign, self.sign))
        return (
            f"column {self.name!r}: the numbers are written {now}, and in the training data {then}; they are used as "
            "they are"
        )

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Days(_Measured):
    """A date as days since the first date of the fitted rows, `origin`; `style` is how dates are written."""

    style: str
    origin: str

    def _check_state(self) -> None:
        """Raise a ValueError where state that came from a file can't be that of a fit."""
        if not np.isfinite(self.fill) or np.isnat(np.datetime64(self.origin, "us")):
            raise ValueError(f"the dates of column {self.name!r} have no median or no first one")
        if not is_style(self.style):
            raise ValueError(f"the dates of column {self.name!r} have the unknown format {self.style!r}")

    @property
    def title(self) -> str:
        """The name of the column of days."""
        return f"{self.name} (days since {self.origin})"

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
            raise ColumnError(
                f"column {self.name!r}, row {odd[0] + 1}: {str(column.iat[odd[0]])!r} is not a date in the "
                "format of the training data"
            )
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
        """The rows without a word of the vocabulary, and a phrase for each."""
        rows = np.flatnonzero(np.asarray(self.matrix(column).sum(axis=1)).ravel() == 0)
        return rows, [f"{self.name}: no word of the training data"] * len(rows)


# Each has a name, `names()` of the columns it makes, their numbers `matrix(column)`, and rows `outside(column)`.
Encoder = Numbers | Days | Levels | Texts


def runs(encoders: list[Encoder]) -> list[list[Encoder]]:
    """The encoders of each block: one for every text column, adjacent columns of other kinds together."""
    runs: list[list[Encoder]] = []
    for is_text, group in groupby(encoders, key=lambda encoder: isinstance(encoder, Texts)):
        run = list(group)
        runs += [[encoder] for encoder in run] if is_text else [run]
    return runs


def side_by_side(
    encoders: list[Encoder], table: Any, unchanged: Mapping[str, Array], read: Mapping[str, Array]
) -> Array:
    """The numbers of dense encoders in one block: columns that are used unchanged, or were read, or are read here."""
    widths = [len(encoder.names()) for encoder in encoders]
    block = np.empty((len(table), sum(widths)), order="F")
    for encoder, start, width in zip(encoders, np.cumsum([0, *widths]), widths, strict=False):
        if encoder.name in unchanged:
            block[:, start] = unchanged[encoder.name]
        elif isinstance(encoder, _Measured) and encoder.name in read:
            block[:, start : start + width] = encoder.filled(read[encoder.name])
        else:
            block[:, start : start + width] = encoder.matrix(table[encoder.name])
    return block
