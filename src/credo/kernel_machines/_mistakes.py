"""The perceptron algorithm: passes over the rows until none is misclassified, or n_epochs is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import merge_equal_rows
from credo.kernel_machines._gram_rows import TOGETHER, GramRows
from credo.kernel_machines._jit import POCKET, TIME, dual_perceptron_pass
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Lesson:
    """The result: coefficients (n_classes, n_rows) of the average and of the pocket, and the number of updates.

    `wrong` is the weight of the rows that the pocket has wrong; where it is 0 the pocket holds the last coefficients.
    """

    average: Array
    pocket: Array
    mistakes: NDArray[np.int64]
    wrong: float
    n_epochs: int


def learn(
    kernel: Kernel, rows: Array, codes: Index, weight: Array, *, n_epochs: int, rng: np.random.Generator | None
) -> Lesson:
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
    return Lesson(dual - late / track[TIME], pocket, mistakes, float(track[POCKET]), epoch)


def merged(rows: Array, codes: Index, weight: Array, *, in_a_row: bool) -> tuple[Index, Index, Array]:
    """Rows of like inputs and label taken together: where each first stands, which of them a row is, their weights.

    All that are alike in one fixed order, or only those that follow one another, in the order of the table.
    """
    table = np.column_stack([rows, codes])
    if in_a_row:
        new = np.concatenate([[True], (table[1:] != table[:-1]).any(axis=1)])
        first, which = np.flatnonzero(new), np.cumsum(new) - 1
        return first, which, np.bincount(which, weights=weight).astype(np.float64)
    return merge_equal_rows(table, weight)


def contradictory(rows: Array, codes: Index) -> bool:
    """Whether rows of like inputs have different labels."""
    both = len(np.unique(np.column_stack([rows, codes]), axis=0))
    return both > len(np.unique(rows, axis=0))


def _wanted(ahead: Index, codes: Index, F: Array, slot: Any) -> Index:
    """The next rows that are mistaken as things stand and have no row of K; the first of `ahead` is one."""
    others = F[:, ahead]
    own = others[codes[ahead], np.arange(len(ahead))]
    others[codes[ahead], np.arange(len(ahead))] = -np.inf
    return ahead[(own <= others.max(axis=0)) & (slot[ahead] < 0)][:TOGETHER]
