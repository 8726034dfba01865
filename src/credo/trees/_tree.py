"""The nodes of fitted trees: finding leaves, pruning, rules as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_places, check_positive, check_shapes
from credo.trees._jit import find_leaves, pruned

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Nodes:
    """The nodes of binary trees; children come after their parents.

    Parameters
    ----------
    left, right : indices of the children, −1 in leaves
    feature, threshold : a row goes left where X[:, feature] ≤ threshold
    missing_left : where rows go whose value is missing
    """

    left: Index
    right: Index
    feature: Index
    threshold: Array
    missing_left: NDArray[np.bool_]

    def _check_state(self) -> None:
        sizes = check_shapes(self, left="n", right="n", feature="n", threshold="n", missing_left="n")
        split = self.left >= 0
        parents = np.flatnonzero(split)
        children = np.concatenate([self.left[split], self.right[split]])
        # Rows move to larger indices, and so arrive at a leaf.
        if (children <= np.concatenate([parents, parents])).any() or (children >= sizes["n"]).any():
            raise ValueError("left and right must contain nodes after their parents")
        if not ((self.right >= 0) == split).all() or len(np.unique(children)) != len(children):
            raise ValueError("left and right must contain each node once at most, and leaves have no children")
        check_places(replace(self, feature=self.feature[split]), "feature", 2**31)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return self.left < 0

    @property
    def splits(self) -> tuple[Index, Index, Index, Array, NDArray[np.bool_]]:
        """The arrays by which rows find their leaves."""
        return self.left, self.right, self.feature, self.threshold, self.missing_left


@dataclass(frozen=True)
class Tree(Nodes):
    """One tree, whose first node is the root.

    Parameters
    ----------
    left, right, feature, threshold, missing_left : as in `Nodes`
    weight : total weight of the training rows in each node
    value : shape (n_nodes, k): the weight of each class, or the mean and the sum of squares around it
    risk : impurity of a node times its share of the rows
    """

    weight: Array
    value: Array
    risk: Array

    def _check_state(self) -> None:
        super()._check_state()
        check_shapes(self, {"n": len(self.left)}, weight="n", value="n k", risk="n")
        check_positive(self, "weight", zero=True)

    @property
    def depth(self) -> int:
        """The longest path from the root to a leaf."""
        level = np.zeros(len(self.left), dtype=np.intp)
        for node in np.flatnonzero(~self.is_leaf):
            level[[self.left[node], self.right[node]]] = level[node] + 1
        return int(level.max())

    def find_leaves(self, X: Array) -> Index:
        """The leaf of each row."""
        return find_leaves(*self.splits, X)

    def pruned(self, alpha: float) -> Tree:
        """The subtree with the smallest total risk plus alpha for each leaf (cost-complexity pruning)."""
        return replace(self, left=pruned(self.left, self.right, self.risk, alpha))

    def compact(self) -> Tree:
        """Without the nodes that can't be reached."""
        reached = np.zeros(len(self.left), dtype=bool)
        reached[0] = True
        for node in np.flatnonzero(self.left >= 0):
            if reached[node]:
                reached[[self.left[node], self.right[node]]] = True
        place = np.where(reached, np.cumsum(reached) - 1, -1)
        split = reached & (self.left >= 0)
        left, right = (np.where(split, place[child], -1)[reached] for child in (self.left, self.right))
        return Tree(
            left,
            right,
            np.where(split, self.feature, 0)[reached],
            np.where(split, self.threshold, 0.0)[reached],
            (split & self.missing_left)[reached],
            self.weight[reached],
            self.value[reached],
            self.risk[reached],
        )

    def importances(self, n_features: int) -> Array:
        """The share of each column in the decrease of the risk."""
        split = ~self.is_leaf
        gain = self.risk[split] - self.risk[self.left[split]] - self.risk[self.right[split]]
        return shares(self.feature[split], np.maximum(gain, 0.0), n_features)

    def rules(self, names: Sequence[str], had_missing: NDArray[np.bool_], describe: Callable[[int], str]) -> str:
        """The tree as indented text, with the description of each leaf; missing values only where there were some."""
        return "\n".join(self._lines(0, "", names, had_missing, describe))

    def _lines(
        self, node: int, indent: str, names: Sequence[str], had_missing: NDArray[np.bool_],
        describe: Callable[[int], str],
    ) -> Iterator[str]:  # fmt: skip
        if self.left[node] < 0:
            yield f"{indent}{describe(node)}"
            return
        j, cut, to_left = self.feature[node], f"{self.threshold[node]:.6g}", self.missing_left[node]
        for child, sign, goes in ((self.left[node], "≤", to_left), (self.right[node], ">", not to_left)):
            yield f"{indent}{names[j]} {sign} {cut}{' or missing' if goes and had_missing[j] else ''}"
            yield from self._lines(int(child), indent + "│  ", names, had_missing, describe)


def shares(feature: Index, gain: Array, n_features: int) -> Array:
    """The share of each column in the sum of the gains; all zero if there are none."""
    total = np.bincount(feature, gain, minlength=n_features).astype(np.float64)
    return total / total.sum() if total.sum() > 0 else total
