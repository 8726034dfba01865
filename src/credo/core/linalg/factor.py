"""The Cholesky factor of a symmetric positive definite matrix, with increasing jitter if needed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.linalg.diagnosis import NotPositiveDefiniteError, diagnosis
from credo.core.linalg.lapack import (
    asymmetric,
    cholesky_in_place,
    clear_upper,
    inverse_from_factor,
    mirror_lower,
    real_array,
    resolved,
    triangular_inverse,
    triangular_solve,
)


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """A = L Lᵀ, stored as L. Immutable: `extend` returns a new one.

    Parameters
    ----------
    L : array of shape (n, n)
        Lower triangular with a positive diagonal. `factorize` makes one from A.
    jitter : float, default 0.0
        What was added to the diagonal of the matrix before it was factored.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import factorize
    >>> factor = factorize([[4.0, 2.0], [2.0, 3.0]])
    >>> factor.solve([8.0, 8.0])
    array([1., 2.])
    >>> round(factor.logdet, 6) == round(float(np.log(8.0)), 6)
    True
    """

    L: NDArray[np.float64]
    _: KW_ONLY
    jitter: float = 0.0

    def __post_init__(self) -> None:
        L = np.asfortranarray(real_array("L", self.L))
        if L.ndim != 2 or L.shape[0] != L.shape[1]:
            raise ValueError(f"L must be a square matrix; got shape {L.shape}")
        diagonal = np.diagonal(L)
        if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
            row = int(np.argmin(np.isfinite(diagonal) & (diagonal > 0)))
            raise ValueError(f"L must have a positive diagonal; entry {row} is {diagonal[row]:.6g}")
        L = L.view()
        L.flags.writeable = False
        object.__setattr__(self, "L", L)

    def __repr__(self) -> str:
        return f"Factor(n={self.n}, logdet={self.logdet:.6g}, jitter={self.jitter:.3g})"

    @property
    def n(self) -> int:
        """The number of rows of A."""
        return self.L.shape[0]

    @property
    def logdet(self) -> float:
        """log det A = 2 Σ log Lᵢᵢ."""
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    def solve(self, b: ArrayLike, *, overwrite: bool = False) -> NDArray[np.float64]:
        """A⁻¹b for a vector, or for each column of a matrix.

        Parameters
        ----------
        b : array of shape (n,) or (n, k)
        overwrite : bool, default False
            Let the solution take b's memory, where b's type and order permit it.
        """
        half = self.half_solve(b, overwrite=overwrite)
        return triangular_solve(self.L, half, transpose=True, overwrite=True)

    def half_solve(self, b: ArrayLike, *, transpose: bool = False, overwrite: bool = False) -> NDArray[np.float64]:
        """L⁻¹b, whose squared norm is bᵀA⁻¹b; with `transpose` L⁻ᵀb, which turns white noise into N(0, A⁻¹).

        Parameters
        ----------
        b : array of shape (n,) or (n, k)
        transpose : bool, default False
        overwrite : bool, default False
            Let the solution take b's memory, where b's type and order permit it.
        """
        return triangular_solve(self.L, self._columns("b", b), transpose=transpose, overwrite=overwrite)

    def inverse_diagonal(self) -> NDArray[np.float64]:
        """The diagonal of A⁻¹: (A⁻¹)ᵢᵢ = Σₖ (L⁻¹)ₖᵢ², at half the cost of the inverse."""
        half = triangular_inverse(self.L)
        return np.einsum("ki,ki->i", half, half)

    def inverse(self) -> NDArray[np.float64]:
        """A⁻¹ as a full matrix, for cases where every entry is needed (a covariance to print, a gradient)."""
        return inverse_from_factor(self.L)

    def extend(self, B: ArrayLike, C: ArrayLike) -> Factor:
        """The factor of [[A, B], [Bᵀ, C]], in O(n²m) for m new rows.

        The new diagonal gets the same jitter as the old one.

        Parameters
        ----------
        B : array of shape (n, m) or (n,)
            Old rows against new columns.
        C : array of shape (m, m), or a number when m is 1

        Examples
        --------
        >>> from credo.core.linalg import factorize
        >>> factorize([[4.0]]).extend([2.0], 5.0).L
        array([[2., 0.],
               [1., 2.]])
        """
        n, cross, corner = self.n, self._columns("B", B), real_array("C", C)
        cross = cross[:, None] if cross.ndim == 1 else cross
        m = cross.shape[1]
        if corner.shape != (m, m) and not corner.size == m == 1:
            raise ValueError(f"C must have shape ({m}, {m}), as B has {m} columns; got {corner.shape}")
        corner = corner.reshape(m, m)
        if asymmetric(corner):
            raise NotPositiveDefiniteError(f"in the new corner C, {diagnosis(corner)}")
        half = triangular_solve(self.L, _finite("B", cross))
        # The Schur complement C − BᵀA⁻¹B is what the old rows leave of the new ones (Golub & Van Loan 4.2.9).
        rest = np.asfortranarray(corner - half.T @ half)
        rest[np.diag_indices(m)] += self.jitter
        least = np.diagonal(rest).min(initial=np.inf)
        if not (cholesky_in_place(rest) and resolved(rest, corner.diagonal(), n=n + m).all()):
            raise NotPositiveDefiniteError(
                "the extended matrix is not positive definite: the new rows are linear combinations of the "
                f"old ones (smallest remaining diagonal {least:.3g}). If new rows are duplicates, remove "
                "them; if not, factorize the whole matrix with jitter"
            )
        clear_upper(rest)
        L = np.zeros((n + m, n + m), order="F")
        L[:n, :n], L[n:, :n], L[n:, n:] = self.L, half.T, rest
        return Factor(L, jitter=self.jitter)

    def _columns(self, name: str, b: ArrayLike) -> NDArray[np.float64]:
        array, n = real_array(name, b), self.n
        if array.ndim not in (1, 2) or array.shape[0] != n:
            raise ValueError(f"{name} must have shape ({n},) or ({n}, k), as A has {n} rows; got {array.shape}")
        return array


def _finite(name: str, array: NDArray[np.float64]) -> NDArray[np.float64]:
    bad = ~np.isfinite(array)
    if bad.any():
        row, *column = np.argwhere(bad)[0]
        place = f"row {row}, column {column[0]}" if column else f"row {row}"
        raise ValueError(f"{name} must be finite; it has {array[bad][0]} at {place}")
    return array


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
    >>> from credo.core.linalg import factorize
    >>> factor = factorize([[1.0, 1.0], [1.0, 1.0]])
    >>> factor.jitter
    1e-12
    """
    matrix = real_array("A", A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise NotPositiveDefiniteError(diagnosis(matrix))
    if not assume_symmetric and asymmetric(matrix):
        raise NotPositiveDefiniteError(diagnosis(matrix))
    # A conversion from another type has already made a copy, which may be overwritten.
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
