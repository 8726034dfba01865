"""Which inputs matter: the public home of `credo.penalized` and `credo.subsets`.

`credo.penalized` has the lasso and its relatives, `credo.subsets` spike and slab and forward selection.
"""

from __future__ import annotations

from credo.penalized import (
    ElasticNet,
    Lasso,
    LassoCV,
    LassoPath,
    SparseLogisticRegression,
    SparseLogisticRegressionCV,
    hard_threshold,
    lasso_path,
    soft_threshold,
)
from credo.subsets import Selection, SpikeSlabClassifier, SpikeSlabRegressor, forward_selection

__all__ = [
    "ElasticNet",
    "Lasso",
    "LassoCV",
    "LassoPath",
    "Selection",
    "SparseLogisticRegression",
    "SparseLogisticRegressionCV",
    "SpikeSlabClassifier",
    "SpikeSlabRegressor",
    "forward_selection",
    "hard_threshold",
    "lasso_path",
    "soft_threshold",
]
