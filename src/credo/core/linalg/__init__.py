"""Symmetric positive definite matrices, factored once and used many times.

    A + jitter·I = L Lᵀ,    L lower triangular

`factorize(A)` returns a `Factor` with everything that is needed of A: `solve`, `half_solve` (L⁻¹b, whose squared norm
is bᵀA⁻¹b), `logdet`, `inverse_diagonal`, and the factor of a bigger matrix that begins with A (`extend`), in O(n²) for
few new rows.

Members: `factorize` (with increasing jitter if needed), `Factor`, `Workspace` (the same in place, for optimizers
that factor thousands of times), `pivoted_factor` and `random_pivots` (the rows that explain the others), and
`NotPositiveDefiniteError`, whose message says what is wrong with the matrix and what to do about it; `one_blas_thread`,
`one_openmp_thread` and `n_threads` control threads; `parallel_map` and `parallel_rows` use them.

What does not belong here: kernels and models. Least squares problems are not solved by a Cholesky factor of XᵀX, which
would lose half of the digits, but by QR or SVD of X.
"""

from credo.core.linalg.columns import EPS as EPS
from credo.core.linalg.columns import column_norms as column_norms
from credo.core.linalg.columns import constant_columns as constant_columns
from credo.core.linalg.columns import graded_svd as graded_svd
from credo.core.linalg.columns import mean_and_std, weighted_quantiles
from credo.core.linalg.diagnosis import NotPositiveDefiniteError
from credo.core.linalg.factor import Factor, factorize
from credo.core.linalg.threads import n_threads, one_blas_thread, one_openmp_thread, parallel_map, parallel_rows
from credo.core.linalg.workspace import Workspace, pivoted_factor, random_pivots

__all__ = [
    "Factor", "NotPositiveDefiniteError", "Workspace", "factorize", "mean_and_std", "n_threads", "one_blas_thread",
    "one_openmp_thread", "parallel_map", "parallel_rows", "pivoted_factor", "random_pivots",
    "weighted_quantiles",
]  # fmt: skip
