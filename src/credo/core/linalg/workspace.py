"""A reusable n×n matrix that is filled, factored and inverted in place; and Cholesky factors with pivoting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.linalg.blas import dtrsv

from credo.core.linalg.diagnosis import NotPositiveDefiniteError, diagnosis
from credo.core.linalg.factor import Factor, jitter_amounts
from credo.core.linalg.lapack import cholesky_in_place, clear_upper, triangular_solve

Array = NDArray[np.float64]

# Up to this many right-hand sides are solved one by one.
_MAX_SEPARATE_COLUMNS = 8


class Workspace:
    """Memory for a symmetric matrix that is factored many times, never copied.

    The matrix is stored in the triangle i ≤ j of `A`, in C order, which is LAPACK's lower triangle in Fortran order.
    `factor` overwrites it with its Cholesky factor, `invert` that with the inverse; the other triangle is never read.

    Examples
    --------
    >>> from credo.core.linalg import Workspace
    >>> def fill(A):
    ...     A[:] = [[4.0, 2.0], [0.0, 3.0]]
    >>> work = Workspace(2).factor(fill)
    >>> work.solve([8.0, 8.0])
    array([1., 2.])
    >>> work.invert()[0]
    array([ 0.375, -0.25 ])
    """

    def __init__(self, n: int) -> None:
        self.A: Array = np.empty((n, n))
        self.jitter = 0.0
        self.logdet = 0.0

    def factor(self, fill: Callable[[Array], None]) -> Self:
        """Fill and factor, with the smallest jitter on the diagonal that suffices; returns itself.

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
                return self
        fill(self.A)
        whole = np.triu(self.A) + np.triu(self.A, 1).T
        raise NotPositiveDefiniteError(diagnosis(whole, jitter=amount))

    def solve(self, b: Array) -> Array:
        """A⁻¹b from the factor, for a vector or the columns of a matrix."""
        L, columns = self.A.T, np.asarray(b, dtype=np.float64)
        if columns.size == 0:
            return columns.copy()
        if columns.ndim == 2 and columns.shape[1] > _MAX_SEPARATE_COLUMNS:
            solution, _ = lapack.dpotrs(L, columns, lower=1)
            return solution
        # dpotrs would first copy the whole factor, which is worthwhile for many columns only.
        solved = [dtrsv(L, dtrsv(L, column, lower=1), lower=1, trans=1) for column in np.atleast_2d(columns.T)]
        return np.column_stack(solved).reshape(columns.shape)

    def half_solve(self, b: Array, *, transpose: bool = False) -> Array:
        """L⁻¹b, or L⁻ᵀb, from the factor A = LLᵀ, for a vector or the columns of a matrix."""
        if b.ndim == 1 or b.shape[1] > _MAX_SEPARATE_COLUMNS or not b.size:
            return triangular_solve(self.A.T, b, transpose=transpose)
        # dtrsm would first copy the whole factor, which is worthwhile for many columns only.
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


Index = NDArray[np.intp]


def pivoted_factor(A: Array, tolerance: float) -> tuple[Index, Factor]:
    """Rows of a positive semidefinite matrix that are linearly independent of each other, and their factor.

    Rows are taken in the order of their remaining diagonal, until the largest is at most `tolerance` times the largest
    diagonal entry. At least one row is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import pivoted_factor
    >>> rows, factor = pivoted_factor(np.array([[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 3.0]]), 1e-10)
    >>> rows.tolist(), factor.L.tolist()
    ([0, 2], [[2.0, 0.0], [1.0, 1.4142135623730951]])
    """
    order, L = _pivoted(A, tolerance * float(np.diagonal(A).max()))
    if not len(order):
        raise ValueError("the matrix has no positive diagonal entry")
    return order, Factor(L)


def random_pivots(
    diagonal: Array,
    columns: Callable[[Index], Array],
    n: int,
    *,
    tolerance: float,
    rng: np.random.Generator,
) -> Index:
    """At most n rows of a positive semidefinite matrix A that explain the others, by randomly pivoted Cholesky.

    Each row is drawn with a probability proportional to the diagonal that those before it leave (Chen, Epperly, Tropp
    & Webber 2022), which leaves a smaller trace than to take the largest: with many columns, the rows of the largest
    remaining diagonal are outliers. Proposals are drawn together and rejected one by one (Epperly, Tropp & Webber
    2024). It ends when what is left of every diagonal entry is at most `tolerance` times the largest.

    Parameters
    ----------
    diagonal : array of shape (n_rows,)
    columns : callable(index) -> array of shape (n_rows, len(index))
        Some columns of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import random_pivots
    >>> A = np.kron(np.eye(3), np.ones((4, 4)))  # three groups of four equal rows
    >>> rows = random_pivots(np.diag(A), lambda i: A[:, i], 12, tolerance=1e-9, rng=np.random.default_rng(0))
    >>> sorted((rows // 4).tolist())
    [0, 1, 2]
    """
    left, n = diagonal.copy(), min(n, len(diagonal))
    floor = tolerance * float(diagonal.max())
    chosen: list[int] = []
    # In Fortran order the first columns are contiguous.
    F = np.empty((len(diagonal), n), order="F")
    while len(chosen) < n and left.max() > floor:
        k = len(chosen)
        drawn = rng.choice(len(left), 64, p=left / left.sum())
        proposed = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        rest = columns(proposed) - F[:, :k] @ F[proposed, :k].T
        kept = _kept(rest[proposed], floor, rng)[: n - k]
        order, L = _pivoted(rest[np.ix_(proposed[kept], kept)], floor)
        if not len(order):
            # What is left of the rows that were drawn is rounding.
            left[proposed] = 0.0
            continue
        new = proposed[kept[order]]
        fresh = triangular_solve(L, np.ascontiguousarray(rest[:, kept[order]]).T).T
        F[:, k : k + len(new)] = fresh
        left = np.maximum(left - np.einsum("ij,ij->i", fresh, fresh), 0.0)
        left[new] = 0.0
        chosen += new.tolist()
    return np.array(chosen, dtype=np.intp)


def _kept(A: Array, floor: float, rng: np.random.Generator) -> Index:
    """Each row is kept with the share of its diagonal that those kept before it leave, if that is above the floor."""
    left, before = A.copy(), np.diagonal(A).copy()
    kept = []
    for i, chance in enumerate(rng.random(len(A))):
        pivot = left[i, i]
        if pivot > floor and pivot > chance * before[i]:
            left -= np.outer(left[:, i], left[i] / pivot)
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def _pivoted(A: Array, floor: float) -> tuple[Index, Array]:
    """The rows whose remaining diagonal is above the floor when their turn comes, and the factor of their matrix."""
    if not len(A):
        return np.empty(0, dtype=np.intp), np.empty((0, 0), order="F")
    work, pivots, rank, info = lapack.dpstrf(np.array(A, order="F"), lower=1, tol=floor, overwrite_a=1)
    if info < 0:
        raise ValueError(f"LAPACK's dpstrf rejected its argument number {-info}")
    # LAPACK takes the first row without comparing it with the floor.
    rank = int(rank) if np.diagonal(A).max(initial=-np.inf) > floor else 0
    L = np.array(work[:rank, :rank], order="F")
    clear_upper(L)
    return np.asarray(pivots[:rank] - 1, dtype=np.intp), L
