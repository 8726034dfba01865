"""Comparing models by held-out predictions, evidence and information criteria, and selecting one.

    held-out log score    (1/n) Σ ln p(yᵢ | xᵢ, the rows of the other folds)
    model probability     p(model | y) ∝ p(y | model) among models of one evidence base, with equal prior probabilities
    BIC                   −2 ln p(y | θ̂) + k ln n
    description length    −log₂ p(y | θ̂) + (k/2) log₂ n  bits

`compare` takes named, unfitted models, all of them regressors or all classifiers, and returns a `Comparison`:
the scores, best first, the held-out predictive distributions row by row, and every model fitted on all rows. All models
use the same folds. A model that fails is reported with its error and doesn't stop the others. The selection rule is in
`rule` and nowhere else; a baseline that uses no column always takes part. `bic` and `description_length` take a
fitted model. `MEASURES` has the names and formats of the leaderboard's columns.

Members: `compare`, `Comparison`, `Score`, `HeldOut`, `Selection`, `gap`, `Gap`, `Measure`, `MEASURES`, `bic`,
`description_length`; `search_kernel` (sums and products of kernels by evidence), `KernelSearch`, `Component`, `Step`.

Not here: the scores themselves (`credo.metrics`), averaging of models (`credo.ensemble`), figures.
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy
from credo.selection.comparing import compare
from credo.selection.comparison import Comparison, HeldOut, Score
from credo.selection.measures import MEASURES, Measure, bic, description_length
from credo.selection.rule import BASELINE, NAIVE, Gap, Selection, gap
from credo.selection.trial import SavedTrials as SavedTrials

if TYPE_CHECKING:
    from credo.selection._kernel_search import Component, KernelSearch, Step, search_kernel

__all__ = [
    "BASELINE", "MEASURES", "NAIVE", "Comparison", "Component", "Gap", "HeldOut", "KernelSearch", "Measure", "Score",
    "Selection", "Step", "bic", "compare", "description_length", "gap", "search_kernel",
]  # fmt: skip

# Comparing models needs no Gaussian processes.
__getattr__ = lazy(__name__, {"_kernel_search": ("Component", "KernelSearch", "Step", "search_kernel")})
