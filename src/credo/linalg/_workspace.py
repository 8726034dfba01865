"""One n×n matrix in place: filled, factored, inverted, and filled again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.linalg.blas import dtrsv

from credo.linalg._diagnosis import NotPositiveDefiniteError, diagnosis
from credo.linalg._factor import Factor
from credo.linalg._factorize import jitter_amounts
from credo.linalg._lapack import cholesky_in_place, triangular_solve
from credo.linalg._triangles import clear_upper

Array = NDArray[np.float64]

# Right-hand sides that are solved for one by one.
_FEW_COLUMNS = 8


class Workspace:
    """Memory for a symmetric matrix that is factored many times, never copied.

    The matrix lives in the triangle i ≤ j of `A`, in C order, which LAPACK knows as the lower triangle in Fortran
    order. `factor` overwrites it with its Cholesky factor, `invert` that with the inverse; the other triangle is
    never read.

    Examples
    --------
    >>> from credo.linalg import Workspace
    >>> work = Workspace(2)
    >>> def fill(A):
    ...     A[:] = [[4.0, 2.0], [0.0, 3.0]]
    >>> work.factor(fill)
    >>> work.solve([8.0, 8.0])
    array([1., 2.])
    >>> work.invert()[0]
    array([ 0.375, -0.25 ])
    """

    def __init__(self, n: int) -> None:
        self.A: Array = np.empty((n, n))
        self.jitter = 0.0
        self.logdet = 0.0

    def factor(self, fill: Callable[[Array], None]) -> None:
        """Fill and factor, with the smallest jitter on the diagonal that suffices.

        Parameters
        ----------
        fill : callable(A)
            Writes the triangle i ≤ j of A; called again for each jitter that is tried.
        """
        fill(self.A)
        diagonal = np.diagonal(self.A).copy()
        for amount in jitter_amounts(diagonal, "auto"):
            if amount:
                fill(self.A)
                np.fill_diagonal(self.A, diagonal + amount)
            if cholesky_in_place(self.A.T):
                self.jitter = amount
                self.logdet = 2.0 * float(np.log(np.diagonal(self.A)).sum())
                return
        fill(self.A)
        whole = np.triu(self.A) + np.triu(self.A, 1).T
        raise NotPositiveDefiniteError(diagnosis(whole, jitter=amount))

    def solve(self, b: Array) -> Array:
        """A⁻¹b from the factor, for a vector or the columns of a matrix."""
        L, columns = self.A.T, np.asarray(b, dtype=np.float64)
        if columns.size == 0:
            return columns.copy()
        if columns.ndim == 2 and columns.shape[1] > _FEW_COLUMNS:
            solution, _ = lapack.dpotrs(L, columns, lower=1)
            return solution
        # dpotrs would first copy the whole factor into an order that pays for many columns only.
        solved = [dtrsv(L, dtrsv(L, column, lower=1), lower=1, trans=1) for column in np.atleast_2d(columns.T)]
        return np.column_stack(solved).reshape(columns.shape)

    def half_solve(self, b: Array, *, transpose: bool = False) -> Array:
        """L⁻¹b, or L⁻ᵀb, from the factor A = LLᵀ, for a vector or the columns of a matrix."""
        if b.ndim == 1 or b.shape[1] > _FEW_COLUMNS or not b.size:
            return triangular_solve(self.A.T, b, transpose=transpose)
        # dtrsm would first copy the whole factor into an order that pays for many columns only.
        return np.column_stack([dtrsv(self.A.T, column, lower=1, trans=int(transpose)) for column in b.T])

    def as_factor(self) -> Factor:
        """The factor in this memory, which must not be filled again; the other triangle is set to zero."""
        clear_upper(self.A.T)
        return Factor(self.A.T, jitter=self.jitter)

    def invert(self) -> Array:
        """The inverse's triangle i ≤ j, in place of the factor."""
        _, info = lapack.dpotri(self.A.T, lower=1, overwrite_c=1)
        if info != 0:
            raise np.linalg.LinAlgError(f"the triangular factor is singular: its diagonal entry {info - 1} is zero")
        return self.A
