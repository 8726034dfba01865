"""A profile of a table before any model is fitted: kinds, gaps, groups, time order and leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from credo.core.wording import first_few, plural
from credo.study.checks import leaks, repeated_units
from credo.study.data import opened, separated
from credo.tables import Column, Preparation, TimeColumn, time_column
from credo.tables.columns import column_named, plain_number

# The kinds of columns in words, in the order in which they are listed; the others are left out of models.
_KINDS = {"numeric": "numbers", "categorical": "categories", "date": "dates", "text": "texts"}
_MOST_NAMES = 6


@dataclass(frozen=True, eq=False)
class Profile:
    """What a table looks like before any model is fitted.

    Attributes
    ----------
    source : str
        The name of the file, or "table".
    n_rows, n_columns : int
    columns : sequence of Column
        Name, kind, number of missing and of distinct values of each, without the target.
    target : str or None
    task : str or None
        "regression" or "classification", if there is a target.
    time : TimeColumn or None
        The column that puts the rows in time order.
    groups : str or None
        The column that names what several rows were measured on, such as a patient.
    sentinels : dict of column name to words
        Numbers such as -999 that count as missing.
    leaks : dict of column name to share
        Columns that alone nearly determine the target, with the share that each explains.
    notes : sequence of str
        Sentences about what was read, left out or treated as missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import look
    >>> found = look(pd.DataFrame({"dose": [1.0, None, 3.0, 4.0], "soil": ["clay", "sand", "sand", "clay"]}))
    >>> print(found)
    table       4 rows, 2 columns
    numbers     dose
    categories  soil (2 levels)
    gaps        dose 25 %
    """

    source: str
    n_rows: int
    n_columns: int
    columns: Sequence[Column]
    target: str | None
    task: str | None
    time: TimeColumn | None
    groups: str | None
    sentinels: Mapping[str, Sequence[str]]
    leaks: Mapping[str, float]
    notes: Sequence[str]

    def __str__(self) -> str:
        return "\n".join(f"{title:<11} {text}" for title, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """A title and a text for each line of the profile."""
        rows = [(self.source, f"{plural(self.n_rows, 'row')}, {plural(self.n_columns, 'column')}")]
        if self.target is not None:
            rows.append(("target", f"{self.target} ({self.task})"))
        for kind, title in _KINDS.items():
            names = [_with_detail(column) for column in self.columns if column.kind == kind]
            rows += [(title, first_few(names, most=_MOST_NAMES))] * bool(names)
        left_out = [f"{column.name} ({column.kind})" for column in self.columns if column.kind not in _KINDS]
        rows += [("left out", first_few(left_out, most=_MOST_NAMES))] * bool(left_out)
        gaps = sorted((column for column in self.columns if column.n_missing), key=lambda column: -column.n_missing)
        shares = [f"{column.name} {_percent(column.n_missing / self.n_rows)}" for column in gaps]
        rows += [("gaps", first_few(shares, most=_MOST_NAMES))] * bool(shares)
        coded = [f"{' and '.join(codes)} in {name}" for name, codes in self.sentinels.items()]
        rows += [("sentinels", first_few(coded, most=_MOST_NAMES))] * bool(coded)
        if self.groups is not None:
            rows.append(("groups", f"{self.groups} (several rows each)"))
        if self.time is not None:
            step = f", one row a {self.time.step}" * bool(self.time.step)
            how = "several rows at each time" if self.time.repeated else f"rows in order{step}"
            rows.append(("time", f"{self.time.name} ({how})"))
        if self.leaks:
            found = [f"{name} alone explains {_percent(share)}" for name, share in self.leaks.items()]
            rows.append(("leaks", first_few(found, most=_MOST_NAMES)))
        return rows

    def record(self) -> dict[str, Any]:
        """The profile in JSON types."""
        names = ("name", "kind", "n_missing", "n_distinct", "detail", "ordered")
        time = None if self.time is None else {name: getattr(self.time, name) for name in ("name", "step", "repeated")}
        return {
            "source": self.source, "rows": self.n_rows, "target": self.target, "task": self.task,
            "columns": [{name: getattr(column, name) for name in names} for column in self.columns],
            "time": time, "groups": self.groups, "sentinels": dict(self.sentinels), "leaks": dict(self.leaks),
            "notes": list(self.notes),
        }  # fmt: skip


def look(
    data: Any,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    keep_sentinels: bool = False,
    **reading: Any,
) -> Profile:
    """A profile of a table before any model is fitted: the kind of each column, gaps, groups, time order and leaks.

    Parameters
    ----------
    data : data frame (pandas, polars, pyarrow), dict of columns, or path of a CSV, Parquet, Excel or JSON lines file
    target : str, optional
        The column to predict; needed to find leaks.
    drop, kinds, keep_sentinels
        As in `analyze`.
    **reading
        Options of `credo.tables.read_table` for a path.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import look
    >>> size = [float(i % 7) for i in range(40)]
    >>> frame = pd.DataFrame({"size": size, "twice": [2 * v for v in size], "price": [5 - v for v in size]})
    >>> print(look(frame, "price"))
    table       40 rows, 3 columns
    target      price (regression)
    numbers     size, twice
    leaks       size alone explains 100 %, twice alone explains 100 %
    """
    table, source, notes, *_ = opened(data, reading)
    for name in (*drop, *(kinds or {}), *([] if target is None else [target])):
        column_named(table, name)
    rest = table.drop(columns=list(drop))
    task, leaking = None, dict[str, float]()
    if target is not None:
        task, rest, y, more = separated(rest, target, None, keep_sentinels=keep_sentinels)
        notes += more
        # In a series, each row is like the one before it.
        if (found_time := time_column(rest)) is None or found_time.repeated:
            leaking = leaks(rest, y, classes=task == "classification")
    forced = {name: kind for name, kind in (kinds or {}).items() if name != target}
    preparation = Preparation(kinds=forced, keep_sentinels=keep_sentinels).fit(rest)
    time = time_column(rest)
    units = repeated_units(rest) if time is None or time.repeated else None
    forms = preparation.forms_.items()
    coded = {name: codes for name, form in forms if (codes := [w for w in form.absent if plain_number(w) is not None])}
    return Profile(
        source, len(table), table.shape[1], preparation.columns_, target, task, time, units[0] if units else None,
        coded, leaking, [*notes, *preparation.notes_],
    )  # fmt: skip


def _with_detail(column: Column) -> str:
    if column.kind == "categorical":
        return f"{column.name} ({plural(column.n_distinct, 'level')}{', ordered' if column.ordered else ''})"
    return f"{column.name} ({column.detail})" if column.detail else column.name


def _percent(share: float) -> str:
    return "<1 %" if share < 0.005 else f"{100 * share:.0f} %"
