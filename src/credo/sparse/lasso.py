"""Least squares with a penalty on the absolute values of the coefficients: lasso and elastic net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

from credo.core.estimator import (
    ConvergenceWarning,
    Description,
    Effect,
    Estimator,
    Regressor,
    Result,
    interval_level,
    linear_effects,
    names_for,
    nonnegative,
    numeric,
    positive,
    positive_integer,
    training_rows,
)
from credo.core.fields import Axes, Finite
from credo.core.frames import Table
from credo.core.learning.coordinate import Rows, Solution, WorkingSet, elastic_net_path, polish, working_set
from credo.core.notices import warn
from credo.core.parts import RowSummary, in_parts, summarize, take_summary
from credo.distributions import Distribution, Normal

Array = NDArray[np.float64]

# With more columns than this, a summary shows only nonzero coefficients.
_MAX_SHOWN_COLUMNS = 30


def fit_result(
    converged: bool, n_iter: int, relative_gap: float, tol: float, *, max_iter: int = 0, warns: bool = True
) -> Result:  # fmt: skip
    """The result of a fit; warns if it did not converge."""
    if converged:
        return Result(True, n_iter, f"converged in {n_iter} iterations (relative duality gap {relative_gap:.2g})")
    message = f"did not converge in {n_iter} iterations (relative duality gap {relative_gap:.2g}, above tol={tol:g})"
    if n_iter < max_iter:
        message += (
            ": columns nearly repeat others, so that only rounding errors are left to reduce. Increase tol, use a "
            "larger alpha, or remove such columns"
        )
    else:
        message += ": increase max_iter or tol, use a larger alpha, or standardize the columns"
    if warns:
        warn(message, ConvergenceWarning, stacklevel=4)
    return Result(False, n_iter, message)


class SparseCoefficients(Estimator):
    """Base of models with sparse coefficients: summary and fitted attributes. A subclass has a `_title`."""

    _accepts_sparse = True
    _title: str
    _equation = "y = b + Σ wⱼ xⱼ + noise, many wⱼ = 0"

    alpha_: float
    selected_: list[str]
    dual_gap_: float
    n_iter_: int
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    fit_intercept: bool
    tol: float
    max_iter: int

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients; with many columns, the nonzero ones.

        Standard deviations are not shown: those of least squares on the selected columns would be too small, because
        the columns were selected on the same rows. `SpikeSlabRegressor` and `SpikeSlabClassifier` give the uncertainty
        of coefficients.
        """
        check_is_fitted(self)
        interval_level(level)
        coefs, features = np.atleast_2d(self.coef_), self._feature_names()
        size = np.abs(coefs).max(axis=0)
        shown = np.arange(len(size)) if len(size) <= _MAX_SHOWN_COLUMNS else np.argsort(-size)[: np.count_nonzero(size)]
        names, table = [str(features[j]) for j in shown], coefs[:, shown]
        if self.fit_intercept:
            names, table = ["intercept", *names], np.column_stack([np.atleast_1d(self.intercept_), table])
        if len(table) > 1:
            names = [f"{label}: {name}" for label in self.classes_ for name in names]
        return Table.of_estimates(self._title, zip(names, table.ravel(), strict=True), notes=self._notes())

    def describe(self, *, level: float = 0.95) -> Description:
        return replace(super().describe(level=level), selects=True)

    def _effects(self, level: float) -> tuple[Effect, ...]:
        intercept = self.intercept_ if self.fit_intercept else None
        return linear_effects(
            self._feature_names(), self.coef_, intercept, classes=self.classes_ if is_classifier(self) else ()
        )

    def _notes(self) -> tuple[str, ...]:
        nonzero = f"{len(self.selected_)} of {self.n_features_in_} columns have nonzero coefficients"
        return f"{nonzero} at alpha {self.alpha_:.4g}", self.result_.message

    def _sparse_format(self) -> str | bool:
        return "csc"

    def _keep_coefficients(self, coef: Array, intercept: Any, alpha: float, gap: float, n_iter: int) -> None:
        """Set the fitted attributes that all models share."""
        self.coef_, self.intercept_, self.alpha_, self.dual_gap_, self.n_iter_ = coef, intercept, alpha, gap, n_iter
        names = self._feature_names()
        self.selected_ = [names[j] for j in np.flatnonzero((np.atleast_2d(coef) != 0).any(axis=0))]


