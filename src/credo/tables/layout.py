"""Rows of a sheet that aren't observations: units below the header, a repeated header, footnotes and totals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import plural, quoted
from credo.tables.columns import present_mask, read_numbers, words

# With fewer rows above, the last value of a column may be their sum by chance.
_MIN_SUMMED, _MAX_TOTALS = 5, 3
# Rows and columns that show what a row is.
_SAMPLE_ROWS, _SAMPLE_COLUMNS = 200, 50
_BRACKETED = re.compile(r"[\[(].*[\])]", re.DOTALL)
_LABEL = re.compile(
    r"(grand |sub-?)?(total|sum|average|avg|mean|gesamt|summe|mittelwert|durchschnitt)s?[.:]?", re.IGNORECASE
)


def without_headings(frame: Any, *, decimal: str) -> tuple[Any, list[str]]:
    """The frame without units below the header, repetitions of the header and a footnote, and notes.

    It comes before words are read as numbers: any of these rows would make a column of numbers one of words.
    """
    wordy = [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]
    if not wordy or len(frame) < 3 or frame.shape[1] < 2:
        return frame, []
    notes = []
    if (repeated := _repetitions(frame, wordy)).any():
        frame = frame[~repeated]
        notes.append(f"Left out {plural(int(repeated.sum()), 'repetition')} of the header.")
    if (text := _footnote(frame)) is not None:
        frame = frame.iloc[:-1]
        notes.append(f"Left out the last row, a footnote ({text!r}).")
    if units := _units(frame, wordy, decimal):
        frame = frame.iloc[1:]
        notes.append(f"Left out the row below the header: it names units or parts ({quoted(units, most=3)}).")
    return frame, notes


def _repetitions(frame: Any, wordy: list[str]) -> NDArray[np.bool_]:
    """Which rows repeat the names of all columns."""
    found = np.full(len(frame), len(wordy) == frame.shape[1])
    for name in wordy:
        if found.any():
            found[found] = (frame[name][found].astype(str).str.strip() == name).to_numpy(dtype=bool)
    return found if not found.all() else np.zeros(len(frame), dtype=bool)


def _footnote(frame: Any) -> str | None:
    """The beginning of the last row's text if it has no other cell, unlike every other row."""
    last = frame.iloc[-1]
    if frame.shape[1] < 3 or last.notna().sum() != 1 or not isinstance(last.iloc[0], str):
        return None
    return last.iloc[0].strip()[:40] if frame.notna().sum(axis=1).iloc[:-1].min() > 1 else None


def _units(frame: Any, wordy: list[str], decimal: str) -> list[str]:
    """The cells of the first row if they stand above numbers, and no number stands in the first row."""
    if frame.drop(columns=wordy).iloc[:1].notna().any(axis=None):
        return []
    found = []
    for name in wordy:
        column = frame[name].iloc[:_SAMPLE_ROWS]
        (first, *below) = words(column, present_mask(column)).tolist()
        if first is None or not any(below) or read_numbers(_array(below), name=name, decimal=decimal) is None:
            continue
        if read_numbers(_array([first]), name=name, decimal=decimal) is not None:
            return []
        found.append(first)
    # A single text may be a typing error.
    return found if len(found) > 1 or any(map(_BRACKETED.fullmatch, found)) else []


def _array(cells: list[Any]) -> NDArray[Any]:
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def without_totals(frame: Any) -> tuple[Any, list[str]]:
    """The frame without last rows that hold sums or means of those above, and notes; after numbers were read."""
    texts = [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]
    last = [[str(cell).strip() for cell in row] for row in frame[texts].iloc[-_MAX_TOTALS:].to_numpy(dtype=object)]
    labels = [next(filter(_LABEL.fullmatch, row), "") for row in last]
    n_labelled = next((i for i, label in enumerate(reversed(labels)) if not label), len(labels))
    above = frame.iloc[: -max(n_labelled, 1)]
    if len(above) < _MIN_SUMMED:
        return frame, []
    numeric = [name for name, dtype in frame.dtypes.items() if dtype.kind in "iuf"][:_SAMPLE_COLUMNS]
    sums, counts = above[numeric].sum().to_numpy(dtype=np.float64), above[numeric].count().to_numpy()
    means = sums / np.maximum(counts, 1)
    for row in frame[numeric].iloc[len(above) :].to_numpy(dtype=np.float64):
        filled = np.isfinite(row) & (row != 0)
        summed = np.abs(row - sums) <= 1e-9 * np.abs(sums)
        if n_labelled:
            # Written with few digits.
            summed |= (np.abs(row - sums) <= 1e-4 * np.abs(sums)) | (np.abs(row - means) <= 0.01 * np.abs(means))
        if not 2 * np.sum(summed & filled) > np.sum(filled):
            return frame, []
    said = f" ({quoted(labels[-n_labelled:])})" if n_labelled else ""
    count = len(frame) - len(above)
    rows = "row, which sums" if count == 1 else f"{count} rows, which sum"
    return above, [f"Left out the last {rows} up those above{said}."]
