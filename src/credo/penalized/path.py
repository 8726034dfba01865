"""The lasso along a grid of penalties, each fit started from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from credo.estimator import ConvergenceWarning, names_for, numeric, positive, positive_integer, training_rows
from credo.learning.coordinate import Rows, WorkingSet, elastic_net_path, working_set
from credo.notices import warn
from credo.penalized.lasso import mixing

Array = NDArray[np.float64]


class _Path(NamedTuple):
    alphas: Array
    coefs: Array
    dual_gaps: Array


class LassoPath(_Path):
    """Coefficients for each penalty; unpacks as `alphas, coefs, dual_gaps`.

    Parameters
    ----------
    alphas : array of shape (n_alphas,), the largest first
    coefs : array of shape (n_features, n_alphas)
    dual_gaps : array of shape (n_alphas,)
    intercepts : array of shape (n_alphas,), optional
        Zeros where none are given.
    names : list of str, optional
        Of the columns; x0, x1, … where none are given.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import LassoPath
    >>> path = LassoPath(np.array([2.0, 1.0]), np.array([[0.0, 0.5]]), np.zeros(2), intercepts=np.array([3.0, 2.0]))
    >>> path.predict([[0.0], [4.0]])
    array([[3., 2.],
           [3., 4.]])
    >>> path.names
    ['x0']
    >>> path
    LassoPath(2 alphas from 2 to 1; 1 column, 1 nonzero; largest dual gap 0)
    """

    intercepts: Array
    names: list[str]

    def __new__(
        cls,
        alphas: Array,
        coefs: Array,
        dual_gaps: Array,
        *,
        intercepts: Array | None = None,
        names: list[str] | None = None,
    ) -> Self:
        path = super().__new__(cls, alphas, coefs, dual_gaps)
        path.intercepts = np.zeros(len(alphas)) if intercepts is None else intercepts
        path.names = [f"x{j}" for j in range(len(coefs))] if names is None else names
        return path

    def __repr__(self) -> str:
        first, last = f"{self.alphas[0]:.4g}", f"{self.alphas[-1]:.4g}"
        alphas = f"{len(self.alphas)} alphas from {first} to {last}" if len(self.alphas) > 1 else f"alpha {first}"
        used = int(np.count_nonzero(self.coefs.any(axis=1)))
        columns = f"{len(self.coefs)} column{'s' * (len(self.coefs) != 1)}, {used} nonzero"
        return f"LassoPath({alphas}; {columns}; largest dual gap {self.dual_gaps.max():.2g})"

    def predict(self, X: ArrayLike) -> Array:
        """The prediction of each row for each penalty, (n_samples, n_alphas)."""
        rows: Any = check_array(numeric(X), accept_sparse="csr", dtype=np.float64, input_name="X")
        if rows.shape[1] != len(self.coefs):
            raise ValueError(f"X has {rows.shape[1]} columns, but the path was fitted with {len(self.coefs)}")
        return np.asarray(rows @ self.coefs) + self.intercepts


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
    names: Sequence[str] | None = None,
    tol: float = 1e-4,
    max_iter: int = 100_000,
) -> LassoPath:
    """Coefficients of the lasso (or elastic net) along a grid of α, with the duality gap at each.

        min (1/2n)‖y − b − Xw‖² + α ρ‖w‖₁ + ½ α (1 − ρ)‖w‖²,    ρ = l1_ratio

    Equivalent to fitting `Lasso` at each α. Unlike scikit-learn's function of the same name it fits an intercept by
    default. Sparse X stays sparse.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    alphas : array, optional
        The penalties; 0 is least squares. By default `n_alphas` values, equally spaced in their logarithms, from the
        smallest α at which all coefficients are zero down to `eps` times that.
    n_alphas, eps : the default grid
    l1_ratio : float, default 1.0
        ρ between 0 (ridge regression; needs `alphas`) and 1 (lasso).
    fit_intercept : bool, default True
    sample_weight : array of shape (n_samples,), optional
    names : sequence of str, optional
        Unique names of the columns; by default those of a data frame or of `credo.features`, else x0, x1, …
    tol : float, default 1e-4
        The solver stops when the duality gap is at most tol·‖y − ȳ‖²/n.
    max_iter : int, default 100000
        Maximum number of passes of coordinate descent for one α.

    Returns
    -------
    LassoPath
        A tuple of `alphas` (largest first), `coefs` (n_features, n_alphas) and `dual_gaps`, with further attributes
        `intercepts` and `names`, and a method `predict`.

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
    ratio, max_iter = mixing(l1_ratio), positive_integer("max_iter", max_iter)
    table, target, weight, own_names = training_rows("lasso_path", X, y, sample_weight, sparse="csc")
    rows = Rows.of(table, target, weight, center=bool(fit_intercept))
    column_names = own_names if names is None else names_for(names, rows.X.shape[1])
    if ratio == 0 and alphas is None:
        raise ValueError("l1_ratio=0 has no default alphas, as no penalty sets all coefficients to zero: pass alphas")
    largest = rows.l1_max() / (rows.total * ratio) if ratio > 0 else np.nan
    grid = penalties(largest, alphas, n_alphas=n_alphas, eps=eps)
    columns = working_set(rows, np.zeros(rows.X.shape[1]), n_problems=len(grid))
    coefs, gaps, missed = fit_path(columns, grid, l1_ratio=ratio, tol=tol, max_passes=max_iter)
    if missed:
        warn(
            f"{missed} of {len(grid)} fits did not converge (relative duality gap above tol={tol:g}): increase "
            "max_iter or tol, or standardize the columns",
            ConvergenceWarning,
            stacklevel=2,
        )
    return LassoPath(grid, coefs, gaps / rows.total, intercepts=rows.intercept(coefs), names=column_names)


def penalties(largest: float, alphas: ArrayLike | None, *, n_alphas: int, eps: float, zero: bool = True) -> Array:
    """The grid of α, largest first: the values given (0 only if `zero` is allowed), or a geometric default grid."""
    if alphas is not None:
        values = np.atleast_1d(np.asarray(alphas))
        numbers = values.dtype.kind in "iuf" and values.ndim == 1 and len(values) > 0
        least = 0.0 if zero else np.finfo(np.float64).tiny
        if not numbers or not ((values >= least) & np.isfinite(values)).all():
            sign = "not negative" if zero else "positive"
            raise ValueError(f"alphas must be one or more finite numbers, {sign}; got {alphas!r}")
        return np.sort(values.astype(np.float64))[::-1]
    n_alphas = positive_integer("n_alphas", n_alphas)
    if not 0 < positive("eps", eps) < 1:
        raise ValueError(f"eps must lie between 0 and 1, as in 1e-3; got {eps!r}")
    return np.geomspace(1.0, eps, n_alphas) * (largest if largest > 0 else 1.0)


def fit_path(
    columns: WorkingSet, alphas: Array, *, l1_ratio: float, tol: float, max_passes: int
) -> tuple[Array, Array, int]:
    """Coefficients (n_features, n_alphas) and duality gaps, and the number of fits that did not converge."""
    coefs, gaps, missed = np.empty((len(columns.w), len(alphas)), order="F"), np.empty(len(alphas)), 0
    sums = alphas * columns.rows.total
    for k, solution in enumerate(elastic_net_path(columns, sums, l1_ratio=l1_ratio, tol=tol, max_passes=max_passes)):
        coefs[:, k], gaps[k] = solution.w, solution.gap
        missed += not solution.converged
    return coefs, gaps, missed
