"""Rows of a Gram matrix, computed on request and cached as far as memory allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.kernel_machines._rows import cross
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Numbers that are kept: 256 MB, all rows of a table of 5700.
_KEPT = 32_000_000
# Rows that are computed together.
TOGETHER = 32


class GramRows:
    """k(xᵢ, ·) at all training rows, for the rows i that were fetched; the oldest make room for new ones.

    `values[slot[i]]` is the row of i, and slot[i] is −1 where it isn't there.
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self._kernel, self._rows = kernel, rows
        n = len(rows)
        room = min(n, max(TOGETHER, _KEPT // n))
        # Memory is taken only as rows are written.
        self.values = np.empty((room, n))
        self.slot = np.full(n, -1, dtype=np.intp)
        with np.errstate(over="ignore"):
            self.diagonal = kernel.diagonal(rows)
        self._owner = np.full(room, -1, dtype=np.intp)
        self._next = 0

    def fetch(self, index: Index) -> None:
        """Compute these rows, at most `TOGETHER`."""
        room = len(self._owner)
        place = (self._next + np.arange(len(index))) % room
        old = self._owner[place]
        self.slot[old[old >= 0]] = -1
        block = cross(self._kernel, self._rows[index], self._rows)
        # What a row shares with itself alone, as the noise of White, is in the diagonal.
        block[np.arange(len(index)), index] = self.diagonal[index]
        if not np.isfinite(block).all():
            raise ValueError(
                f"{self._kernel!r} overflows for some of the rows: rescale the columns of X, "
                "for example with StandardScaler"
            )
        self.values[place], self._owner[place], self.slot[index] = block, index, place
        self._next = int(place[-1] + 1) % room
