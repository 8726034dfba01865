"""Times until an event: the column that says whether it was observed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import plural, quoted
from credo.tables.columns import column_named, plain_number, present_mask, words
from credo.tables.errors import ColumnError
from credo.tables.kinds import truth_pair

# A column with more values is no status.
_MAX_VALUES = 5
_TIME = re.compile(
    r"(.*[_. ])?(s|surv(ival)?|fu|follow[_. -]?up|event|death)?[_. ]?(time|days|weeks|months|years|duration)([_. ].*)?|"
    r"survival|duration|lifetime|tenure|tte|(os|pfs|dfs|rfs|efs)([_. ].*)?|tstop|stop|follow[_. -]?up",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"(.*[_. ])?(fu)?(status|stat|event|death|died|dead|deceased|cens(or(ed|ing)?)?|fail(ure|ed)?|churn(ed)?|relapsed?|"
    r"recur(rence|red)?)([_. ].*)?",
    re.IGNORECASE,
)
_CENSORED = re.compile(r".*cens", re.IGNORECASE)


@dataclass(frozen=True)
class Event:
    """The column that says whether the event of a row was observed, and its value in such rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import Event
    >>> table = pd.DataFrame({"days": [310, 1010, 55], "status": [2, 1, 2]})
    >>> event = Event.of(table, "status")
    >>> event, event.observed(table).tolist()
    (Event(column='status', value='2'), [True, False, True])
    """

    column: str
    value: str

    @classmethod
    def of(cls, table: Any, given: str) -> Self:
        """From the name of a column of two values, or as "status=dead", which says which of its values is the event."""
        name, equals, value = given, "", ""
        if given not in table.columns:
            name, equals, value = (part.strip() for part in given.rpartition("="))
            name = name if equals else given
        name = column_named(table, name, what="event")
        known = _values(table[name])
        if table[name].nunique() > _MAX_VALUES:
            raise ColumnError(
                f"the event {name!r} has more than {_MAX_VALUES} values: name the column that says whether the event "
                "was observed"
            )
        if len(known) < 2:
            raise ColumnError(f"the event {name!r} has only one value: without censored rows, leave event=… out")
        listed = quoted(known, most=_MAX_VALUES)
        if equals:
            if value not in known:
                raise ColumnError(f"the event {name!r} has no value {value!r}; it has {listed}")
            return cls(name, value)
        pair, numbers = truth_pair(known), [plain_number(word) for word in known]
        if _CENSORED.match(name) or len(known) > 2 or (pair is None and set(numbers) not in ({0.0, 1.0}, {1.0, 2.0})):
            raise ColumnError(
                f"say which value of {name!r} stands for an observed event, as in event='{name}={known[-1]}' (--event "
                f"{name}={known[-1]}); its values are {listed}"
            )
        if pair is not None:
            return cls(name, next(word for word in known if word.casefold() == pair[0]))
        return cls(name, known[int(np.argmax(np.array(numbers, dtype=np.float64)))])

    def observed(self, table: Any) -> NDArray[np.bool_]:
        """Which rows have the event; an error for a missing value."""
        column = table[column_named(table, self.column, what="event")]
        present = present_mask(column)
        if not present.all():
            label = table.index[int(np.argmin(present))]
            row = label + 1 if isinstance(label, int | np.integer) else label
            raise ColumnError(f"the event {self.column!r} is missing in row {row}: enter it, or leave out such rows")
        return _words(column) == self.value


def suspected_event(table: Any, target: str) -> str | None:
    """The column that seems to say whether the event of a row was observed, if the target looks like times until it."""
    column = table[target]
    if not _TIME.fullmatch(str(target)) or column.dtype.kind not in "iuf" or not (column.dropna() >= 0).all():
        return None
    return next(
        (
            name
            for name in table.columns
            if name != target and _EVENT.fullmatch(str(name)) and 2 <= len(_values(table[name])) <= _MAX_VALUES
        ),
        None,
    )


def event_note(target: str, name: str, n_values: int) -> str:
    """What a table of times and a status looks like, and what to do."""
    value = "=VALUE" if n_values > 2 or _CENSORED.match(name) else ""
    return (
        f"{target!r} looks like times until an event, and {name!r} like a status that says whether it was observed. "
        "Here every time counts as observed, so that predictions are too short if some of them ended before the event: "
        f"event='{name}{value}' (--event {name}{value}) takes that into account. {name!r} is left out of the inputs; "
        f"kinds={{{name!r}: 'category'}} (--kinds {name}=category) uses it as one."
    )


def events_note(target: str, event: Event, observed: NDArray[np.bool_]) -> str:
    """How the times are used."""
    n, found = len(observed), int(observed.sum())
    return (
        f"{target!r} has times until an event, which was observed in {found:,} of {plural(n, 'row')} ({event.column} = "
        f"{event.value}). The other times are censored, known to be longer: their log score is that of the predicted "
        "probability of a longer time, and other scores are about the time up to their end."
    )


def _words(column: Any) -> NDArray[Any]:
    present = present_mask(column)
    if column.dtype.kind in "iuf":
        column = column.map(lambda value: f"{value:g}", na_action="ignore")
    found: NDArray[Any] = words(column, present)
    return found


def _values(column: Any) -> list[str]:
    """The distinct values as words, sorted; those of a column that has many are cut off."""
    if column.nunique() > _MAX_VALUES:
        return []
    return sorted({str(word) for word in _words(column)[present_mask(column)]})
