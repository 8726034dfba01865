"""Which of several models to believe: held-out predictions, and the evidence of each.

    held-out log score    (1/n) Σ ln p(yᵢ | xᵢ, the rows of the other folds)

Contract: `compare` takes named, unfitted models and returns a `Comparison`: the scores, best first, the
held-out predictions row by row, and every model fitted on all rows. All models see the same folds. A model
that fails is reported with a sentence and doesn't stop the others.

Members: `compare`, `Comparison`, `Score`, `HeldOut`.

Not here: the scores themselves (`credo.metrics`), averaging of models (`credo.ensemble`), pictures.
"""

from credo.selection._compare import compare
from credo.selection._comparison import Comparison, HeldOut, Score

__all__ = ["Comparison", "HeldOut", "Score", "compare"]
