"""The held-out rows with the largest errors, and what is unusual about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.plots import shorten
from credo.report._facts import Predicted
from credo.report._numbers import datum, fixed, listing, number, percent

# A handful of rows can be read in the table itself.
ROWS_TO_CHOOSE_FROM = 20
LISTED = 5
# A value is unusual if it is farther from the middle 99 % of the other rows than this share of their range.
_MIDDLE, _FAR = (0.005, 0.995), 0.5
# Of the usual distance from what the other columns lead to expect: a value so far off doesn't fit them.
_ODD = 12.0
# A level that fewer rows have, in a column of at most so many levels, is rare.
_RARE, _LEVELS = 0.02, 50
# So many columns are looked at, and so many of a row are named.
_MAX_COLUMNS, _NAMED = 200, 3


@dataclass(frozen=True)
class Listing:
    """Rows to look at: the headings, the cells of each row, and a sentence about them."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    sentence: str


def surprises(held: Predicted, frame: Any) -> Listing:
    """The rows with the largest absolute errors, the largest first."""
    head = ("Row", "Actual", "Predicted", "95 % interval", "Error", "Unusual input")
    if len(held.y) < ROWS_TO_CHOOSE_FROM:
        return Listing(head, [], "")
    error = held.y - held.mean
    size = np.where(np.isfinite(error), np.abs(error), np.inf)
    picked = [i for i in np.argsort(-size, kind="stable")[:LISTED].tolist() if size[i] > 0]
    notes = unusual(frame, held.held.rows[picked])
    lines = [
        (
            row_label(frame.index[held.held.rows[i]]),
            _actual(float(held.y[i])),
            number(float(held.mean[i])),
            f"{number(float(held.lower[i]))} to {number(float(held.upper[i]))}",
            number(float(error[i])),
            note,
        )
        for i, note in zip(picked, notes, strict=True)
    ]
    share = float(np.sum(error[picked] ** 2) / np.sum(error**2)) if lines else 0.0
    few = f"They account for {100 * share:.0f} % of the squared error." if share > 0.2 else ""
    return without_empty(Listing(head, lines, few))


def unusual(frame: Any, rows: NDArray[np.intp]) -> list[str]:
    """For each of some rows, the columns in which it is unusual.

    That is a number far outside the range of the other rows, one that doesn't fit the other columns, or a rare level.
    """
    names = [name for name in frame.columns if pandas().api.types.is_numeric_dtype(frame[name])]
    names = [name for name in names if frame[name].notna().sum() >= ROWS_TO_CHOOSE_FROM][:_MAX_COLUMNS]
    said = _rare(frame[[name for name in frame.columns if name not in names][:_MAX_COLUMNS]], rows)
    if names:
        said = [[*numbers, *levels] for numbers, levels in zip(_far_off(frame[names], rows), said, strict=True)]
    return [listing(notes, at_most=_NAMED) if notes else "" for notes in said]


def _rare(frame: Any, rows: NDArray[np.intp]) -> list[list[str]]:
    """The levels of each row that few rows have."""
    said: list[list[str]] = [[] for _ in rows]
    for name in frame.columns:
        shares = frame[name].value_counts(normalize=True)
        if not 2 <= len(shares) <= _LEVELS:
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
    low, high = np.nanquantile(others, _MIDDLE, axis=0)
    room = _FAR * (high - low)
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
    """What a linear regression on the other columns expects of each column in some rows, and where it is far off.

    With P the inverse of the correlation matrix, column j less its regression on the others is (z P)ⱼ / Pⱼⱼ. Its usual
    size is a median, which a few odd rows don't change.
    """
    middle = np.nanmedian(table, axis=0)
    filled = np.where(np.isnan(table), middle, table)
    spread = filled.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    z = (filled - filled.mean(axis=0)) / scale
    # A trace of the identity, so that copies have an inverse too.
    precision = np.linalg.inv(z.T @ z / len(z) + 1e-6 * np.eye(z.shape[1]))
    left = z @ precision / np.diag(precision)
    usual = 1.4826 * np.median(np.abs(left), axis=0)
    off = (usual > 1e-3) & (np.abs(left[rows]) > _ODD * usual) & ~np.isnan(table[rows]) & (spread > 0)
    # Of columns that disagree, the one that is furthest off is named.
    furthest = np.abs(left[rows]) / np.maximum(usual, 1e-12)
    off &= furthest == np.where(off, furthest, -1.0).max(axis=1, keepdims=True)
    return filled[rows] - left[rows] * scale, off


def without_empty(found: Listing) -> Listing:
    """The listing without its last column where no row has an entry there."""
    if any(line[-1] for line in found.lines):
        return found
    return Listing(found.head[:-1], [line[:-1] for line in found.lines], found.sentence)


def row_label(label: Any) -> str:
    """Rows are counted from one, as people do; a row with a name of its own keeps it."""
    return str(int(label) + 1) if isinstance(label, int | np.integer) else shorten(label)


def _actual(value: float) -> str:
    """A value beside its prediction: a whole number stays whole.

    >>> _actual(4032.0), _actual(2.5)
    ('4,032', '2.5')
    """
    return fixed(value, decimals=0) if value.is_integer() and abs(value) < 1e6 else datum(value)
