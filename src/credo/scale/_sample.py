"""A random sample of the rows of a table in parts, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A sample has at most so many rows, or numbers if that is fewer rows, but at least the last number of rows.
_MOST_ROWS, _MOST_ENTRIES, _LEAST_ROWS = 20_000, 4_000_000, 1000


@dataclass(frozen=True)
class RowSample:
    """The rows with the smallest of random keys, one for each row: a sample without replacement that can be merged.

    `extra` are values of each row, such as its target or weight.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.scale import RowSample
    >>> first = RowSample.of(np.zeros((3, 2)), np.arange(3.0), number=0)
    >>> second = RowSample.of(np.ones((2, 2)), np.arange(2.0), number=1)
    >>> both = first.merge(second)  # of few rows, all are kept
    >>> both.rows.shape, both.extra[0].tolist()
    ((5, 2), [0.0, 1.0, 2.0, 0.0, 1.0])
    """

    rows: Array
    extra: tuple[NDArray[Any], ...]
    keys: Array

    @classmethod
    def of(cls, rows: Array, *extra: NDArray[Any], number: int = 0) -> RowSample:
        """A sample of the rows of a chunk; the keys depend on its number alone."""
        sample = cls(rows, extra, np.random.default_rng([0, number]).random(len(rows)))
        return sample._smallest()

    def merge(self, other: RowSample) -> RowSample:
        """A sample of the rows of both."""
        extra = tuple(np.concatenate(pair) for pair in zip(self.extra, other.extra, strict=True))
        keys = np.concatenate([self.keys, other.keys])
        return RowSample(np.concatenate([self.rows, other.rows]), extra, keys)._smallest()

    def _smallest(self) -> RowSample:
        most = max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_ENTRIES // self.rows.shape[1]))
        if len(self.keys) <= most:
            return self
        chosen = np.argpartition(self.keys, most)[:most]
        return RowSample(self.rows[chosen], tuple(values[chosen] for values in self.extra), self.keys[chosen])