class PenalizedRegression(SparseCoefficients, Regressor):
    """Base of regressions with sparse coefficients: predictions and noise. Their `fit` ends in `_keep`."""

    _accepts_parts = True

    coef_: Annotated[Array, Axes("d")]
    intercept_: Annotated[float, Finite]
    noise_std_: float
    dof_: float

    def _notes(self) -> tuple[str, ...]:
        nonzero, message = super()._notes()
        return nonzero, f"{self._noise()} with {self.dof_:.6g} degrees of freedom", message

    def _noise(self) -> str:
        return f"noise sd {self.noise_std_:.4g}"

    def _mean(self, rows: Any) -> Array:
        return np.asarray(rows @ self.coef_) + self.intercept_

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        if latent:
            raise ValueError(
                f"{type(self).__name__} is a point estimate without uncertainty of f, so latent=True is not available: "
                "use SpikeSlabRegressor or BayesianLinearRegression"
            )
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.n_observations_:g} rows and {np.count_nonzero(self.coef_)} nonzero coefficients leave no "
                "degrees of freedom to estimate the noise: use more rows or a larger alpha"
            )
        return self._around(self._mean(rows))

    def _around(self, mean: Array) -> Distribution:
        """The predictive distribution with these means."""
        return Normal(mean, np.full(len(mean), self.noise_std_))

    def _keep(self, rows: Rows, solution: Solution, alpha: float, *, warns: bool = True) -> None:
        """Set the fitted attributes from the solution for one α; warns if it did not converge."""
        gap = solution.gap / rows.total
        self._keep_coefficients(solution.w, rows.intercept(solution.w), alpha, gap, solution.n_passes)
        rss = float(np.square(rows.residual(self.coef_)).sum())
        # The number of nonzero coefficients is an unbiased estimate of the degrees of freedom of a lasso fit (Zou,
        # Hastie & Tibshirani 2007); without an ℓ₁ penalty they are the trace of the hat matrix.
        used = np.count_nonzero(self.coef_) if solution.effective is None else solution.effective
        self.dof_ = max(rows.total - used - bool(self.fit_intercept), 0.0)
        self.noise_std_ = float(np.sqrt(rss / self.dof_)) if self.dof_ > 0 else np.nan
        self.n_parameters_ = round(used) + bool(self.fit_intercept) + 1
        self.n_observations_ = rows.total
        with np.errstate(divide="ignore"):
            self.log_likelihood_ = float(-0.5 * rows.total * (np.log(2 * np.pi * rss / rows.total) + 1.0))
        relative_gap = solution.gap / rows.yy if rows.yy > 0 else 0.0
        self.result_ = fit_result(
            solution.converged, solution.n_passes, relative_gap, self.tol, max_iter=self.max_iter, warns=warns
        )


class ElasticNet(PenalizedRegression):
    """Least squares with an ℓ₁ and an ℓ₂ penalty on the coefficients; the intercept is not penalized.

        min (1/2n)‖y − b − Xw‖² + α ρ‖w‖₁ + ½ α (1 − ρ)‖w‖²,    ρ = l1_ratio

    Equivalent to scikit-learn's `ElasticNet`. The ℓ₂ penalty spreads the effect over correlated columns. With alpha=0
    this is least squares (`credo.linear.LinearRegression`), with l1_ratio=0 ridge regression
    (`credo.linear.Ridge(alpha=n·α)`).

    The predictive distribution is N(b + wᵀx, σ²) with σ² = RSS/(n − k − 1) for k nonzero coefficients (without an ℓ₁
    penalty, k is the trace of the hat matrix). It ignores the uncertainty of the coefficients and of the choice of
    columns, so intervals are too narrow with few rows.

    Parameters
    ----------
    alpha : float, default 1.0
        The penalty, at least 0, in the unit of y times that of X.
    l1_ratio : float, default 0.5
        ρ between 0 (ridge regression) and 1 (lasso).
    fit_intercept : bool, default True
    tol : float, default 1e-8
        Coordinate descent stops when the duality gap is at most tol·‖y − ȳ‖²/n; the nonzero coefficients are then
        solved for exactly, which reduces the gap to rounding error unless columns are collinear.
    max_iter : int, default 100000
        Maximum number of passes of coordinate descent.
    warm_start : bool, default False
        Whether to start from the coefficients of the previous fit.

    Attributes
    ----------
    coef_, intercept_ : the estimates
    selected_ : names of the columns with nonzero coefficients
    dual_gap_ : an upper bound of how far the objective is above its minimum
    n_iter_, result_ : iterations and convergence
    noise_std_, dof_ : noise standard deviation and its degrees of freedom
    log_likelihood_, n_parameters_, n_observations_ : for `credo.bic`

    Examples
    --------
    >>> from credo.sparse import ElasticNet
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]  # the same column twice
    >>> ElasticNet(alpha=0.1).fit(X, [0.0, 1.0, 2.0, 3.0]).coef_.round(3)
    array([0.471, 0.471])
    """

    _title = "Elastic net"

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100_000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        Instead of X and y, an iterable of chunks (X, y) or (X, y, weight) can be passed, or Dask arrays or frames; see
        `credo.core.parts`.
        """
        self._check_arguments()
        if in_parts(X, y):
            return self.fit_summary(summarize(X, y, sample_weight))
        start = self._start()
        table, target, weight = self._training_rows(X, y, sample_weight)
        rows = Rows.of(table, target, weight, center=bool(self.fit_intercept))
        self._keep(rows, self._solution(rows, start), float(self.alpha))
        return self

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.summarize`: the same result as `fit` on the rows."""
        self._check_arguments()
        start = self._start()
        take_summary(self, summary)
        rows = Rows.of_summary(summary, center=bool(self.fit_intercept))
        self._keep(rows, self._solution(rows, start), float(self.alpha))
        return self

    def _check_arguments(self) -> None:
        nonnegative("alpha", self.alpha)
        mixing(self.l1_ratio)
        positive("tol", self.tol)
        positive_integer("max_iter", self.max_iter)

    def _start(self) -> Array | None:
        return getattr(self, "coef_", None) if self.warm_start else None

    def _solution(self, rows: Rows, start: Array | None) -> Solution:
        l1_ratio, n_features = float(self.l1_ratio), rows.X.shape[1]
        w = np.zeros(n_features) if start is None or len(start) != n_features else start.copy()
        w[rows.squares == 0.0] = 0.0
        columns, penalty = working_set(rows, w, n_problems=1), float(self.alpha) * rows.total
        (solution,) = elastic_net_path(
            columns, np.array([penalty]), l1_ratio=l1_ratio, tol=float(self.tol), max_passes=int(self.max_iter)
        )
        return polish(rows, solution, l1=penalty * l1_ratio, l2=penalty * (1.0 - l1_ratio))


