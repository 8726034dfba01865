"""Means and standard deviations of prepared columns, without overflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.estimator import center_and_scale as dense_scale
from credo.estimator import is_sparse
from credo.io.errors import ColumnError, plural, shown

Array = NDArray[np.float64]

# Bounds of the bulk of a column, and how many standard deviations beyond it a value may lie.
_TAILS, _MARGIN = (0.001, 0.999), 8.0


def scaled(blocks: list[Any], center: Array, scale: Array) -> list[Any]:
    """(block − center)/scale, sparse blocks without the centre; infinite where that is too large for a number."""
    with np.errstate(over="ignore"):
        return [
            block @ sparse.diags_array(1.0 / scale[own]) if is_sparse(block) else (block - center[own]) / scale[own]
            for block, own in _places(blocks)
        ]


def refuse_infinite(blocks: list[Any], results: list[Any], names: list[str], index: Any) -> None:
    """Raise if scaling made a value infinite, naming the first."""
    for (block, own), result in zip(_places(blocks), results, strict=True):
        if is_sparse(block) or np.isfinite(result).all():
            continue
        row, column = np.argwhere(~np.isfinite(result))[0].tolist()
        raise ColumnError(
            f"column {names[own.start + column]!r}, row {_place(index[row])}: {shown(block[row, column])} is too far "
            "from the training data to compute with; correct it, or leave the field empty"
        )


def clipped(blocks: list[Any], lower: Array, upper: Array) -> list[Any]:
    """The blocks with values between the bounds; sparse ones as they are."""
    return [block if is_sparse(block) else np.clip(block, lower[own], upper[own]) for block, own in _places(blocks)]


def clip_notes(blocks: list[Any], lower: Array, upper: Array, names: list[str], index: Any) -> list[str]:
    """A sentence for each column with values that are set to a bound."""
    notes = []
    for block, own in _places(blocks):
        if is_sparse(block):
            continue
        far = (block < lower[own]) | (block > upper[own])
        for j in np.flatnonzero(far.any(axis=0)):
            rows, k = np.flatnonzero(far[:, j]), own.start + j
            place = _place(index[rows[0]])
            value = block[rows[0], j]
            notes.append(
                f"Column {names[k]!r}: {plural(len(rows), 'value')} far outside the others (row {place}: "
                f"{shown(value)}) counted as {shown(upper[k] if value > upper[k] else lower[k])}."
            )
    return notes


def _place(label: Any) -> Any:
    """The number of a row, counted from 1, or its label."""
    return int(label) + 1 if isinstance(label, int | np.integer) else label


def _places(blocks: list[Any]) -> Iterator[tuple[Any, slice]]:
    """Each block with the places of its columns."""
    start = 0
    for block in blocks:
        yield block, slice(start, start + block.shape[1])
        start += block.shape[1]


def center_and_scale(blocks: list[Any], weight: Array) -> tuple[Array, Array]:
    """What to subtract from each column and what to divide it by, for rows with these weights.

    Sparse columns are not centred, and a column without spread is divided by one.
    """
    centers, scales = zip(
        *(_sparse(block, weight) if is_sparse(block) else dense_scale(block, weight) for block in blocks), strict=True
    )
    return np.concatenate(centers), np.concatenate(scales)


def bounds(blocks: list[Any], exempt: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The lowest and highest value that each column may have; infinite for sparse and exempt columns."""
    lows, highs = zip(*map(_bounds, blocks), strict=True)
    return np.where(exempt, -np.inf, np.concatenate(lows)), np.where(exempt, np.inf, np.concatenate(highs))


def _bounds(block: Any) -> tuple[Array, Array]:
    if is_sparse(block):
        return np.full(block.shape[1], -np.inf), np.full(block.shape[1], np.inf)
    low, high = np.quantile(block, _TAILS, axis=0)
    # Halves, because the difference of two huge numbers may overflow.
    margin = np.maximum(high / 2 - low / 2, _MARGIN * dense_scale(block)[1] / 2)
    # In a column of two values, the rare one is not an outlier.
    least, most = block.min(axis=0), block.max(axis=0)
    two = ((block == least) | (block == most)).all(axis=0)
    low, high = np.where(two, least, low), np.where(two, most, high)
    margin = np.where(two, np.where(least < most, _MARGIN * (most / 2 - least / 2), np.inf), margin)
    with np.errstate(over="ignore"):
        return low - 2 * margin, high + 2 * margin


def _sparse(block: Any, weight: Array) -> tuple[Array, Array]:
    """Columns of zeros and ones: sd² = m(1 − m) for the mean m."""
    mean = np.asarray(weight @ block) / weight.sum()
    spread = np.sqrt(mean * np.maximum(1.0 - mean, 0.0))
    return np.zeros(len(mean)), np.where(spread > 0, spread, 1.0)
