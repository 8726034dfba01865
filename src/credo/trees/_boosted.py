"""The trees of a gradient-boosted model as plain arrays, and how their number is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo import deadlines
from credo.estimator import check_places, check_positive, check_shapes
from credo.trees._boosting_jit import add_trees

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# One row in this many validates the number of rounds; with fewer rows than _FEW all are used, for _FEW_ROUNDS rounds.
VALIDATION, _FEW, _FEW_ROUNDS = 5, 15, 20
# Rounds between two looks at the validation rows, and without improvement before it ends.
_STEP, _PATIENCE = 40, 30


@dataclass(frozen=True)
class BoostedTrees:
    """F(x) = baseline + Σ_t value of x's leaf in tree t; with several outputs, the trees take turns.

    The nodes of all trees are in one list, children after their parents.

    Parameters
    ----------
    baseline : shape (n_outputs,)
    root : first node of each tree
    left, right : indices of the children, −1 in leaves
    feature, threshold : a row goes left where X[:, feature] ≤ threshold
    missing_left : where rows go whose value is missing
    value : what a leaf adds
    gain : decrease of the loss by each split, 0 in leaves
    """

    baseline: Array
    root: Index
    left: Index
    right: Index
    feature: Index
    threshold: Array
    missing_left: NDArray[np.bool_]
    value: Array
    gain: Array

    def _check_state(self) -> None:
        sizes = check_shapes(
            self, baseline="k", root="r", left="n", right="n", feature="n", threshold="n~", missing_left="n", value="n",
            gain="n",
        )  # fmt: skip
        check_positive(self, "gain", zero=True)
        check_places(self, "root", sizes["n"])
        check_places(self, "feature", 2**31)
        split = np.flatnonzero(self.left >= 0)
        for children in (self.left[split], self.right[split]):
            # Rows move to larger indices, and so arrive at a leaf.
            if (children <= split).any() or (children >= sizes["n"]).any():
                raise ValueError("left and right must contain nodes after their parents")

    @classmethod
    def of(cls, model: Any) -> Self:
        """The trees of a fitted HistGradientBoostingRegressor or -Classifier without categorical columns."""
        trees = [tree.nodes for round_ in model._predictors for tree in round_]
        root = np.cumsum([0, *map(len, trees)]).astype(np.intp)
        # Without any tree, there is one node that belongs to none.
        nodes = np.concatenate(trees) if trees else np.zeros(1, dtype=[(n, "i8") for n in _FIELDS])
        split = nodes["is_leaf"] == 0 if trees else np.zeros(1, dtype=bool)
        shift = np.repeat(root[:-1], [len(tree) for tree in trees]) if trees else np.zeros(1, dtype=np.intp)
        left, right = (np.where(split, nodes[side].astype(np.intp) + shift, -1) for side in ("left", "right"))
        return cls(
            np.asarray(model._baseline_prediction, dtype=np.float64).ravel(),
            root[:-1],
            left,
            right,
            np.where(split, nodes["feature_idx"], 0).astype(np.intp),
            np.where(split, nodes["num_threshold"], 0.0),
            split & (nodes["missing_go_to_left"] != 0),
            nodes["value"].astype(np.float64),
            np.where(split, np.maximum(nodes["gain"], 0.0), 0.0),
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
        add_trees(
            self.root, self.left, self.right, self.feature, self.threshold, self.missing_left, self.value,
            np.ascontiguousarray(X), F,
        )  # fmt: skip
        return F

    def importances(self, n_features: int) -> Array:
        """The share of each column in the decrease of the loss by all splits."""
        total = np.bincount(self.feature, self.gain, minlength=n_features).astype(np.float64)
        return total / total.sum() if total.sum() > 0 else total


_FIELDS = ("left", "right", "feature_idx", "num_threshold", "missing_go_to_left", "value", "gain")


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
    strata: Sequence[Any] | NDArray[Any],
    key: Index,
    loss: Callable[[Array, Array], Array],
    max_rounds: int,
) -> Boosted:
    """Fit with the number of rounds that has the least loss on a fifth of the rows, then with that number to all.

    `loss(y, F)` gives the loss of each row. The fifth is spread evenly over equal `strata`, in the order of `key`.
    """
    # Of a column without any value, scikit-learn makes no bins.
    X = np.where(np.isnan(X).all(axis=0), 0.0, X)
    held = _held_out(np.asarray(strata), key)
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
    best, best_losses, F = 0, np.empty(0), None
    done = 0
    while done < max_rounds and done - best < _PATIENCE:
        deadlines.check()
        trees = _fit(builder, X[~held], y[~held], weight[~held], min(done + _STEP, max_rounds))
        if F is None:
            F = trees.first(0).predict(tested)
            best_losses = loss(target, F)
        k = len(trees.baseline)
        if trees.n_rounds == done:
            break
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
