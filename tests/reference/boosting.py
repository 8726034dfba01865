"""The sum of boosted trees in plain NumPy."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tests.reference.twins import Twin

from credo.trees import BoostedTrees, _jit


def add_trees(left, right, feature, threshold, missing_left, subset, left_codes, root, value, X, F):
    """All rows walk down each tree together."""
    goes = np.unpackbits(left_codes, axis=1, bitorder="little") if len(left_codes) else np.zeros((1, 256))
    for t, start in enumerate(root):
        node = np.full(len(X), start)
        while (left[node] >= 0).any():
            x = X[np.arange(len(X)), feature[node]]
            known = ~np.isnan(x) & ((subset[node] < 0) | ((x >= 0) & (x < 256)))
            code = np.where(known & (subset[node] >= 0), x, 0).astype(int)
            by_code = goes[np.maximum(subset[node], 0), code] == 1
            goes_left = np.where(known, np.where(subset[node] >= 0, by_code, x <= threshold[node]), missing_left[node])
            node = np.where(left[node] < 0, node, np.where(goes_left, left[node], right[node]))
        F[:, t % F.shape[1]] += value[node]


def calls():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.1, np.nan, rng.normal(size=(60, 3)))
    y = np.nansum(X, axis=1)
    codes = np.column_stack([X, rng.integers(0, 40, 60)])
    for model in (
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3, categorical_features=[3]).fit(
            codes, y + codes[:, 3] % 3
        ),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3).fit(X, y),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3).fit(X, np.digitize(y, [-1.0, 1.0])),
    ):
        trees = BoostedTrees.of(model)
        rows = codes if model.n_features_in_ == 4 else X
        F = np.zeros((60, len(trees.baseline)))
        yield *trees.splits, trees.subset, trees.left_codes, trees.root, trees.value, rows, F


TWINS = [Twin(_jit.add_trees, add_trees, list(calls()), rtol=0.0)]
