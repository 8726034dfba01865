"""The perceptron algorithm: passes over the rows until none is misclassified, or n_epochs is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.kernel_machines._rows import cross
from credo.kernel_machines.perceptron_jit import POCKET, TIME, dual_perceptron_pass
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Numbers that are kept: 256 MB, all rows of a table of 5700.
_KEPT = 32_000_000
# Rows that are computed together.
_TOGETHER = 32


class GramRows:
    """k(xᵢ, ·) at all training rows, for the rows i that were fetched; the oldest make room for new ones.

    `values[slot[i]]` is the row of i, and slot[i] is −1 where it isn't there.
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self._kernel, self._rows = kernel, rows
        n = len(rows)
        room = min(n, max(_TOGETHER, _KEPT // n))
        # Memory is taken only as rows are written.
        self.values = np.empty((room, n))
        self.slot = np.full(n, -1, dtype=np.intp)
        with np.errstate(over="ignore"):
            self.diagonal = kernel.diagonal(rows)
        self._owner = np.full(room, -1, dtype=np.intp)
        self._next = 0

    def fetch(self, index: Index) -> None:
        """Compute these rows, at most `_TOGETHER`."""
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


@dataclass(frozen=True)
class PerceptronFit:
    """The result: coefficients (n_classes, n_rows) of the average and of the pocket, and the number of updates.

    `wrong` is the weight of the rows that the pocket has wrong; where it is 0 the pocket holds the last coefficients.
    """

    average: Array
    pocket: Array
    mistakes: NDArray[np.int64]
    wrong: float
    n_epochs: int


def train(
    kernel: Kernel, rows: Array, codes: Index, weight: Array, *, n_epochs: int, rng: np.random.Generator | None
) -> PerceptronFit:
    """Visit the rows, in a new random order each epoch or, without a generator, in their own."""
    n_rows, n_classes = len(rows), int(codes.max()) + 1
    gram = GramRows(kernel, rows)
    F, dual, late, pocket = (np.zeros((n_classes, n_rows)) for _ in range(4))
    mistakes = np.zeros(n_rows, dtype=np.int64)
    track = np.array([0.0, weight.sum(), weight.sum()])
    order, place, epoch = np.arange(n_rows), 0, 0
    while place >= 0 and epoch < n_epochs:
        order = order if rng is None else rng.permutation(n_rows)
        epoch, place = epoch + 1, 0
        while 0 <= place < n_rows:
            place = dual_perceptron_pass(
                order, place, codes, weight, gram.diagonal, gram.values, gram.slot, F, dual, late, pocket, mistakes,
                track,
            )  # fmt: skip
            if 0 <= place < n_rows:
                gram.fetch(_wanted(order[place:], codes, F, gram.slot))
    return PerceptronFit(dual - late / track[TIME], pocket, mistakes, float(track[POCKET]), epoch)


def merge_consecutive(rows: Array, codes: Index, weight: Array) -> tuple[Index, Index, Array]:
    """As `estimator.merge_equal_rows`, but only equal rows that follow one another, in the order of the table."""
    table = np.column_stack([rows, codes])
    new = np.concatenate([[True], (table[1:] != table[:-1]).any(axis=1)])
    group = np.cumsum(new) - 1
    return np.flatnonzero(new), group, np.bincount(group, weights=weight).astype(np.float64)


def contradictory(rows: Array, codes: Index) -> bool:
    """Whether rows of equal inputs have different labels."""
    both = len(np.unique(np.column_stack([rows, codes]), axis=0))
    return both > len(np.unique(rows, axis=0))


def _wanted(ahead: Index, codes: Index, F: Array, slot: Any) -> Index:
    """The next rows that are mistaken as things stand and have no row of K; the first of `ahead` is one."""
    others = F[:, ahead]
    own = others[codes[ahead], np.arange(len(ahead))]
    others[codes[ahead], np.arange(len(ahead))] = -np.inf
    return ahead[(own <= others.max(axis=0)) & (slot[ahead] < 0)][:_TOGETHER]
