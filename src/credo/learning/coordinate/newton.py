"""Newton steps for the log loss: its second-order expansion in the scores, a quadratic in the coefficients.

For one class that is weighted least squares (iterated reweighted least squares), solved on a Gram matrix or on sparse
columns. Several classes at once have the curvature H_i = diag(p_i) − p_i p_iᵀ in the scores of each row, and a Gram
matrix in which every pair of class and column is a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from credo.learning.coordinate._jit import gram_descent
from credo.learning.coordinate.blocks import Columns, Gram
from credo.learning.coordinate.labels import Labels
from credo.learning.coordinate.rows import Rows, is_sparse

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# What curvatures are raised by, for rows that are decided beyond doubt, and wrongly: a share of their residual.
_FLATTEST, _LEAST = 1e-6, 1e-16
# Passes of coordinate descent in one step.
_PASSES = 1000
# Pairs of class and column that are worth a common Gram matrix, and numbers in the table that it is made from.
_PAIRS, _NUMBERS = 1000, 20_000_000


def groups(n_scores: int, shape: tuple[int, int]) -> list[Order]:
    """The classes in groups that take a step together: all of them if memory allows."""
    n_samples, n_features = shape
    together = min(_PAIRS, _NUMBERS // n_samples) // max(n_features, 1)
    return np.array_split(np.arange(n_scores), -(-n_scores // max(together, 1)))


def minimum(
    X: Any, labels: Labels, p: Array, old: Array, group: Order, *, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    """Coefficients (n_group, n_features) that minimize the penalized expansion at p, and the change of intercepts.

    `old` are the coefficients at which the probabilities are p.
    """
    if len(group) > 1:
        return _several(X, labels, p[:, group], old, group, l1, intercept, target)
    share, residual = p[:, group[0]], labels.Y[:, group[0]] - p[:, group[0]]
    curvature = share * (1.0 - share) + _floor(residual[:, None])
    response = residual / curvature + np.asarray(X @ old[0])
    rows = Rows.of(X, response, labels.weight * curvature, center=intercept)
    block = _block(rows, old[0].copy())
    block.admit(np.arange(len(block.w)))
    block.descend(l1=l1, l2=0.0, target=target, max_passes=_PASSES)
    return block.w[None], np.array([rows.intercept(block.w) if intercept else 0.0])


def _floor(residual: Array) -> Array:
    return _FLATTEST * np.abs(residual).max(axis=1) + _LEAST


def _block(rows: Rows, w: Array) -> Gram | Columns:
    """A pass over a Gram matrix takes p² products at eight at a time, one over sparse columns each entry twice."""
    if is_sparse(rows.X) and len(w) ** 2 > 16 * (rows.X.nnz + len(rows.target)):
        return Columns(rows, w)
    return Gram(rows, w, whole=True)


def _several(
    X: Any, labels: Labels, p: Array, old: Array, group: Order, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    omega, residual = labels.weight, labels.Y[:, group] - p
    floor = _floor(residual)
    K = _curvature(X, p, omega, floor)
    w = old.ravel().copy()
    g = np.asarray(X.T @ (omega[:, None] * residual)).T.ravel()
    c = K @ w + g
    yy = float(w @ (c + g)) + float(omega @ _decrements(p, residual, floor))
    level = np.zeros(len(group))
    if intercept:
        # The intercepts at their optimum for any weights: a Schur complement.
        H, U = _levels(X, p, omega, floor)
        v = U.T @ w + omega @ residual
        solved = np.linalg.solve(H, np.column_stack([v, U.T]))
        K -= U @ solved[:, 1:]
        c -= U @ solved[:, 0]
        yy -= float(v @ solved[:, 0])
        g = c - K @ w
    gram_descent(K, len(w), c, w, g, l1, 0.0, yy, target, _PASSES)
    if intercept:
        level = solved[:, 0] - solved[:, 1:] @ w
    return w.reshape(old.shape), level


def _curvature(X: Any, p: Array, omega: Array, floor: Array) -> Array:
    """Σ ω (diag(p + floor) − ppᵀ) ⊗ xxᵀ, pairs of class and column in the order of the classes."""
    n_classes, n_features = p.shape[1], X.shape[1]
    share = np.sqrt(omega)[:, None] * p
    if is_sparse(X):
        spread = sp.hstack([X.multiply(share[:, [k]]) for k in range(n_classes)], format="csc")
        K = -(spread.T @ spread).toarray()
    else:
        spread = (share[:, :, None] * X[:, None, :]).reshape(len(p), -1)
        K = -(spread.T @ spread)
    for k in range(n_classes):
        part = slice(k * n_features, (k + 1) * n_features)
        pull = omega * (p[:, k] + floor)
        own = X.T @ (X.multiply(pull[:, None]) if is_sparse(X) else pull[:, None] * X)
        K[part, part] += own.toarray() if is_sparse(own) else own
    return np.ascontiguousarray(K)


def _levels(X: Any, p: Array, omega: Array, floor: Array) -> tuple[Array, Array]:
    """The same curvature among the intercepts, (n_group, n_group), and between weights and intercepts."""
    n_classes = p.shape[1]
    pulls = -(omega[:, None] * p)[:, :, None] * p[:, None, :]
    pulls[:, np.arange(n_classes), np.arange(n_classes)] += (omega * (p.T + floor)).T
    U = np.asarray(X.T @ pulls.reshape(len(p), -1))
    U = U.reshape(X.shape[1], n_classes, n_classes).transpose(1, 0, 2).reshape(-1, n_classes)
    return pulls.sum(axis=0), U


def _decrements(p: Array, residual: Array, floor: Array) -> Array:
    """At least rᵀH⁻¹r of each row: the inverse is diag(1/p), and 1/rest where some class isn't in the group."""
    rest, left = 1.0 - p.sum(axis=1), residual.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (residual**2 / p).sum(axis=1)
        exact += np.where(np.abs(left) > 1e-12, left**2 / rest, 0.0)
    flat = (residual**2).sum(axis=1) / floor
    return np.where((rest > -1e-12) & (exact < flat), exact, flat)
