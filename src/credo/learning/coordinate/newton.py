"""Newton steps for the log loss: its second-order expansion in the scores, a quadratic in the coefficients.

For one class that is weighted least squares (iteratively reweighted least squares), solved on a Gram matrix or on
sparse columns. For several classes at once the Hessian of row i in its scores is diag(p_i) − p_i p_iᵀ, and the Gram
matrix has a column for every pair of class and feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from credo.estimator import is_sparse
from credo.learning.coordinate._jit import gram_descent
from credo.learning.coordinate.log_loss import Labels
from credo.learning.coordinate.rows import Rows
from credo.learning.coordinate.working_sets import GramWorkingSet, SparseWorkingSet

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Added to the curvature p(1 − p), relative to the residual and absolute: rows that are predicted wrongly with certainty
# have none of their own.
_RELATIVE_FLOOR, _FLOOR = 1e-6, 1e-16
# The most passes of coordinate descent in one step.
_PASSES = 1000
# The largest common Gram matrix of several classes, and the most entries of the matrix that it is made from.
_PAIRS, _ENTRIES = 1000, 20_000_000


def groups(n_scores: int, shape: tuple[int, int]) -> list[Indices]:
    """The classes in groups that take a step together: all of them if memory allows."""
    n_samples, n_features = shape
    together = min(_PAIRS, _ENTRIES // n_samples) // max(n_features, 1)
    return np.array_split(np.arange(n_scores), -(-n_scores // max(together, 1)))


def minimum(
    X: Any, labels: Labels, p: Array, old: Array, group: Indices, *, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    """Coefficients (n_group, n_features) that minimize the penalized expansion at p, and the change of intercepts.

    `old` are the coefficients at which the probabilities are p.
    """
    if len(group) > 1:
        return _several(X, labels, p[:, group], old, group, l1, intercept, target)
    q, residual = p[:, group[0]], labels.Y[:, group[0]] - p[:, group[0]]
    curvature = q * (1.0 - q) + _floor(residual[:, None])
    response = residual / curvature + np.asarray(X @ old[0])
    rows, w = Rows.of(X, response, labels.weight * curvature, center=intercept), old[0].copy()
    # A pass over a Gram matrix takes p² products, eight at a time; one over sparse columns reads each entry twice.
    sparse = is_sparse(X) and len(w) ** 2 > 16 * (X.nnz + len(p))
    working_set = SparseWorkingSet(rows, w) if sparse else GramWorkingSet(rows, w, whole=True)
    working_set.add(np.arange(len(w)))
    working_set.descend(l1=l1, l2=0.0, target=target, max_passes=_PASSES)
    return w[None], np.array([rows.intercept(w) if intercept else 0.0])


def _floor(residual: Array) -> Array:
    return _RELATIVE_FLOOR * np.abs(residual).max(axis=1) + _FLOOR


def _several(
    X: Any, labels: Labels, p: Array, old: Array, group: Indices, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    omega, residual = labels.weight, labels.Y[:, group] - p
    floor = _floor(residual)
    K = _curvature(X, p, omega, floor)
    w = old.ravel().copy()
    g = np.asarray(X.T @ (omega[:, None] * residual)).T.ravel()
    c = K @ w + g
    yy = float(w @ (c + g)) + float(omega @ _decrements(p, residual, floor))
    b_step = np.zeros(len(group))
    if intercept:
        # The intercepts at their optimum for any coefficients: a Schur complement.
        H, U = _intercept_curvature(X, p, omega, floor)
        v = U.T @ w + omega @ residual
        solved = np.linalg.solve(H, np.column_stack([v, U.T]))
        K -= U @ solved[:, 1:]
        c -= U @ solved[:, 0]
        yy -= float(v @ solved[:, 0])
        g = c - K @ w
    gram_descent(K, len(w), c, w, g, l1, 0.0, yy, target, _PASSES)
    if intercept:
        b_step = solved[:, 0] - solved[:, 1:] @ w
    return w.reshape(old.shape), b_step


def _curvature(X: Any, p: Array, omega: Array, floor: Array) -> Array:
    """Σ ω (diag(p + floor) − ppᵀ) ⊗ xxᵀ, pairs of class and column in the order of the classes."""
    n_classes, n_features = p.shape[1], X.shape[1]
    scaled = np.sqrt(omega)[:, None] * p
    if is_sparse(X):
        products = sp.hstack([X.multiply(scaled[:, [k]]) for k in range(n_classes)], format="csc")
        K = -(products.T @ products).toarray()
    else:
        products = (scaled[:, :, None] * X[:, None, :]).reshape(len(p), -1)
        K = -(products.T @ products)
    for k in range(n_classes):
        part = slice(k * n_features, (k + 1) * n_features)
        weight = (omega * (p[:, k] + floor))[:, None]
        own = X.T @ (X.multiply(weight) if is_sparse(X) else weight * X)
        K[part, part] += own.toarray() if is_sparse(own) else own
    return np.ascontiguousarray(K)


def _intercept_curvature(X: Any, p: Array, omega: Array, floor: Array) -> tuple[Array, Array]:
    """The same curvature among the intercepts, (n_group, n_group), and between coefficients and intercepts."""
    n_classes = p.shape[1]
    H = -(omega[:, None] * p)[:, :, None] * p[:, None, :]
    H[:, np.arange(n_classes), np.arange(n_classes)] += (omega * (p.T + floor)).T
    U = np.asarray(X.T @ H.reshape(len(p), -1))
    U = U.reshape(X.shape[1], n_classes, n_classes).transpose(1, 0, 2).reshape(-1, n_classes)
    return H.sum(axis=0), U


def _decrements(p: Array, residual: Array, floor: Array) -> Array:
    """An upper bound of rᵀH⁻¹r of each row; H⁻¹ is diag(1/p) plus 1/rest if some class isn't in the group."""
    rest, left = 1.0 - p.sum(axis=1), residual.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (residual**2 / p).sum(axis=1)
        exact += np.where(np.abs(left) > 1e-12, left**2 / rest, 0.0)
    flat = (residual**2).sum(axis=1) / floor
    return np.where((rest > -1e-12) & (exact < flat), exact, flat)
