"""Coordinate descent for L1-penalized least squares and logistic regression, to a given duality gap.

    min ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖²,    and the same with logistic loss

`Rows` centres and weights a dense or sparse table without copying it; `block_of` chooses where passes run (a Gram
matrix of the working set, or sparse columns and their residual); `descend` goes through a sequence of penalties and
yields a `Step` for each, which `polished` solves to full precision. `classify` does the same for `Labels`, by Newton
steps each of which is such a least-squares problem, and yields a `Verdict` for each penalty.

Penalties here are sums over the rows, not means: n times those of the estimators. What does not belong here:
estimators, the choice of a penalty, and penalties that aren't convex.
"""

from credo.learning.coordinate.blocks import block_of
from credo.learning.coordinate.descent import Step, descend
from credo.learning.coordinate.labels import Labels
from credo.learning.coordinate.logistic import Verdict, classify
from credo.learning.coordinate.polish import polished
from credo.learning.coordinate.rows import Rows, is_sparse, undivided

__all__ = [
    "Labels",
    "Rows",
    "Step",
    "Verdict",
    "block_of",
    "classify",
    "descend",
    "is_sparse",
    "polished",
    "undivided",
]
