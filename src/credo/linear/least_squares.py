"""Linear regression by least squares, with everything that classical theory says about its uncertainty."""

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, StudentT
from credo.estimator import FitWarning, Regressor, Result, interval_level
from credo.frames import Table
from credo.linear._design import Solution, orthonormal_rows, solve

Array = NDArray[np.float64]

# Training rows are kept for the hat matrix up to this many numbers (64 MB).
_KEPT_ENTRIES = 8_000_000


class LinearRegression(Regressor):
    """Least squares, which is maximum likelihood under Gaussian noise, with its standard errors.

        ŵ = argmin ‖y − b − Xw‖²,    cov(ŵ) = σ̂²(XᵀX)⁻¹,    σ̂² = RSS/(n − rank − 1)

    Solved by QR on a centred and scaled design, so that badly scaled or nearly collinear columns keep their
    digits. A rank-deficient design gets the weights of smallest norm, and a warning. Equivalent to
    scikit-learn's `LinearRegression` in its weights.

    Parameters
    ----------
    fit_intercept : bool, default True

    Attributes
    ----------
    coef_, intercept_ : estimates
    coef_std_error_, intercept_std_error_ : their standard errors
    coef_cov_ : covariance of the weights, built on each access
    noise_std_, dof_ : σ̂ and its degrees of freedom; σ̂ is nan when no degrees of freedom are left
    r2_ : share of the target's variance that the fit explains (about zero without an intercept)
    rank_ : numerical rank of the design (without the intercept)
    result_ : how the fit ended

    Examples
    --------
    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.9, 5.2, 6.8])
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([1.94]), 1.09)
    >>> model.confint(0.95).round(2)
    array([[1.55, 2.33]])
    """

    coef_: Array
    intercept_: float
    solution_: Solution

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        self.solution_ = solve(rows, target, weight, center=self.fit_intercept)
        self.coef_, self.intercept_ = self.solution_.coef, self.solution_.intercept
        self.rank_, self.dof_ = self.solution_.rank, self.solution_.dof
        self.noise_std_, self.r2_ = self.solution_.noise_std, self.solution_.r2
        self.coef_std_error_ = self.noise_std_ * self.solution_.coef_scale()
        self.intercept_std_error_ = self.noise_std_ * self.solution_.intercept_scale()
        self.result_ = self._outcome()
        self._kept = (rows.copy(), weight) if rows.size <= _KEPT_ENTRIES else None
        return self

    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution:
        """Student-t prediction of a new observation at each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        latent : bool, default False
            True gives the confidence band of f(x): the noise of a new observation is left out.
        """
        rows = self._predict_rows(X)
        self._require_noise()
        square, estimable = self.solution_.latent_square(rows)
        if not estimable.all():
            warnings.warn(
                f"{int((~estimable).sum())} of {len(rows)} rows lie outside the span of the training rows, where "
                "the data don't determine f: their intervals cover the determined part only. "
                "BayesianLinearRegression says how unsure it is there.",
                FitWarning,
                stacklevel=2,
            )
        return StudentT(self.dof_, self._mean(rows), self.noise_std_ * np.sqrt(square + (0.0 if latent else 1.0)))

    def confint(self, level: float = 0.95) -> Array:
        """Confidence limits of each weight, shape (n_features, 2)."""
        check_is_fitted(self)
        self._require_noise()
        half = stats.t.isf((1 - interval_level(level)) / 2, self.dof_) * self.coef_std_error_
        return np.column_stack([self.coef_ - half, self.coef_ + half])

    def hat_matrix(self) -> Array:
        """H with ŷ = Hy on the training rows, n×n."""
        Q, root = self._orthonormal()
        return (Q @ Q.T) * (root / root[:, None])

    def leverage(self) -> Array:
        """The diagonal of the hat matrix: how much each training row decides its own fit; sums to rank (+ 1)."""
        Q, _ = self._orthonormal()
        return np.einsum("ij,ij->i", Q, Q)

    @property
    def coef_cov_(self) -> Array:
        check_is_fitted(self)
        return self.noise_std_**2 * self.solution_.unit_cov()

    def summary(self, *, level: float = 0.95) -> Table:
        """Estimate, standard error, t value, p value and interval of every weight."""
        check_is_fitted(self)
        names, estimate, error = self._feature_names(), self.coef_, self.coef_std_error_
        if self.fit_intercept:
            names, estimate = ["intercept", *names], np.append(self.intercept_, estimate)
            error = np.append(self.intercept_std_error_, error)
        half = stats.t.isf((1 - interval_level(level)) / 2, max(self.dof_, np.nan)) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            t = estimate / error
        return Table(
            "Linear regression by least squares",
            {
                "parameter": names,
                "estimate": list(estimate),
                "sd": list(error),
                "t": list(t),
                "p": list(2 * stats.t.sf(np.abs(t), self.dof_)),
                "lower": list(estimate - half),
                "upper": list(estimate + half),
            },
            notes=(
                f"intervals at {100 * level:g} %; noise sd {self.noise_std_:.4g} on {self.dof_:g} degrees of "
                f"freedom; R² {self.r2_:.4f}; {self.result_.message}",
            ),
        )

    def _mean(self, X: Array) -> Array:
        return self.solution_.mean(X)

    def _covariance(self, X: Array) -> Array:
        self._require_noise()
        cov = self.solution_.latent_gram(X)
        cov.flat[:: len(cov) + 1] += 1.0
        spread = self.dof_ / (self.dof_ - 2) if self.dof_ > 2 else np.inf
        return cov * (self.noise_std_**2 * spread)

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.solution_.n_observations:g} rows leave no degrees of freedom beside {self.rank_} independent "
                "columns, so the noise can't be estimated: use more rows, fewer columns, or "
                "BayesianLinearRegression"
            )

    def _orthonormal(self) -> tuple[Array, Array]:
        """Q of the weighted training rows, and the roots of their weights."""
        check_is_fitted(self)
        kept = getattr(self, "_kept", None)
        if kept is None:
            raise ValueError(
                "this model doesn't hold its training rows (it was loaded from a file, or they were more than "
                f"{_KEPT_ENTRIES} numbers): fit again, on fewer rows, to see the hat matrix"
            )
        rows, weight = kept
        root = np.ones(len(rows)) if weight is None else np.sqrt(weight)
        return orthonormal_rows(rows, weight, center=self.fit_intercept), root

    def _outcome(self) -> Result:
        if self.rank_ == len(self.coef_):
            return Result(True, 1, "solved by QR")
        message = (
            f"the {len(self.coef_)} columns have rank {self.rank_}: the weights are those of smallest norm among "
            "all that fit equally well; drop columns or use BayesianLinearRegression to tell them apart"
        )
        warnings.warn(message, FitWarning, stacklevel=3)
        return Result(True, 1, message)
