"""Cholesky factors with pivoting: the rows of a positive semidefinite matrix that explain the others best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from credo.linalg._factor import Factor
from credo.linalg._lapack import triangular_solve
from credo.linalg._triangles import clear_upper

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Rows with the largest remaining diagonal, among which the next ones are chosen at a time, and the share of the largest
# that each of them must still have. One at a time would be exact, and limited by memory instead of arithmetic.
_POOL, _SHARE = 128, 0.8


def pivoted_factor(A: Array, tolerance: float) -> tuple[Index, Factor]:
    """Rows of a positive semidefinite matrix that are linearly independent of each other, and their factor.

    Rows are taken in the order of their remaining diagonal, until the largest is at most `tolerance` times the largest
    diagonal entry. At least one row is taken.

    >>> rows, factor = pivoted_factor(np.array([[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 3.0]]), 1e-10)
    >>> rows.tolist(), factor.L.tolist()
    ([0, 2], [[2.0, 0.0], [1.0, 1.4142135623730951]])
    """
    order, L = _pivoted(A, tolerance * float(np.diagonal(A).max()))
    if not len(order):
        raise ValueError("the matrix has no positive diagonal entry")
    return order, Factor(L)


def greedy_rows(
    diagonal: Array, columns: Callable[[Index], Array], block: Callable[[Index], Array], n: int, *, tolerance: float
) -> Index:
    """At most n rows of a positive semidefinite matrix, each with nearly the largest diagonal that those before leave.

    This is the pivoted Cholesky factorisation (Harbrecht, Peters & Schneider 2012), several rows at a time. It ends
    when what is left of the diagonal is at most `tolerance` times its largest entry.

    Parameters
    ----------
    diagonal : array of shape (n_rows,)
    columns : callable(index) -> array of shape (n_rows, len(index))
        Some columns of the matrix.
    block : callable(index) -> array of shape (len(index), len(index))
        The same columns at the same rows.
    """
    left, n = diagonal.copy(), min(n, len(diagonal))
    floor = tolerance * float(diagonal.max())
    chosen: list[int] = []
    # In Fortran order the first columns are contiguous.
    F = np.empty((len(diagonal), n), order="F")
    while len(chosen) < n and left.max() > floor:
        k = len(chosen)
        pool = np.argsort(-left, kind="stable")[: min(_POOL, len(left))]
        done = F[:, :k]
        order, L = _pivoted(block(pool) - done[pool] @ done[pool].T, max(_SHARE * float(left.max()), floor))
        order = order[: n - k]
        if not len(order):
            break
        new, L = pool[order], L[: len(order), : len(order)]
        fresh = np.asfortranarray(columns(new) - done @ done[new].T)
        F[:, k : k + len(new)] = triangular_solve(L, fresh.T).T
        left -= np.einsum("ij,ij->i", F[:, k : k + len(new)], F[:, k : k + len(new)])
        left[new] = 0.0
        chosen += new.tolist()
    return np.array(chosen, dtype=np.intp)


def _pivoted(A: Array, floor: float) -> tuple[Index, Array]:
    """The rows whose remaining diagonal is above the floor when their turn comes, and the factor of their matrix."""
    work, pivots, rank, info = lapack.dpstrf(np.array(A, order="F"), lower=1, tol=floor, overwrite_a=1)
    if info < 0:
        raise ValueError(f"LAPACK's dpstrf rejected its argument number {-info}")
    # LAPACK takes the first row without comparing it with the floor.
    rank = int(rank) if np.diagonal(A).max(initial=-np.inf) > floor else 0
    L = np.array(work[:rank, :rank], order="F")
    clear_upper(L)
    return np.asarray(pivots[:rank] - 1, dtype=np.intp), L
