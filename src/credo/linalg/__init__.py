"""Symmetric positive definite matrices, factored once and used many times.

    A + jitter·I = L Lᵀ,    L lower triangular

`factorize(A)` gives a `Factor`, and the factor answers everything that is asked of A: `solve`, `half_solve`
(L⁻¹b, whose squared norm is bᵀA⁻¹b), `logdet`, `inverse_diagonal`, and the factors of A ± VVᵀ (`update`,
`downdate`) and of a bigger matrix that begins with A (`extend`), each in O(n²) for a low rank. Nobody needs
to invert.

Members: `factorize` (with increasing jitter where needed), `Factor`, `Workspace` (the same in place, for optimisers
that factor thousands of times), and `NotPositiveDefiniteError`, whose message says what is wrong with the matrix and
what to do about it; `one_blas_thread` and `n_threads`, for those who share out the cores.

What does not belong here: kernels, models, and whatever knows why the matrix is being factored. Least squares
is not solved with this room's factor of XᵀX, which would lose half of the digits, but by QR or SVD of X.
"""

from credo.linalg._diagnosis import NotPositiveDefiniteError
from credo.linalg._factor import Factor
from credo.linalg._ladder import factorize
from credo.linalg._threads import n_threads, one_blas_thread
from credo.linalg._workspace import Workspace

__all__ = ["Factor", "NotPositiveDefiniteError", "Workspace", "factorize", "n_threads", "one_blas_thread"]
