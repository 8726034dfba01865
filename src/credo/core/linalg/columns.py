"""Columns in any unit: norms without overflow, constant and collinear columns, singular values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla
from scipy.linalg import lapack

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


def constant_columns(norms: Array, x_mean: Array, total: float) -> NDArray[np.bool_]:
    """Columns that are constant: their deviations from the mean are no larger than its rounding error."""
    return norms <= 8 * EPS * np.sqrt(total) * np.abs(x_mean)


def column_norms(A: Array) -> Array:
    """Euclidean norms that neither overflow nor underflow."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.square(A / unit).sum(axis=0))


def mean_and_std(X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Weighted means and standard deviations of columns in any unit; zero if a column is constant up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import mean_and_std
    >>> mean, std = mean_and_std(np.array([[1.0, 0.1], [3.0, 0.1]]))
    >>> mean, std
    (array([2. , 0.1]), array([1., 0.]))
    """
    largest = np.abs(X).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    if not unit.size:
        return unit, unit
    rest = X / unit
    mean = np.zeros_like(unit)
    # Twice, because a mean is rounded.
    for _ in range(2):
        shift = np.average(rest, axis=0, weights=weight)
        mean, rest = mean + shift, rest - shift
    std = np.sqrt(np.average(np.square(rest), axis=0, weights=weight))
    return unit * mean, np.where(std > 8 * EPS * np.abs(mean), unit * std, 0.0)


def weighted_quantiles(values: Array, weight: Array, levels: ArrayLike) -> Array:
    """The smallest value whose cumulative weight reaches each share of the total.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import weighted_quantiles
    >>> weighted_quantiles(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]), [0.25, 0.5, 1.0])
    array([1., 3., 5.])
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # Less by rounding errors of the sum, so that equal weights reach a level exactly where they should.
    goal = (np.asarray(levels) - 1e-12) * reached[-1]
    return np.asarray(values[order][np.searchsorted(reached, goal)])


def graded_svd(A: Array, *, order: int = 0) -> tuple[Array, Array, Array]:
    """U, s, V with A = U diag(s) Vᵀ, without the directions that are rounding errors of their columns.

        A = Q A₁ M,    M = [I, T]        r independent columns, and the others as combinations of them
          = Q (A₁ L) Wᵀ                  M = L Wᵀ, L lower triangular
          = (Q Y) diag(s) (W Z)ᵀ         A₁ L = Y diag(s) Zᵀ

    The units of the columns must not decide what counts as rounding error, so rank and T are found on columns of unit
    length. Jacobi's method then computes even singular values below eps times the largest (Drmač & Veselić 2008), which
    bidiagonalization would lose.
    """
    norms = column_norms(A)
    rounding = EPS * max(*A.shape, order)
    largest = norms.max(initial=0.0)
    if largest == 0:
        return np.empty((len(A), 0)), np.empty(0), np.empty((A.shape[1], 0))
    # Columns keep a little of their scale, so that large ones are chosen as pivots first and T stays small.
    priority = np.clip(norms / largest, 1e-4**4, 1.0) ** 0.25
    unit = np.where(norms > 0, norms, 1.0) / priority
    Q, R, pivots = sla.qr(A / unit, mode="economic", pivoting=True, check_finite=False)
    priority, unit = priority[pivots], unit[pivots]
    rank = int((np.abs(np.diagonal(R)) > rounding * priority[: len(R)]).sum())
    T = sla.solve_triangular(R[:rank, :rank], R[:rank, rank:], check_finite=False)
    # A small coefficient of a small column in a large one is a rounding error, which the units would magnify.
    T[np.abs(T) * priority[:rank, None] <= rounding * priority[rank:]] = 0.0
    T *= unit[rank:] / unit[:rank, None]
    M = np.concatenate([np.eye(rank), T.T])
    # Largest rows first, which makes Householder's QR accurate row by row.
    falling = np.argsort(-np.abs(M).max(axis=1), kind="stable")
    W, Lt = sla.qr(M[falling], mode="economic", check_finite=False)
    # joba = 0 is for A = B D with any diagonal D.
    s, Y, Z, work, _, info = lapack.dgejsv((R[:rank, :rank] * unit[:rank]) @ Lt.T, joba=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"Jacobi's method did not converge on columns of norm {norms.min():.3g} and up")
    V = np.zeros((A.shape[1], rank))
    V[pivots[falling]] = W @ Z
    return Q[:, :rank] @ Y, s * (work[0] / work[1]), V
