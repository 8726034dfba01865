"""The held-out rows with the largest errors, and what is unusual about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import datum, fixed, listing, number, percent
from credo.metrics import forecast
from credo.plots import shorten
from credo.selection import HeldOut
from credo.study.checks import FEW_ROWS
from credo.study.facts import Predicted
from credo.study.report._classes import unlikely_sentence
from credo.study.report._figure import Listing
from credo.tables.errors import pandas

# How many rows are listed; a table of fewer than `FEW_ROWS` can be read as a whole.
_LISTED = 5
# A value is unusual if it is farther from the middle 99 % of the other rows than this share of their range: in
# scikit-learn's diabetes, iris and wine the farthest is 0.28.
_BULK_QUANTILES, _MAX_EXCESS = (0.005, 0.995), 0.5
# A value doesn't fit the other columns if it is this many times farther than usual from what they predict: in those
# tables the farthest is 7.3.
_ODD = 12.0
# A level is rare if this share of the rows has it, unless an average level of its column is as rare.
_RARE = 0.02
# How many columns are examined, and how many are named for a row.
_MAX_COLUMNS, _NAMED = 200, 3


def largest_errors(held: Predicted, frame: Any) -> Listing:
    """The rows with the largest absolute errors, the largest first."""
    if len(held.y) < FEW_ROWS:
        return Listing()
    error, (lower, upper) = held.y - held.mean, held.interval
    size = np.where(np.isfinite(error), np.abs(error), np.inf)
    picked = np.argsort(-size, kind="stable")[:_LISTED]
    picked = picked[size[picked] > 0]
    share = float(np.sum(error[picked] ** 2) / np.sum(error**2)) if len(picked) else 0.0

    def cells(i: int) -> tuple[str, ...]:
        interval = f"{number(float(lower[i]))} to {number(float(upper[i]))}"
        return _actual(float(held.y[i])), number(float(held.mean[i])), interval, number(float(error[i]))

    few = f"They account for {100 * share:.0f} % of the squared error." if share > 0.2 else ""
    return _listing(("Actual", "Predicted", "95 % interval", "Error"), cells, picked, held.held, frame, few)


def least_probable(held: HeldOut, frame: Any) -> Listing:
    """The misclassified rows whose actual class had the lowest probability, the lowest first."""
    if len(held.y) < FEW_ROWS:
        return Listing()
    found = forecast(held.y, held.dist)
    picked = np.argsort(found.actual, kind="stable")[:_LISTED]
    picked = picked[found.predicted[picked] != found.codes[picked]]
    labels = [shorten(label) for label in found.classes.tolist()]

    def cells(i: int) -> tuple[str, ...]:
        shares = (found.actual[i], found.table[i].max())
        return (
            labels[found.codes[i]],
            labels[found.predicted[i]],
            *("< 0.01 %" if p < 1e-4 else percent(float(p)) for p in shares),
        )

    head = ("Actual", "Predicted", "Probability of the actual", "Probability of the predicted")
    return _listing(head, cells, picked, held, frame, unlikely_sentence(held) if len(picked) else "")


def _listing(
    head: tuple[str, ...],
    cells: Callable[[int], tuple[str, ...]],
    picked: NDArray[np.intp],
    held: HeldOut,
    frame: Any,
    sentence: str,
) -> Listing:
    """The picked rows, with what is unusual about them if there is anything."""
    rows = held.rows[picked]
    labels, notes = [row_label(frame.index[row]) for row in rows], unusual(frame, rows)
    last = [(note,) if any(notes) else () for note in notes]
    lines = [(label, *cells(i), *more) for label, i, more in zip(labels, picked.tolist(), last, strict=True)]
    return Listing(("Row", *head, *(["Unusual input"] if any(notes) else [])), lines, sentence)


def unusual(frame: Any, rows: NDArray[np.intp]) -> list[str]:
    """For each row, numbers far from the other rows or from what other columns predict, and rare levels."""
    names = [name for name in frame.columns if pandas().api.types.is_numeric_dtype(frame[name])]
    names = [name for name in names if frame[name].notna().sum() >= FEW_ROWS][:_MAX_COLUMNS]
    said = _rare(frame[[name for name in frame.columns if name not in names][:_MAX_COLUMNS]], rows)
    if names:
        said = [[*numbers, *levels] for numbers, levels in zip(_far_off(frame[names], rows), said, strict=True)]
    return [listing(notes, at_most=_NAMED) if notes else "" for notes in said]


def _rare(frame: Any, rows: NDArray[np.intp]) -> list[list[str]]:
    """The rare levels of each row."""
    said: list[list[str]] = [[] for _ in rows]
    for name in frame.columns:
        shares = frame[name].value_counts(normalize=True)
        if len(shares) < 2 or _RARE * len(shares) > 1:
            continue
        for notes, level in zip(said, frame[name].iloc[rows], strict=True):
            if shares.get(level, 1.0) < _RARE:
                notes.append(f"{shorten(name)} = {shorten(level)} ({percent(float(shares[level]))} of rows)")
    return said


def _far_off(frame: Any, rows: NDArray[np.intp]) -> list[list[str]]:
    """The numbers of each row that are far outside the range of the others, or don't fit the other columns."""
    names = list(frame.columns)
    table = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    others = np.delete(table, rows, axis=0)
    low, high = np.nanquantile(others, _BULK_QUANTILES, axis=0)
    room = _MAX_EXCESS * (high - low)
    outside = (room > 0) & ((table[rows] < low - room) | (table[rows] > high + room))
    expected, odd = _expected(table, rows)
    said = []
    for row in range(len(rows)):
        notes = [
            f"{shorten(names[j])} = {datum(table[rows[row], j])} (99 % of rows: {datum(low[j])} to {datum(high[j])})"
            for j in np.flatnonzero(outside[row])
        ]
        notes += [
            f"{shorten(names[j])} = {datum(table[rows[row], j])} ({datum(expected[row, j])} expected from the others)"
            for j in np.flatnonzero(odd[row] & ~outside[row])
        ]
        said.append(notes)
    return said


def _expected(table: NDArray[np.float64], rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The linear regression of each column on the others in some rows, and where a value is far from it.

    With P the inverse of the correlation matrix, the residual of column j is (z P)ⱼ / Pⱼⱼ. Its usual size is a median,
    which a few odd rows don't change.
    """
    middle = np.nanmedian(table, axis=0)
    filled = np.where(np.isnan(table), middle, table)
    spread = filled.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    z = (filled - filled.mean(axis=0)) / scale
    # Slightly regularized, so that copies have an inverse too.
    precision = np.linalg.inv(z.T @ z / len(z) + 1e-6 * np.eye(z.shape[1]))
    left = z @ precision / np.diag(precision)
    usual = 1.4826 * np.median(np.abs(left), axis=0)
    off = (usual > 1e-3) & (np.abs(left[rows]) > _ODD * usual) & ~np.isnan(table[rows]) & (spread > 0)
    # If columns disagree, only the one that is farthest off is named.
    furthest = np.abs(left[rows]) / np.maximum(usual, 1e-12)
    off &= furthest == np.where(off, furthest, -1.0).max(axis=1, keepdims=True)
    return filled[rows] - left[rows] * scale, off


def row_label(label: Any) -> str:
    """The number of a row, counted from one, or its name."""
    return str(int(label) + 1) if isinstance(label, int | np.integer) else shorten(label)


def _actual(value: float) -> str:
    """An observed value: integers without decimals."""
    return fixed(value, decimals=0) if value.is_integer() and abs(value) < 1e6 else datum(value)
