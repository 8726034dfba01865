"""Error messages for matrices without a Cholesky factor. Nothing here runs unless a factorization has failed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from credo.core.linalg.lapack import SYMMETRY_TOLERANCE, asymmetric

Array = NDArray[np.float64]


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """Raised if a matrix has no Cholesky factor; the message says what is wrong with it and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import NotPositiveDefiniteError, factorize
    >>> try:
    ...     factorize(np.array([[1.0, 2.0], [2.0, 1.0]]))
    ... except NotPositiveDefiniteError as error:
    ...     print("eigenvalue" in str(error))
    True
    """


def diagnosis(A: Array, *, jitter: float = 0.0) -> str:
    """What is wrong with the matrix, where, and what to do about it."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        return f"the matrix is not square: its shape is {A.shape}. Pass the n×n matrix itself, not the data"
    for finding in (_not_finite, _not_symmetric, _not_positive_diagonal):
        sentence = finding(A)
        if sentence:
            return sentence
    return _indefinite(A, jitter)


def _not_finite(A: Array) -> str | None:
    bad = ~np.isfinite(A)
    if not bad.any():
        return None
    i, j = np.unravel_index(np.argmax(bad), A.shape)
    return (
        f"the matrix has the entry {A[i, j]} at row {i}, column {j} ({_count(int(bad.sum()), 'such entry')} in all). "
        "Check for missing values or overflow in what it was computed from"
    )


def _not_symmetric(A: Array) -> str | None:
    if not asymmetric(A):
        return None
    difference = np.abs(A - A.T)
    i, j = np.unravel_index(np.argmax(difference), A.shape)
    return (
        f"the matrix is not symmetric: entry ({i}, {j}) is {A[i, j]:.6g} and entry ({j}, {i}) is "
        f"{A[j, i]:.6g}, the largest difference being {difference[i, j]:.3g}. If this is rounding, "
        "pass (A + A.T) / 2; if not, check how the matrix is computed"
    )


def _not_positive_diagonal(A: Array) -> str | None:
    diagonal = np.diagonal(A)
    row = int(np.argmin(diagonal)) if len(diagonal) else 0
    if not len(diagonal) or diagonal[row] > 0:
        return None
    return (
        f"the diagonal is {diagonal[row]:.6g} at row {row} "
        f"({_count(int((diagonal <= 0).sum()), 'such entry')} in all), and that "
        "of a positive definite matrix is positive. A variance is zero or negative, perhaps that of a "
        "constant column: remove that row and column, or correct it"
    )


def _indefinite(A: Array, jitter: float) -> str:
    # Scaled, so that the eigenvalues of huge and tiny matrices neither overflow nor vanish.
    scale = float(np.abs(A).max())
    lowest = float(eigh(A / scale, eigvals_only=True, subset_by_index=[0, 0])[0])
    tried = f" (a jitter of {jitter:.3g} on the diagonal was not enough)" if jitter else ""
    if lowest < 0:
        sentence = f"its most negative eigenvalue is {lowest * scale:.3g}{tried}"
    else:
        sentence = f"it is singular to rounding, its smallest eigenvalue is {lowest * scale:.3g}{tried}"
    cause = _impossible_entry(A) or _duplicate_rows(A) or _dependence(A, lowest * scale)
    return f"the matrix is not positive definite: {sentence}. {cause}"


def _impossible_entry(A: Array) -> str | None:
    """The 2×2 minor with |aᵢⱼ| > √(aᵢᵢaⱼⱼ), which alone makes A indefinite."""
    root = np.sqrt(np.diagonal(A))
    correlation = np.abs(np.tril(A / root[:, None] / root, -1))
    i, j = np.unravel_index(np.argmax(correlation), A.shape)
    if correlation[i, j] <= 1 + SYMMETRY_TOLERANCE:
        return None
    return (
        f"The entry at row {i}, column {j} is {correlation[i, j]:.6g} times the largest value that its diagonal "
        "entries allow, so this is not a covariance matrix: correct that entry, or the kernel it comes from"
    )


def _duplicate_rows(A: Array) -> str | None:
    """Rows that are equal, entry by entry, to rounding."""
    root = np.sqrt(np.diagonal(A))
    # Twelve digits in units of each entry's bound; adding zero turns −0 into 0.
    rows = np.round(A / root[:, None] / root, 12) + 0.0
    first: dict[bytes, int] = {}
    pairs = [(first.setdefault(row.tobytes(), i), i) for i, row in enumerate(rows)]
    pairs = [(i, j) for i, j in pairs if i != j]
    if not pairs:
        return None
    more = f" (and {_count(len(pairs) - 1, 'more pair')})" if len(pairs) > 1 else ""
    return (
        f"Rows {pairs[0][0]} and {pairs[0][1]} are duplicates{more}. Remove one of each pair from the data, or "
        "add a noise variance to the diagonal"
    )


def _dependence(A: Array, lowest: float) -> str:
    """Advice if no pair of rows explains the failure: rounding, or not a covariance matrix at all."""
    if lowest > -1e-6 * np.diagonal(A).mean():
        return (
            "The matrix is singular up to rounding: some rows are linear combinations of others. Remove redundant "
            'columns of the data, add a noise variance to the diagonal, or use jitter="auto"'
        )
    return (
        "That is more than rounding, so this is not a covariance matrix: check for a kernel that is not positive "
        "semidefinite, or for covariances that were each estimated from different rows"
    )


def _count(n: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n} {noun if n == 1 else plural}"
