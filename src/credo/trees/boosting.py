"""The trees of a gradient-boosted model as plain arrays, and how their number is chosen.

Gradient-boosted trees: grown by scikit-learn, kept and evaluated as plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from credo.core import deadlines
from credo.core.estimator import (
    Classifier,
    Estimator,
    Regressor,
    Result,
    center_and_scale,
    nonnegative,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Finite, Indices, Inner, NonNegative
from credo.core.folds import divided_rows
from credo.core.frames import Table
from credo.core.linalg import one_openmp_thread
from credo.distributions import Distribution, Normal
from credo.trees._jit import add_trees
from credo.trees._tree import Index, Nodes, shares

Array = NDArray[np.float64]

# One row in this many validates the number of rounds, if there are 15 or more.
VALIDATION = 5


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

    value: Annotated[Array, Axes("n")]
    gain: Annotated[Array, Axes("n"), NonNegative]
    root: Annotated[Index, Axes("t"), Indices("n")]
    baseline: Annotated[Array, Axes("k")]

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


@dataclass
class Task:
    """Rows with targets and weights, how they are fitted, and the loss of each row, `loss(y, F)`.

    A fifth of the rows validates the number of rounds, spread evenly over equal `strata`, in the order of `key`.
    """

    builder: Any
    X: Array
    y: Array
    weight: Array
    strata: NDArray[Any]
    key: Index
    loss: Callable[[Array, Array], Array]
    max_rounds: int

    def __post_init__(self) -> None:
        # Of a column without any value, scikit-learn makes no bins.
        self.X = np.where(np.isnan(self.X).all(axis=0), 0.0, self.X)

    def boosted(self) -> tuple[BoostedTrees, Array]:
        """Trees fitted to all rows, in the number that has the least loss on a fifth, and the losses of these rows.

        With few rows none validates, and there are no losses.
        """
        held = _held_out(self.strata, self.key)
        # With fewer numbers, several threads would spend their time waiting for each other.
        with one_openmp_thread() if self.X.size < 500_000 else nullcontext():
            if not held.any():
                return self._fit(slice(None), min(20, self.max_rounds)), np.empty(0)
            rounds, losses = self._best_rounds(held)
            return self._fit(slice(None), max(rounds, 1)), losses

    def _best_rounds(self, held: NDArray[np.bool_]) -> tuple[int, Array]:
        """The rounds with the least mean loss of the rows held out, and the loss of each of them."""
        self.builder.set_params(warm_start=True)
        tested, target, share = self.X[held], self.y[held], self.weight[held]
        best, best_losses, F, done = 0, np.empty(0), None, 0
        while done < self.max_rounds and done - best < 30:
            trees = self._fit(~held, min(done + 40, self.max_rounds))
            if F is None:
                F = trees.first(0).predict(tested)
                best_losses = self.loss(target, F)
            k = len(trees.baseline)
            for more in range(done, trees.n_rounds):
                F = replace(trees, root=trees.root[more * k : (more + 1) * k]).predict(tested, F)
                losses = self.loss(target, F)
                if share @ losses < share @ best_losses:
                    best, best_losses = more + 1, losses
            done = trees.n_rounds
        self.builder.set_params(warm_start=False)
        return best, best_losses

    def _fit(self, used: Any, rounds: int) -> BoostedTrees:
        deadlines.check()
        weight = self.weight[used]
        # scikit-learn bins weighted rows a hundred times more slowly.
        share = None if (weight == weight[0]).all() else weight
        fitted = self.builder.set_params(max_iter=rounds).fit(self.X[used], self.y[used], sample_weight=share)
        return BoostedTrees.of(fitted)


def _held_out(strata: NDArray[Any], key: Index) -> NDArray[np.bool_]:
    """One row in five of each stratum, in the order of `key`; none of few rows."""
    held = np.zeros(len(strata), dtype=bool)
    for value in np.unique(strata):
        rows = np.flatnonzero(strata == value)
        if len(rows) >= 15:
            held[rows[np.argsort(key[rows], kind="stable")][VALIDATION - 1 :: VALIDATION]] = True
    return held


_PARAMETERS = """max_rounds : int, default 300
        The most rounds. Their number is chosen on a fifth of the rows; then that many are fitted to all rows. With
        fewer than 15 rows (of a class) there are 20 rounds.
    learning_rate : float, default 0.1
    max_leaves : int, default 8
        The most leaves of a tree.
    min_leaf : int, optional
        The fewest distinct rows of a leaf; by default a twentieth of the rows, between 2 and 20.
    l2 : float, default 0.0
        Penalty on the squared values of leaves."""


class _Boosting(Estimator):
    """What both tasks share: parameters, state and the summary."""

    trees_: Annotated[BoostedTrees, Inner(k="k")]
    feature_importances_: Annotated[Array, Axes("d")]

    _title = "Gradient-boosted trees"
    _equation = "f(x) = f₀ + η Σ treeₘ(x)"
    _accepts_nan = True

    def __init__(
        self,
        *,
        max_rounds: int = 300,
        learning_rate: float = 0.1,
        max_leaves: int = 8,
        min_leaf: int | None = None,
        l2: float = 0.0,
    ) -> None:
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_leaf = min_leaf
        self.l2 = l2

    def _check_state(self) -> None:
        super()._check_state()
        self.trees_.check_columns(self.n_features_in_)

    def _settings(self, n_rows: int) -> dict[str, Any]:
        leaf = max(2, min(20, n_rows // 20)) if self.min_leaf is None else positive_integer("min_leaf", self.min_leaf)
        if positive_integer("max_leaves", self.max_leaves) < 2:
            raise ValueError(f"max_leaves must be at least 2; got {self.max_leaves!r}")
        return {
            "learning_rate": positive("learning_rate", self.learning_rate),
            "max_leaf_nodes": self.max_leaves,
            "min_samples_leaf": leaf,
            "l2_regularization": nonnegative("l2", self.l2),
            "early_stopping": False,
            "random_state": 0,
        }

    def _keep(self, trees: BoostedTrees, losses: Array) -> None:
        self.trees_ = trees
        self.feature_importances_ = trees.importances(self.n_features_in_)
        how = f"chosen on {len(losses)} rows" if len(losses) else "too few rows to choose their number"
        self.result_ = Result(True, trees.n_rounds, f"{trees.n_rounds} rounds, {how}")

    def _lines(self) -> list[tuple[str, Any]]:
        check_is_fitted(self)
        names, share = self._feature_names(), self.feature_importances_
        order = np.argsort(-share, kind="stable")[:20]
        leaves = float((self.trees_.left < 0).sum()) / max(1, len(self.trees_.root))
        lines = [("rounds", self.trees_.n_rounds), ("leaves of a tree, mean", leaves)]
        return lines + [(f"importance of {names[j]}", float(share[j])) for j in order]


class BoostedTreesRegressor(_Boosting, Regressor):
    __doc__ = f"""Gradient-boosted regression trees: f(x) = b + Σ_t (value of x's leaf in tree t).

    The trees are grown by scikit-learn's HistGradientBoostingRegressor (squared error), and kept as plain arrays, so
    that the model can be saved. The predictive distribution is normal with one standard deviation for all rows, the
    root mean squared error on the rows that choose the number of rounds. `Conformal(BoostedTreesRegressor())` has
    intervals with a guarantee.

    Parameters
    ----------
    {_PARAMETERS}

    Attributes
    ----------
    trees_ : the trees
    feature_importances_ : share of each column in the decrease of the loss
    noise_std_ : standard deviation of an observation around f(x)
    result_ : the number of rounds and how it was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.trees import BoostedTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, 2.0, 0.0) + 0.1 * rng.normal(size=300)
    >>> BoostedTreesRegressor().fit(X, y).predict([[0.5, 0.0], [-0.5, 0.0]]).round(1)
    array([2., 0.])
    """

    mean_: Annotated[float, Finite]
    scale_: Annotated[float, Finite, NonNegative]
    noise_std_: Annotated[float, Finite, NonNegative]

    def _sizes(self) -> dict[str, int]:
        return {"k": 1}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(target)) if weight is None else weight
        first, total, key = divided_rows(rows, target, weight, VALIDATION)
        rows, target = rows[first], target[first]
        # On one scale, whatever the unit of the target.
        mean, scale = map(float, center_and_scale(target, total))
        builder = HistGradientBoostingRegressor(**self._settings(len(rows)))
        limit, strata = positive_integer("max_rounds", self.max_rounds), np.zeros(len(rows))
        z, share = (target - mean) / scale, total / total.mean()
        task = Task(builder, rows, z, share, strata, key, lambda z, F: (z - F[:, 0]) ** 2, limit)
        trees, losses = task.boosted()
        self._keep(trees, losses)
        self.mean_, self.scale_ = mean, scale
        self.noise_std_ = scale * float(np.sqrt(losses.mean() if len(losses) else 1.0))
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Rounds, noise and the importances of the columns, without intervals."""
        lines = [*self._lines(), ("noise std", self.noise_std_)]
        return Table.of_estimates(self._title, lines, notes=(self.result_.message,))

    def _mean(self, rows: Array) -> Array:
        return self.mean_ + self.scale_ * self.trees_.predict(rows)[:, 0]

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        return Normal(self._mean(rows), 0.0 if latent else self.noise_std_)


