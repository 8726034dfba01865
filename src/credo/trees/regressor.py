"""A regression tree with a normal–inverse-gamma posterior in every leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeRegressor as Builder

from credo.distributions import StudentT
from credo.estimator import Regressor, center_and_scale
from credo.frames import Table
from credo.trees._estimator import TreeEstimator, checked
from credo.trees._grow import Sample
from credo.trees._leaves import NormalPrior, with_row
from credo.trees._pruning import N_FOLDS, alphas, held_out_nodes, last_highest
from credo.trees._tree import Array, Index, Tree

# Of choosing the penalty given the prior, and the prior given the penalty.
_TURNS = 3


class DecisionTreeRegressor(TreeEstimator, Regressor):
    """A tree of thresholds with a Student-t predictive distribution in every leaf.

        y in a leaf ~ N(μ, σ²),    μ | σ² ~ N(m₀, σ²/κ₀),    σ² ~ inverse gamma(ν₀/2, ν₀s₀²/2)

    m₀ is the mean of the table. A leaf with few rows is pulled towards it, and its intervals are wider, as much as κ₀
    and ν₀ rows of the prior tell. The tree is grown by scikit-learn's builder (squared error) and pruned by minimal
    cost-complexity pruning (Breiman, Friedman, Olshen & Stone 1984). By default the penalty and the prior have the
    highest log score in five folds: a tree chooses its splits so that its leaves look purer than they are, and only
    held-out rows show by how much.

    Missing values (NaN) in X are allowed: each split sends them to the side where they fit best.

    Parameters
    ----------
    max_depth : int, optional
    min_leaf : float, default 3.0
        The smallest total weight of the rows in a leaf.
    pruning : "held-out" or float, default "held-out"
        A number is the penalty of a leaf, relative to the variance of the table; 0 keeps the whole tree, as in a
        forest.
    prior_strength : float, optional
        κ₀; by default the prior has the highest held-out log score, or for a given `pruning` the highest evidence.
    max_features : int, float, "sqrt", "log2" or None, default None
        Columns that are tried at each split, a new random subset for each; None is all of them.
    random_state : int, Generator, RandomState or None, default None
        For the order in which columns are tried, which decides between equal splits, and for `max_features`.

    Attributes
    ----------
    tree_ : Tree
        Arrays of the nodes: children, columns, thresholds, weights, means and sums of squares.
    prior_ : NormalPrior
    pruning_ : the penalty used, relative to the variance of the table
    feature_importances_ : share of each column in the decrease of the squared error
    result_ : how the tree was grown

    Examples
    --------
    >>> from credo.trees import DecisionTreeRegressor
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> model = DecisionTreeRegressor(pruning=0.0, prior_strength=0.01).fit(X, [1.0, 1.1, 0.9, 3.0, 3.1, 2.9])
    >>> model.predict([[0.0], [9.0]]).round(2)
    array([1., 3.])
    >>> print(model.rules())
    x0 ≤ 3.5
    │  1.003 ± 0.13 (3 rows)
    x0 > 3.5
    │  2.997 ± 0.13 (3 rows)
    """

    prior_: NormalPrior

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_leaf: float = 3.0,
        pruning: float | Literal["held-out"] = "held-out",
        prior_strength: float | None = None,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.pruning = pruning
        self.prior_strength = prior_strength
        self.max_features = max_features
        self.random_state = random_state

    def _check_state(self) -> None:
        super()._check_state()
        if self.tree_.value.shape[1] != 2 or (self.tree_.value[:, 1] < 0).any():
            raise ValueError("tree_ must have means and sums of squares")

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        options = checked(self)
        rows, target, weight = self._training_rows(X, y, sample_weight)
        center, scale = map(float, center_and_scale(target, weight))
        parts = N_FOLDS if self.pruning == "held-out" else 1
        sample = Sample.of(rows, (target - center) / scale, weight, n_parts=parts)

        def grow(used: Index | slice = slice(None)) -> Tree:
            return sample.grow(Builder(**options), used, min_leaf=self.min_leaf)

        tree, prior = self._grown(sample, grow)
        if prior is None:
            prior = NormalPrior.fitted(_statistics(tree)[tree.is_leaf], strength=self.prior_strength)
        tree.value[:] = tree.value * [scale, scale**2] + [center, 0.0]
        self._keep(tree, rows)
        self.prior_ = prior.in_units(center, scale)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Size of the tree, prior and importances of the columns, without intervals."""
        prior = self.prior_
        entries = [
            ("prior mean", prior.mean),
            ("prior strength of the mean (rows)", prior.strength),
            ("prior standard deviation", float(np.sqrt(prior.variance))),
            ("prior strength of the variance (rows)", prior.dof),
        ]
        return self._table("Regression tree", entries)

    def _mean(self, rows: Array) -> Array:
        return self._dist(rows, latent=False).mean

    def _dist(self, rows: Array, *, latent: bool) -> StudentT:
        return self.prior_.predictive(_statistics(self.tree_)[self._leaves(rows)], latent=latent)

    def _describe(self, node: int) -> str:
        found = self.prior_.predictive(_statistics(self.tree_)[node : node + 1])
        return f"{found.mean[0]:.4g} ± {found.std[0]:.2g} ({self.tree_.weight[node]:.6g} rows)"

    def _by_held_out(self, sample: Sample, grow: Callable[..., Tree]) -> tuple[float, NormalPrior]:
        """The penalty and the prior with the highest held-out log score, each given the other in turn."""
        penalties = alphas(sample.weight.sum())
        held, leaves = held_out_nodes(sample, np.zeros(len(sample.rows)), grow, penalties)
        y, weight = sample.target[held], sample.weight[held]
        error = min(float(np.average((y - part[:, 1]) ** 2, weights=weight)) for part in leaves)
        prior, best = NormalPrior(0.0, 1.0, 5.0, max(error, 1e-10)), -1
        for _ in range(_TURNS):
            before, best = best, last_highest([float(weight @ prior.predictive(part).log_prob(y)) for part in leaves])
            if best == before:
                break
            part = leaves[best]
            prior = NormalPrior.fitted(with_row(part, y), part, weight, strength=self.prior_strength)
        return float(penalties[best]), prior


def _statistics(tree: Tree) -> Array:
    """Weight, mean and sum of squares of each node."""
    return np.column_stack([tree.weight, tree.value])
