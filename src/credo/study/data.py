"""A table with its target, folds, and notes from before any model is fitted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import merge_equal_rows
from credo.core.folds import Split, forward, mostly_copies, shuffled, with_known_classes
from credo.core.wording import plural, quoted
from credo.distributions import BoxCox, Log, YeoJohnson
from credo.ensemble import choose_transform
from credo.study.catalogue import Size, Times
from credo.study.checks import leaks, unit_notes
from credo.study.large import large_table, sample_of
from credo.tables import (
    Preparation,
    Task,
    TimeColumn,
    read_table,
    split_target,
    target_task,
    time_column,
    without_lone_classes,
)
from credo.tables.columns import as_frame, column_named, finite_columns
from credo.tables.errors import pandas
from credo.tables.formats import LargeTable

# Up to this many rows there are folds; beyond, one set of held-out rows, a fifth of the table and at most as many rows
# as here. On 24 tables the standard error of the log score is then below 0.02.
FOLD_ROWS, HELD_OUT_ROWS = 3000, 5000
_FOLDS = 5
# With fewer rows or distinct targets, neither a transformation nor outliers are considered.
_FEWEST = 20
# A power this close to one is treated as no transformation.
_NO_POWER = 0.1
# If more than this share of the rows would be outliers, none are reported.
_MOST_OUTLIERS = 0.02
# The share of values that are exactly zero from which log densities are questionable.
_MANY_ZEROS = 0.1
# Of a target that is never negative, intervals may be if its least value is below this share of its median.
_NEAR_ZERO = 0.1
# The most distinct values of a target of counts.
_COUNT_VALUES = 200


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
    sample of the rows.

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
            start = n - min(n // _FOLDS, HELD_OUT_ROWS) if once else self._first_forecast()
            n_blocks = 1 if once else max(1, min(folds or _FOLDS, (n - start) // 2))
            blocks = forward(self.time.order, n_blocks, start)
            return with_known_classes(blocks, self.y) if classes else (blocks, [])
        n_folds = max(_FOLDS, -(-n // HELD_OUT_ROWS)) if once else folds or _FOLDS
        labels = self.y if classes else None
        tests, notes = shuffled(n, n_folds, np.random.default_rng(seed), groups=self.groups, classes=labels)
        every = np.arange(n)
        return [(np.setdiff1d(every, test), test) for test in (tests[:1] if once else tests)], notes

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
    engine: str = "local",
) -> Dataset:
    """Read the table or use the frame, and infer the task unless it is given.

    `drop` leaves columns out, and `kinds` overrides the detected kinds of others, as in `Preparation`. A Parquet file
    that is large beside the memory, or is to be read by the engine "dask", is read in parts.

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
    whole, early = None, []
    if isinstance(data, str | os.PathLike):
        whole = large_table(data, reading or {}, engine=engine)
    elif engine != "local":
        raise ValueError(f"engine={engine!r} reads Parquet files: pass the path of one")
    if whole is not None:
        table, note = sample_of(whole)
        notes, early, source, labels = [], [note], whole.path.name, None
    elif isinstance(data, str | os.PathLike):
        sheet = read_table(data, **(reading or {}))
        table, notes, source = sheet.frame, list(sheet.notes), "standard input" if str(data) == "-" else Path(data).name
        labels = None
    else:
        table, notes, source = as_frame(data), [], "table"
        # Notes count rows from 1, as in a file, and don't use the labels of the index.
        labels, table = table.index, table.reset_index(drop=True)
    table, forced, more = _chosen(table, target, {**(kinds or {}), **dict.fromkeys(drop, "identifier")})
    notes += more
    found = None if task else target_task(table, target)
    task = task or (found.name if found else "regression")
    frame, y, more = split_target(
        # A large table is fitted in parts, each of which has too few rows to recognise a code.
        table,
        target,
        task=task,
        keep_sentinels=keep_sentinels or whole is not None,
    )
    if found is not None and found.why:
        notes.append(task_note(target, found))
    notes += more
    if task == "classification":
        frame, y, more = without_lone_classes(frame, y, target)
        notes += more
    preparation = Preparation(standardize=True, clip=True, kinds=forced, keep_sentinels=keep_sentinels)
    rows = preparation.fit_transform(frame)
    classes = len(set(y.tolist())) if task == "classification" else 0
    time = time_column(frame) if time_order is not False else None
    in_order = time is not None and not time.repeated and time.name in preparation.sources()
    times = _times(time, preparation) if in_order and time is not None else None
    size = Size(len(y), rows.shape[1], len(set(preparation.sources())), classes, times)
    made = Dataset(source, target, task, frame, y, preparation, rows, size, None, time if in_order else None, [])
    groups = copies(frame, y)
    return replace(
        made,
        labels=None if labels is None else labels[frame.index],
        whole=whole,
        groups=groups,
        transformation=best_transformation(rows, y) if task == "regression" else "identity",
        notes=[
            *(Note(text, important=True) for text in [*early, *early_warnings(made, groups)]),
            *map(Note, time_notes(time, in_order=in_order)),
            *map(Note, [*notes, *preparation.notes_, *target_notes(made), *copy_notes(groups)]),
        ],
    )


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
    copied = n_distinct > _FEWEST and len(pairs) == n_distinct
    return None if mostly_copies(len(labels), n_distinct) and not copied else labels


