"""Least squares with a penalty on the absolute size of the weights: lasso and elastic net."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Normal
from credo.estimator import FitWarning, Regressor, Result, nonnegative, positive, positive_integer
from credo.frames import Table
from credo.learning.coordinate import Rows, Step, block_of, descend, polished
from credo.notices import warn

Array = NDArray[np.float64]

# A summary shows every weight of a table with so many columns, and of wider ones those that aren't zero.
SHOWN = 30


class PenalizedRegression(Regressor):
    """What the models with sparse weights share: how they predict, what they say about the noise, and the table.

    A subclass says its `_title`; its `fit` ends in `_keep`.
    """

    _accepts_sparse = True
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
        """The weights; of many columns, those that aren't zero.

        There are no standard deviations: the choice of columns by the same rows makes those of least squares on the
        chosen columns too small. `SpikeSlabRegressor` knows how sure the weights are.
        """
        check_is_fitted(self)
        features, estimate = self._feature_names(), self.coef_
        chosen = np.flatnonzero(estimate)
        place = np.arange(len(estimate)) if len(estimate) <= SHOWN else chosen[np.argsort(-np.abs(estimate[chosen]))]
        names, estimate = [features[j] for j in place], estimate[place]
        if self.fit_intercept:
            names, estimate = ["intercept", *names], np.append(self.intercept_, estimate)
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate), "sd": [None] * len(names)}
        return Table(self._title, columns, notes=self._notes(len(chosen)))

    def _notes(self, n_chosen: int) -> tuple[str, ...]:
        zero = f"{n_chosen} of {len(self.coef_)} weights aren't zero at alpha {self.alpha_:.4g}"
        return zero, f"{self._noise()} on {self.dof_:g} degrees of freedom", self.result_.message

    def _noise(self) -> str:
        return f"noise sd {self.noise_std_:.4g}"

    def _sparse_format(self) -> str | bool:
        return "csc"

    def _mean(self, rows: Any) -> Array:
        return np.asarray(rows @ self.coef_) + self.intercept_

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        if latent:
            raise ValueError(
                f"{type(self).__name__} is one estimate of the weights without their spread, so it can't say how sure "
                "f is: use SpikeSlabRegressor or BayesianLinearRegression"
            )
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.n_observations_:g} rows and {np.count_nonzero(self.coef_)} weights leave no residuals to "
                "estimate the noise from: use more rows, or a larger alpha"
            )
        return self._around(self._mean(rows))

    def _around(self, mean: Array) -> Distribution:
        """The distribution of an observation about what is predicted."""
        return Normal(mean, np.full(len(mean), self.noise_std_))

    def _keep(self, rows: Rows, step: Step, alpha: float) -> None:
        """The optimum for one α, in natural units, and what follows from it."""
        self.alpha_ = alpha
        self.coef_, self.intercept_ = step.w, rows.intercept(step.w)
        self.dual_gap_, self.n_iter_ = step.gap / rows.total, step.n_passes
        chosen = np.flatnonzero(self.coef_)
        names = self._feature_names()
        self.selected_ = [names[j] for j in chosen]
        rss = float(np.square(rows.residual(self.coef_)).sum())
        # The number of weights that aren't zero is an unbiased estimate of the degrees of freedom that the fit takes
        # (Zou, Hastie & Tibshirani 2007).
        self.dof_ = max(rows.total - len(chosen) - bool(self.fit_intercept), 0.0)
        self.noise_std_ = float(np.sqrt(rss / self.dof_)) if self.dof_ > 0 else np.nan
        self.n_parameters_ = len(chosen) + bool(self.fit_intercept) + 1
        self.n_observations_ = rows.total
        with np.errstate(divide="ignore"):
            self.log_likelihood_ = float(-0.5 * rows.total * (np.log(2 * np.pi * rss / rows.total) + 1.0))
        self.result_ = self._outcome(rows, step)

    def _outcome(self, rows: Rows, step: Step) -> Result:
        size = step.gap / rows.yy if rows.yy > 0 else 0.0
        if step.converged:
            return Result(True, step.n_passes, f"the relative duality gap is {size:.2g} after {step.n_passes} passes")
        message = (
            f"after {step.n_passes} passes the relative duality gap is {size:.2g}, above tol={self.tol:g}: raise "
            "max_iter or tol, use a larger alpha, or bring the columns to one scale"
        )
        warn(message, FitWarning, stacklevel=4)
        return Result(False, step.n_passes, message)


class ElasticNet(PenalizedRegression):
    """Least squares with an ℓ₁ and an ℓ₂ penalty on the weights; the intercept is free.

        min (1/2n)‖y − b − Xw‖² + α ρ‖w‖₁ + ½ α (1 − ρ)‖w‖²,    ρ = l1_ratio

    Equivalent to scikit-learn's `ElasticNet`. The ℓ₂ part shares weight among columns that say the same.

    The predictive distribution is normal, N(b + wᵀx, σ²) with σ² = RSS/(n − k − 1) for k weights that aren't zero. It
    leaves out how unsure the weights are and which columns were chosen, so that it is too narrow where the rows are
    few; and the shrinkage of the weights stays in σ².

    Parameters
    ----------
    alpha : float, default 1.0
        The penalty, above zero, in the unit of y times that of X.
    l1_ratio : float, default 0.5
        ρ, above 0 (use `credo.linear.Ridge` for 0) and up to 1 (the lasso).
    fit_intercept : bool, default True
    tol : float, default 1e-8
        The descent ends when the duality gap is at most tol·‖y − ȳ‖²/n; the weights that aren't zero are then solved
        for, which takes the gap down to rounding error unless columns depend on one another.
    max_iter : int, default 100000
        The most passes of coordinate descent.
    warm_start : bool, default False
        Whether a further fit starts from the weights of the one before.

    Attributes
    ----------
    coef_, intercept_ : the estimates
    selected_ : names of the columns whose weight isn't zero
    dual_gap_ : the objective is at most so much above its minimum
    n_iter_, result_ : how the descent ended
    noise_std_, dof_ : noise scale and its degrees of freedom
    log_likelihood_, n_parameters_, n_observations_ : what `credo.bic` asks for

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        alpha, l1_ratio = penalty(self.alpha), mixing(self.l1_ratio)
        tol, max_iter = positive("tol", self.tol), positive_integer("max_iter", self.max_iter)
        start = getattr(self, "coef_", None) if self.warm_start else None
        table, target, weight = self._training_rows(X, y, sample_weight)
        rows = Rows.of(table, target, weight, center=bool(self.fit_intercept))
        w = np.zeros(table.shape[1]) if start is None or len(start) != table.shape[1] else start.copy()
        w[rows.squares == 0.0] = 0.0
        block = block_of(rows, w, n_problems=1)
        penalties = np.array([alpha * rows.total])
        (step,) = descend(block, penalties, l1_ratio=l1_ratio, tol=tol, max_passes=max_iter)
        l1, l2 = penalties[0] * l1_ratio, penalties[0] * (1.0 - l1_ratio)
        self._keep(rows, polished(rows, step, l1=l1, l2=l2), alpha)
        return self


