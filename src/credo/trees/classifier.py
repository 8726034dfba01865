"""A classification tree with a Dirichlet posterior in every leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier as Builder

from credo.estimator import Classifier
from credo.frames import Table
from credo.trees._estimator import TreeEstimator, checked
from credo.trees._grow import Sample
from credo.trees._leaves import DirichletPrior
from credo.trees._pruning import N_FOLDS, alphas, held_out_nodes, last_highest
from credo.trees._tree import Array, Index, Tree


class TreeClassifier(TreeEstimator, Classifier):
    """Class probabilities of a leaf: (w_k + a π_k) / (w + a) for its class weights w_k."""

    prior_: DirichletPrior

    def _check_state(self) -> None:
        super()._check_state()
        if not self.tree_.value.shape[1] == len(self.prior_.frequencies) == len(self.classes_):
            raise ValueError("tree_, prior_ and classes_ are of different numbers of classes")
        if (self.tree_.value < 0).any():
            raise ValueError("tree_ has negative class weights")

    def _probabilities(self, rows: Array) -> Array:
        return self.prior_.predictive(self.tree_.value)[self._leaves(rows)]

    def _describe(self, node: int) -> str:
        (chance,) = self.prior_.predictive(self.tree_.value[node : node + 1])
        best = int(np.argmax(chance))
        return f"{self.classes_[best]} ({chance[best]:.3g} of {self.tree_.weight[node]:.6g} rows)"

    def summary(self, *, level: float = 0.95) -> Table:
        """Size of the tree, strength of the prior and importances of the columns, without intervals."""
        return self._table(self._title, [("prior strength (rows)", self.prior_.strength)])

    _title = "Classification tree"


class DecisionTreeClassifier(TreeClassifier):
    """A tree of thresholds with a Dirichlet posterior in every leaf.

        p(class k | leaf) = (w_k + a π_k) / (w + a)

    w_k are the weights of the classes in the leaf, π their frequencies in the table, and a is the prior's strength in
    rows: a leaf with few rows is unsure. The tree is grown by scikit-learn's builder (Gini impurity) and pruned by
    minimal cost-complexity pruning (Breiman, Friedman, Olshen & Stone 1984). By default the penalty and a have the
    highest log score in five folds.

    Missing values (NaN) in X are allowed: each split sends them to the side where they fit best.

    Parameters
    ----------
    max_depth : int, optional
    min_leaf : float, default 1.0
        The smallest total weight of the rows in a leaf.
    pruning : "held-out" or float, default "held-out"
        A number is the penalty of a leaf, relative to the impurity of the whole table; 0 keeps the whole tree, as in a
        forest.
    prior_strength : float, optional
        a, by default that with the highest held-out log score, or for a given `pruning` that with the highest evidence.
    max_features : int, float, "sqrt", "log2" or None, default None
        Columns that are tried at each split, a new random subset for each; None is all of them.
    class_weight : mapping from label to factor, or "balanced", optional
    random_state : int, Generator, RandomState or None, default None
        For the order in which columns are tried, which decides between equal splits, and for `max_features`.

    Attributes
    ----------
    tree_ : Tree
        Arrays of the nodes: children, columns, thresholds, weights of the classes.
    prior_ : DirichletPrior
    pruning_ : the penalty used, relative to the impurity of the table
    feature_importances_ : share of each column in the decrease of the impurity
    result_ : how the tree was grown

    Examples
    --------
    >>> from credo.trees import DecisionTreeClassifier
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> model = DecisionTreeClassifier(pruning=0.0, prior_strength=1.0).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> print(model.rules())
    x0 ≤ 3.5
    │  a (0.875 of 3 rows)
    x0 > 3.5
    │  b (0.875 of 3 rows)
    """

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_leaf: float = 1.0,
        pruning: float | Literal["held-out"] = "held-out",
        prior_strength: float | None = None,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.pruning = pruning
        self.prior_strength = prior_strength
        self.max_features = max_features
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        options = checked(self)
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        parts = N_FOLDS if self.pruning == "held-out" else 1
        sample = Sample.of(rows, codes.astype(np.float64), weight, n_parts=parts)

        def grow(used: Index | slice = slice(None)) -> Tree:
            return sample.grow(Builder(**options), used, min_leaf=self.min_leaf, n_classes=len(self.classes_))

        tree, prior = self._grown(sample, grow)
        self._keep(tree, rows)
        frequencies, counts = tree.value[0] / tree.weight[0], tree.value[tree.is_leaf]
        self.prior_ = prior or DirichletPrior.by_evidence(frequencies, counts, self.prior_strength)
        return self

    def _by_held_out(self, sample: Sample, grow: Callable[..., Tree]) -> tuple[float, DirichletPrior]:
        codes = sample.target.astype(np.intp)
        frequencies = np.bincount(codes, sample.weight, minlength=len(self.classes_)) / sample.weight.sum()
        penalties = alphas(sample.weight.sum())
        held, leaves = held_out_nodes(sample, codes, grow, penalties)
        found = [
            DirichletPrior.by_held_out(frequencies, part[:, 1:], codes[held], sample.weight[held], self.prior_strength)
            for part in leaves
        ]
        best = last_highest([score for _, score in found])
        return float(penalties[best]), found[best][0]