class Lasso(ElasticNet):
    """Least squares with an ℓ₁ penalty, which sets coefficients to zero; the intercept is not penalized.

        min (1/2n)‖y − b − Xw‖² + α‖w‖₁

    Equivalent to scikit-learn's `Lasso`, and to `ElasticNet` with l1_ratio=1: the MAP estimate under Laplace priors of
    the coefficients. All of them are zero for α ≥ ``max_j |x_jᵀ(y − ȳ)|/n`` (x_j centered); α = 0 is least squares. The
    penalty depends on the units of the columns: standardize them first, for example with StandardScaler.

    Parameters
    ----------
    alpha : float, default 1.0
        The penalty, at least 0, in the unit of y times that of X. `LassoCV` selects it.
    fit_intercept, tol, max_iter, warm_start : as in `ElasticNet`, as are the attributes and the predictive distribution

    Examples
    --------
    >>> from credo.sparse import Lasso
    >>> X = [[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]]
    >>> model = Lasso(alpha=0.25).fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> model.coef_, model.selected_
    (array([0.8, 0. ]), ['x0'])
    """

    _title = "Lasso"

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100_000,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            alpha, l1_ratio=1.0, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter, warm_start=warm_start
        )


def mixing(l1_ratio: Any) -> float:
    """`l1_ratio` as a number between zero (ridge regression) and one (lasso)."""
    value = nonnegative("l1_ratio", l1_ratio)
    if value > 1:
        raise ValueError(f"l1_ratio must be at most 1 (the lasso); got {l1_ratio!r}")
    return value


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
        Zeros by default.
    names : list of str, optional
        Names of the columns; x0, x1, … by default.

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


def soft_threshold(a: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """``S(a, δ) = sign(a) max(|a| − δ, 0)``, the w that minimizes ``½(w − a)² + δ|w|``.

    Parameters
    ----------
    a : array
    delta : array that broadcasts with a
        The thresholds, not negative.

    Examples
    --------
    >>> from credo.sparse import soft_threshold
    >>> soft_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-2.,  0.,  1.])
    """
    values, width = _arrays(a, delta)
    return np.sign(values) * np.maximum(np.abs(values) - width, 0.0)


def hard_threshold(a: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """``H(a, δ) = a`` where ``|a| > δ`` and 0 elsewhere, the w that minimizes ½(w − a)² + ½δ²·[w ≠ 0].

    Parameters
    ----------
    a : array
    delta : array that broadcasts with a
        The thresholds, not negative.

    Examples
    --------
    >>> from credo.sparse import hard_threshold
    >>> hard_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-3.,  0.,  2.])
    """
    values, width = _arrays(a, delta)
    # NaN stays NaN, as in `soft_threshold`.
    return np.where(np.abs(values) <= width, 0.0, values)


def _arrays(a: ArrayLike, delta: ArrayLike) -> tuple[Any, Any]:
    values, width = np.asarray(a, dtype=np.float64), np.asarray(delta, dtype=np.float64)
    if not (width >= 0).all():
        raise ValueError(f"a threshold delta must not be negative or NaN; got {delta!r}")
    if (np.isinf(values) & np.isinf(width)).any():
        raise ValueError("a and delta are infinite at the same place, so the result is undefined")
    return values, width
