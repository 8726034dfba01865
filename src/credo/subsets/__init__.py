"""The posterior over subsets of the columns.

    SpikeSlabRegressor   p(γ | y) ∝ p(γ) ∫ p(y | w_γ) p(w_γ) dw_γ over all 2^d subsets γ
    SpikeSlabClassifier  the same for labels, each integral by Laplace's method

All subsets are enumerated where the columns are few, and sampled by MCMC otherwise. `forward_selection` adds one
column after another. Lasso and elastic net, which find one subset by a penalty, are in `credo.penalized`.

`ModelPosterior`, `Design`, `Moments`, `Standard` and `ClassAverage` are contained in model files: their names here
are part of the file format. `report` and `plots` use `ModelPrior`, `Dependence` and `dependence_of`.
"""

from credo.subsets._coefficients import Moments as Moments
from credo.subsets._dependence import Dependence as Dependence
from credo.subsets._dependence import dependence_of as dependence_of
from credo.subsets._design import Design as Design
from credo.subsets._models import ModelPosterior as ModelPosterior
from credo.subsets._models import ModelPrior as ModelPrior
from credo.subsets.forward_selection import Selection, forward_selection
from credo.subsets.logistic import ClassAverage as ClassAverage
from credo.subsets.logistic import Standard as Standard
from credo.subsets.spike_slab import SpikeSlabRegressor
from credo.subsets.spike_slab_classifier import SpikeSlabClassifier

__all__ = ["Selection", "SpikeSlabClassifier", "SpikeSlabRegressor", "forward_selection"]
