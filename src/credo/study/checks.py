"""Checks of a table before any model is fitted.

Leaks are columns that alone nearly determine the target; units, such as patients, are what several rows were measured
on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.tables.columns import finite_columns, numbers, present_mask, words
from credo.tables.errors import pandas
from credo.tables.time_order import name_words

# A column that alone explains this share of the variance, or of the labels beyond the commonest, is named.
DETERMINES = 0.99
_ROWS = 4000
# Columns of numbers are sorted together, so many cells at a time.
_CELLS = 1_000_000
# From this many rows on, at least one is expected outside its 95 % interval. With fewer, nothing is tested.
FEW_ROWS = 20


def leaks(frame: Any, y: NDArray[Any], *, classes: bool) -> dict[str, float]:
    """The columns that alone predict the target almost perfectly, with the share that each explains.

    Each row is predicted from the other rows of equal value or, for numbers, from its two neighbors when sorted by the
    column, whichever is better. The share is that of the variance or, for classes, of the errors of always predicting
    the most frequent class.
    """
    n = len(y)
    if n < FEW_ROWS:
        return {}
    picked = np.arange(n) if n <= _ROWS else np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))
    table = np.eye(len(np.unique(y)))[np.unique(y[picked], return_inverse=True)[1].ravel()] if classes else y[picked]
    target = np.asarray(table, dtype=np.float64)
    names, values = finite_columns(frame, frame.columns.tolist())
    shares: dict[str, float | None] = {}
    step = max(1, _CELLS // target.size)
    for start in range(0, len(names), step):
        part = slice(start, start + step)
        shares |= zip(names[part], _of_numbers(values[picked, part], target), strict=True)
    for name in frame.columns:
        if name not in shares:
            shares[name] = _of_column(frame[name].iloc[picked], target)
    return {str(name): share for name in frame.columns if (share := shares[name]) is not None and share >= DETERMINES}


def _of_column(column: Any, target: NDArray[np.float64]) -> float | None:
    present = present_mask(column)
    if column.dtype.kind in "mM" or present.sum() < FEW_ROWS:
        return None
    values, odd = numbers(column, present)
    if len(odd):
        known = np.unique(words(column, present)[present].astype(str), return_inverse=True)[1].ravel()
        # Names that hardly repeat can't be learned from.
        return _explained(known, target[present]) if 2 * (known.max() + 1) < len(known) else None
    return _of_numbers(values[present, None], target[present])[0]


def _of_numbers(values: NDArray[np.float64], target: NDArray[np.float64]) -> list[float | None]:
    """The share for each column of values; None for a constant."""
    n = len(values)
    # Rows of equal value in a random order: a table is often sorted by its target.
    order = np.lexsort((np.broadcast_to(_random(n)[:, None], values.shape), values), axis=0)
    distinct = 1 + np.count_nonzero(np.diff(np.take_along_axis(values, order, axis=0), axis=0), axis=0)
    shares: list[float | None] = []
    for column, n_distinct, smooth in zip(values.T, distinct, _smooth(order, target), strict=True):
        if 2 * n_distinct < n:
            smooth = max(smooth, _explained(np.unique(column, return_inverse=True)[1].ravel(), target))
        shares.append(float(smooth) if n_distinct > 1 else None)
    return shares


def _explained(codes: NDArray[np.intp], target: NDArray[np.float64]) -> float:
    """The share explained by the mean of the other rows of equal value."""
    table = target.reshape(len(target), -1)
    counts = np.bincount(codes).astype(np.float64)[codes]
    sums = np.column_stack([np.bincount(codes, weights=column)[codes] for column in table.T])
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(counts[:, None] > 1, (sums - table) / (counts[:, None] - 1), table.mean(axis=0))
    return float(_score(others[:, None], table[:, None])[0])


def _smooth(order: NDArray[np.intp], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share explained by the two neighbors when sorted by each column."""
    table = target.reshape(len(target), -1)[order]
    before, after = np.concatenate([table[1:2], table[:-1]]), np.concatenate([table[1:], table[-2:-1]])
    return _score((before + after) / 2, table)


