"""The column to be predicted, taken out of the table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import ColumnError, plural, quoted
from credo.io.tables.columns import as_frame, column_named, not_a_number, numbers, present_mask

# Fewer rows than this may have two values by chance.
_TWO_VALUES = 10


def split_target(frame: Any, target: str) -> tuple[Any, NDArray[np.float64], list[str]]:
    """The table without its target, the target's numbers, and notes.

    Rows without a target can't be learned from: they are left out of both, and a note says how many.

    Parameters
    ----------
    frame : data frame
    target : name of the column to predict

    Returns
    -------
    frame : pandas.DataFrame
    y : array of shape (n_rows,)
    notes : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> rest, y, notes = split_target(pd.DataFrame({"x": [1, 2, 3], "y": [2.0, None, 6.0]}), "y")
    >>> y, notes
    (array([2., 6.]), ["Left out 1 row whose target 'y' is missing."])
    """
    table = as_frame(frame)
    name = column_named(table, target, what="target")
    y = _numbers(table[name], name)
    known = ~np.isnan(y)
    notes: list[str] = []
    if not known.any():
        raise ColumnError(f"the target {name!r} has no value in any row")
    if not known.all():
        notes.append(f"Left out {plural(int((~known).sum()), 'row')} whose target {name!r} is missing.")
    infinite = np.flatnonzero(np.isinf(y))
    if len(infinite):
        raise ColumnError(f"the target {name!r} is infinite in row {infinite[0] + 1}; correct or delete that row")
    y = y[known]
    if len(y) > 1 and np.all(y == y[0]):
        notes.append(f"The target {name!r} has one value only, {y[0]:g}: there is nothing to explain.")
    values = np.unique(y)
    if len(values) == 2 and len(y) >= _TWO_VALUES:
        notes.append(
            f"The target {name!r} has two values only, {values[0]:g} and {values[1]:g}, and is predicted as a number, "
            "since Credo can't predict classes yet: read a prediction as an average of the two. Intervals are those of "
            "a number with bell-shaped errors: they reach beyond both values, and are no probability of either."
        )
    # A copy stores columns of one type together; taking rows of a wide table is slow when each stands alone.
    rest = table.drop(columns=name)[known].copy()
    if rest.shape[1] == 0:
        raise ColumnError(f"the table has no column beside its target {name!r}, so there is nothing to predict from")
    copies = [other for other, column in rest.items() if _equals(column, y)]
    if copies and np.ptp(y) > 0:
        notes.append(f"Equal to the target in every row: {quoted(copies)}. Leave out what isn't known beforehand.")
    return rest, y, notes


def _equals(column: Any, y: NDArray[np.float64]) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf" and np.array_equal(column.to_numpy(), y)


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    present = present_mask(column)
    y, odd = numbers(column, present)
    if column.dtype.kind == "b" or len(odd) > 0.5 * present.sum():
        levels = quoted(dict.fromkeys(column[present].astype(str)), most=3)
        raise ColumnError(
            f"the target {name!r} is not a number (it holds {levels}); regression needs a target in numbers, "
            "and Credo can't predict classes yet"
        )
    if len(odd):
        raise ColumnError(f"{not_a_number(column, odd, what='the target')}; correct it or leave the field empty")
    return y
