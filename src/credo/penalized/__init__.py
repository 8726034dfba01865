"""Penalties that set coefficients to zero: the lasso and its relatives.

    Lasso, ElasticNet         min (1/2n)‖y − b − Xw‖² + α(r‖w‖₁ + ½(1−r)‖w‖²)
    LassoCV                   the same, α by cross-validation
    SparseLogisticRegression  min (1/n)Σ ln(1 + e^(−y(b + wᵀx))) + α‖w‖₁; SparseLogisticRegressionCV chooses α

`lasso_path` computes the coefficients for a sequence of penalties; `soft_threshold` is the lasso of a single
coefficient and `hard_threshold` its counterpart for subset selection. Coordinate descent itself is in
`credo.learning.coordinate`, ridge regression in `credo.linear`, the posterior over subsets of the columns in
`credo.subsets`.
"""

from credo.penalized.lasso import ElasticNet, Lasso
from credo.penalized.lasso_cv import LassoCV
from credo.penalized.logistic import SparseLogisticRegression
from credo.penalized.logistic_cv import SparseLogisticRegressionCV
from credo.penalized.path import LassoPath, lasso_path
from credo.penalized.thresholds import hard_threshold, soft_threshold

__all__ = [
    "ElasticNet",
    "Lasso",
    "LassoCV",
    "LassoPath",
    "SparseLogisticRegression",
    "SparseLogisticRegressionCV",
    "hard_threshold",
    "lasso_path",
    "soft_threshold",
]
