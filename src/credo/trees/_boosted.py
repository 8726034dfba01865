"""The trees of a gradient-boosted model as plain arrays, and how their number is chosen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo import deadlines
from credo.estimator import check_places, check_positive, check_shapes
from credo.linalg import one_openmp_thread
from credo.trees._jit import add_trees
from credo.trees._tree import Array, Index, Nodes, shares

# One row in this many validates the number of rounds; with fewer rows than _FEW all are used, for _FEW_ROUNDS rounds.
VALIDATION, _FEW, _FEW_ROUNDS = 5, 15, 20
# Rounds between two looks at the validation rows, and without improvement before it ends.
_STEP, _PATIENCE = 40, 30
# Tables with fewer numbers are fitted in one thread: several would spend their time waiting for each other.
_MANY_NUMBERS = 500_000


@dataclass(frozen=True)
class BoostedTrees(Nodes):
    """F(x) = baseline + Σ_t value of x's leaf in tree t; with several outputs, the trees take turns.

    Parameters
    ----------
    left, right, feature, threshold, missing_left : as in `Nodes`, of all trees in one list
    value : what a leaf adds
    gain : decrease of the loss by each split, 0 in leaves
    root : first node of each tree
    baseline : shape (n_outputs,)
    """

    value: Array
    gain: Array
    root: Index
    baseline: Array

    def _check_state(self) -> None:
        super()._check_state()
        check_shapes(self, {"n": len(self.left)}, value="n", gain="n", root="t", baseline="k")
        check_positive(self, "gain", zero=True)
        check_places(self, "root", len(self.left))

    @classmethod
    def of(cls, model: Any) -> Self:
        """The trees of a fitted HistGradientBoostingRegressor or -Classifier without categorical columns."""
        trees = [tree.nodes for round_ in model._predictors for tree in round_]
        root = np.cumsum([0, *map(len, trees)]).astype(np.intp)
        nodes = np.concatenate(trees)
        split = nodes["is_leaf"] == 0
        shift = np.repeat(root[:-1], np.diff(root))
        left, right = (np.where(split, nodes[side].astype(np.intp) + shift, -1) for side in ("left", "right"))
        return cls(
            left,
            right,
            np.where(split, nodes["feature_idx"], 0).astype(np.intp),
            # An infinite threshold sends all rows with a value to the left.
            np.where(split, np.nan_to_num(nodes["num_threshold"]), 0.0),
            split & (nodes["missing_go_to_left"] != 0),
            nodes["value"].astype(np.float64),
            np.where(split, np.maximum(nodes["gain"], 0.0), 0.0),
            root[:-1],
            np.asarray(model._baseline_prediction, dtype=np.float64).ravel(),
        )

    @property
    def n_rounds(self) -> int:
        """The number of boosting rounds; each has a tree for every output."""
        return len(self.root) // len(self.baseline)

    def first(self, n_rounds: int) -> BoostedTrees:
        """The model after so many rounds."""
        return replace(self, root=self.root[: n_rounds * len(self.baseline)])

    def predict(self, X: Array, F: Array | None = None) -> Array:
        """F(x) of each row, of shape (n_rows, n_outputs); with F, the trees are added to it."""
        F = np.tile(self.baseline, (len(X), 1)) if F is None else F
        add_trees(*self.splits, self.root, self.value, np.require(X, requirements=["C", "W"]), F)
        return F

    def importances(self, n_features: int) -> Array:
        """The share of each column in the decrease of the loss by all splits."""
        return shares(self.feature, self.gain, n_features)


@dataclass(frozen=True)
class Boosted:
    """Trees fitted to all rows, and the loss of each row that validated the number of rounds (empty without any)."""

    trees: BoostedTrees
    losses: Array


def boost(
    builder: Any,
    X: Array,
    y: Array,
    weight: Array,
    strata: NDArray[Any],
    key: Index,
    loss: Callable[[Array, Array], Array],
    max_rounds: int,
) -> Boosted:
    """Fit with the number of rounds that has the least loss on a fifth of the rows, then with that number to all.

    `loss(y, F)` gives the loss of each row. The fifth is spread evenly over equal `strata`, in the order of `key`.
    """
    # Of a column without any value, scikit-learn makes no bins.
    X = np.where(np.isnan(X).all(axis=0), 0.0, X)
    held = _held_out(strata, key)
    with one_openmp_thread() if X.size < _MANY_NUMBERS else nullcontext():
        if not held.any():
            return Boosted(_fit(builder, X, y, weight, min(_FEW_ROUNDS, max_rounds)), np.empty(0))
        rounds, losses = _best_rounds(builder, X, y, weight, held, loss, max_rounds)
        return Boosted(_fit(builder, X, y, weight, max(rounds, 1)), losses)


def _best_rounds(
    builder: Any,
    X: Array,
    y: Array,
    weight: Array,
    held: NDArray[np.bool_],
    loss: Callable[[Array, Array], Array],
    max_rounds: int,
) -> tuple[int, Array]:
    """The rounds with the least mean loss of the rows held out, and the loss of each of them."""
    builder.set_params(warm_start=True)
    tested, target, share = X[held], y[held], weight[held]
    best, best_losses, F, done = 0, np.empty(0), None, 0
    while done < max_rounds and done - best < _PATIENCE:
        deadlines.check()
        trees = _fit(builder, X[~held], y[~held], weight[~held], min(done + _STEP, max_rounds))
        if F is None:
            F = trees.first(0).predict(tested)
            best_losses = loss(target, F)
        k = len(trees.baseline)
        for more in range(done, trees.n_rounds):
            F = replace(trees, root=trees.root[more * k : (more + 1) * k]).predict(tested, F)
            losses = loss(target, F)
            if share @ losses < share @ best_losses:
                best, best_losses = more + 1, losses
        done = trees.n_rounds
    builder.set_params(warm_start=False)
    return best, best_losses


def _fit(builder: Any, X: Array, y: Array, weight: Array, rounds: int) -> BoostedTrees:
    deadlines.check()
    # scikit-learn bins weighted rows a hundred times more slowly.
    used = None if (weight == weight[0]).all() else weight
    return BoostedTrees.of(builder.set_params(max_iter=rounds).fit(X, y, sample_weight=used))


def _held_out(strata: NDArray[Any], key: Index) -> NDArray[np.bool_]:
    """One row in five of each stratum, in the order of `key`; none of few rows."""
    held = np.zeros(len(strata), dtype=bool)
    for value in np.unique(strata):
        rows = np.flatnonzero(strata == value)
        if len(rows) >= _FEW:
            held[rows[np.argsort(key[rows], kind="stable")][VALIDATION - 1 :: VALIDATION]] = True
    return held
