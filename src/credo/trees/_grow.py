"""Growing trees with scikit-learn's builder, on the ranks of the columns.

The builder converts columns to float32 and ignores differences below 1e-7. Ranks are exact in float32, whatever the
unit of a column, so that a tree depends only on the order of the values. Thresholds are converted back to values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import divided_rows
from credo.trees._tree import Array, Index, Tree

# Integers up to here are exact in float32.
_MOST_RANKS = 2**24


@dataclass(frozen=True)
class Sample:
    """Training rows, merged, in an order that doesn't depend on that of the table, and their weights.

    `ranks` has the rank of each entry among the `values` of its column, and NaN where it is missing; `key` is the
    order for folds.
    """

    rows: Array
    target: Array
    weight: Array
    ranks: NDArray[np.float32]
    values: tuple[Array, ...]
    key: Index

    @classmethod
    def of(cls, rows: Array, target: Array, weight: Array | None, *, n_parts: int = 1) -> Sample:
        """Merge equal rows, divide them for so many folds (see `divided_rows`), and rank the columns."""
        first, total, key = divided_rows(rows, target, np.ones(len(rows)) if weight is None else weight, n_parts)
        rows = np.ascontiguousarray(rows[first])
        ranks, values = np.empty(rows.shape, dtype=np.float32), []
        for j, column in enumerate(rows.T):
            known, code = np.unique(column, return_inverse=True)
            step = -(-len(known) // _MOST_RANKS)
            ranks[:, j] = np.where(np.isnan(column), np.nan, code // step)
            values.append(known[::step])
        return cls(rows, target[first], total, ranks, tuple(values), key)

    def grow(
        self, builder: Any, used: Index | slice = slice(None), *, min_leaf: float, n_classes: int | None = None
    ) -> Tree:
        """A tree of the rows `used`, whose leaves have at least the weight `min_leaf`.

        The builder is a classifier if the number of classes is given; some may be absent from these rows.
        """
        ranks, target, weight = self.ranks[used], self.target[used], self.weight[used]
        total = weight.sum()
        # Rounding must not exclude a leaf of exactly min_leaf.
        builder.set_params(min_weight_fraction_leaf=min(0.5, min_leaf * (1.0 - 1e-9) / total))
        missing = bool(np.isnan(ranks).any())
        found = builder.fit(ranks, target, sample_weight=weight, check_input=missing).tree_
        split = found.children_left >= 0
        value = found.value[:, 0, :] * found.weighted_n_node_samples[:, None]
        if n_classes is None:
            squares = found.impurity * found.weighted_n_node_samples
            value = np.column_stack([found.value[:, 0, 0], np.maximum(squares, 0.0)])
        elif value.shape[1] < n_classes:
            every = np.zeros((len(value), n_classes))
            every[:, builder.classes_.astype(np.intp)] = value
            value = every
        return Tree(
            found.children_left.astype(np.intp),
            found.children_right.astype(np.intp),
            np.where(split, found.feature, 0).astype(np.intp),
            self._cuts(found.feature, found.threshold, split),
            found.missing_go_to_left.astype(bool) & split,
            found.weighted_n_node_samples.copy(),
            value,
            np.maximum(found.impurity, 0.0) * found.weighted_n_node_samples / total,
        )

    def _cuts(self, feature: Index, rank: Array, split: NDArray[np.bool_]) -> Array:
        """Thresholds on the scale of the columns: half way between the values next to a rank."""
        values = np.concatenate(self.values)
        start = np.cumsum([0, *map(len, self.values)])[np.where(split, feature, 0)]
        place = np.where(split & np.isfinite(rank), rank, 0.0)
        low, high = (values[start + side(place).astype(np.intp)] for side in (np.floor, np.ceil))
        middle = 0.5 * low + 0.5 * high
        # An infinite rank sends all rows with a value to the left, and those without one to the right.
        cuts = np.where(np.isfinite(rank), np.where(middle >= high, low, middle), np.finfo(np.float64).max)
        return np.where(split, cuts, 0.0)
