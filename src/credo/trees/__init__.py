"""Trees.

    boosted trees    f(x) = b + Σ_t (value of x's leaf in tree t)

Contract: trees are grown by scikit-learn's builders and kept as plain arrays that model files can hold; predictions are
compiled loops over these.

Members: `BoostedTreesRegressor` and `BoostedTreesClassifier`, gradient boosting; `BoostedTrees`, their arrays.

Not here: growing trees, models made of other models (`credo.ensemble`).
"""

from credo.trees._boosted import BoostedTrees
from credo.trees.boosting import BoostedTreesClassifier, BoostedTreesRegressor

__all__ = ["BoostedTrees", "BoostedTreesClassifier", "BoostedTreesRegressor"]
