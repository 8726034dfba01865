"""A table with its target, folds, and notes from before any model is fitted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import merge_equal_rows
from credo.core.folds import Split, forward, mostly_copies, shuffled, with_known_classes
from credo.core.wording import percent, plural, quoted
from credo.distributions import REAL_LINE, BoxCox, Log, Support, YeoJohnson
from credo.ensemble import choose_transform
from credo.study.catalogue import Size, Times
from credo.study.checks import FEW_ROWS, leaks, repeated_units, unit_note
from credo.study.large import large_table, sample_of
from credo.tables import (
    Preparation,
    Task,
    TimeColumn,
    class_order,
    read_table,
    split_target,
    target_support,
    target_task,
    time_column,
    without_lone_classes,
)
from credo.tables.columns import amounts, as_frame, column_named, finite_columns, row_weights
from credo.tables.effects import FoldEffects
from credo.tables.errors import pandas
from credo.tables.events import Event, event_note, events_note, suspected_event
from credo.tables.formats import LargeTable
from credo.tables.groups import group_codes, group_names

# Up to this many rows there are folds; beyond, one set of held-out rows, a fifth of the table and at most as many rows
# as here. On 24 tables the standard error of the log score is then below 0.02.
FOLD_ROWS, HELD_OUT_ROWS = 3000, 5000
N_FOLDS = 5
# Models of counts are for typical counts up to this: the standard deviation of a larger one is at least 10, and
# taking it for a real number changes its log score by less than 1/(24 · 10²) nats.
_MAX_TYPICAL_COUNT = 100


@dataclass(frozen=True)
class Note:
    """Something the user should know.

    `important` ones are at the top of a report; `on_board` ones are shown below the leaderboard, as important ones are.

    Examples
    --------
    >>> from credo.study import Note
    >>> Note("growth is a count: intervals may contain impossible values", important=True).important
    True
    """

    text: str
    important: bool = False
    on_board: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its target separated, its folds, and notes about both.

    `rows` are the prepared columns. `groups` labels rows that share a fold; `time` is the time column if the rows are
    in time order; `labels` is the index of the given frame. If the table is read in parts, `whole`, the frame is a
    sample of the rows. `support` has the possible values of a target of numbers. `unit` is the column of units with
    several rows each, such as patients, which are held out whole, and `units` its values. `weight` has the weights of
    the rows, from the column `weight_column`. `fold_effects` learns the effects of levels from the rows of each fold.
    The target is proportional to the column `exposure`. For times until an event, `happened` is the column that says
    so, and `event` which of them were observed.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import dataset
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> data = dataset(frame, "growth")
    >>> data.task, data.shape, [column.kind for column in data.preparation.columns_]
    ('regression', '12 rows, 1 column', ['numeric'])
    """

    source: str
    target: str
    task: str
    frame: Any
    y: NDArray[Any]
    preparation: Preparation
    rows: Any
    size: Size
    groups: NDArray[np.intp] | None
    time: Any
    notes: Sequence[Note]
    transformation: str = "identity"
    labels: Any = None
    whole: LargeTable | None = None
    support: Support = REAL_LINE
    unit: str | None = None
    units: Any = None
    weight: NDArray[np.float64] | None = None
    weight_column: str | None = None
    fold_effects: FoldEffects | None = None
    exposure: str | None = None
    happened: Event | None = None
    event: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> str:
        """Rows and columns in words."""
        rows, columns = self.frame.shape
        return f"{plural(rows, 'row')}, {plural(columns, 'column')}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the table's cells, its target and its prepared columns."""
        cells = pandas().util.hash_pandas_object(self.frame.assign(**{f"target {self.target}": self.y}), index=False)
        columns = "\n".join([self.task, *map(str, self.preparation.get_feature_names_out())])
        return hashlib.sha256(cells.to_numpy().tobytes() + columns.encode()).hexdigest()[:16]

    def splits(self, folds: int | None, seed: int) -> tuple[list[Split], list[str]]:
        """Training and held-out rows, shuffled or blocks in time order: five folds, or one if rows are many."""
        n, classes = len(self.y), self.task == "classification"
        once = folds is None and n > FOLD_ROWS
        if self.time is not None:
            start = n - min(n // N_FOLDS, HELD_OUT_ROWS) if once else self._first_forecast()
            n_blocks = 1 if once else max(1, min(folds or N_FOLDS, (n - start) // 2))
            blocks = forward(self.time.order, n_blocks, start)
            return with_known_classes(blocks, self.y) if classes else (blocks, [])
        n_folds = max(N_FOLDS, -(-n // HELD_OUT_ROWS)) if once else folds or N_FOLDS
        labels = self.y if classes else None
        tests, notes = shuffled(n, n_folds, np.random.default_rng(seed), groups=self.groups, classes=labels)
        every = np.arange(n)
        pairs = [(np.setdiff1d(every, test), test) for test in (tests[:1] if once else tests)]
        if not classes or self.unit is None:
            return pairs, notes
        pairs, more = with_known_classes(pairs, self.y)
        return pairs, notes + more

    def _first_forecast(self) -> int:
        """The number of rows before the first forecast: half of them, or those of two cycles, at most three quarters.

        The model that is used in the end knows all rows. Scores of forecasts from few rows say little about it, and of
        cycles that were not yet complete nothing.
        """
        half, most = len(self.y) // 2, 3 * len(self.y) // 4
        if self.size.times is None or not self.size.times.cycles:
            return half
        since = np.sort(self.time.values) - np.min(self.time.values)
        longest = max(self.size.times.cycles) * float(self.preparation.scale_[self.size.times.column])
        return min(max(half, int(np.sum(since < 2 * longest))), most)


def dataset(
    data: Any,
    target: str,
    *,
    task: str | None = None,
    reading: Mapping[str, Any] | None = None,
    time_order: bool | None = None,
    kinds: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    keep_sentinels: bool = False,
    support: Support | tuple[float, float] | str = "auto",
    groups: str | bool | None = None,
    weight: str | None = None,
    exposure: str | None = None,
    event: str | None = None,
    engine: str = "local",
) -> Dataset:
    """Read the table or use the frame, and infer the task unless it is given.

    `drop` leaves columns out, and `kinds` overrides the kinds of others, as in `Preparation`. `support` are the
    possible values of a target of numbers, by default what its values show. `groups` is the column of units that are
    held out whole, by default one that is recognized, and False for none. `weight` is a column of weights of the rows,
    and the target is proportional to the column `exposure`. `event` is the column that says which times of the target
    ended with the event. A Parquet file that is large beside the memory, or is to be read by the engine "dask", is read
    in parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import dataset
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> data = dataset(frame, "growth")
    >>> data.task, data.target, len(data.y)
    ('regression', 'growth', 12)
    """
    if not isinstance(target, str):
        raise TypeError(f"target must be a column's name, as in analyze(frame, 'price'); got {type(target).__name__}")
    given = opened(data, reading or {}, engine=engine)
    early, notes = ([], given.notes) if given.whole is None else (given.notes, [])
    table, forced, more = _chosen(given.table, target, {**(kinds or {}), **dict.fromkeys(drop, "identifier")})
    notes += more
    table, weights, more = _weighted(table, target, weight, repeat=given.whole is None)
    notes += more
    if exposure is not None:
        if given.whole is not None:
            raise ValueError("an exposure needs a table that fits into memory: use a sample of the rows")
        table, more = _exposed(table, target, exposure)
        notes += more
    if event is not None and (given.whole is not None or exposure is not None):
        raise ValueError("an event needs a table that fits into memory, and no exposure")
    table, happened, observed, more = _events(table, target, event, forced)
    early = [*early, *more]
    task = task or ("regression" if happened is not None else None)
    # A large table is fitted in parts, each of which has too few rows to recognize a code.
    keeps = keep_sentinels or given.whole is not None
    task, frame, y, more = separated(table, target, task, keep_sentinels=keeps)
    notes += more
    if time_order and isinstance(groups, str):
        raise ValueError(
            f"time_order=True predicts each row from those before it, groups={groups!r} whole groups from others: "
            "choose one"
        )
    if exposure is not None and task == "classification":
        raise ValueError(f"an exposure is for totals such as counts, but the target {target!r} has classes")
    inputs = frame if exposure is None else frame.drop(columns=exposure)
    time = time_column(inputs) if time_order or not (time_order is False or isinstance(groups, str)) else None
    in_order = time is not None and not time.repeated
    unit, equal = _unit(inputs, groups, has_time=in_order)
    if unit is not None:
        forced = {**forced, unit: "identifier"}
    words = tuple((reading or {}).get("na_words") or ())
    preparation = Preparation(
        standardize=True, clip=True, kinds=forced, keep_sentinels=keep_sentinels, na_words=words, exposure=exposure
    )
    # Censored times say too little about the levels of a category.
    labels = None if happened is not None else y.astype(str) if task == "classification" else y
    rows = preparation.fit_transform(frame, labels)
    in_order = in_order and time is not None and time.name in preparation.sources()
    ordered = time if in_order else None
    if happened is not None:
        _check_times(y, target, frame.index, observed[frame.index], task)
    possible = _support(support, y, frame.index) if task == "regression" and happened is None else REAL_LINE
    order = class_order(y, table[target].dtype) if task == "classification" else ()
    size = _size(preparation, rows, y, task, possible, ordered, order, is_time=happened is not None)
    is_plain = task == "regression" and exposure is None and happened is None
    together = copies(frame, y) if unit is None else group_codes(frame[unit])
    made = Dataset(
        given.source, target, task, frame, y, preparation, rows, size, together, ordered, [],
        transformation=best_transformation(rows, y) if is_plain else "identity",
        labels=None if given.labels is None else given.labels[frame.index], whole=given.whole, support=possible,
        unit=unit, units=None if unit is None else group_names(frame[unit]),
        fold_effects=None if labels is None else preparation.fold_effects(frame, labels),
        weight=None if weights is None else weights[frame.index], weight_column=weight, exposure=exposure,
        happened=happened, event=None if happened is None else observed[frame.index],
    )  # fmt: skip
    repeated = [] if unit is None else [unit_note(unit, equal, is_requested=groups == unit)]
    important = [*early, *early_warnings(made), *repeated]
    others = [
        *time_notes(time, in_order=in_order),
        *notes,
        *column_notes(preparation, len(frame), unit),
        *target_notes(made),
        *exposure_notes(made),
        *([] if made.happened is None or made.event is None else [events_note(target, made.happened, made.event)]),
        *copy_notes(together if unit is None else None),
    ]
    return replace(made, notes=[*(Note(text, important=True) for text in important), *map(Note, others)])


def _events(
    table: Any, target: str, event: str | None, forced: Mapping[str, Any]
) -> tuple[Any, Event | None, NDArray[np.bool_], list[str]]:
    """The table without the column that says which times ended with the event; that column, and its values by label.

    If no event is named, a column that looks like one is left out too, with a note, unless its kind is given.
    """
    if event is not None:
        happened = Event.of(table, event)
        observed = np.ones(int(table.index.max()) + 1, dtype=bool)
        observed[table.index] = happened.observed(table)
        return table.drop(columns=happened.column), happened, observed, []
    column_named(table, target, what="target")
    status, notes = suspected_event(table, target), list[str]()
    if status is not None and status not in forced:
        notes.append(event_note(target, str(status), table[status].nunique()))
        table = table.drop(columns=status)
    return table, None, np.ones(0, dtype=bool), notes


def _size(
    preparation: Preparation,
    rows: Any,
    y: NDArray[Any],
    task: str,
    possible: Support,
    time: TimeColumn | None,
    order: Sequence[Any],
    *,
    is_time: bool,
) -> Size:
    """What the models need to know about the prepared table."""
    n_exposures = int(preparation.exposure is not None)
    classes = len(set(y.tolist())) if task == "classification" else 0
    from_zero = possible.low == 0 and possible.high == np.inf
    counts = from_zero and possible.step == 1
    # With an exposure, other models don't know that the noise of a count grows with it.
    counts = counts and (n_exposures > 0 or bool(np.median(y) <= _MAX_TYPICAL_COUNT))
    return Size(
        len(y), rows.shape[1] - n_exposures, len(set(preparation.sources())) - n_exposures, classes,
        times=None if time is None else _times(time, preparation), counts=counts,
        zeros=int(np.sum(y == 0)) if from_zero else 0,
        order=tuple(order) if classes > 2 else (), exposure=preparation.exposure_column, is_time=is_time,
    )  # fmt: skip


class Opened(NamedTuple):
    """A table with its name and notes; `labels` is the index of a frame, `whole` the file that it is a sample of."""

    table: Any
    source: str
    notes: list[str]
    labels: Any = None
    whole: LargeTable | None = None


def opened(data: Any, reading: Mapping[str, Any], *, engine: str = "local") -> Opened:
    """The table of a frame or file; a sample of the rows if the file is large."""
    if not isinstance(data, str | os.PathLike):
        if engine != "local":
            raise ValueError(f"engine={engine!r} reads Parquet files: pass the path of one")
        table = as_frame(data)
        # Notes count rows from 1, as in a file, and don't use the labels of the index.
        return Opened(table.reset_index(drop=True), "table", [], table.index)
    whole = large_table(data, reading, engine=engine)
    if whole is not None:
        table, note = sample_of(whole)
        return Opened(table, whole.path.name, [note], whole=whole)
    sheet = read_table(data, **reading)
    return Opened(sheet.frame, "standard input" if os.fspath(data) == "-" else Path(data).name, list(sheet.notes))


def separated(
    table: Any, target: str, task: str | None, *, keep_sentinels: bool
) -> tuple[str, Any, NDArray[Any], list[str]]:
    """The task, by default inferred, the table without target and unusable rows, the target, and notes."""
    found = None if task else target_task(table, target)
    notes = [task_note(target, found)] if found is not None and found.why else []
    task = task or (found.name if found else "regression")
    frame, y, more = split_target(table, target, task=task, keep_sentinels=keep_sentinels)
    notes += more
    if task == "classification":
        frame, y, more = without_lone_classes(frame, y, target)
        notes += more
    return task, frame, y, notes


# Rows of frequencies are repeated up to as many rows in all; beyond, fits are weighted.
_MAX_REPEATED = 1_000_000


def _weighted(
    table: Any, target: str, weight: str | None, *, repeat: bool
) -> tuple[Any, NDArray[np.float64] | None, list[str]]:
    """The table without its weights and rows of weight zero, the weights of all rows, and a note.

    Whole numbers are frequencies, and the rows are repeated if `repeat`: fits, folds and scores count each of them.
    Other weights are precisions, of which only the ratios matter: their mean is set to one, so that there are as many
    observations as rows.
    """
    if weight is None:
        return table, None, []
    name = column_named(table, weight)
    if name == target:
        raise ValueError(f"{name!r} is the target, and can't be the weight too")
    values = row_weights(table, name)
    if not values.any():
        raise ValueError(f"all weights in {name!r} are zero")
    table = table.drop(columns=name)
    is_frequency = bool((values == np.floor(values)).all())
    total = plural(int(values.sum()), "row")
    if is_frequency and repeat and values.sum() <= _MAX_REPEATED:
        note = f"Frequency weights: each row counts as many times as {name!r} says, {total} in all."
        return table.loc[np.repeat(table.index.to_numpy(), values.astype(np.intp))], None, [note]
    means = "Log scores and errors are weighted means over held-out rows; coverage and accuracy count every row once."
    if is_frequency:
        note = f"Frequency weights: each row counts as many times as {name!r} says, {total} in all. {means}"
    else:
        values = values / values[values > 0].mean()
        note = (
            f"Precision weights: {name!r} has other than whole numbers, which are taken as precisions. A row of twice "
            f"the weight has half the noise variance, and only ratios of weights matter. {means}"
        )
    return table[values > 0], values, [note]


def _exposed(table: Any, target: str, exposure: str) -> tuple[Any, list[str]]:
    """The table without rows whose exposure is zero or missing, and a note."""
    name = column_named(table, exposure, what="exposure")
    if name == target:
        raise ValueError(f"{name!r} is the target, and can't be the exposure too")
    if table.shape[1] < 3:
        raise ValueError(
            f"the table has no column besides the target and the exposure {name!r}: nothing to predict from"
        )
    none = ((table[name] == 0) | table[name].isna()).to_numpy()
    rest = table[~none]
    if not len(rest):
        raise ValueError(f"the exposure {name!r} is zero or missing in every row")
    amounts(rest, name, what="exposure")
    left_out = f"Left out {plural(int(none.sum()), 'row')} whose exposure {name!r} is zero or missing."
    return rest, [left_out] * bool(none.any())


def _check_times(y: NDArray[Any], target: str, rows: Any, observed: NDArray[np.bool_], task: str) -> None:
    """Raise an error unless the target has positive times, some of which ended with the event."""
    if task != "regression":
        raise ValueError(f"event=… is for a target of times, but {target!r} is predicted as classes")
    if (y <= 0).any():
        row = int(rows[int(np.argmax(y <= 0))]) + 1
        raise ValueError(f"the times {target!r} must be above 0; see row {row}: leave it out, or enter half a unit")
    if not observed.any():
        raise ValueError("no event was observed in the rows with a time: nothing is known about its distribution")


def _unit(frame: Any, groups: str | bool | None, *, has_time: bool) -> tuple[str | None, list[str]]:
    """The column of units with several rows each, requested or recognized, and columns that are equal within them."""
    if groups is False or (groups is None and has_time):
        return None, []
    if groups is None or groups is True:
        # A single column is an input, whatever its name is.
        return (repeated_units(frame) if frame.shape[1] > 1 else None) or (None, [])
    if not isinstance(groups, str):
        raise TypeError(f"groups must be a column's name or False; got {type(groups).__name__}")
    name = column_named(frame, groups)
    n_groups = frame[name].nunique()
    if n_groups < 2:
        raise ValueError(f"the column {name!r} has only one value: at least two groups are needed to hold one out")
    if frame.shape[1] == 1:
        raise ValueError(f"the table has no column besides the target and the groups {name!r}: nothing to predict from")
    return name, []


def _support(given: Support | tuple[float, float] | str, y: NDArray[np.float64], rows: Any) -> Support:
    """The possible values of a target, from its values or as requested."""
    if isinstance(given, str) and given in ("auto", "real"):
        return target_support(y) if given == "auto" else REAL_LINE
    if isinstance(given, tuple) and len(given) == 2:
        given = Support(float(given[0]), float(given[1]), float((y == np.floor(y)).all()))
    if not isinstance(given, Support):
        raise ValueError(
            f"support must be 'auto', 'real', a pair of ends or a credo.distributions.Support; got {given!r}"
        )
    odd = np.flatnonzero(given.nearest(y) != y)
    if len(odd):
        raise ValueError(f"the support has {given.words}, but the target is {y[odd[0]]:g} in row {rows[odd[0]] + 1}")
    return given


def column_notes(preparation: Preparation, n_rows: int, unit: str | None = None) -> list[str]:
    """What was done to the columns but the one of units; those with missing values share one note."""
    every = [note for note in preparation.notes_ if not note.startswith(f"Left out column {unit!r}:")]
    of_gaps = preparation.gap_notes_
    if len(of_gaps) < 2:
        return every
    missing = sorted(column.n_missing for column in preparation.columns_ if column.name in of_gaps)
    shares = dict.fromkeys(percent(n / n_rows) for n in (missing[0], missing[-1]))
    said = (
        f"{len(of_gaps)} columns have gaps ({' to '.join(shares)} of the rows): {quoted(of_gaps)}. A missing number is "
        "replaced by the median, a missing category is a level of its own or, if few are missing, the average of the "
        "others; many missing numbers are marked in a column of their own."
    )
    first, *others = of_gaps.values()
    return [said if note == first else note for note in every if note not in others]


def _chosen(table: Any, target: str, kinds: Mapping[str, str]) -> tuple[Any, dict[str, str], list[str]]:
    """The table without the columns that are to be left out, the kinds of the others, and a note."""
    for name in kinds:
        column_named(table, name)
    left_out = [name for name, kind in kinds.items() if kind == "identifier" and name != target]
    notes = [f"Left out as requested: {quoted(left_out)}."] if left_out else []
    rest = {name: kind for name, kind in kinds.items() if name not in (*left_out, target)}
    return table.drop(columns=left_out) if left_out else table, rest, notes


def task_note(target: str, found: Task) -> str:
    """How the target is treated, why, and how to change that."""
    if found.name == "classification":
        other = "; task='regression' (--task regression) predicts it as a number" if found.open else ""
        return f"The target {target!r} is predicted as classes, because {found.why}{other}."
    return (
        f"The target {target!r} is predicted as a number, although {found.why}; task='classification' (--task "
        "classification) treats them as classes."
    )


def copies(frame: Any, y: NDArray[Any]) -> NDArray[np.intp] | None:
    """A label for each row that rows with equal inputs share; None where they should not share a fold.

    A copied row would be predicted from itself, so copies share a fold. The target is ignored: holding rows out
    together because of their target would bias the training rows. If distinct rows are few, as with a handful of
    discrete columns, equal inputs are normal, and the result is None.
    """
    names, values = finite_columns(frame, frame.columns.tolist())
    if len(names) == frame.shape[1]:
        labels = merge_equal_rows(values, np.ones(len(values)))[1]
    else:
        cells = pandas().util.hash_pandas_object(frame, index=False).to_numpy()
        labels = np.unique(cells, return_inverse=True)[1].ravel()
    n_distinct = int(labels.max()) + 1
    if n_distinct == len(labels):
        return None
    # A whole table that was copied several times: equal inputs always have equal targets.
    pairs = np.unique(np.column_stack([labels, np.unique(y, return_inverse=True)[1].ravel()]), axis=0)
    copied = n_distinct > FEW_ROWS and len(pairs) == n_distinct
    return None if mostly_copies(len(labels), n_distinct) and not copied else labels


def copy_notes(groups: NDArray[np.intp] | None) -> list[str]:
    """How many rows share a fold because their inputs are equal."""
    if groups is None:
        return []
    n_copies = len(groups) - (int(groups.max()) + 1)
    have = "row has" if n_copies == 1 else "rows have"
    return [f"{n_copies:,} {have} the same inputs as another row: such rows are held out together."]


def early_warnings(data: Dataset) -> list[str]:
    """Warnings about leaking columns, too few rows and outliers of the target."""
    notes = [*leak_notes(data), *outlier_notes(data)]
    if len(data.y) < FEW_ROWS:
        notes.append(f"{plural(len(data.y), 'row')} are very few: scores and intervals are rough.")
    return notes


def leak_notes(data: Dataset) -> list[str]:
    """A warning about columns that alone nearly determine the target."""
    if data.frame.shape[1] < 2 or data.time is not None or data.exposure is not None:
        return []
    # A row and its copies would predict each other.
    first = np.arange(len(data.y)) if data.groups is None else np.unique(data.groups, return_index=True)[1]
    found = leaks(data.frame.iloc[first], data.y[first], classes=data.task == "classification")
    if not found:
        return []
    names = quoted(found, most=3)
    share = f"{100 * min(found.values()):.1f} %"
    verb, it = ("explains", "Is it") if len(found) == 1 else ("each explain", "Are they")
    return [
        f"{names} alone {verb} {share} of {data.target!r}. {it} another form of the target, or known only afterwards? "
        "If so, remove the column and run again."
    ]


def time_notes(time: TimeColumn | None, *, in_order: bool) -> list[str]:
    """How a time column affects the folds."""
    if time is None:
        return []
    if in_order:
        step = f" (one row a {time.step})" if time.step else ""
        names = quoted([time.name] if time.within is None else [time.name, time.within])
        return [
            f"Rows are taken in the order of {names}{step}: each fold is predicted from the rows before it, as a "
            "forecast is. time_order=False (--shuffle) holds out rows at random instead."
        ]
    if time.repeated:
        return [
            f"Every value of {time.name!r} has several rows. Rows are held out at random, so the scores measure "
            "predictions at known times, not forecasts."
        ]
    return []


def _times(time: TimeColumn, preparation: Preparation) -> Times:
    """The range of a column of times, its usual step, and the cycles that it covers at least twice."""
    # Models of time use the column itself, of which another divides the years.
    values = np.unique(time.values if time.within is None else np.floor(time.values))
    span, step = float(values[-1] - values[0]), float(np.median(np.diff(values)))
    if time.origin is not None:
        periods: tuple[float, ...] = (1.0, 7.0, 365.25)
    elif abs(values - np.round(values)).max() > 0.01 and step < 0.5:
        # Years with fractions.
        periods = (1.0,)
    else:
        periods = (12.0,) if "month" in time.name.casefold() else ()
    column = preparation.sources().index(time.name)
    unit = float(preparation.scale_[column])
    cycles = tuple(period / unit for period in periods if 3 * step <= period and 2 * period <= span)
    return Times(column, span / unit, step / unit, cycles)


def best_transformation(rows: Any, y: NDArray[np.float64]) -> str:
    """The transformation of the target under which a linear model predicts held-out rows best."""
    # On a few values, a transformation changes little but their distances.
    if len(np.unique(y)) < FEW_ROWS:
        return "identity"
    found = choose_transform(rows, y, random_state=0)
    kinds = {Log: "log", BoxCox: "box-cox", YeoJohnson: "yeo-johnson"}
    return next((kind for known, kind in kinds.items() if isinstance(found, known)), "identity")


def exposure_notes(data: Dataset) -> list[str]:
    """What the exposure does in the models."""
    if data.exposure is None:
        return []
    counts = "models of counts have its logarithm as an offset, and other" if data.size.counts else "the"
    return [
        f"Predictions of {data.target!r} are proportional to the exposure {data.exposure!r}: {counts} models predict "
        f"{data.target} per {data.exposure}, with weights proportional to it. New rows need it too."
    ]


def outlier_notes(data: Dataset) -> list[str]:
    """The values of the target that are far outside all others, also on a logarithmic scale."""
    if data.task == "classification" or len(data.y) < FEW_ROWS:
        return []
    far = _far(data.y, times=10)
    if data.y.min() > 0:
        far &= _far(np.log(data.y), times=2)
    rows = np.flatnonzero(far)
    if not len(rows):
        return []
    first = int(data.frame.index[rows[0]]) + 1
    return [
        f"{plural(len(rows), 'value')} of the target {data.target!r} {'is' if len(rows) == 1 else 'are'} far outside "
        f"all others (row {first}: {data.y[rows[0]]:g}). Check them: a single wrong value can make every model and "
        "score useless."
    ]


def _far(values: NDArray[np.float64], *, times: float) -> NDArray[np.bool_]:
    """Which values lie outside the quantiles 2 % and 98 %, by so many times the distance between these."""
    low, high = np.quantile(values, [0.02, 0.98])
    room = times * (high - low)
    return (values < low - room) | (values > high + room) if room > 0 else np.zeros(len(values), dtype=bool)


def target_notes(data: Dataset) -> list[str]:
    """What the possible values of the target are."""
    support = data.support
    if support.is_real_line:
        return []
    other = "support='real' (--support real) allows all numbers"
    if support.step:
        return [
            f"The values of {data.target!r} are taken to be {support.words}: each has a predicted probability, and the "
            f"log score is the log of that; {other}."
        ]
    zeros = float(np.mean(data.y == 0))
    mass = f", and zero, which {100 * zeros:.0f} % of the rows have, has a probability of its own" if zeros else ""
    return [
        f"The values of {data.target!r} are taken to be {support.words}: intervals contain no others{mass}; {other}."
    ]
