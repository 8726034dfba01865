"""Whether a target is a number or a class: decided here, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.io.errors import plural, quoted, shown
from credo.io.tables.columns import as_frame, column_named, numbers, present_mask, words

# Fewer rows than this may have two values by chance.
ROWS_OF_TWO = 10
# Codes of classes are up to this many whole numbers, from 0 or 1 upwards without a gap, and even the rarest of them has
# a fifth of its even share. A count, as of children, thins out towards its end; a mark, as of a wine, starts elsewhere.
_MOST_CODES, _RAREST = 10, 0.2


@dataclass(frozen=True)
class Task:
    """The task for a target, "regression" or "classification", and why.

    `open` says whether the other task is plausible too.
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
    >>> target_task(pd.DataFrame({"x": [1, 2], "kind": ["oak", "elm"]}), "kind")
    Task(name='classification', why="it holds text, such as 'oak', 'elm'", open=False)
    """
    table = as_frame(frame)
    column = table[column_named(table, target, what="target")]
    present = present_mask(column)
    values, odd = numbers(column, present)
    found = column[present].tolist()
    if found and all(isinstance(value, bool | np.bool_) for value in found):
        return Task("classification", "it holds only true and false")
    if len(odd) > 0.5 * present.sum():
        return Task(
            "classification", f"it holds text, such as {quoted(dict.fromkeys(words(column, present)[present]), most=2)}"
        )
    return _of_numbers(values[present]) if not len(odd) else Task("regression")


def _of_numbers(values: Any) -> Task:
    known, counts = np.unique(values, return_counts=True)
    n_known, n = len(known), len(values)
    if n_known == 2 and n >= ROWS_OF_TWO:
        return Task("classification", f"it has only two values, {shown(known[0])} and {shown(known[1])}", open=True)
    if not 2 < n_known <= _MOST_CODES or n < ROWS_OF_TWO * n_known or not (known == np.floor(known)).all():
        return Task("regression")
    ends = f"only {plural(n_known, 'value')}, the whole numbers {shown(known[0])} to {shown(known[-1])}"
    run = known[0] in (0, 1) and known[-1] - known[0] == n_known - 1
    if run and counts.min() >= _RAREST * n / n_known:
        return Task("classification", f"it has {ends}, none of them rare, which look like class codes", open=True)
    return Task("regression", f"it has {ends}", open=True)
