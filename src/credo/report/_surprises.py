"""The held-out rows that the best model expected least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.plots import shorten
from credo.report._facts import Predicted
from credo.report._numbers import count, datum, number
from credo.report._sentences import surprise as sentence

# Of a handful of rows each is as surprising as the next.
ROWS_TO_CHOOSE_FROM = 20
LISTED = 5


@dataclass(frozen=True)
class Listing:
    """Rows to look at: the headings, the cells of each row, and a sentence about them."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    sentence: str


@dataclass(frozen=True)
class Surprise:
    """A row, what was observed and what was predicted; `off` in predictive standard deviations."""

    row: str
    actual: str
    predicted: str
    interval: str
    off: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as the page lists it."""
        return self.row, self.actual, self.predicted, self.interval, self.off


def surprises(held: Predicted, index: Any) -> tuple[list[Surprise], str]:
    """The rows furthest from their prediction, measured by the spread that the model gave each, in words too."""
    if len(held.y) < ROWS_TO_CHOOSE_FROM:
        return [], ""
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (held.y - held.mean) / held.std
    distance = np.where(np.isfinite(distance), distance, 0.0)
    rows = np.argsort(-np.abs(distance), kind="stable")[:LISTED]
    listed = [
        Surprise(
            row=row_label(index[i]),
            actual=datum(float(held.y[i])),
            predicted=number(float(held.mean[i])),
            interval=f"{number(float(held.lower[i]))} to {number(float(held.upper[i]))}",
            off=f"{abs(distance[i]):.1f} {'above' if distance[i] > 0 else 'below'}",
        )
        for i in rows
        if distance[i] != 0
    ]
    return listed, sentence(float(np.abs(distance[rows[0]])), len(distance)) if listed else ""


def row_label(label: Any) -> str:
    """Rows are counted from one, as people do; a row with a name of its own keeps it."""
    return count(int(label) + 1) if isinstance(label, int | np.integer) else shorten(label)
