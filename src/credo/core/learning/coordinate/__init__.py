"""Coordinate descent for ℓ₁-penalized least squares and logistic regression, to a given duality gap.

    min ½‖y − Xw‖² + l1‖w‖₁ + ½ l2‖w‖²,    and the same with logistic loss

`Rows` centers and weights a dense or sparse table without copying it. `working_set` holds the columns that passes run
over (their Gram matrix, or sparse columns with the residual). `elastic_net_path` goes through a sequence of penalties
and yields a `Solution` for each, which `polish` solves to full precision. `logistic_path` does the same for `Labels`,
by Newton steps each of which is such a least-squares problem, and yields a `LogisticSolution` for each penalty.

Penalties in this package are sums over the rows, not means: n times those of the estimators. What does not belong here:
estimators, the choice of a penalty, and penalties that aren't convex.
"""

from credo.core.learning.coordinate.descent import Solution, elastic_net_path, polish
from credo.core.learning.coordinate.logistic import Labels, LogisticSolution, logistic_path
from credo.core.learning.coordinate.rows import Rows, WorkingSet, blas_threads_for, working_set

__all__ = [
    "Labels", "LogisticSolution", "Rows", "Solution", "WorkingSet", "blas_threads_for", "elastic_net_path",
    "logistic_path", "polish", "working_set",
]  # fmt: skip
