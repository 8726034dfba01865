"""Least squares with a penalty on the absolute values of the coefficients: lasso and elastic net."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Normal
from credo.estimator import ConvergenceWarning, Regressor, Result, nonnegative, positive, positive_integer
from credo.frames import Table
from credo.learning.coordinate import Rows, Solution, elastic_net_path, polish, working_set
from credo.notices import warn
from credo.scale import RowSummary, in_parts, summarize, take_summary

Array = NDArray[np.float64]

# With more columns than this, a summary shows only nonzero coefficients.
_MAX_SHOWN = 30


def shown_columns(size: Array) -> NDArray[np.intp]:
    """The columns that a summary shows, by the size of their coefficients: all, or the nonzero ones, largest first."""
    return np.arange(len(size)) if len(size) <= _MAX_SHOWN else np.argsort(-size)[: np.count_nonzero(size)]


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


class PenalizedRegression(Regressor):
    """What the models with sparse coefficients share: predictions, noise and summary.

    A subclass has a `_title`; its `fit` ends in `_keep`.
    """

    _accepts_sparse = True
    _accepts_parts = True
    _title: str

    alpha_: float
    coef_: Array
    intercept_: float
    selected_: list[str]
    dual_gap_: float
    n_iter_: int
    noise_std_: float
    dof_: float
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    fit_intercept: bool
    tol: float
    max_iter: int

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients; with many columns, the nonzero ones.

        Standard deviations are not shown: those of least squares on the selected columns would be too small, because
        the columns were selected on the same rows. `SpikeSlabRegressor` gives the uncertainty of coefficients.
        """
        check_is_fitted(self)
        features, shown = self._feature_names(), shown_columns(np.abs(self.coef_))
        names, estimate = [features[j] for j in shown], self.coef_[shown]
        if self.fit_intercept:
            names, estimate = ["intercept", *names], np.append(self.intercept_, estimate)
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate), "sd": [None] * len(names)}
        return Table(self._title, columns, notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        n_features, n_nonzero = len(self.coef_), np.count_nonzero(self.coef_)
        nonzero = f"{n_nonzero} of {n_features} coefficients are nonzero at alpha {self.alpha_:.4g}"
        return nonzero, f"{self._noise()} with {self.dof_:.6g} degrees of freedom", self.result_.message

    def _noise(self) -> str:
        return f"noise sd {self.noise_std_:.4g}"

    def _sparse_format(self) -> str | bool:
        return "csc"

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
        self.alpha_ = alpha
        self.coef_, self.intercept_ = solution.w, rows.intercept(solution.w)
        self.dual_gap_, self.n_iter_ = solution.gap / rows.total, solution.n_passes
        selected = np.flatnonzero(self.coef_)
        names = self._feature_names()
        self.selected_ = [names[j] for j in selected]
        rss = float(np.square(rows.residual(self.coef_)).sum())
        # The number of nonzero coefficients is an unbiased estimate of the degrees of freedom of a lasso fit (Zou,
        # Hastie & Tibshirani 2007); without an ℓ₁ penalty they are the trace of the hat matrix.
        used = len(selected) if solution.effective is None else solution.effective
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
        `credo.scale`.
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
    the coefficients. All of them are zero for α ≥ ``max_j |x_jᵀ(y − ȳ)|/n`` (x_j centred); α = 0 is least squares. The
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
