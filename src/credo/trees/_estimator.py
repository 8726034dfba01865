"""What the tree estimators share: arguments, rules, importances, summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credo.estimator import Estimator, Result, check_shapes, choice, nonnegative, positive, positive_integer
from credo.frames import Table
from credo.seeds import generator
from credo.trees._grow import Sample
from credo.trees._tree import Array, Tree


class TreeEstimator(Estimator):
    """A fitted `tree_` and a conjugate prior in its leaves."""

    pruning: str | float

    tree_: Tree
    pruning_: float
    feature_importances_: NDArray[np.float64]
    # Whether each column had missing values.
    had_missing_: NDArray[np.bool_]

    _accepts_nan = True

    def _check_state(self) -> None:
        super()._check_state()
        split = ~self.tree_.is_leaf
        if split.any() and self.tree_.feature[split].max() >= self.n_features_in_:
            raise ValueError(f"tree_ splits columns beyond the {self.n_features_in_} of the table")
        check_shapes(self, {"d": self.n_features_in_}, feature_importances_="d", had_missing_="d")

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