@lru_cache(maxsize=1)
def _random(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).random(n)


def _score(predicted: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share explained for each column; rows, columns and parts of the target are the axes of both tables."""
    if table.shape[2] == 1:
        left = np.sum((table - predicted) ** 2, axis=(0, 2))
        guess = np.sum((table - table.mean(axis=0)) ** 2, axis=(0, 2))
    else:
        left = np.mean(predicted.argmax(axis=2) != table.argmax(axis=2), axis=0)
        guess = 1 - table.mean(axis=0).max(axis=1)
    return np.where(guess > 0, 1 - left / np.where(guess > 0, guess, 1.0), 0.0)


_NAMES = {
    "subject", "patient", "participant", "person", "individual", "respondent", "animal", "household", "student", "id",
    "tree", "plant", "child", "pupil",
}  # fmt: skip
# A unit has this many rows on average (fewer if both its name and other columns say that it is one), and there are so
# many units.
_ROWS_EACH, _FEWEST_ROWS_EACH, _FEWEST_UNITS = 3, 1.5, 5
# Agreement within the units that chance explains less often than this shows that a column belongs to them.
_CHANCE = 1e-4
# Wide tables aren't searched.
_MOST_COLUMNS = 100


def repeated_units(frame: Any) -> tuple[str, list[str]] | None:
    """The column of units that have several rows each, and the columns that are equal within all of them.

    It has whole numbers or words, and a name such as subject or patient_id, or other columns depend on it alone.
    """
    if frame.shape[1] > _MOST_COLUMNS:
        return None
    codes = {name: pandas().factorize(frame[name])[0] for name in frame.columns}
    counts = {name: int(own.max()) + 1 if len(own) else 0 for name, own in codes.items()}
    found = []
    for name, own in codes.items():
        if not _FEWEST_UNITS <= counts[name] <= len(own) / _FEWEST_ROWS_EACH or not _has_labels(frame[name]):
            continue
        equal = [
            other
            for other in frame.columns
            if 1 < counts[other] < counts[name] and _depends(codes[other], own, counts[name])
        ]
        is_named, are_many = bool(name_words(str(name)) & _NAMES), counts[name] <= len(own) / _ROWS_EACH
        if not is_named and len(equal) == 1 and frame[name].dtype.kind in "iuf":
            # A number that determines one other column may be a quantity: months 1 to 35, and monthly totals.
            continue
        if (equal and is_named) or (are_many and (equal or is_named)):
            found.append((counts[name], name, equal))
    # If units are nested, as patients in hospitals, the smallest.
    return max(found)[1:] if found else None


def _has_labels(column: Any) -> bool:
    """Whether a column has words or whole numbers, and none missing."""
    if column.isna().any() or column.dtype.kind in "mM":
        return False
    return column.dtype.kind not in "fc" or bool((column == np.floor(column)).all())


def _depends(other: NDArray[np.intp], own: NDArray[np.intp], n_units: int) -> bool:
    """Whether a column is equal within every unit, by more than chance."""
    if other.min() < 0 or len(np.unique(np.column_stack([own, other]), axis=0)) > n_units:
        return False
    share = np.bincount(other) / len(other)
    return float(np.square(share).sum()) ** (len(own) - n_units) < _CHANCE


def unit_note(name: str, equal: Sequence[str], *, is_requested: bool) -> str:
    """What the scores mean where units have several rows each."""
    same = f", with equal {', '.join(map(repr, equal[:3]))}{' and others' if len(equal) > 3 else ''}" if equal else ""
    how = "" if is_requested else " groups=False (--no-group) holds out single rows instead and uses the column."
    return (
        f"Values of {name!r} have several rows{same}. All rows of a value are held out together, and the column is "
        f"no input, so the scores are about new values of {name!r}.{how}"
    )
