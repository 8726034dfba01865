"""Means and standard deviations of prepared columns, without overflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.io.errors import plural, shown

Array = NDArray[np.float64]

# Bounds of the bulk of a column, and how many standard deviations beyond it a value may lie.
_TAILS, _MARGIN = (0.001, 0.999), 8.0


def is_sparse(block: Any) -> bool:
    """Whether the block is sparse; unlike scipy's, the answer doesn't change a static type."""
    return bool(sparse.issparse(block))


def scaled(blocks: list[Any], center: Array, scale: Array) -> list[Any]:
    """(block − center)/scale, sparse blocks without the centre."""
    return [
        block @ sparse.diags_array(1.0 / scale[own]) if is_sparse(block) else (block - center[own]) / scale[own]
        for block, own in _places(blocks)
    ]


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
            value = block[rows[0], j]
            label = index[rows[0]]
            place = int(label) + 1 if isinstance(label, int | np.integer) else label
            notes.append(
                f"Column {names[k]!r}: {plural(len(rows), 'value')} far outside the others (row {place}: "
                f"{shown(value)}) counted as {shown(upper[k] if value > upper[k] else lower[k])}."
            )
    return notes


def _places(blocks: list[Any]) -> Iterator[tuple[Any, slice]]:
    """Each block with the places of its columns."""
    start = 0
    for block in blocks:
        yield block, slice(start, start + block.shape[1])
        start += block.shape[1]


def center_and_scale(blocks: list[Any], weight: Array) -> tuple[Array, Array]:
    """What to subtract from each column and what to divide it by, for rows that stand for `weight` rows each.

    Sparse columns are not centred, and a column without spread is divided by one.
    """
    centers, scales = zip(
        *(_sparse(block, weight) if is_sparse(block) else _dense(block, weight) for block in blocks), strict=True
    )
    return np.concatenate(centers), np.concatenate(scales)


def bounds(blocks: list[Any], exempt: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The lowest and highest value that each column may have; infinite for sparse, exempt and two-valued columns."""
    lows, highs = zip(*map(_bounds, blocks), strict=True)
    return np.where(exempt, -np.inf, np.concatenate(lows)), np.where(exempt, np.inf, np.concatenate(highs))


def _bounds(block: Any) -> tuple[Array, Array]:
    if is_sparse(block):
        return np.full(block.shape[1], -np.inf), np.full(block.shape[1], np.inf)
    low, high = np.quantile(block, _TAILS, axis=0)
    # Halves, because the difference of two huge numbers may overflow.
    margin = np.maximum(high / 2 - low / 2, _MARGIN * _dense(block, np.ones(len(block)))[1] / 2)
    two = ((block == block.min(axis=0)) | (block == block.max(axis=0))).all(axis=0)
    with np.errstate(over="ignore"):
        lower, upper = low - 2 * margin, high + 2 * margin
    return np.where(two, -np.inf, lower), np.where(two, np.inf, upper)


def _dense(block: Array, weight: Array) -> tuple[Array, Array]:
    # Dividing by the largest value first keeps squares and sums of huge numbers finite.
    largest = np.abs(block).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    parts = block / unit
    center = np.average(parts, axis=0, weights=weight)
    spread = np.sqrt(np.average(np.square(parts - center), axis=0, weights=weight))
    # Rounding leaves a spread of a few units in the last place to a column that is constant.
    flat = spread <= 8 * np.finfo(np.float64).eps * np.abs(center)
    return center * unit, np.where(flat, 1.0, spread * unit)


def _sparse(block: Any, weight: Array) -> tuple[Array, Array]:
    """Columns of zeros and ones: sd² = m(1 − m) for the mean m."""
    mean = np.asarray(weight @ block) / weight.sum()
    spread = np.sqrt(mean * np.maximum(1.0 - mean, 0.0))
    return np.zeros(len(mean)), np.where(spread > 0, spread, 1.0)
