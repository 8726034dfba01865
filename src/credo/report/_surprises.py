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
from credo.report._numbers import datum, fixed, listing, number

# A handful of rows can be read in the table itself.
ROWS_TO_CHOOSE_FROM = 20
LISTED = 5
# A value is unusual if it is farther from the middle 99 % of the other rows than this share of their range.
_MIDDLE, _FAR = (0.005, 0.995), 0.5
# So many columns of a row are named.
_NAMED = 3


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
    """For each of some rows, the numeric columns in which it is far outside the range of the others."""
    numeric = [name for name in frame.columns if pandas().api.types.is_numeric_dtype(frame[name])]
    said: list[list[str]] = [[] for _ in rows]
    for name in numeric:
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        others = np.delete(values, rows)
        others = others[np.isfinite(others)]
        if len(others) < ROWS_TO_CHOOSE_FROM - LISTED:
            continue
        low, high = np.quantile(others, _MIDDLE)
        room = _FAR * (high - low)
        for notes, value in zip(said, values[rows], strict=True):
            if room > 0 and np.isfinite(value) and not low - room <= value <= high + room:
                notes.append(f"{shorten(name)} = {datum(value)} (99 % of rows: {datum(low)} to {datum(high)})")
    return [listing(notes, at_most=_NAMED) if notes else "" for notes in said]


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
