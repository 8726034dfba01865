"""Which inputs matter: penalties that set coefficients to zero, and the posterior over subsets of the columns.

    Lasso, ElasticNet         min (1/2n)‖y − b − Xw‖² + α(r‖w‖₁ + ½(1−r)‖w‖²); LassoCV chooses α
    SparseLogisticRegression  min (1/n)Σ ln(1 + e^(−y(b + wᵀx))) + α‖w‖₁; SparseLogisticRegressionCV chooses α
    SpikeSlabRegressor        p(γ | y) ∝ p(γ) ∫ p(y | w_γ) p(w_γ) dw_γ over all 2^d subsets γ
    SpikeSlabClassifier       the same for labels, each integral by Laplace's method

`lasso_path` computes the coefficients for a sequence of penalties; `soft_threshold` is the lasso of a single
coefficient and `hard_threshold` its counterpart for subset selection; `forward_selection` adds one column after
another. Subsets of few columns are enumerated, those of many are sampled by MCMC.

`ModelPosterior`, `ModelPrior`, `Design`, `Slab`, `Moments`, `Standard` and `ClassAverage` are contained in model files:
their names here are part of the file format. What does not belong here: coordinate descent itself
(`credo.core.learning.coordinate`).
"""

from credo.sparse._design import Design as Design
from credo.sparse._laplace import Standard as Standard
from credo.sparse._models import ModelPosterior as ModelPosterior
from credo.sparse._models import ModelPrior as ModelPrior
from credo.sparse._models import Moments as Moments
from credo.sparse._slabs import Slab as Slab
from credo.sparse.cross_validation import LassoCV
from credo.sparse.forward_selection import Selection, forward_selection
from credo.sparse.lasso import ElasticNet, Lasso, LassoPath, hard_threshold, lasso_path, soft_threshold
from credo.sparse.sparse_logistic import SparseLogisticRegression, SparseLogisticRegressionCV
from credo.sparse.spike_slab import SpikeSlabRegressor
from credo.sparse.spike_slab_classifier import ClassAverage as ClassAverage
from credo.sparse.spike_slab_classifier import SpikeSlabClassifier

__all__ = [
    "ElasticNet", "Lasso", "LassoCV", "LassoPath", "Selection", "SparseLogisticRegression",
    "SparseLogisticRegressionCV", "SpikeSlabClassifier", "SpikeSlabRegressor", "forward_selection", "hard_threshold",
    "lasso_path", "soft_threshold",
]  # fmt: skip
