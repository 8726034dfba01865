"""A tree of one threshold, found by exhaustive search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from credo.core.deadlines import check
from credo.core.estimator import Result, choice
from credo.core.fields import Axes, Indices
from credo.trees._jit import best_split, boost_stumps, vote
from credo.trees._tree import Array, DirichletPrior, Index, Tree
from credo.trees.trees import TreeClassifier


class DecisionStump(TreeClassifier):
    """A decision tree of one threshold.

    Every threshold of every column is tried, and the best one kept: the one with the smallest weighted Gini impurity
    Σ_sides W (1 − Σ_k p_k²), or with the fewest misclassified rows. The probabilities on each side are those of a leaf
    of `DecisionTreeClassifier`, with a prior whose strength maximizes the evidence. It is the usual learner of
    `AdaBoostClassifier`, which sorts the columns once for all its stumps.

    Parameters
    ----------
    criterion : "gini" or "error", default "gini"
        The error decides between few values and is often the same for many thresholds; impurity boosts better.
    class_weight : mapping from label to factor, or "balanced", optional

    Attributes
    ----------
    feature_, threshold_ : the column, and where it is split
    tree_ : Tree
        The same as a tree of three nodes, or of one if all columns are constant.
    prior_ : DirichletPrior
    feature_importances_ : 1 for the column that is split

    Examples
    --------
    >>> from credo.trees import DecisionStump
    >>> stump = DecisionStump().fit([[0.0, 7.0], [1.0, 5.0], [2.0, 7.0], [3.0, 5.0]], [0, 0, 1, 1])
    >>> stump.feature_, stump.threshold_
    (0, 1.5)
    """

    feature_: int
    threshold_: float

    _title = "Decision stump"
    _accepts_nan = False

    def __init__(
        self,
        *,
        criterion: Literal["gini", "error"] = "gini",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.criterion = criterion
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        choice("criterion", self.criterion, ("gini", "error"))
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        columns, n_classes = SortedColumns.of(rows), len(self.classes_)
        j, place = best_split(columns.order, columns.last, codes, weight, n_classes, self.criterion == "error")
        threshold = columns.threshold(j, place) if j >= 0 else np.finfo(np.float64).max
        self.feature_, self.threshold_ = max(int(j), 0), float(threshold)
        self._keep(
            _stump_tree(columns.rows[:, self.feature_], threshold, codes, weight, n_classes, self.feature_), rows
        )
        root = self.tree_.value[0] / self.tree_.weight[0]
        self.prior_ = DirichletPrior.by_evidence(root, self.tree_.value[self.tree_.is_leaf], None)
        say = (
            "the best of all thresholds" if j >= 0 else "every column is constant: the class frequencies are predicted"
        )
        self.result_ = Result(True, 1, say)
        return self


def _stump_tree(column: Array, threshold: float, codes: Index, weight: Array, n_classes: int, feature: int) -> Tree:
    """A tree of one split, or of its root alone where one side is empty."""
    above = column > threshold
    sides = np.array([np.bincount(codes, weight * part, minlength=n_classes) for part in (~above, above)])
    counts = np.array([sides.sum(axis=0), *sides]) if above.any() else sides.sum(axis=0)[None]
    total, n_nodes = counts.sum(axis=1), len(counts)
    split = np.arange(n_nodes) < (n_nodes == 3)
    risk = (total - (counts**2).sum(axis=1) / total) / total[0]
    return Tree(
        np.where(split, 1, -1), np.where(split, 2, -1), np.where(split, feature, 0), np.where(split, threshold, 0.0),
        np.zeros(n_nodes, dtype=bool), total, counts, np.maximum(risk, 0.0),
    )  # fmt: skip


@dataclass(frozen=True)
class SortedColumns:
    """Rows, the order of the rows by each column, and which of them are the last of equal values.

    Both are (n_features, n_samples); four bytes for each entry, and one.
    """

    rows: Array
    order: NDArray[np.int32]
    last: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Array) -> SortedColumns:
        """Sort the columns."""
        # For rows that can't be written, compiled functions would be compiled a second time.
        rows = np.require(rows, requirements=["C", "W"])
        n, d = rows.shape
        order, last = np.empty((d, n), dtype=np.int32), np.ones((d, n), dtype=bool)
        for j in range(d):
            check()
            column = np.ascontiguousarray(rows[:, j])
            order[j] = np.argsort(column, kind="stable")
            ordered = column[order[j]]
            last[j, :-1] = ordered[1:] != ordered[:-1]
        return cls(rows, order, last)

    def threshold(self, j: int, place: int) -> float:
        """Half way between the values at a place of the order and after it."""
        low, high = self.rows[self.order[j, place : place + 2], j]
        middle = 0.5 * low + 0.5 * high
        return float(low if middle >= high else middle)


@dataclass(frozen=True)
class Stumps:
    """Stumps of a boosted classifier: column, threshold, and the class on each side."""

    feature: Annotated[Index, Axes("m"), Indices(2**31)]
    threshold: Annotated[Array, Axes("m")]
    label: Annotated[Index, Axes("m 2"), Indices(2**31)]

    def __len__(self) -> int:
        return len(self.feature)

    def part(self, start: int, stop: int) -> Stumps:
        """Those of some rounds."""
        rounds = slice(start, stop)
        return Stumps(self.feature[rounds], self.threshold[rounds], self.label[rounds])

    def votes(self, rows: Array, alpha: Array, n_classes: int) -> Array:
        """The sum of the weights alpha of the stumps that vote for each class, shape (n_samples, n_classes)."""
        F = np.zeros((len(rows), n_classes))
        vote(self.feature, self.threshold, self.label, alpha, np.require(rows, requirements=["C", "W"]), F)
        return F


def boosted_stumps(
    columns: SortedColumns, codes: Index, weight: Array, n_classes: int, *, criterion: str, n_rounds: int, keep: bool
) -> tuple[Stumps, Array, Array]:
    """AdaBoost with stumps: the stumps, their errors, and the weights of each round if `keep`.

    `weight` is that of the first round, and afterwards that of the round that would follow the last.
    """
    n, d = columns.rows.shape
    feature, label = np.zeros(n_rounds, dtype=np.intp), np.zeros((n_rounds, 2), dtype=np.intp)
    threshold, error, kept = np.zeros(n_rounds), np.zeros(n_rounds), np.zeros((n_rounds if keep else 0, n))
    # About a tenth of a second between two checks of the deadline.
    stride, done = max(1, 30_000_000 // (n * d)), 0
    while done < n_rounds:
        check()
        stop = min(n_rounds, done + stride)
        ended = boost_stumps(
            columns.order, columns.last, columns.rows, codes, weight, n_classes, criterion == "error", done, stop,
            feature, threshold, label, error, kept,
        )  # fmt: skip
        done = int(ended)
        if error[done - 1] <= 0.0 or error[done - 1] >= chance(n_classes) or done < stop:
            break
    found = Stumps(feature[:done], threshold[:done], label[:done])
    return found, error[:done], kept[:done]


def chance(n_classes: int) -> float:
    """The error of a guess, 1 − 1/K, at which boosting ends."""
    return 1.0 - 1.0 / n_classes - 1e-12
