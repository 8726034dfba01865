"""Columns that need no care, all at once: a wide table has thousands of them, and each look at one costs time.

NumericBlock are finite numbers by their type. Whatever may need a note, a warning or an error (gaps, words, one
value only, whole numbers that may name rows) is left to be looked at column by column.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Whole numbers beyond this are not all floats.
EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class NumericBlock:
    """Columns of finite numbers: their names, and their values side by side."""

    names: list[str]
    values: Array

    def select(self, which: NDArray[np.bool_]) -> NumericBlock:
        """Some of the columns."""
        if which.all():
            return self
        return NumericBlock([name for name, kept in zip(self.names, which, strict=True) if kept], self.values[:, which])


def numeric_block(table: Any, names: Collection[str]) -> NumericBlock:
    """Of the named columns those that hold finite numbers only, by type."""
    types, names = zip(table.columns.tolist(), table.dtypes, strict=True), set(names)
    plain = [name for name, kind in types if name in names and isinstance(kind, np.dtype) and kind.kind in "iuf"]
    part = table if len(plain) == table.shape[1] else table[plain]
    # Column after column in memory: sums along a column are then pairwise, and keep their digits.
    block = NumericBlock(plain, np.asfortranarray(part.to_numpy(dtype=np.float64)))
    return block.select(np.asarray(np.isfinite(block.values).all(axis=0)))


def statistics(block: NumericBlock) -> dict[str, tuple[int, float, float, float]]:
    """Number of different values, median, minimum and maximum of columns that are neither constant nor identifiers."""
    n = len(block.values)
    ordered = np.sort(block.values, axis=0)
    n_distinct = 1 + np.count_nonzero(ordered[1:] != ordered[:-1], axis=0)
    # Halves are added because the sum of two large numbers may overflow.
    middle = ordered[(n - 1) // 2] / 2 + ordered[n // 2] / 2
    names_rows = (n_distinct == n) & (ordered[0] >= 0) & (block.values == np.floor(block.values)).all(axis=0)
    usable = (n_distinct > 1) & ~names_rows & (np.maximum(-ordered[0], ordered[-1]) <= EXACT)
    values = zip(n_distinct.tolist(), middle.tolist(), ordered[0].tolist(), ordered[-1].tolist(), strict=True)
    return {name: value for name, value, kept in zip(block.names, values, usable, strict=True) if kept}
