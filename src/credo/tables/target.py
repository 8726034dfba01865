"""The column to be predicted: whether it holds numbers or classes, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import plural, quoted, shown
from credo.distributions import Support
from credo.tables import columns
from credo.tables.encoders import in_order
from credo.tables.errors import ColumnError, pandas

# With fewer rows, a target may have only two values by chance.
MIN_ROWS_PER_CODE = 10
# Codes of classes are up to this many consecutive whole numbers from 0 or 1, and even the rarest has a fifth of the
# frequency of equally frequent classes. Large counts are rare, and ratings often start elsewhere.
_MAX_CODES, _MIN_RELATIVE_FREQUENCY = 10, 0.2
_MAX_CLASSES = 100


@dataclass(frozen=True)
class Task:
    """The task for a target, "regression" or "classification", and why.

    `open` says whether the other task is plausible too.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import target_task
    >>> task = target_task(pd.DataFrame({"age": [31, 25, 47], "sick": ["no", "yes", "yes"]}), "sick")
    >>> task.name, task.why
    ('classification', "it holds text, such as 'no', 'yes'")
    """

    name: str
    why: str = ""
    open: bool = False


def target_task(frame: Any, target: str) -> Task:
    """Whether the column `target` of a table calls for regression or classification.

    Text, true and false, two values, and a few whole numbers that look like codes are classes; other numbers are not.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import target_task
    >>> target_task(pd.DataFrame({"x": [1, 2], "kind": ["oak", "elm"]}), "kind")
    Task(name='classification', why="it holds text, such as 'oak', 'elm'", open=False)
    """
    table = columns.as_frame(frame)
    column = table[columns.column_named(table, target, what="target")]
    present = columns.present_mask(column)
    values, odd = columns.numbers(column, present)
    found = column[present].tolist()
    if found and all(isinstance(value, bool | np.bool_) for value in found):
        return Task("classification", "it holds only true and false")
    if len(odd) > 0.5 * present.sum():
        examples = quoted(dict.fromkeys(columns.words(column, present)[present]), most=2)
        return Task("classification", f"it holds text, such as {examples}")
    return _of_numbers(values[present]) if not len(odd) else Task("regression")


def _of_numbers(values: Any) -> Task:
    known, counts = np.unique(values, return_counts=True)
    n_known, n = len(known), len(values)
    if n_known == 2 and n >= MIN_ROWS_PER_CODE:
        return Task("classification", f"it has only two values, {shown(known[0])} and {shown(known[1])}", open=True)
    if not 2 < n_known <= _MAX_CODES or n < MIN_ROWS_PER_CODE * n_known or not (known == np.floor(known)).all():
        return Task("regression")
    ends = f"{n_known} different whole numbers between {shown(known[0])} and {shown(known[-1])}"
    run = known[0] in (0, 1) and known[-1] - known[0] == n_known - 1
    if run and counts.min() >= _MIN_RELATIVE_FREQUENCY * n / n_known:
        return Task("classification", f"it has {ends}, none of them rare, which look like class codes", open=True)
    return Task("regression", f"it has {ends}", open=True)


# If values continued beyond an end as they are before it, this many would be expected there; that there are none has a
# probability of at most 1 %.
_EXPECTED_BEYOND = -np.log(0.01)
# The part of the range in which values before an end are counted.
_NEAR_END = 0.05


def target_support(y: NDArray[np.float64]) -> Support:
    """The possible values of a target, as far as its values show them.

    Whole numbers stay whole, and numbers that are never negative stay so. Another end is believed if values beyond it
    would be expected otherwise: of ratings, by the frequencies of the last two; of shares and percentages, by the
    number of values close to 1 or 100.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.tables import target_support
    >>> [target_support(np.array(y)).words for y in ([0.0, 3.0, 1.0], [2.5, 0.1], [-1.0, 0.5])]
    ['whole numbers from 0', 'numbers from 0', 'numbers']
    >>> target_support(np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 30)).words
    'whole numbers from 1 to 5'
    """
    low, high = float(y.min()), float(y.max())
    floor = 0.0 if low >= 0 else -np.inf
    if (y == np.floor(y)).all() and max(-low, high) < columns.MAX_EXACT_INTEGER:
        starts, stops = _ends_at(y, low, 1), _ends_at(y, high, -1)
        # Ratings such as 1 to 5, of which the lowest are rare.
        is_scale = low == 1 and stops and len(np.unique(y)) == high <= _MAX_CODES
        return Support(low if starts or is_scale else floor, high if stops else np.inf, 1.0)
    ends = [end for end in (1.0, 100.0) if high <= end and np.sum(y > (1 - _NEAR_END) * end) >= _EXPECTED_BEYOND]
    return Support(floor, ends[0] if ends and low >= 0 else np.inf)


def _ends_at(y: NDArray[np.float64], end: float, inward: int) -> bool:
    """Whether more values than these whole numbers have would be beyond the end if frequencies fell on as before it."""
    last, before = (float(np.sum(y == value)) for value in (end, end + inward))
    # Both within two standard deviations of their counts, in favor of a tail.
    least, most = max(last - 2 * np.sqrt(last), 0.0), before + 2 * np.sqrt(before)
    return before > 0 and least**2 / most >= _EXPECTED_BEYOND


def class_order(labels: NDArray[Any], dtype: Any = None) -> tuple[Any, ...]:
    """The classes from lowest to highest, if they are on a scale such as low, medium and high; else empty.

    Parameters
    ----------
    labels : array
    dtype : dtype of the column; an ordered pandas Categorical defines the order

    Examples
    --------
    >>> import numpy as np
    >>> from credo.tables import class_order
    >>> class_order(np.array(["high", "low", "medium", "low"])), class_order(np.array(["oak", "elm", "ash"]))
    (('low', 'medium', 'high'), ())
    """
    known = np.unique(labels)
    if known.dtype.kind != "U":
        return ()
    order, is_scale = in_order(known.tolist(), dtype)
    return tuple(order) if is_scale else ()


def split_target(
    frame: Any, target: str, *, task: str = "regression", keep_sentinels: bool = True
) -> tuple[Any, NDArray[Any], list[str]]:
    """The table without its target, the target's numbers or labels, and notes.

    Rows without a target are left out of both, and a note says how many.

    Parameters
    ----------
    frame : data frame
    target : name of the column to predict
    task : "regression" or "classification", default "regression"
        Whether the target is read as numbers, or as labels: words, truth values or numbers.
    keep_sentinels : bool, default True
        Whether numbers that code missing values, such as a repeated −999, are targets like others.

    Returns
    -------
    frame : pandas.DataFrame
    y : array of shape (n_rows,)
    notes : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.tables import split_target
    >>> rest, y, notes = split_target(pd.DataFrame({"x": [1, 2, 3], "y": [2.0, None, 6.0]}), "y")
    >>> y, notes
    (array([2., 6.]), ["Left out 1 row whose target 'y' is missing."])
    """
    if task not in ("regression", "classification"):
        raise ValueError(f'task must be "regression" or "classification"; got {task!r}')
    table = columns.as_frame(frame)
    name = columns.column_named(table, target, what="target")
    present = columns.present_mask(table[name])
    if not present.any():
        raise ColumnError(f"the target {name!r} has no value in any row")
    notes: list[str] = []
    if task == "regression" and not keep_sentinels:
        values, _ = columns.numbers(table[name], present)
        if coded := columns.sentinels(values):
            notes.append(columns.sentinel_note(name, values, coded))
            present &= ~np.isin(values, coded)
    if not present.all():
        notes.append(f"Left out {plural(int((~present).sum()), 'row')} whose target {name!r} is missing.")
    y = (_labels if task == "classification" else _numbers)(table[name], present)[present]
    if task == "classification":
        _check_classes(y, name)
    else:
        notes += _number_notes(y, name)
    # A copy stores columns of one type together; otherwise taking rows of a wide table is slow.
    rest = table.drop(columns=name)[present].copy()
    if rest.shape[1] == 0:
        raise ColumnError(f"the table has no column besides its target {name!r}, so there is nothing to predict from")
    # Most columns of a wide table differ from the target in the first row, so they are compared there first.
    names, first = columns.finite_columns(rest.iloc[:1], rest.columns.tolist())
    others = {name for name, value in zip(names, first[0], strict=True) if y.dtype.kind != "U" and value != y[0]}
    copies = [name for name in rest.columns if name not in others and _equals(rest[name], y)]
    if copies and len(np.unique(y)) > 1:
        advice = "Leave out columns that aren't known when predicting."
        notes.append(f"Equal to the target in every row: {quoted(copies)}. {advice}")
    return rest, y, notes


def part_target(frame: Any, target: str, *, classes: NDArray[Any] | None = None) -> tuple[Any, NDArray[Any]]:
    """The same for a part of a table; with `classes`, those of the whole table, only rows with one of these labels."""
    present = columns.present_mask(frame[target])
    if not present.any():
        return frame.drop(columns=target)[:0], np.empty(0)
    y = (_numbers if classes is None else _labels)(frame[target], present)
    if classes is not None:
        y = y.astype(classes.dtype if classes.dtype.kind != "U" else str)
        present &= np.isin(y, classes)
    return frame.drop(columns=target)[present], y[present]


def without_lone_classes(frame: Any, y: NDArray[Any], name: str) -> tuple[Any, NDArray[Any], list[str]]:
    """The rows of classes that have at least two different rows, one to learn from and one to test on, and notes.

    Parameters
    ----------
    frame : pandas.DataFrame, without the target
    y : labels, one for each row
    name : name of the target

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from credo.tables import without_lone_classes
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> _, labels, notes = without_lone_classes(frame, np.array(["a", "b", "a", "b", "c"]), "kind")
    >>> labels.tolist(), len(notes)
    (['a', 'b', 'a', 'b'], 1)
    """
    known, codes = np.unique(y, return_inverse=True)
    rows = pandas().util.hash_pandas_object(frame, index=False).to_numpy()
    pairs = np.unique(np.column_stack([codes.astype(np.uint64), rows]), axis=0)
    lone = np.bincount(pairs[:, 0].astype(np.intp), minlength=len(known)) < 2
    if not lone.any():
        return frame, y, []
    left = known[~lone]
    if len(left) < 2:
        some = f"only {left[0].item()!r}" if len(left) else "none of them"
        classes = f"{len(known):,} classes in {plural(len(y), 'row')}, and {some} has more than one row to learn from"
        raise ColumnError(f"the target {name!r} has {classes}: there is nothing to classify")
    kept = ~lone[codes]
    n_lone = int(lone.sum())
    which = "the only one of its class" if n_lone == 1 else "each the only one of its class"
    names = quoted(known[lone].tolist(), most=3)
    left_out = f"Left out {plural(int((~kept).sum()), 'row')}, {which} ({names})"
    return frame[kept].copy(), y[kept], [f"{left_out}: a class needs at least two rows, to learn from and to test on."]


def _check_classes(y: NDArray[Any], name: str) -> None:
    known = np.unique(y)
    if len(known) == 1:
        only = f"only one class, {known[0].item()!r}, in {plural(len(y), 'row')}"
        raise ColumnError(f"the target {name!r} has {only}: there is nothing to classify; choose another target")
    if len(known) > _MAX_CLASSES:
        found = f"{len(known):,} different values, but at most {_MAX_CLASSES} classes are supported"
        raise ColumnError(f"the target {name!r} has {found}: merge some, or choose another target")


def _number_notes(y: NDArray[np.float64], name: str) -> list[str]:
    if len(y) > 1 and np.all(y == y[0]):
        only = f"only one value, {shown(y[0])}, in {plural(len(y), 'row')}"
        raise ColumnError(f"the target {name!r} has {only}: there is nothing to predict; choose another target")
    values = np.unique(y)
    if len(values) == 2 and len(y) >= MIN_ROWS_PER_CODE:
        two = f"only two values, {shown(values[0])} and {shown(values[1])}, and is predicted as a number"
        advice = "task='classification' (--task classification) gives the probability of each"
        return [f"The target {name!r} has {two}: predictions are averages. Intervals exceed both; {advice}."]
    return []


def _equals(column: Any, y: NDArray[Any]) -> bool:
    if y.dtype.kind == "U":
        return column.dtype.kind not in "biufcMm" and np.array_equal(column.astype(str).str.strip().to_numpy(), y)
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf" and np.array_equal(column.to_numpy(), y)


def _labels(column: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Truth values and whole numbers as they are, anything else as trimmed words."""
    found = column[present].tolist()
    if all(isinstance(value, bool | np.bool_) for value in found):
        labels = np.zeros(len(column), dtype=bool)
        labels[present] = found
        return labels
    values, odd = columns.numbers(column, present)
    values[~present] = 0.0
    if not len(odd):
        _reject_infinite(values, str(column.name))
    if len(odd) or not (values == np.floor(values)).all() or np.abs(values).max() > columns.MAX_EXACT_INTEGER:
        return np.array(["" if word is None else word for word in columns.words(column, present)], dtype=str)
    return values.astype(np.int64)


def _numbers(column: Any, present: NDArray[np.bool_]) -> NDArray[np.float64]:
    y, odd = columns.numbers(column, present)
    name = str(column.name)
    if column.dtype.kind == "b" or len(odd) > 0.5 * present.sum():
        levels = quoted(dict.fromkeys(column[present].astype(str)), most=3)
        advice = "regression needs a numeric target; use classification for others"
        raise ColumnError(f"the target {name!r} is not a number (it holds {levels}); {advice}")
    if len(odd):
        place = columns.not_a_number(column, odd, what="the target")
        advice = "correct it, leave the field empty, or list it in na_words"
        raise ColumnError(f"{place}; {advice} (--na {str(column.iat[odd[0]]).strip()!r})")
    _reject_infinite(y, name)
    return y


def _reject_infinite(values: NDArray[np.float64], name: str) -> None:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ColumnError(f"the target {name!r} is infinite in row {infinite[0] + 1}; correct or delete that row")
