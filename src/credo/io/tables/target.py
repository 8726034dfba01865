"""The column to be predicted, taken out of the table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import ColumnError, plural, quoted
from credo.io.tables.columns import as_frame, column_named, numeric_values


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
    rest = table.drop(columns=name)
    if rest.shape[1] == 0:
        raise ColumnError(f"the table has no column beside its target {name!r}, so there is nothing to predict from")
    return rest[known], y, notes


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    numbers = None if column.dtype.kind in "bM" else numeric_values(column)
    if numbers is not None:
        return numbers
    levels = quoted(dict.fromkeys(str(value) for value in column.dropna().tolist()), most=3)
    raise ColumnError(
        f"the target {name!r} is not a number (it holds {levels}); Credo's regression needs a target in numbers, "
        "and classes can't be predicted yet"
    )
