"""The sum of boosted trees in plain NumPy."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tests.reference.twins import Twin

from credo.trees import BoostedTrees, _jit


def add_trees(left, right, feature, threshold, missing_left, root, value, X, F):
    """All rows walk down each tree together."""
    for t, start in enumerate(root):
        node = np.full(len(X), start)
        while (left[node] >= 0).any():
            x = X[np.arange(len(X)), feature[node]]
            goes_left = np.where(np.isnan(x), missing_left[node], x <= threshold[node])
            node = np.where(left[node] < 0, node, np.where(goes_left, left[node], right[node]))
        F[:, t % F.shape[1]] += value[node]


def calls():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.1, np.nan, rng.normal(size=(60, 3)))
    y = np.nansum(X, axis=1)
    for model in (
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3).fit(X, y),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3).fit(X, np.digitize(y, [-1.0, 1.0])),
    ):
        trees = BoostedTrees.of(model)
        yield *trees.splits, trees.root, trees.value, X, np.zeros((60, len(trees.baseline)))


TWINS = [Twin(_jit.add_trees, add_trees, list(calls()), rtol=0.0)]
