"""Distributions on finitely many points, whose cdf is a step function.

`points` holds the sorted points of each row, shape (m, n_rows), and `heights` the cdf at them, (m, n_rows) or (m, 1),
the last of which is exactly one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.distributions._distribution import Array


def cdf(points: Array, heights: Array, y: Array) -> Array:
    """The cdf at y."""
    return _height(heights, _rank(points, y), y)


def quantile(points: Array, heights: Array, q: Array) -> Array:
    """The smallest point whose height is at least q, of shape (n_rows, k).

    The ends of the support, q = 0 and q = 1, are points of positive probability.
    """
    values = []
    for level in q:
        if level == 1:
            index = (np.diff(heights, axis=0, prepend=0.0) > 0)[::-1].argmax(axis=0)
            index = len(heights) - 1 - index
        else:
            index = (heights < level if level > 0 else heights <= 0).sum(axis=0)
        rows = np.broadcast_to(index, points.shape[1:])
        values.append(np.take_along_axis(points, rows[None, :], axis=0)[0])
    return np.stack(values, axis=1) if values else np.empty((points.shape[1], 0))


def crps(points: Array, heights: Array, y: Array) -> Array:
    """∫ (F(x) − 1{y ≤ x})² dx by sums over the steps; all terms are positive, so that nothing cancels."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        gaps = np.diff(points, axis=0)
        zero = np.zeros((1, points.shape[1]))
        # ∫F² up to each point, and ∫(1−F)² from each point on.
        below = np.concatenate([zero, np.cumsum(gaps * heights[:-1] ** 2, axis=0)])
        above = np.concatenate([np.cumsum((gaps * (1 - heights[:-1]) ** 2)[::-1], axis=0)[::-1], zero])
        rank = _rank(points, y)
        height = _height(heights, rank, y)
        left, right = np.maximum(rank - 1, 0), np.minimum(rank, len(points) - 1)
        rows = _rows(points, y)
        score = (
            below[left, rows]
            + above[right, rows]
            + (y - points[left, rows]) * height**2
            + (points[right, rows] - y) * (1 - height) ** 2
        )
    return np.where(np.isinf(y), np.inf, score)


def choices(probs: Array, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Columns of `probs` (n_rows, k) drawn with the probabilities of each row, of shape (n, n_rows)."""
    heights = np.cumsum(probs, axis=1)
    heights /= heights[:, -1:]
    level, chosen = rng.random((n, len(probs))), np.zeros((n, len(probs)), dtype=np.intp)
    for height in heights.T[:-1]:
        chosen += level >= height
    return chosen


def _rank(points: Array, y: Array) -> NDArray[np.intp]:
    """How many of its row's points each y reaches: a binary search in all rows at once."""
    rows = _rows(points, y)
    low, high = np.zeros(y.shape, dtype=np.intp), np.full(y.shape, len(points), dtype=np.intp)
    for _ in range(len(points).bit_length()):
        middle = np.minimum((low + high) // 2, len(points) - 1)
        searching = low < high
        reached = points[middle, rows] <= y
        low = np.where(searching & reached, middle + 1, low)
        high = np.where(searching & ~reached, middle, high)
    return low


def _height(heights: Array, rank: NDArray[np.intp], y: Array) -> Array:
    values = heights[np.maximum(rank - 1, 0), _rows(heights, y)]
    return np.where(rank > 0, values, 0.0)


def _rows(table: Array, y: Array) -> NDArray[np.intp]:
    """The column of the table that each last index of y belongs to."""
    return np.broadcast_to(np.arange(table.shape[1]), y.shape[-1:])