def copy_notes(groups: NDArray[np.intp] | None) -> list[str]:
    """How many rows share a fold because their inputs are equal."""
    if groups is None:
        return []
    n_copies = len(groups) - (int(groups.max()) + 1)
    have = "row has" if n_copies == 1 else "rows have"
    return [f"{n_copies:,} {have} the same inputs as another row: such rows are held out together."]


def early_warnings(data: Dataset, groups: NDArray[np.intp] | None) -> list[str]:
    """Warnings about leaking columns, repeated measurements, too few rows and outliers of the target."""
    notes = [*leak_notes(data, groups), *outlier_notes(data)]
    if data.time is None:
        notes += unit_notes(data.frame)
    if len(data.y) < _FEWEST:
        notes.append(f"{plural(len(data.y), 'row')} are very few: scores and intervals are rough.")
    return notes


def leak_notes(data: Dataset, groups: NDArray[np.intp] | None) -> list[str]:
    """A warning about columns that alone nearly determine the target."""
    if data.frame.shape[1] < 2 or data.time is not None:
        return []
    # A row and its copies would predict each other.
    first = np.arange(len(data.y)) if groups is None else np.unique(groups, return_index=True)[1]
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
    if len(y) < _FEWEST or len(np.unique(y)) < _FEWEST:
        return "identity"
    found = choose_transform(rows, y, random_state=0)
    if abs(getattr(found, "power", 0.0) - 1.0) < _NO_POWER:
        return "identity"
    kinds = {Log: "log", BoxCox: "box-cox", YeoJohnson: "yeo-johnson"}
    return next((kind for known, kind in kinds.items() if isinstance(found, known)), "identity")


def outlier_notes(data: Dataset) -> list[str]:
    """The values of the target that are far outside all others, also on a logarithmic scale."""
    if data.task == "classification" or len(data.y) < _FEWEST:
        return []
    far = _far(data.y, times=10)
    if data.y.min() > 0:
        far &= _far(np.log(data.y), times=2)
    rows = np.flatnonzero(far)
    if not 0 < len(rows) <= _MOST_OUTLIERS * len(data.y):
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
    """How a count or a bounded target affects the intervals."""
    if data.task == "classification" or data.time is not None:
        return []
    y = data.y
    low, high = float(y.min()), float(y.max())
    whole = bool((y == np.floor(y)).all())
    # Counts have their long tail above the mean; ratings fill a short scale.
    tailed = high - float(y.mean()) > float(y.mean()) - low
    few = len(np.unique(y)) <= min(_COUNT_VALUES, max(len(y) / 5, 60))
    if whole and tailed and few and 0 <= low <= 10 and high <= 1000:
        return [
            f"The target {data.target!r} looks like counts. They are predicted as real numbers: intervals may extend "
            "below zero and contain fractions."
        ]
    for bounds, what in (((0.0, 1.0), "shares between 0 and 1"), ((0.0, 100.0), "percentages")):
        inside = bounds[0] <= low and high <= bounds[1] and high > 0.95 * bounds[1] and low < 0.05 * bounds[1]
        if inside and not whole:
            return [f"The target {data.target!r} looks like {what}. Intervals may extend beyond these bounds."]
    zeros = float(np.mean(y == 0))
    if low == 0 and zeros >= _MANY_ZEROS:
        return [
            f"{100 * zeros:.0f} % of the values of {data.target!r} are exactly 0, and none is below. Models predict "
            "densities, which can be arbitrarily high at 0: compare models by CRPS and RMSE rather than log scores. "
            "Intervals may extend below zero."
        ]
    if 0 <= low < _NEAR_ZERO * float(np.median(y)):
        return [f"The target {data.target!r} is never negative. Intervals of models without a transformation may be."]
    return []
