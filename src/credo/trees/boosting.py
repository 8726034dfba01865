"""Gradient-boosted trees: grown by scikit-learn, kept and evaluated as plain arrays.

The rows are divided into ten parts. A member of the model is grown on nine of them and stops where the loss on the
tenth is least; the model is the mean of its members. What a member predicts for its tenth is a held-out prediction.
These give the predictive distribution of a regression and the temperature of class probabilities, without more fits.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
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
from credo.core.fields import Axes, Finite, Indices, Inner, NonNegative, NotEmpty, Positive
from credo.core.folds import divided_rows, even_folds
from credo.core.frames import Table
from credo.core.learning.ascent import refined_maximum
from credo.core.linalg import one_openmp_thread
from credo.distributions import Distribution, Normal, Tabulated, TabulatedScale
from credo.trees._jit import add_trees
from credo.trees._tree import Index, Nodes, shares

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A member chooses its number of rounds on one row in this many.
PARTS = 10
# There are as many members, from 1 to 10, as see this many rows in all: the mean of several gains most on small tables,
# where members are cheap.
ROWS_OF_ALL_MEMBERS = 30_000
# A member stops after so many rounds without a lower loss. Without rows that could choose, there are so many rounds.
PATIENCE, ROUNDS_OF_FEW_ROWS = 30, 20
# From so many rows on, trees have more leaves.
_MANY_ROWS = 3000
# Codes of categories must be below this, as in scikit-learn.
MAX_CODES = 255
# Candidates for the factor of the logits. Above 1 there are none: on 20 tables these lost slightly on new rows.
_SLOPES = np.geomspace(0.25, 1.0, 31)


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
    subset : for a split of a categorical column, its row of `left_codes`; otherwise −1
    left_codes : which of the codes 0 to 255 go left, a bit for each, eight in a byte, the lowest first
    """

    value: Annotated[Array, Axes("n")]
    gain: Annotated[Array, Axes("n"), NonNegative]
    root: Annotated[Index, Axes("T"), Indices("n")]
    baseline: Annotated[Array, Axes("k")]
    subset: Annotated[Index, Axes("n"), Indices("S", least=-1)]
    left_codes: Annotated[NDArray[np.uint8], Axes("S 32")]

    @classmethod
    def of(cls, model: Any, n_rounds: int | None = None) -> Self:
        """The first rounds, or all, of a fitted HistGradientBoostingRegressor or -Classifier."""
        rounds = model._predictors[:n_rounds]
        # A model without rounds has nodes too, which no root leads to.
        trees = [tree for each in rounds or model._predictors[:1] for tree in each]
        root = np.cumsum([0, *(len(tree.nodes) for tree in trees)]).astype(np.intp)
        nodes = np.concatenate([tree.nodes for tree in trees])
        split = nodes["is_leaf"] == 0
        shift = np.repeat(root[:-1], np.diff(root))
        left, right = (np.where(split, nodes[side].astype(np.intp) + shift, -1) for side in ("left", "right"))
        categorical = model.is_categorical_
        # scikit-learn puts categorical columns in front.
        order = np.arange(2**20) if categorical is None else np.argsort(~categorical, kind="stable")
        missing_left = split & (nodes["missing_go_to_left"] != 0)
        by_subset = np.flatnonzero(split & (nodes["is_categorical"] != 0))
        subset = np.full(len(nodes), -1)
        subset[by_subset] = np.arange(len(by_subset))
        return cls(
            left,
            right,
            order[np.where(split, nodes["feature_idx"], 0).astype(np.intp)],
            # An infinite threshold sends all rows with a value to the left.
            np.where(split & (subset < 0), np.nan_to_num(nodes["num_threshold"]), 0.0),
            missing_left,
            nodes["value"].astype(np.float64),
            np.where(split, np.maximum(nodes["gain"], 0.0), 0.0),
            root[:-1] if rounds else root[:0],
            np.asarray(model._baseline_prediction, dtype=np.float64).ravel(),
            subset,
            _left_codes(model, trees, nodes[by_subset], np.repeat(np.arange(len(trees)), np.diff(root))[by_subset]),
        )

    @property
    def n_rounds(self) -> int:
        """The number of boosting rounds; each has a tree for every output."""
        return len(self.root) // len(self.baseline)

    def predict(self, X: Array) -> Array:
        """F(x) of each row, of shape (n_rows, n_outputs)."""
        F = np.tile(self.baseline, (len(X), 1))
        rows = np.require(X, requirements=["C", "W"])
        add_trees(*self.splits, self.subset, self.left_codes, self.root, self.value, rows, F)
        return F

    def importances(self, n_features: int) -> Array:
        """The share of each column in the decrease of the loss by all splits."""
        return shares(self.feature, self.gain, n_features)