class BoostedTreesClassifier(_Boosting, Classifier):
    __doc__ = f"""Gradient-boosted trees of the log odds (two classes) or the logits of a softmax (more).

    The trees are grown by scikit-learn's HistGradientBoostingClassifier (log loss), and kept as plain arrays, so that
    the model can be saved.

    Parameters
    ----------
    {_PARAMETERS}

    Attributes
    ----------
    classes_ : the labels
    trees_ : the trees; with more than two classes, a round has one for each
    feature_importances_ : share of each column in the decrease of the loss
    result_ : the number of rounds and how it was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.trees import BoostedTreesClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> model = BoostedTreesClassifier().fit(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    >>> model.predict([[0.5, 0.5], [-0.5, 0.5]]).tolist()
    ['same', 'other']
    """

    def _sizes(self) -> dict[str, int]:
        return {"k": len(self.classes_) if len(self.classes_) > 2 else 1}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        self._reset()
        rows, codes, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(codes)) if weight is None else weight
        first, total, key = divided_rows(rows, codes, weight, VALIDATION)
        builder = HistGradientBoostingClassifier(**self._settings(len(first)))
        limit = positive_integer("max_rounds", self.max_rounds)
        codes = codes[first]
        share = total / total.mean()
        task = Task(builder, rows[first], codes.astype(np.float64), share, codes, key, _log_loss, limit)
        self._keep(*task.boosted())
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Rounds and the importances of the columns, without intervals."""
        return Table.of_estimates(self._title, self._lines(), notes=(self.result_.message,))

    def _probabilities(self, rows: Array) -> Array:
        F = self.trees_.predict(rows)
        return np.column_stack([expit(-F[:, 0]), expit(F[:, 0])]) if F.shape[1] == 1 else softmax(F, axis=1)


def _log_loss(codes: Array, F: Array) -> Array:
    """The log loss of each row, given log odds or logits."""
    if F.shape[1] == 1:
        return -log_expit(np.where(codes == 1, F[:, 0], -F[:, 0]))
    return -log_softmax(F, axis=1)[np.arange(len(F)), codes.astype(np.intp)]
