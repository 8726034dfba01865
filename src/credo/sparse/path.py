"""The lasso for a whole range of penalties, each from the one before."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_X_y

from credo.estimator import FitWarning, positive, positive_integer
from credo.learning.coordinate import Rows, block_of, descend
from credo.sparse.lasso import mixing

Array = NDArray[np.float64]


class LassoPath(NamedTuple):
    """The weights for every penalty: `coefs` is (n_features, n_alphas), and `alphas` has the largest first."""

    alphas: Array
    coefs: Array
    dual_gaps: Array


def lasso_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    alphas: ArrayLike | None = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 100_000,
) -> LassoPath:
    """The weights of the lasso (or elastic net) for a range of α, with the gap met at each of them.

        min (1/2n)‖y − b − Xw‖² + α ρ‖w‖₁ + ½ α (1 − ρ)‖w‖²,    ρ = l1_ratio

    Equivalent to fitting `Lasso` at each α. Unlike scikit-learn's function of this name it takes the means out by
    itself, unless told that there is no intercept; sparse X stays sparse.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    alphas : array, optional
        The penalties, above zero; by default `n_alphas` values, in equal ratios, from the smallest α with all weights
        zero down to `eps` times that.
    n_alphas, eps : the default range
    l1_ratio : float, default 1.0
    fit_intercept : bool, default True
    sample_weight : array of shape (n_samples,), optional
    tol : float, default 1e-4
        Each duality gap is at most tol·‖y − ȳ‖²/n.
    max_iter : int, default 100000
        The most passes of coordinate descent for one α.

    Returns
    -------
    LassoPath
        A tuple of `alphas` (largest first), `coefs` (n_features, n_alphas) and `dual_gaps`.

    Examples
    --------
    >>> from credo.sparse import lasso_path
    >>> X = [[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]]
    >>> path = lasso_path(X, [0.0, 1.0, 2.0, 3.0], alphas=[1.25, 0.25])
    >>> path.coefs
    array([[0. , 0.8],
           [0. , 0. ]])
    """
    positive("tol", tol)
    table: Any
    table, target = check_X_y(X, y, accept_sparse="csc", dtype=np.float64, y_numeric=True)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        table, target, weight = table[weight > 0], target[weight > 0], weight[weight > 0]
    rows = Rows.of(table, np.asarray(target, dtype=np.float64), weight, center=bool(fit_intercept))
    grid = penalties(rows, alphas, n_alphas=n_alphas, eps=eps, l1_ratio=mixing(l1_ratio))
    coefs, gaps, missed = walk(
        rows, grid, l1_ratio=l1_ratio, tol=tol, max_passes=positive_integer("max_iter", max_iter)
    )
    if missed:
        warnings.warn(
            f"at {missed} of {len(grid)} alphas the relative duality gap is above tol={tol:g}: raise max_iter or tol, "
            "or bring the columns to one scale",
            FitWarning,
            stacklevel=2,
        )
    return LassoPath(grid, coefs, gaps / rows.total)


def penalties(rows: Rows, alphas: ArrayLike | None, *, n_alphas: int, eps: float, l1_ratio: float) -> Array:
    """The values of α on trial, largest first."""
    if alphas is not None:
        values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        if values.ndim != 1 or not len(values) or not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(f"alphas must be finite numbers above 0, at least one; got {alphas!r}")
        return np.sort(values)[::-1]
    n_alphas = positive_integer("n_alphas", n_alphas)
    if not 0 < positive("eps", eps) < 1:
        raise ValueError(f"eps must lie between 0 and 1, as in 1e-3; got {eps!r}")
    largest = rows.steepest() / (rows.total * l1_ratio)
    return np.geomspace(1.0, eps, n_alphas) * (largest if largest > 0 else 1.0)


def walk(rows: Rows, alphas: Array, *, l1_ratio: float, tol: float, max_passes: int) -> tuple[Array, Array, int]:
    """Weights (n_features, n_alphas) and gaps along the path, and the number of gaps that weren't met."""
    w = np.zeros(rows.X.shape[1])
    block = block_of(rows, w, n_problems=len(alphas))
    coefs, gaps, missed = np.empty((len(w), len(alphas)), order="F"), np.empty(len(alphas)), 0
    steps = descend(block, alphas * rows.total, l1_ratio=l1_ratio, tol=tol, max_passes=max_passes)
    for k, step in enumerate(steps):
        coefs[:, k], gaps[k] = step.w, step.gap
        missed += not step.converged
    return coefs, gaps, missed
