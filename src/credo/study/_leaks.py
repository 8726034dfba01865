"""Columns that alone nearly determine the target."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.tables.columns import finite_columns, numbers, present_mask, words

# A column that alone explains this share of the variance, or of the labels beyond the commonest, is named.
DETERMINES = 0.99
_ROWS = 4000
# With fewer rows, nothing is reported.
_FEWEST = 20


def leaks(frame: Any, y: NDArray[Any], *, classes: bool) -> dict[str, float]:
    """The columns that alone predict the target almost perfectly, with the share that each explains.

    Each row is predicted from the other rows of equal value or, for numbers, from its two neighbours when sorted by the
    column, whichever is better. The share is that of the variance or, for classes, of the errors of always predicting
    the most frequent class.
    """
    n = len(y)
    if n < _FEWEST:
        return {}
    picked = np.arange(n) if n <= _ROWS else np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))
    table = np.eye(len(np.unique(y)))[np.unique(y[picked], return_inverse=True)[1].ravel()] if classes else y[picked]
    target = np.asarray(table, dtype=np.float64)
    names, values = finite_columns(frame, frame.columns.tolist())
    plain = dict(zip(names, values[picked].T, strict=True))
    found = {}
    for name in frame.columns:
        share = _of_numbers(plain[name], target) if name in plain else _of_column(frame[name].iloc[picked], target)
        if share is not None and share >= DETERMINES:
            found[str(name)] = share
    return found


def _of_column(column: Any, target: NDArray[np.float64]) -> float | None:
    present = present_mask(column)
    if column.dtype.kind in "mM" or present.sum() < _FEWEST:
        return None
    values, odd = numbers(column, present)
    if len(odd):
        known = np.unique(words(column, present)[present].astype(str), return_inverse=True)[1].ravel()
        # Names that hardly repeat can't be learned from.
        return _explained(known, target[present]) if 2 * (known.max() + 1) < len(known) else None
    return _of_numbers(values[present], target[present])


def _of_numbers(values: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return None
    smooth = _smooth(values, target)
    return max(smooth, _explained(codes.ravel(), target)) if 2 * len(distinct) < len(codes) else smooth


def _explained(codes: NDArray[np.intp], target: NDArray[np.float64]) -> float:
    """The share explained by the mean of the other rows of equal value."""
    table = target.reshape(len(target), -1)
    counts = np.bincount(codes).astype(np.float64)[codes]
    sums = np.column_stack([np.bincount(codes, weights=column)[codes] for column in table.T])
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(counts[:, None] > 1, (sums - table) / (counts[:, None] - 1), table.mean(axis=0))
    return _score(others, table)


def _smooth(values: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """The share explained by the two neighbours when sorted by the column."""
    # Rows of equal value in a random order: a table is often sorted by its target.
    order = np.lexsort((_random(len(values)), values))
    table = target.reshape(len(target), -1)[order]
    before, after = np.vstack([table[1:2], table[:-1]]), np.vstack([table[1:], table[-2:-1]])
    return _score((before + after) / 2, table)


@lru_cache(maxsize=1)
def _random(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).random(n)


def _score(predicted: NDArray[np.float64], table: NDArray[np.float64]) -> float:
    if table.shape[1] == 1:
        spread = float(np.sum((table - table.mean()) ** 2))
        return 1 - float(np.sum((table - predicted) ** 2)) / spread if spread > 0 else 0.0
    wrong = float(np.mean(predicted.argmax(axis=1) != table.argmax(axis=1)))
    guess = 1 - float(table.mean(axis=0).max())
    return 1 - wrong / guess if guess > 0 else 0.0