def _left_codes(model: Any, trees: list[Any], nodes: NDArray[Any], tree: Index) -> NDArray[np.uint8]:
    """The codes that each split of categories sends left; those that were not fitted go where missing values go."""
    if not len(nodes):
        return np.empty((0, 32), dtype=np.uint8)
    start = np.cumsum([0, *(len(each.raw_left_cat_bitsets) for each in trees)])
    words = np.concatenate([each.raw_left_cat_bitsets for each in trees])[start[tree] + nodes["bitset_idx"]]
    # Of the places of a column's codes in their order; scikit-learn's words have 32 bits.
    found = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
    left = np.repeat(nodes["missing_go_to_left"][:, None], 256, axis=1)
    for j, known in enumerate(model._preprocessor.named_transformers_["encoder"].categories_):
        codes = known[~np.isnan(known)].astype(np.intp)
        own = np.flatnonzero(nodes["feature_idx"] == j)
        left[own[:, None], codes] = found[own, : len(codes)]
    return np.packbits(left.astype(bool), axis=1, bitorder="little")


class _Stoppable:
    """Checks the deadline after each round."""

    def _should_stop(self, scores: list[float]) -> bool:
        deadlines.check()
        return bool(super()._should_stop(scores))  # type: ignore[misc]


class _StoppableRegressor(_Stoppable, HistGradientBoostingRegressor): ...


class _StoppableClassifier(_Stoppable, HistGradientBoostingClassifier): ...


