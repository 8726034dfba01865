"""Ridge regression, with α given or selected by exact leave-one-out cross-validation."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import FitWarning, Result, nonnegative, training_rows
from credo.core.learning import Penalty, Posterior, Spectrum, loo_squares, penalties, spectrum
from credo.core.notices import warn
from credo.core.parts import BLOCK_ENTRIES, RowSummary, in_parts, summarize, take_summary
from credo.linear.least_squares import PosteriorModel

Array = NDArray[np.float64]


class Ridge(PosteriorModel):
    """Least squares with an ℓ₂ penalty on the coefficients: min ‖y − b − Xw‖² + α‖w‖².

    The MAP estimate under w ~ N(0, (σ²/α) I); the intercept is not penalized. Equivalent to scikit-learn's `Ridge` in
    its coefficients. The predictive distribution is that of the posterior at this α, with the noise variance estimated
    from the residuals, σ² = RSS/(n − 1 − γ), where γ = Σ λ/(λ + α) is the effective number of parameters.

    Parameters
    ----------
    alpha : float or "loo", default 1.0
        The penalty; "loo" selects the value of `alphas` with the smallest leave-one-out error, computed exactly.
    alphas : array, optional
        Candidates for "loo"; by default 200 values that span the eigenvalues of XᵀX.
    fit_intercept : bool, default True

    Attributes
    ----------
    coef_, intercept_ : the estimates
    coef_std_, intercept_std_ : their posterior standard deviations
    alpha_ : the penalty, given or selected
    alphas_, loo_errors_ : the path of mean squared leave-one-out errors (for "loo")
    noise_std_, dof_ : noise standard deviation and its degrees of freedom
    result_ : outcome of the fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Ridge(alpha=5.0).fit(X, [0.0, 1.0, 2.0, 3.0]).coef_
    array([0.5])
    """

    alpha_: float
    alphas_: Array
    loo_errors_: Array
    noise_std_: float
    dof_: float

    _accepts_sparse = True
    _accepts_parts = True

    _title = "Ridge regression"

    def __init__(
        self, alpha: float | Literal["loo"] = 1.0, *, alphas: ArrayLike | None = None, fit_intercept: bool = True
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        Instead of X and y, an iterable of chunks (X, y) or (X, y, weight) can be passed, or Dask arrays or frames (see
        `credo.core.parts`), if `alpha` is a number.
        """
        if in_parts(X, y):
            self._require_number()
            return self.fit_summary(summarize(X, y, sample_weight))
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        data = spectrum(rows, target, weight, center=self.fit_intercept)
        found = Penalty.chosen(
            self.alpha,
            self.alphas,
            _default_alphas(data),
            lambda alphas: _loo_errors(data, rows, target, weight, alphas),
            advice="the inputs may have little linear effect",
        )
        self._learn(data, found.alpha)
        if found.alphas is not None and found.errors is not None:
            self.alphas_, self.loo_errors_, self.result_ = found.alphas, found.errors, found.result
        return self

    def fit_summary(self, summary: RowSummary) -> Self:
        """Fit the model to rows summarized by `credo.summarize`: the same result as `fit` on the rows.

        `alpha` must be a number, because leave-one-out errors need the rows themselves.
        """
        self._require_number()
        take_summary(self, summary)
        return self._learn(Spectrum.of(summary, center=self.fit_intercept), nonnegative("alpha", self.alpha))

    def _require_number(self) -> None:
        if isinstance(self.alpha, str):
            raise ValueError(f"alpha={self.alpha!r} needs all rows in memory: set alpha to a number")

    def _learn(self, data: Spectrum, alpha: float) -> Self:
        self.alpha_ = alpha
        self._keep_posterior(Posterior.of_penalty(data, alpha))
        self.dof_, self.noise_std_ = self.posterior_.df, float(np.sqrt(self.posterior_.noise_variance))
        message = "solved directly"
        if alpha == 0 and not data.spans_all:
            message = (
                f"the {len(data.x_mean)} columns are collinear (rank {len(data.s)}) and alpha is 0, so the "
                "coefficients are not unique: those of smallest norm are given, and intervals are too narrow. Use a "
                "positive alpha"
            )
            warn(message, FitWarning, stacklevel=3)
        self.result_ = Result(True, 1, message)
        return self

    def _notes(self) -> tuple[str, ...]:
        noise = f"noise sd {self.noise_std_:.4g} with {self.dof_:.1f} degrees of freedom"
        return f"alpha {self.alpha_:.4g}, {noise}", self.result_.message

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.posterior_.spectrum.weight:g} rows and alpha={self.alpha_:g} leave no degrees of "
                "freedom to estimate the noise: use more rows or a larger alpha"
            )


def ridge_path(
    X: ArrayLike, y: ArrayLike, *, alphas: ArrayLike | None = None, fit_intercept: bool = True
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Coefficients and leave-one-out errors for each α, from one decomposition.

    Returns
    -------
    alphas : array of shape (n_alphas,), largest first
    coefs : array of shape (n_features, n_alphas)
    loo_errors : array of shape (n_alphas,)
        Mean squared leave-one-out error, computed exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import ridge_path
    >>> alphas, coefs, errors = ridge_path([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], alphas=[2.0, 0.0])
    >>> coefs
    array([[0.5, 1. ]])
    """
    rows, target, *_ = training_rows("ridge_path", X, y, sparse="csr")
    data = spectrum(rows, target, center=fit_intercept)
    alphas = penalties(alphas, _default_alphas(data))
    coefs = data.V @ ((data.q * data.s)[:, None] / ((data.s**2)[:, None] + alphas))
    return alphas, coefs, _loo_errors(data, rows, target, None, alphas)


def _default_alphas(data: Spectrum) -> Array:
    return np.geomspace(1e3 * data.s.max() ** 2, 1e-3 * data.s.min() ** 2, 200) if len(data.s) else np.array([1.0])


def _loo_errors(data: Spectrum, X: Array, y: Array, weight: Array | None, alphas: Array) -> Array:
    """Mean squared leave-one-out error at each α."""
    weight = np.ones(len(y)) if weight is None else weight
    level = 1.0 / data.weight if data.centered else 0.0
    total = np.zeros(len(alphas))
    step = max(64, BLOCK_ENTRIES // len(alphas))
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        U = data.coordinates(X[part]) / data.s
        residual = y[part] - data.y_mean - U @ data.q
        gap = 1.0 - np.minimum(weight[part], 1.0) * (level + np.einsum("ij,ij->i", U, U))
        total += loo_squares(U, data.q, data.s**2, alphas, residual=residual, gap=gap, weight=weight[part])
    return total / data.weight
