"""Singular values of columns in any unit, constant and collinear columns, and the rows that a model keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla
from scipy.linalg import lapack

from credo.core.estimator import has_weight
from credo.core.parts import BLOCK_ENTRIES as BLOCK_ENTRIES
from credo.core.parts import centred, means_and_rest, triangle

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Training rows are stored up to this many numbers (64 MB), for methods that need them later.
KEPT_ENTRIES = 8_000_000
# The `joba` of LAPACK's dgejsv for A = B D with any diagonal D.
_COLUMNS = 0
_MIN_PRIORITY = 1e-4


@dataclass(frozen=True)
class Kept:
    """The training rows of positive weight, and their positions among all rows given."""

    rows: Any
    weight: Array | None
    positions: NDArray[np.intp]
    n_given: int

    @classmethod
    def of(cls, rows: Any, weight: Array | None, sample_weight: Any) -> Kept | None:
        """A copy of the rows, or None if there are too many."""
        if rows.shape[0] * rows.shape[1] > KEPT_ENTRIES:
            return None
        used = has_weight(sample_weight, rows.shape[0])
        return cls(rows.copy(), weight, np.flatnonzero(used), len(used))


def means(X: Array, weight: Array | None) -> Array:
    """Weighted means of the columns, to the rounding error of the data."""
    return means_and_rest(X, weight)[0]


def flat_columns(norms: Array, x_mean: Array, total: float) -> NDArray[np.bool_]:
    """Columns that are constant: their deviations from the mean are no larger than its rounding error."""
    return norms <= 8 * EPS * np.sqrt(total) * np.abs(x_mean)


def column_norms(A: Array) -> Array:
    """Euclidean norms that neither overflow nor underflow."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.square(A / unit).sum(axis=0))


def collinear(rank: int, n_features: int, advice: str) -> str:
    """The message for columns of lower rank."""
    return (
        f"the {n_features} columns are collinear (rank {rank}), so the coefficients are not unique and those of "
        f"smallest norm are given: {advice}"
    )


def same_intercept(before: bool, now: bool) -> None:
    """Raise an error if `fit_intercept` has changed between two calls of `partial_fit`."""
    if bool(before) != bool(now):
        raise ValueError(
            f"fit_intercept was {before} for the rows seen so far and is {now} now: set it back, or clone the model "
            "and start again"
        )


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
    priority = np.clip(norms / largest, _MIN_PRIORITY**4, 1.0) ** 0.25
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
    s, Y, Z, work, _, info = lapack.dgejsv((R[:rank, :rank] * unit[:rank]) @ Lt.T, joba=_COLUMNS)
    if info != 0:
        raise np.linalg.LinAlgError(f"Jacobi's method did not converge on columns of norm {norms.min():.3g} and up")
    V = np.zeros((A.shape[1], rank))
    V[pivots[falling]] = W @ Z
    return Q[:, :rank] @ Y, s * (work[0] / work[1]), V


def graded_axes(X: Array, weight: Array | None, *, center: Array, size: Array) -> tuple[Array, Array, Array]:
    """R, s and V with √w(X − c) = Q R and R = U diag(s) Vᵀ.

    R is triangular, or consists of the rows themselves if they are few. Columns that are constant up to the rounding
    error of numbers of this `size` are zero in it.
    """
    n_samples, n_features = X.shape
    nothing = np.zeros(n_samples)
    if n_samples > n_features:
        R = triangle(X, nothing, weight, x_mean=center, y_mean=0.0)[:-1, :-1]
    else:
        R, _ = centred(X, nothing, weight, x_mean=center, y_mean=0.0)
    total = n_samples if weight is None else float(weight.sum())
    R[:, flat_columns(column_norms(R), size, total)] = 0.0
    _, s, V = graded_svd(R, order=n_samples)
    return R, s, V
