"""What the tree estimators share: arguments, rules, importances, summary.

A regression tree with a normal–inverse-gamma posterior in every leaf.

A classification tree with a Dirichlet posterior in every leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier as ClassifierBuilder
from sklearn.tree import DecisionTreeRegressor as RegressorBuilder
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    Classifier,
    Estimator,
    Regressor,
    Result,
    center_and_scale,
    choice,
    nonnegative,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Indices, Inner, Where
from credo.core.frames import Table
from credo.core.seeds import generator
from credo.distributions import StudentT
from credo.trees._tree import (
    N_FOLDS,
    Array,
    DirichletPrior,
    Index,
    NormalPrior,
    Sample,
    Tree,
    alphas,
    held_out_nodes,
    last_highest,
    with_row,
)


class TreeEstimator(Estimator):
    """A fitted `tree_` and a conjugate prior in its leaves."""

    pruning: str | float

    tree_: Annotated[Tree, Indices("d", "feature")]
    pruning_: float
    feature_importances_: Annotated[NDArray[np.float64], Axes("d")]
    _equation = "a prediction for each leaf of a tree of thresholds"
    # Whether each column had missing values.
    had_missing_: Annotated[NDArray[np.bool_], Axes("d")]

    _accepts_nan = True

    def apply(self, X: Any) -> NDArray[np.intp]:
        """The leaf of each row, as an index of the nodes of `tree_`."""
        return self._leaves(self._predict_rows(X))

    def rules(self) -> str:
        """The tree as indented text: a condition for each branch, and the prediction of each leaf."""
        check_is_fitted(self)
        return self.tree_.rules(self._feature_names(), self.had_missing_, self._describe)

    def _leaves(self, rows: Array) -> NDArray[np.intp]:
        return self.tree_.find_leaves(np.require(rows, requirements=["C", "W"]))

    def _describe(self, node: int) -> str:
        """What is predicted in a node, in a few words."""
        raise NotImplementedError

    def _grown(self, sample: Sample, grow: Callable[..., Tree]) -> tuple[Tree, Any]:
        """The pruned tree, and the prior if it was chosen together with the penalty."""
        tree, prior = grow(), None
        self.pruning_ = 0.0 if isinstance(self.pruning, str) else float(self.pruning)
        if self.pruning == "held-out" and len(sample.rows) > 1:
            self.pruning_, prior = self._by_held_out(sample, grow)
        tree = (tree.pruned(self.pruning_ * tree.risk[0]) if self.pruning_ > 0 else tree).compact()
        how = "cross-validated" if self.pruning == "held-out" else "given"
        message = f"{int(tree.is_leaf.sum())} leaves; {how} penalty {self.pruning_:.3g} for each"
        self.result_ = Result(True, 1, message)
        return tree, prior

    def _by_held_out(self, sample: Sample, grow: Callable[..., Tree]) -> tuple[float, Any]:
        """The penalty and the prior with the highest held-out log score."""
        raise NotImplementedError

    def _keep(self, tree: Tree, rows: Array) -> None:
        self.tree_ = tree
        self.had_missing_ = np.asarray(np.isnan(rows).any(axis=0))
        self.feature_importances_ = self.tree_.importances(self.n_features_in_)

    def _table(self, title: str, more: list[tuple[str, Any]]) -> Table:
        check_is_fitted(self)
        lines = [
            ("leaves", int(self.tree_.is_leaf.sum())),
            ("depth", self.tree_.depth),
            *more,
            *((f"importance of {name}", float(share))
              for name, share in zip(self._feature_names(), self.feature_importances_, strict=True)),
        ]  # fmt: skip
        return Table.of_estimates(title, lines, notes=(self.result_.message,))


def checked(model: Any) -> dict[str, Any]:
    """The arguments of scikit-learn's builder; other arguments of a tree are checked here too."""
    if model.max_depth is not None:
        positive_integer("max_depth", model.max_depth)
    positive("min_leaf", model.min_leaf)
    if not isinstance(model.pruning, str):
        nonnegative("pruning", model.pruning)
    elif model.pruning != "held-out":
        raise ValueError(f'pruning must be "held-out" or a number, 0 for none; got {model.pruning!r}')
    if isinstance(model.max_features, str):
        choice("max_features", model.max_features, ("sqrt", "log2"))
    if model.prior_strength is not None:
        positive("prior_strength", model.prior_strength)
    seed = int(generator(model.random_state).integers(2**31))
    return {"max_depth": model.max_depth, "max_features": model.max_features, "random_state": seed}


def _has_squares(tree: Tree) -> bool:
    return tree.value.shape[1] == 2 and bool((tree.value[:, 1] >= 0).all())


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

    tree_: Annotated[Tree, Indices("d", "feature"), Where(_has_squares, "a tree of means and sums of squares")]
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        options = checked(self)
        rows, target, weight = self._training_rows(X, y, sample_weight)
        center, scale = map(float, center_and_scale(target, weight))
        parts = N_FOLDS if self.pruning == "held-out" else 1
        sample = Sample.of(rows, (target - center) / scale, weight, n_parts=parts)

        def grow(used: Index | slice = slice(None)) -> Tree:
            return sample.grow(RegressorBuilder(**options), used, min_leaf=self.min_leaf)

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
        return self._table(self._title, entries)

    _title = "Regression tree"

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
        for _ in range(3):
            before, best = best, last_highest([float(weight @ prior.predictive(part).log_prob(y)) for part in leaves])
            if best == before:
                break
            part = leaves[best]
            prior = NormalPrior.fitted(with_row(part, y), part, weight, strength=self.prior_strength)
        return float(penalties[best]), prior


def _statistics(tree: Tree) -> Array:
    """Weight, mean and sum of squares of each node."""
    return np.column_stack([tree.weight, tree.value])


def _has_weights(tree: Tree) -> bool:
    return bool((tree.value >= 0).all())


class TreeClassifier(TreeEstimator, Classifier):
    """Class probabilities of a leaf: (w_k + a π_k) / (w + a) for its class weights w_k."""

    tree_: Annotated[Tree, Inner(k="c"), Indices("d", "feature"), Where(_has_weights, "a tree of weights of classes")]
    prior_: Annotated[DirichletPrior, Inner(k="c")]

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
            return sample.grow(ClassifierBuilder(**options), used, min_leaf=self.min_leaf, n_classes=len(self.classes_))

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
