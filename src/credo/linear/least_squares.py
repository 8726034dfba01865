"""Linear regression by ordinary least squares, with classical standard errors, tests and intervals."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import StudentT, t_variance
from credo.estimator import FitWarning, Result, is_sparse
from credo.linear._design import Solution, least_squares, orthonormal_rows, sparse_least_squares
from credo.linear._model import LinearModel
from credo.linear._rows import KEPT_ENTRIES, Kept
from credo.linear.summary import RowSummary, row_summary
from credo.notices import warn

Array = NDArray[np.float64]


class LinearRegression(LinearModel):
    """Ordinary least squares (maximum likelihood under Gaussian noise) with standard errors.

        ŵ = argmin ‖y − b − Xw‖²,    cov(ŵ) = σ̂²(XᵀX)⁻¹,    σ̂² = RSS/(n − rank − 1)

    Solved by QR of the centred and scaled design, which is accurate for badly scaled or nearly collinear columns;
    sparse X is not made dense as long as its Gram matrix is well conditioned. If the design is rank-deficient, the
    coefficients of smallest norm are returned, with a warning. Equivalent to scikit-learn's `LinearRegression` in its
    coefficients.

    Parameters
    ----------
    fit_intercept : bool, default True

    Attributes
    ----------
    coef_, intercept_ : estimates
    coef_std_error_, intercept_std_error_ : standard errors; infinite for a coefficient that the data don't determine
    coef_cov_ : covariance of the coefficients, computed on each access
    noise_std_, dof_ : σ̂ and its degrees of freedom; σ̂ is nan if no degrees of freedom are left
    r2_ : coefficient of determination (about zero instead of the mean without an intercept)
    rank_ : numerical rank of the design (without the intercept)
    log_likelihood_ : maximum of the log likelihood, with noise variance RSS/n
    n_parameters_, n_observations_ : number of parameters, with the noise variance, and sum of the sample weights
    result_ : outcome of the fit

    Examples
    --------
    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.9, 5.2, 6.8])
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([1.94]), 1.09)
    >>> print(model.confint(0.95))
    95 % intervals
    parameter    lower   upper
    intercept  0.36108  1.8189
    x0          1.5504  2.3296
    """

    _accepts_sparse = True

    _title = "Linear regression by least squares"

    solution_: Solution
    coef_std_error_: Array
    intercept_std_error_: float
    r2_: float
    rank_: int

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        if is_sparse(rows):
            self._learn(sparse_least_squares(rows, target, weight, center=self.fit_intercept))
        else:
            self._learn(least_squares(row_summary(rows, target, weight), center=self.fit_intercept))
        self._kept = Kept.of(rows, weight, sample_weight)
        return self

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.linear.summarize`: the same result as `fit` on the rows."""
        self._take_summary(summary)
        self._learn(least_squares(summary, center=self.fit_intercept))
        self._kept = None
        return self

    def _learn(self, solution: Solution) -> None:
        self.solution_, n_observations = solution, solution.n_observations
        self.coef_, self.intercept_, self.rank_ = solution.coef, solution.intercept, solution.rank
        self.dof_ = n_observations - solution.rank - solution.centered
        self.noise_std_ = float(np.sqrt(solution.rss / self.dof_)) if self.dof_ > 0 else np.nan
        # A constant target has no variance to explain.
        self.r2_ = 1.0 - solution.rss / solution.tss if solution.tss > 0 else np.nan
        self.n_parameters_, self.n_observations_ = solution.rank + solution.centered + 1, n_observations
        exact = not self.dof_ > 0 or not solution.rss > 0
        log_variance = -np.inf if exact else float(np.log(2.0 * np.pi * solution.rss / n_observations))
        self.log_likelihood_ = -0.5 * n_observations * (log_variance + 1.0)
        scale = solution.coef_scale()
        # Also where the noise is zero, a weight that the rows don't determine has an infinite standard error.
        known = np.isfinite(scale)
        self.coef_std_error_ = np.where(known, self.noise_std_ * np.where(known, scale, 1.0), np.inf)
        self.intercept_std_error_ = self.noise_std_ * solution.intercept_scale()
        self.result_ = self._outcome()

    def hat_matrix(self) -> Array:
        """The n×n matrix H with ŷ = Hy on the training rows; zero for rows of weight zero."""
        Q, kept = self._orthonormal()
        root = np.ones(len(Q)) if kept.weight is None else np.sqrt(kept.weight)
        H = np.zeros((kept.n_given, kept.n_given))
        H[np.ix_(kept.positions, kept.positions)] = (Q @ Q.T) * (root / root[:, None])
        return H

    def leverage(self) -> Array:
        """The diagonal of the hat matrix: the influence of each row on its own fitted value; sums to rank (+ 1)."""
        Q, kept = self._orthonormal()
        leverage = np.zeros(kept.n_given)
        leverage[kept.positions] = np.einsum("ij,ij->i", Q, Q)
        return leverage

    @property
    def coef_cov_(self) -> Array:
        check_is_fitted(self)
        return self.noise_std_**2 * self.solution_.unit_cov()

    def _mean(self, rows: Array) -> Array:
        return self.solution_.mean(rows)

    def _dist(self, rows: Array, *, latent: bool) -> StudentT:
        self._require_noise()
        square, estimable = self.solution_.latent_square(rows)
        if not estimable.all():
            warn(
                f"{int((~estimable).sum())} of {len(estimable)} rows lie outside the span of the training rows, so "
                "their predictions are not determined by the data and the intervals are too narrow. Use "
                "BayesianLinearRegression, which includes this uncertainty.",
                FitWarning,
                stacklevel=3,
            )
        return StudentT(self.dof_, self._mean(rows), self.noise_std_ * np.sqrt(square + (0.0 if latent else 1.0)))

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        cov = self.solution_.latent_gram(rows)
        cov.flat[:: len(cov) + 1] += 1.0
        return cov * (self.noise_std_**2 * t_variance(self.dof_))

    def _scales(self) -> tuple[Array, float]:
        return self.coef_std_error_, self.intercept_std_error_

    def _df(self) -> float:
        return self.dof_

    def _spread(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """Standard errors, t values and two-sided p values, as classical tables have them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = estimate / scale
        return {"sd": list(scale), "t": list(t), "p": list(2 * stats.t.sf(np.abs(t), self.dof_))}

    def _notes(self) -> tuple[str, ...]:
        noise = f"noise sd {self.noise_std_:.4g} with {self.dof_:g} degrees of freedom; R² {self.r2_:.4f}"
        return noise, self.result_.message

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.solution_.n_observations:g} rows and {self.rank_} independent columns leave no degrees of "
                "freedom to estimate the noise: use more rows, fewer columns, or BayesianLinearRegression"
            )

    def _orthonormal(self) -> tuple[Array, Kept]:
        """Q of the weighted training rows, and those rows."""
        check_is_fitted(self)
        kept: Kept | None = getattr(self, "_kept", None)
        if kept is None:
            raise ValueError(
                "the training rows were not stored (the model was loaded from a file or fitted from a summary, or X "
                f"has more than {KEPT_ENTRIES} entries): fit again, on fewer rows, to get the hat matrix"
            )
        return orthonormal_rows(kept.rows, kept.weight, center=self.fit_intercept), kept

    def _outcome(self) -> Result:
        if self.rank_ == len(self.coef_):
            return Result(True, 1, "solved directly")
        message = (
            f"the {len(self.coef_)} columns are collinear (rank {self.rank_}), so the coefficients are not unique and "
            "those of smallest norm are given: drop columns, or use BayesianLinearRegression"
        )
        warn(message, FitWarning, stacklevel=4)
        return Result(True, 1, message)
