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

# Rows that are proposed at a time.
_PROPOSALS = 64


def pivoted_factor(A: Array, tolerance: float) -> tuple[Index, Factor]:
    """Rows of a positive semidefinite matrix that are linearly independent of each other, and their factor.

    Rows are taken in the order of their remaining diagonal, until the largest is at most `tolerance` times the largest
    diagonal entry. At least one row is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linalg import pivoted_factor
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
    >>> from credo.linalg import random_pivots
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
        drawn = rng.choice(len(left), _PROPOSALS, p=left / left.sum())
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
