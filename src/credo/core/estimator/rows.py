"""Validation of numeric tables: dates, durations, masked values and text raise errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from credo.core.linalg import mean_and_std

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_ADVICE = {"dates": "days since a date", "durations": "days or seconds", "times": "hours since midnight"}
_KINDS = {"dates": (np.datetime64, date), "durations": (np.timedelta64, timedelta), "times": (time,)}


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse array or matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from credo.core.estimator import is_sparse
    >>> is_sparse(sp.eye(3)), is_sparse([[1.0]])
    (True, False)
    """
    return bool(issparse(X))


def numeric(table: Any, *, name: str = "X") -> Any:
    """The table unchanged, or the data of a masked array without masked values.

    Dates, durations and masked values raise an error, because NumPy would silently treat dates as counts of their
    unit of storage, and masked values as observed. So does a text column of a frame, and a dict of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import numeric
    >>> numeric(np.ma.masked_array([[1.0, 2.0]], mask=False))
    array([[1., 2.]])
    >>> try:
    ...     numeric(np.array([["2024-05-01"]], dtype="datetime64[D]"))
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    X holds dates
    """
    table = unmasked(table, name=name)
    for where, kind in _kinds(table):
        if kind is None:
            continue
        by_itself = "; credo.tables.TableModel(None, model) does this automatically" if name == "X" else ""
        if kind == "text":
            levels = "encode it as numbers, such as a 0/1 column for each level"
            advice = levels if name == "X" else "convert it to numbers, or use a classifier for labels"
        else:
            advice = f"convert them to numbers, such as {_ADVICE[kind]}"
            by_itself = by_itself if kind == "dates" else ""
        raise ValueError(f"{where}{name} holds {kind}: {advice}{by_itself}")
    return table


# The squares of numbers up to this size, and those of the coefficients that relate them, (y/x)², are within double
# precision, with 1e28 to spare for sums over weighted rows.
_MAX_MAGNITUDE = 1e70


def check_magnitude(table: Any, *, name: str = "X", columns: Any = None) -> None:
    """Raise an error for a column whose largest absolute value is above 1e70 or, unless it is zero, below 1e-70.

    Missing values (NaN) are ignored. `columns` are the names of the columns, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import check_magnitude
    >>> try:
    ...     check_magnitude(np.array([[1.0, 1e200]]))
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    the largest absolute value in column 1 of X is 1e+200, outside the range from 1e-70 to 1e+70
    """
    if is_sparse(table):
        top, bottom = (end.toarray().ravel() for end in (table.max(axis=0), table.min(axis=0)))
    else:
        top, bottom = np.fmax.reduce(table, axis=0), np.fmin.reduce(table, axis=0)
    size = np.atleast_1d(np.maximum(top, -bottom))
    odd = (size > _MAX_MAGNITUDE) | ((size > 0) & (size < 1 / _MAX_MAGNITUDE))
    if odd.any():
        j = int(np.argmax(odd))
        column = j if columns is None else columns[j]
        where, which = (name, name) if table.ndim == 1 else (f"column {column} of {name}", "that column")
        raise ValueError(
            f"the largest absolute value in {where} is {size[j]:.3g}, outside the range from {1 / _MAX_MAGNITUDE:g} to "
            f"{_MAX_MAGNITUDE:g}: change the unit of {which}, for example divide it by its standard deviation"
        )


