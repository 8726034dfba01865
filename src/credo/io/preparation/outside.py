"""Rows outside the training data: values beyond the range of a column, and levels that were not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import plural, quoted, shown
from credo.io.preparation.encoders import Days, Encoder, Numbers, Texts
from credo.io.preparation.levels import Levels

# How far beyond the range a value may lie, as a share of the range's width.
_MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Outside:
    """Which rows lie outside the training data, and why.

    Attributes
    ----------
    rows : bool array of shape (n_rows,)
    reasons : list of str, one for each row
        Such as "year = 3000 (training: 1871 to 1970)"; empty for a row inside.
    columns : dict of column name to the number of its rows that are outside
    """

    rows: NDArray[np.bool_]
    reasons: list[str]
    columns: dict[str, int]

    def note(self) -> str | None:
        """A sentence about these rows, or None if there are none."""
        count = int(self.rows.sum())
        if not count:
            return None
        first = self.reasons[int(np.argmax(self.rows))]
        return (
            f"{plural(count, 'row')} of {len(self.rows):,} {'is' if count == 1 else 'are'} outside the training data "
            f"(columns {quoted(self.columns)}; first: {first}). Predictions there are extrapolations."
        )


def outside(encoders: list[Encoder], table: Any) -> Outside:
    """What lies outside the training data in the columns of a table.

    A number or a date is outside if it is beyond the range by more than a tenth of the range's width, a category if
    its level was not seen.
    """
    reasons: list[list[str]] = [[] for _ in range(len(table))]
    columns: dict[str, int] = {}
    for encoder in encoders:
        if isinstance(encoder, Numbers | Days):
            rows, texts = _beyond(encoder, table[encoder.name])
        elif isinstance(encoder, Levels):
            rows, texts = _unseen(encoder, table[encoder.name])
        elif isinstance(encoder, Texts):
            rows = np.flatnonzero(np.asarray(encoder.matrix(table[encoder.name]).sum(axis=1)).ravel() == 0)
            texts = [f"{encoder.name}: no word of the training data"] * len(rows)
        else:
            continue
        if len(rows):
            columns[encoder.name] = len(rows)
        for i, text in zip(rows.tolist(), texts, strict=True):
            reasons[i].append(text)
    joined = ["; ".join(parts) for parts in reasons]
    return Outside(np.array([bool(text) for text in joined], dtype=bool), joined, columns)


def _beyond(encoder: Numbers | Days, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    if not encoder.value or not encoder.low < encoder.high:
        return np.empty(0, dtype=np.intp), []
    values = encoder.values(column)
    margin = _MARGIN * (encoder.high - encoder.low)
    rows = np.flatnonzero(np.isfinite(values) & ((values < encoder.low - margin) | (values > encoder.high + margin)))
    low, high = encoder.text(encoder.low), encoder.text(encoder.high)
    return rows, [f"{encoder.name} = {encoder.text(values[i])} (training: {low} to {high})" for i in rows]


def _unseen(encoder: Levels, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    rows, words = encoder.unseen(column)
    return rows, [f"{encoder.name} = {shown(word)!r} (not in the training data)" for word in words]