def grow(
    builder: Any, X: Array, y: Array, weight: Array, fold: Index, n_outputs: int
) -> tuple[list[BoostedTrees], Array]:
    """Members, each stopped where the loss on a fold of its own is least, and F of the rows that were held out.

    F is NaN for other rows. Rows of fold −1 are never held out.
    """
    n_members = int(np.clip(ROWS_OF_ALL_MEMBERS // (len(y) * n_outputs), 1, max(1, fold.max() + 1)))
    members, F = [], np.full((len(y), n_outputs), np.nan)
    # With fewer numbers, several threads would spend their time waiting for each other.
    with one_openmp_thread() if X.size < 500_000 else nullcontext():
        for k in range(n_members):
            held = fold == k
            members.append(_member(builder, X, y, weight, held))
            F[held] = members[-1].predict(X[held])
    return members, F


def _member(builder: Any, X: Array, y: Array, weight: Array, held: Mask) -> BoostedTrees:
    deadlines.check()
    rows, used = X[~held], weight[~held]
    # scikit-learn makes no bins of a column without any value, and bins weighted rows a hundred times more slowly.
    rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)
    share = None if (weight == weight[0]).all() else used
    if not held.any():
        builder.set_params(early_stopping=False, max_iter=min(ROUNDS_OF_FEW_ROWS, builder.max_iter))
        return BoostedTrees.of(builder.fit(rows, y[~held], sample_weight=share))
    builder.set_params(early_stopping=True)
    own = None if share is None else weight[held]
    builder.fit(rows, y[~held], sample_weight=share, X_val=X[held], y_val=y[held], sample_weight_val=own)
    return BoostedTrees.of(builder, int(np.argmax(builder.validation_score_)))


def _folds(strata: NDArray[Any], key: Index) -> Index:
    """The part of each row, each stratum spread evenly over them; −1 for all of few rows, and for strata of one."""
    if len(strata) < PARTS:
        return np.full(len(strata), -1)
    _, place, count = np.unique(strata, return_inverse=True, return_counts=True)
    return np.where(count[place] > 1, even_folds(strata, PARTS, key=key), -1)


_PARAMETERS = """max_rounds : int, default 500
        The most rounds of a member.
    learning_rate : float, default 0.1
    max_leaves : int, optional
        The most leaves of a tree; by default 16, or 31 with 3,000 rows or more.
    min_leaf : int, optional
        The fewest distinct rows of a leaf; by default a twentieth of the rows, between 2 and 20.
    l2 : float, default 0.0
        Penalty on the squared values of leaves.
    max_features : float, default 1.0
        The share of the columns that each split chooses from."""

_MEMBERS = """The trees are grown by scikit-learn's {}, and kept as plain arrays, so that the model can be saved.
    The model is the mean of up to ten members (one from 30,000 rows on). Each is grown on nine tenths of the rows, and
    the remaining tenth, another for each, chooses its number of rounds. Missing values are used as they are."""

_FIT = """Fit to a table.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        categorical_features : array of column numbers or a mask, optional
            Columns of codes, whole numbers from 0 to 254, whose order means nothing. A split sends any set of codes to
            the left; codes that were not fitted go where missing values go.
        """


class _Boosting(Estimator):
    """What both tasks share: parameters, state and the summary."""

    members_: Annotated[list[BoostedTrees], NotEmpty, Inner(k="k"), Indices("d", "feature")]
    feature_importances_: Annotated[Array, Axes("d")]

    _title = "Gradient-boosted trees"
    _equation = "f(x) = f₀ + η Σ treeₘ(x)"
    _accepts_nan = True

    def __init__(
        self,
        *,
        max_rounds: int = 500,
        learning_rate: float = 0.1,
        max_leaves: int | None = None,
        min_leaf: int | None = None,
        l2: float = 0.0,
        max_features: float = 1.0,
    ) -> None:
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_leaf = min_leaf
        self.l2 = l2
        self.max_features = max_features

    def _settings(self, rows: Array, categorical: ArrayLike | None) -> dict[str, Any]:
        leaves = (16 if len(rows) < _MANY_ROWS else 31) if self.max_leaves is None else self.max_leaves
        if positive_integer("max_leaves", leaves) < 2:
            raise ValueError(f"max_leaves must be at least 2; got {self.max_leaves!r}")
        if positive("max_features", self.max_features) > 1:
            raise ValueError(f"max_features must be a share of at most 1; got {self.max_features!r}")
        leaf = _default_leaf(len(rows)) if self.min_leaf is None else positive_integer("min_leaf", self.min_leaf)
        return _COMMON | {
            "max_iter": positive_integer("max_rounds", self.max_rounds),
            "learning_rate": positive("learning_rate", self.learning_rate),
            "max_leaf_nodes": leaves,
            "min_samples_leaf": leaf,
            "l2_regularization": nonnegative("l2", self.l2),
            "max_features": float(self.max_features),
            "categorical_features": self._mask(rows, categorical),
        }

    def _distinct_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Any, Array, Index]:
        """Rows, targets or codes, total weights, and the key of the folds."""
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        first, total, key = divided_rows(rows, target, np.ones(len(rows)) if weight is None else weight, PARTS)
        return rows[first], target[first], total, key

    def _mask(self, rows: Array, categorical: ArrayLike | None) -> Mask | None:
        mask, given = np.zeros(rows.shape[1], dtype=bool), np.asarray([] if categorical is None else categorical)
        try:
            mask[given if given.size else []] = True
        except IndexError:
            what = f"numbers of the {len(mask)} columns, or a mask of them"
            raise ValueError(f"categorical_features must be {what}; got {categorical!r}") from None
        for j in np.flatnonzero(mask):
            codes = rows[~np.isnan(rows[:, j]), j]
            if ((codes < 0) | (codes >= MAX_CODES) | (codes != np.floor(codes))).any():
                name = self._feature_names()[j]
                raise ValueError(
                    f"column {name!r} is categorical: it must hold whole numbers from 0 to {MAX_CODES - 1}"
                )
        return mask if mask.any() else None

    def _keep(self, members: list[BoostedTrees], F: Array) -> Index:
        """Keep the members; the rows that were held out."""
        self.members_ = members
        self.feature_importances_ = np.mean([each.importances(self.n_features_in_) for each in members], axis=0)
        rounds, held = np.mean([each.n_rounds for each in members]), np.flatnonzero(~np.isnan(F[:, 0]))
        how = f"chosen on {len(held)} held-out rows" if len(held) else "too few rows to choose their number"
        mean = " on average" if len(members) > 1 else ""
        self.result_ = Result(True, round(rounds), f"{rounds:.3g} rounds{mean}, {how}")
        return held

    def _lines(self) -> list[tuple[str, Any]]:
        check_is_fitted(self)
        names, share = self._feature_names(), self.feature_importances_
        order = np.argsort(-share, kind="stable")[:20]
        lines = [("members", len(self.members_)), ("rounds, mean", self.result_.n_iter)]
        return lines + [(f"importance of {names[j]}", float(share[j])) for j in order]