def merge_equal_rows(table: Array, weight: Array) -> tuple[Index, Index, Array]:
    """Merge equal rows into one with their total weight; missing values count as equal.

    Returns the position of the first of each set of equal rows (in the lexicographic order of the rows, whatever their
    order in the table), the set to which each row belongs, and the weight of each set.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import merge_equal_rows
    >>> first, which, total = merge_equal_rows(np.array([[2.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), np.ones(3))
    >>> first.tolist(), which.tolist(), total.tolist()
    ([1, 0], [1, 0, 1], [1.0, 2.0])
    """
    filled = np.where(np.isnan(table), np.inf, table) + 0.0
    order = np.argsort(filled[:, 0], kind="stable")
    new = (filled[order[1:]] != filled[order[:-1]]).any(axis=1)
    if (new & (filled[order[1:], 0] == filled[order[:-1], 0])).any():
        # The first column doesn't decide. The bytes of these integers, from the left, have the order of the numbers.
        bits, sign = np.ascontiguousarray(filled).view(np.uint64), np.uint64(1 << 63)
        keys = np.where(bits & sign, ~bits, bits | sign).astype(">u8").view(f"S{8 * filled.shape[1]}").ravel()
        order = np.argsort(keys, kind="stable")
        new = keys[order[1:]] != keys[order[:-1]]
    which = np.empty(len(order), dtype=np.intp)
    which[order] = np.append(0, np.cumsum(new))
    return order[np.append(True, new)], which, np.bincount(which, weight).astype(np.float64)


def center_and_scale(table: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Weighted means and standard deviations of the columns, in any unit; the scale of a constant column is one.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import center_and_scale
    >>> center, scale = center_and_scale(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> center, scale
    (array([2., 5.]), array([1., 1.]))
    """
    center, scale = mean_and_std(table, weight)
    return np.where(scale > 0, center, table[0]), np.where(scale > 0, scale, 1.0)


def has_weight(sample_weight: Any, n_samples: int) -> NDArray[np.bool_]:
    """Which of all rows given have a weight above zero; the weights have been validated.

    Examples
    --------
    >>> from credo.core.estimator import has_weight
    >>> has_weight([1.0, 0.0, 2.0], 3).tolist(), has_weight(2.0, 3).tolist()
    ([True, False, True], [True, True, True])
    """
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    return weight > 0 if weight.ndim else np.ones(n_samples, dtype=np.bool_)


def require_no_missing(y: Any) -> Any:
    """y as numbers; a missing value raises an error that names its row.

    Examples
    --------
    >>> from credo.core.estimator import require_no_missing
    >>> require_no_missing([1.0, None, 3.0])
    Traceback (most recent call last):
    ...
    ValueError: y has no value in row 1: None; leave such rows out
    """
    values = missing_to_nan(y)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        gaps = np.argwhere(np.isnan(values))
        if len(gaps):
            raise ValueError(f"y has no value in row {gaps[0, 0]}: {_shown(y, gaps[0])}; leave such rows out")
    return values


def missing_to_nan(y: Any, *, name: str = "y") -> Any:
    """y with NaN in place of None, pandas' NA and the like.

    Anything else that isn't a number is returned unchanged; scikit-learn's validation rejects it.

    Examples
    --------
    >>> from credo.core.estimator import missing_to_nan
    >>> missing_to_nan([1.0, None, 3.0])
    array([ 1., nan,  3.])
    """
    y = numeric(y, name=name)
    try:
        values = np.asarray(y)
    except ValueError:  # Rows of different lengths.
        return y
    if values.dtype.kind != "O" or not values.ndim:
        return values if values.dtype.kind == "f" and values.ndim else y
    filled = np.array([np.nan if is_missing(value) else value for value in values.ravel()], dtype=object)
    try:
        return filled.astype(np.float64).reshape(values.shape)
    except (TypeError, ValueError):
        return y


def truth_values(name: str, values: Any) -> NDArray[np.bool_]:
    """The values as truth values, which must be true or false, or 1 or 0.

    Examples
    --------
    >>> from credo.core.estimator import truth_values
    >>> truth_values("event", [1, 0, 0.0])
    array([ True, False, False])
    >>> truth_values("event", ["yes", "no"])
    Traceback (most recent call last):
    ...
    ValueError: event must be true or false, or 1 or 0, in each row; got 'yes' in row 0
    """
    given = np.asarray(missing_to_nan(values, name=name))
    # Text isn't compared: "0" would be neither.
    known = np.isin(given, (0, 1)) if given.dtype.kind in "biuf" else np.zeros(given.shape, dtype=bool)
    if not known.all():
        place = tuple(np.argwhere(~known)[0].tolist())
        got = given[place]
        raise ValueError(
            f"{name} must be true or false, or 1 or 0, in each row; got {getattr(got, 'item', lambda: got)()!r} in row "
            f"{place[0] if place else 0}"
        )
    return given.astype(bool)


def is_missing(value: Any) -> bool:
    """Whether the value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    # NaN is the one value that differs from itself; pandas' NA compares as neither.
    equal = value == value
    return not isinstance(equal, np.ndarray) and not (isinstance(equal, bool | np.bool_) and equal)


def _shown(y: Any, place: Any) -> str:
    """The missing value as the caller wrote it."""
    value = np.asarray(numeric(y, name="y"), dtype=object)[tuple(place)]
    return "NaN" if isinstance(value, float) else repr(value)


def unmasked(values: Any, *, name: str) -> Any:
    """The data of a masked array without masked values, any other table unchanged.

    Masked values and a dict of columns raise an error.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import unmasked
    >>> unmasked(np.ma.masked_array([1.0, 2.0], mask=[False, True]), name="y")
    Traceback (most recent call last):
    ...
    ValueError: y masks 1 of its 2 values, the first in row 1: drop those rows, or fill them in, as with y.filled(value)
    """
    # scipy's dictionary of keys calls itself a mapping.
    if isinstance(values, Mapping) and not is_sparse(values):
        what = "a table: pass pandas.DataFrame(X), or an array" if name == "X" else "an array"
        raise TypeError(f"{name} is a {type(values).__name__}, not {what}")
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden = np.argwhere(np.ma.getmaskarray(values))
    if not len(hidden):
        return np.ma.getdata(values)
    place = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), hidden[0].tolist(), strict=False))
    raise ValueError(
        f"{name} masks {len(hidden)} of its {values.size} values, the first in {place}: drop those rows, or fill them "
        f"in, as with {name}.filled(value)"
    )


