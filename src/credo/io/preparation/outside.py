"""Rows outside the training data: values beyond the range of a column, and levels that were not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import plural, quoted
from credo.io.preparation.encoders import Encoder


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
        rows, texts = encoder.outside(table[encoder.name])
        if len(rows):
            columns[encoder.name] = len(rows)
        for i, text in zip(rows.tolist(), texts, strict=True):
            reasons[i].append(text)
    joined = ["; ".join(parts) for parts in reasons]
    return Outside(np.array([bool(text) for text in joined], dtype=bool), joined, columns)
