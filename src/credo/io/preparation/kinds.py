"""The kind of a column: the rules that distinguish numbers, categories, text, dates and identifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import ColumnError, shown
from credo.io.preparation.dates import FIRST, LAST, TYPED, date_format, is_typed
from credo.io.tables.columns import is_wordy, numbers, present_mask, refuse_complex, words

Kind = Literal["numeric", "categorical", "text", "date", "constant", "identifier", "empty"]
KINDS: tuple[str, ...] = get_args(Kind)

# With fewer values, that all of them differ doesn't show an identifier.
_IDENTIFIER_ROWS = 10
_COUNTING_ROWS = 20
# A numeric column may have a few typing errors; with more, it is text.
_SLIPS = 0.05
_TEXT_WORDS = 4
_ID_NAME = re.compile(
    r"(^|.*[\s_.\-])(id|ids|idx|uid|uuid|guid|index|key|nr|no|num|number|row|rownames|case|record|serial|obs|"
    r"observation|subject|patient|sample|participant)"
)
_ID_ENDING = re.compile(r".*[a-z](ID|Id)")
# A numbered level (1. White, 2nd) isn't a number with a unit.
_WITH_UNIT = re.compile(
    r"[<>~≈]?\s*[+\-−]?\d(?:[\d.,']*\d)?\s*(?!(?:st|nd|rd|th)\b)((?:[^\W\d_]|[%‰°µ])(?:\w|[%‰°µ/^*·])*)"
)
_TIME_NAME = re.compile(r".*(year|month|week|day|hour|minute|second|time|date|period|quarter|step|age).*|.")
# Under such a name, numbers such as 20240131 are dates.
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

    `style` is the way in which its dates are written, `pair` its words for true and false, and `absent` are its
    words that count as missing; whatever is not given is detected from the rows.

    Examples
    --------
    >>> from credo.io import Form
    >>> Form("boolean", pair=("nein", "ja"), absent=("k. A.",))
    Form(kind='boolean', style=None, pair=('nein', 'ja'), absent=('k. A.',))
    """

    kind: Kind
    style: str | None = None
    pair: tuple[str, str] | None = None
    absent: tuple[str, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Form:
        """Itself, since it can't change: `clone` copies the forms of every column, and wide tables have many."""
        return self


NUMERIC = Form("numeric")


@dataclass(frozen=True, eq=False)
class Profile:
    """A column with what its kind is inferred from, computed when it is asked for; `present` are rows with a value."""

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
        """The values as numbers, NaN where missing or no number."""
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
    def unit(self) -> str | None:
        """The unit of a column of numbers with a unit, as in 1.23 kg: the word that follows the number in most rows."""
        if self.is_typed_number:
            return None
        matches = (_WITH_UNIT.fullmatch(word) for word in self.words[self.present])
        units = Counter(match[1] for match in matches if match)
        unit, count = units.most_common(1)[0] if units else ("", 0)
        return unit if count > 0.5 * self.n_present else None

    @property
    def slips(self) -> tuple[str, ...]:
        """The values of a numeric column that aren't numbers."""
        return tuple(dict.fromkeys(self.words[self.odd]))


def profile(name: str, column: Any) -> Profile:
    """A column whose values can be used."""
    refuse_complex(column)
    if is_wordy(column):
        _refuse_nested(name, column)
    return Profile(name, column, present_mask(column))


def _refuse_nested(name: str, column: Any) -> None:
    for i, value in enumerate(column.tolist()):
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise ColumnError(
                f"column {name!r}, row {i + 1}: a {type(value).__name__} instead of a single value; "
                "make a column of each part"
            )


def kind_of(found: Profile) -> tuple[Kind, str]:
    """The kind of a column, and the reason where it isn't obvious."""
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
    return slips == 0 or (found.n_present >= _COUNTING_ROWS and slips <= _SLIPS * found.n_present)


def date_style(found: Profile) -> str | None:
    """How a column writes its dates, or None if it has none; numbers must be all dates, and their name say so."""
    if is_number(found):
        known = found.values[~np.isnan(found.values)]
        if not _DATE_NAME.fullmatch(found.name) or not ((known >= FIRST) & (known <= LAST)).all():
            return None
    return found.date_format


def _counts(found: Profile) -> str:
    """Why a column of whole numbers is an identifier, or an empty text."""
    values = found.values[found.present & ~np.isnan(found.values)]
    n = len(values)
    if n < _IDENTIFIER_ROWS or found.n_missing or len(np.unique(values)) < n or not np.isfinite(values).all():
        return ""
    if np.any(values != np.floor(values)) or values.min() < 0:
        return ""
    name = found.name.strip()
    if _ID_NAME.fullmatch(name.casefold()) or _ID_ENDING.fullmatch(name):
        return "unique whole numbers, and a name like an identifier"
    # Gaps are allowed, because the training rows of a fold must be classified like the whole table.
    steady = bool(np.all(np.diff(values) >= 1)) and values[0] <= max(5, 0.1 * n) and values[-1] <= 2.5 * n
    if n >= _COUNTING_ROWS and steady and not _TIME_NAME.fullmatch(name.casefold()):
        return "whole numbers that number the rows"
    return ""


def _kind_of_words(found: Profile, n_distinct: int) -> tuple[Kind, str]:
    n, share = found.n_present, n_distinct / found.n_present
    length = float(np.mean([len(word.split()) for word in found.distinct]))
    if length >= _TEXT_WORDS and share > 0.5 and n > 1:
        return "text", ""
    if n >= _IDENTIFIER_ROWS and n_distinct == n:
        return "identifier", "text that differs in every row"
    if n >= _COUNTING_ROWS and share > 0.5:
        return "identifier", "text that differs in most rows"
    return "categorical", ""


def truth_pair(distinct: Iterable[str]) -> tuple[str, str] | None:
    """The pair of words that a column consists of, true first, or None.

    >>> truth_pair(["No", "yes"])
    ('yes', 'no')
    """
    found = {word.casefold() for word in distinct}
    return next((pair for pair in _PAIRS if found == set(pair)), None)


def truth_values(pair: tuple[str, str]) -> dict[str, float]:
    """What each word counts as, 1 and 0 and True and False included."""
    true, false = pair
    return {"true": 1.0, "1": 1.0, true: 1.0, "false": 0.0, "0": 0.0, false: 0.0}