class Lasso(ElasticNet):
    """Least squares with an ℓ₁ penalty, which sets weights to zero; the intercept is free.

        min (1/2n)‖y − b − Xw‖² + α‖w‖₁

    Equivalent to scikit-learn's `Lasso`, and to `ElasticNet` with l1_ratio=1: the MAP estimate under Laplace priors of
    the weights. All weights are zero from α = max_j |x_jᵀ(y − ȳ)|/n on (x_j centred). Columns of different units are
    penalised differently: bring them to one scale first, for example by StandardScaler.

    Parameters
    ----------
    alpha : float, default 1.0
        The penalty, above zero, in the unit of y times that of X. `LassoCV` chooses it.
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


def penalty(alpha: Any) -> float:
    """α as a float above zero; zero is refused with a word on what to use."""
    if isinstance(alpha, int | float) and not isinstance(alpha, bool) and alpha == 0:
        raise ValueError(
            "alpha must be above 0; got 0, which is a model without a penalty: use credo.linear.LinearRegression or "
            "LogisticRegression (or Ridge for more columns than rows)"
        )
    return positive("alpha", alpha)


def mixing(l1_ratio: Any) -> float:
    """The share of the ℓ₁ penalty, above zero and at most one."""
    value = nonnegative("l1_ratio", l1_ratio)
    if value == 0:
        raise ValueError("l1_ratio must be above 0; got 0, which is ridge regression: use credo.linear.Ridge")
    if value > 1:
        raise ValueError(f"l1_ratio must be at most 1 (the lasso); got {l1_ratio!r}")
    return value