def _kinds(table: Any) -> Iterator[tuple[str, str | None]]:
    """For each column, "column … of " and what it contains that isn't a number, or None.

    Lists and columns of objects are judged by their first row.
    """
    if nw.dependencies.is_pandas_dataframe(table) and all(map(_is_number, table.dtypes.unique())):
        # Accessing each of thousands of columns is slow in pandas.
        return
    if nw.dependencies.is_into_dataframe(table):
        for series in nw.from_native(table, eager_only=True).iter_columns():
            yield f"column {str(series.name)!r} of ", _kind_of_series(series)
    elif nw.dependencies.is_into_series(table):
        yield "", _kind_of_series(nw.from_native(table, series_only=True))
    elif isinstance(table, np.ndarray) and table.dtype.kind in "mM":
        yield "", "dates" if table.dtype.kind == "M" else "durations"
    elif isinstance(table, list | tuple) or (isinstance(table, np.ndarray) and table.dtype.kind == "O" and table.ndim):
        first = next(iter(table), None)
        if isinstance(first, list | tuple | np.ndarray):
            for j, value in enumerate(first):
                yield f"column {j} of ", _kind_of(value)
        else:
            yield "", _kind_of(first)


def _kind_of_series(series: nw.Series[Any]) -> str | None:
    dtype = series.dtype
    if dtype == nw.Object or dtype in (nw.String, nw.Categorical, nw.Enum):
        first = next(iter(series.drop_nulls().head(1).to_list()), None)
        return "text" if isinstance(first, str) and not reads_as_number(first) else _kind_of(first)
    if not dtype.is_temporal():
        return None
    return "durations" if dtype == nw.Duration else "times" if dtype == nw.Time else "dates"


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biufc"


def _kind_of(value: Any) -> str | None:
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), None)


def reads_as_number(text: str) -> bool:
    """Whether the text is a number, such as "1.5"."""
    try:
        float(text)
    except ValueError:
        return False
    return True