_COMMON = {"scoring": "loss", "n_iter_no_change": PATIENCE, "tol": 0.0, "random_state": 0}


def _default_leaf(n_rows: int) -> int:
    return max(2, min(20, n_rows // 20))


def _mean_of(members: list[BoostedTrees], rows: Array) -> Array:
    return np.mean([each.predict(rows) for each in members], axis=0)


class BoostedTreesRegressor(_Boosting, Regressor):
    __doc__ = f"""Gradient-boosted regression trees: f(x) = b + Σ_t (value of x's leaf in tree t).

    {_MEMBERS.format("HistGradientBoostingRegressor (squared error)")}

    The predictive distribution comes from residuals of held-out rows: f(x) + s(x) u, where s is a second, smaller
    boosting of the size of the residuals (by a gamma likelihood, given the columns and f), and u has the smoothed
    distribution of the residuals in units of s.

    Parameters
    ----------
    {_PARAMETERS}

    Attributes
    ----------
    members_ : the trees of each member, of the standardized target
    spread_ : the same for ln s; its last column is the prediction of the standardized target
    shape_ : the distribution of u, in units of its standard deviation
    feature_importances_ : share of each column in the decrease of the loss
    noise_std_ : root mean square of the held-out residuals
    result_ : the number of rounds and how it was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.trees import BoostedTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, 2.0, 0.0) + 0.1 * rng.normal(size=300)
    >>> BoostedTreesRegressor().fit(X, y).predict([[0.5, 0.0], [-0.5, 0.0]]).round()
    array([2., 0.])
    """

    mean_: Annotated[float, Finite]
    scale_: Annotated[float, Finite, NonNegative]
    noise_std_: Annotated[float, Finite, NonNegative]
    spread_: Annotated[list[BoostedTrees], Inner(k="k"), Indices("d+1", "feature")]
    unit_: Annotated[float, Finite, NonNegative]
    shape_: Tabulated

    def _sizes(self) -> dict[str, int]:
        return {"k": 1}

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        categorical_features: ArrayLike | None = None,
    ) -> Self:
        rows, target, total, key = self._distinct_rows(X, y, sample_weight)
        # On one scale, whatever the unit of the target.
        self.mean_, self.scale_ = map(float, center_and_scale(target, total))
        z, share = (target - self.mean_) / self.scale_, total / total.mean()
        settings = self._settings(rows, categorical_features)
        members, F = grow(_StoppableRegressor(**settings), rows, z, share, _folds(np.zeros(len(z)), key), 1)
        held = self._keep(members, F)
        if len(held):
            self._learn_distribution(rows[held], F[held, 0], z[held], share[held], key[held], settings)
        else:
            # The residuals of the mean.
            self.spread_, self.noise_std_ = [], self.scale_ * float(np.sqrt(np.average(z**2, weights=share)))
            self._keep_shape(z, share)
        return self

    fit.__doc__ = _FIT

    def _learn_distribution(
        self, rows: Array, center: Array, z: Array, share: Array, key: Index, settings: dict[str, Any]
    ) -> None:
        """ln s(x) by boosting the sizes of residuals, and the distribution of held-out residuals in units of s."""
        residual = z - center
        self.noise_std_ = self.scale_ * float(np.sqrt(np.average(residual**2, weights=share)))
        size = np.abs(residual)
        mean = float(np.average(size, weights=share))
        self.spread_, log_spread = [], np.zeros(len(z))
        if mean > 0:
            mask = settings["categorical_features"]
            builder = _StoppableRegressor(
                **_COMMON,
                loss="gamma",
                max_iter=200,
                max_leaf_nodes=4,
                min_samples_leaf=2 * _default_leaf(len(z)),
                categorical_features=None if mask is None else np.append(mask, False),
            )
            # So that residuals near zero have a logarithm that doesn't matter.
            goal = size / mean + 0.01
            table = np.column_stack([rows, center])
            self.spread_, F = grow(builder, table, goal, share, _folds(np.zeros(len(z)), key), 1)
            log_spread = F[:, 0] if (~np.isnan(F)).any() else _mean_of(self.spread_, table)[:, 0]
        known = ~np.isnan(log_spread)
        self._keep_shape(residual[known] / np.exp(log_spread[known]), share[known])

    def _keep_shape(self, values: Array, weight: Array) -> None:
        """The distribution of residuals around zero; `unit_` is their standard deviation."""
        mean = np.average(values, weights=weight)
        self.unit_ = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
        shape = Tabulated.fitted(values, weight)
        self.shape_ = Tabulated(shape.points - shape.mean, shape.heights)

    def summary(self, *, level: float = 0.95) -> Table:
        """Rounds, noise and the importances of the columns, without intervals."""
        lines = [*self._lines(), ("noise std", self.noise_std_)]
        return Table.of_estimates(self._title, lines, notes=(self.result_.message,))

    def _mean(self, rows: Array) -> Array:
        return self.mean_ + self.scale_ * _mean_of(self.members_, rows)[:, 0]

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        each = np.array([member.predict(rows)[:, 0] for member in self.members_])
        center = each.mean(axis=0)
        mean = self.mean_ + self.scale_ * center
        if latent:
            # The jackknife's standard error (Tukey 1958), with parts in place of rows.
            return Normal(mean, self.scale_ * np.sqrt(PARTS - 1) * each.std(axis=0))
        spread = np.exp(_mean_of(self.spread_, np.column_stack([rows, center]))[:, 0]) if self.spread_ else 1.0
        return TabulatedScale(mean, self.scale_ * self.unit_ * spread, self.shape_)


class BoostedTreesClassifier(_Boosting, Classifier):
    __doc__ = f"""Gradient-boosted trees of the log odds (two classes) or the logits of a softmax (more).

    {_MEMBERS.format("HistGradientBoostingClassifier (log loss)")}

    Held-out rows calibrate the probabilities: logits are multiplied by `slope_`, which has the least log loss there
    (temperature scaling).

    Parameters
    ----------
    {_PARAMETERS}

    Attributes
    ----------
    classes_ : the labels
    members_ : the trees of each member; with more than two classes, a round has one for each
    slope_ : the factor of the logits
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

    slope_: Annotated[float, Finite, Positive]

    def _sizes(self) -> dict[str, int]:
        return {"k": len(self.classes_) if len(self.classes_) > 2 else 1}

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        categorical_features: ArrayLike | None = None,
    ) -> Self:
        rows, codes, total, key = self._distinct_rows(X, y, sample_weight)
        share, n_outputs = total / total.mean(), self._sizes()["k"]
        builder = _StoppableClassifier(**self._settings(rows, categorical_features))
        members, F = grow(builder, rows, codes.astype(np.float64), share, _folds(codes, key), n_outputs)
        held = self._keep(members, F)
        self.slope_ = 1.0
        if len(held):
            logits, own = _logits(F[held]), (np.arange(len(held)), codes[held])
            scores = np.array([share[held] @ log_softmax(slope * logits, axis=1)[own] for slope in _SLOPES])
            self.slope_ = float(np.exp(refined_maximum(np.log(_SLOPES), scores)))
        return self

    fit.__doc__ = _FIT

    def summary(self, *, level: float = 0.95) -> Table:
        """Rounds and the importances of the columns, without intervals."""
        return Table.of_estimates(self._title, self._lines(), notes=(self.result_.message,))

    def _probabilities(self, rows: Array) -> Array:
        return softmax(self.slope_ * _logits(_mean_of(self.members_, rows)), axis=1)


def _logits(F: Array) -> Array:
    """The logits of all classes; of two, the log odds are given."""
    return np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
