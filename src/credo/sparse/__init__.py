"""Which inputs matter: penalties that set weights to zero, and the posterior over subsets of the columns.

    Lasso, ElasticNet         min (1/2n)‖y − b − Xw‖² + α(r‖w‖₁ + ½(1−r)‖w‖²)
    LassoCV                   the same, α by cross-validation
    SparseLogisticRegression  min (1/n)Σ ln(1 + e^(−y(b + wᵀx))) + α‖w‖₁; SparseLogisticRegressionCV chooses α
    SpikeSlabRegressor        p(γ | y) ∝ p(γ) ∫ p(y | w_γ) p(w_γ) dw_γ over all 2^d subsets γ
    SpikeSlabClassifier       the same for labels, each integral by Laplace's method

`lasso_path` follows the weights along α, `forward_selection` adds columns one by one, and `soft_threshold` and
`hard_threshold` are what both ideas do to a single weight. Coordinate descent itself is in `credo.learning.coordinate`;
a posterior is found by looking at every subset, or by a walk over them (`walk`; for labels in `logistic_models`).

`ModelPosterior`, `Design`, `Moments`, `Standard` and `ClassAverage` are what model files hold: their names here are
part of the file format. Weights that are small but never zero live in `credo.linear`.
"""

from credo.sparse._design import Design as Design
from credo.sparse._fit import Moments as Moments
from credo.sparse._models import ModelPosterior as ModelPosterior
from credo.sparse.cross_validation import LassoCV
from credo.sparse.lasso import ElasticNet, Lasso
from credo.sparse.logistic import SparseLogisticRegression
from credo.sparse.logistic_cross_validation import SparseLogisticRegressionCV
from credo.sparse.logistic_models import ClassAverage as ClassAverage
from credo.sparse.logistic_models import Standard as Standard
from credo.sparse.path import LassoPath, lasso_path
from credo.sparse.spike_slab import SpikeSlabRegressor
from credo.sparse.spike_slab_classifier import SpikeSlabClassifier
from credo.sparse.subsets import Selection, forward_selection
from credo.sparse.thresholds import hard_threshold, soft_threshold

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
