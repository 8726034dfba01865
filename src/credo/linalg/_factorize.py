"""Cholesky factorization with increasing jitter."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.linalg._diagnosis import NotPositiveDefiniteError, diagnosis
from credo.linalg._factor import Factor
from credo.linalg._lapack import cholesky_in_place, real_array
from credo.linalg._triangles import asymmetric, clear_upper, mirror_lower

# Fractions of the mean diagonal. Below the first a jitter is lost in the rounding errors of a 1000×1000 factorization;
# above the last it would change the results.
_JITTERS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def factorize(
    A: ArrayLike,
    *,
    jitter: float | Literal["auto"] = "auto",
    overwrite: bool = False,
    assume_symmetric: bool = False,
) -> Factor:
    """The Cholesky factor of a symmetric positive definite matrix.

    A matrix that is positive definite up to rounding gets the smallest jitter on its diagonal that suffices: 0, then
    10⁻¹², 10⁻¹¹, … 10⁻⁶ of the mean diagonal. The factor's `jitter` is what was added. A pivot as small as rounding
    errors counts as not positive, so that the result doesn't depend on its sign.

    Parameters
    ----------
    A : array of shape (n, n)
        Differences between aᵢⱼ and aⱼᵢ below 10⁻⁸·√(aᵢᵢaⱼⱼ) are treated as rounding.
    jitter : "auto" or float, default "auto"
        A number is added to the diagonal as it is, and no other is tried; 0.0 leaves the matrix unchanged.
    overwrite : bool, default False
        Store the factor in A's memory if A is a writable contiguous float64 array. In any case, A's contents are lost.
    assume_symmetric : bool, default False
        Skip the comparison of A with its transpose.

    Returns
    -------
    Factor

    Raises
    ------
    NotPositiveDefiniteError
        If there is no factor; the message says what is wrong with the matrix, and where.

    Examples
    --------
    >>> from credo.linalg import factorize
    >>> factor = factorize([[1.0, 1.0], [1.0, 1.0]])
    >>> factor.jitter
    1e-12
    """
    matrix = real_array("A", A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise NotPositiveDefiniteError(diagnosis(matrix))
    if not assume_symmetric and asymmetric(matrix):
        raise NotPositiveDefiniteError(diagnosis(matrix))
    # A conversion from another type has made a copy already, which may be spent.
    converted = isinstance(A, np.ndarray) and not np.may_share_memory(matrix, A)
    work = _workspace(matrix, overwrite=overwrite or converted)
    diagonal = np.diagonal(work).copy()
    amounts = jitter_amounts(diagonal, jitter)
    for amount in amounts:
        np.fill_diagonal(work, diagonal + amount)
        if cholesky_in_place(work):
            clear_upper(work)
            return Factor(work, jitter=amount)
        mirror_lower(work.T)
        if not np.isfinite(work).all():
            break
    np.fill_diagonal(work, diagonal)
    raise NotPositiveDefiniteError(diagnosis(work, jitter=amounts[-1]))


def _workspace(A: NDArray[np.float64], *, overwrite: bool) -> NDArray[np.float64]:
    """A in Fortran order, which a symmetric matrix in C order is when seen through its transpose."""
    work = A.T if A.flags.c_contiguous else A
    if overwrite and work.flags.f_contiguous and work.flags.writeable:
        return work
    return work.copy(order="F")


def jitter_amounts(diagonal: NDArray[np.float64], jitter: float | Literal["auto"]) -> tuple[float, ...]:
    """The jitters to try, in order."""
    if isinstance(jitter, str):
        if jitter != "auto":
            raise ValueError(f'jitter must be "auto" or a number that is not negative; got {jitter!r}')
        largest = np.abs(diagonal).max(initial=0.0)
        if not 0.0 < largest < np.inf:
            return (0.0,)
        # Divided first, so that the sum of huge entries can't overflow.
        mean = float(largest * np.mean(diagonal / largest))
        if diagonal.min() + _JITTERS[-1] * mean <= 0.0:
            return (0.0,)
        return (0.0, *(fraction * mean for fraction in _JITTERS))
    if not 0.0 <= jitter < np.inf:
        raise ValueError(f'jitter must be "auto" or a number that is not negative; got {jitter!r}')
    return (float(jitter),)
