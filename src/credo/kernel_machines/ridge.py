"""Kernel ridge regression: the whole path over α from one eigendecomposition, α by exact leave-one-out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, StudentT
from credo.estimator import FitWarning, Regressor, Result, check_shapes, interval_level, nonnegative
from credo.frames import Table
from credo.kernel_machines._rows import blocks, cross, median_distance
from credo.kernel_machines._spectrum import Spectrum, spectrum
from credo.kernels import RBF, Kernel, require_kernel
from credo.notices import warn

Array = NDArray[np.float64]

# Candidates reach from a fit that is almost flat to the edge of what eigenvalues in double precision resolve.
_LARGEST, _SMALLEST, _N_ALPHAS = 1e3, 1e-10, 200


class KernelRidge(Regressor):
    """Ridge regression in the feature space of a kernel: min Σ (yᵢ − f(xᵢ))² + α‖f‖².

    The minimum is f(x) = Σ aᵢ k(x, xᵢ) with a = (K + αI)⁻¹ y. Equivalent to scikit-learn's `KernelRidge`, to
    `credo.linear.Ridge` with the same `fit_intercept` on the kernel's explicit features, and to the mean of a Gaussian
    process with kernel (σ²/α) k and noise variance σ². The predictive distribution is that process's, with the noise
    variance estimated from the residuals, σ² = RSS/(n − γ), where γ = Σ λ/(λ + α) parameters are determined by the
    data: a Student-t distribution, the same as `Ridge`'s.

    Parameters
    ----------
    kernel : Kernel, optional
        By default an RBF whose length scale is the median distance between distinct rows (columns should then be in
        comparable units, as after StandardScaler).
    alpha : float or "loo", default 1.0
        The penalty; "loo" selects the value of `alphas` with the smallest exact leave-one-out error.
    alphas : array, optional
        Candidates for "loo"; by default 200 values from 1000 down to 1e-10 times the largest eigenvalue.
    fit_intercept : bool, default False
        Add an unpenalized intercept: K is then centred in feature space. Without it f tends to zero far from the rows,
        so y should be centred first.

    Attributes
    ----------
    kernel_ : the kernel used
    alpha_ : the penalty used
    dual_coef_, intercept_ : a and b of f(x) = b + Σ aᵢ k(x, xᵢ); b is 0 without intercept
    X_fit_ : the rows xᵢ, in the order of `dual_coef_`
    alphas_, loo_errors_ : the path of mean squared leave-one-out errors (for "loo"), largest α first
    noise_std_, dof_ : noise scale and its degrees of freedom
    effective_parameters_ : γ
    result_ : how α was chosen

    Examples
    --------
    >>> import numpy as np
    >>> from credo.kernel_machines import KernelRidge
    >>> from credo.kernels import Linear
    >>> X = np.array([[-1.0], [0.0], [2.0]])
    >>> KernelRidge(Linear(), alpha=5.0).fit(X, [-1.0, 0.0, 2.0]).predict([[4.0]])
    array([2.])
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(alpha="loo", fit_intercept=True).fit(x, np.sin(x[:, 0]) + 3)
    >>> model.predict([[1.5]]).round(2)
    array([4.])
    """

    kernel_: Kernel
    spectrum_: Spectrum
    X_fit_: Array
    dual_coef_: Array
    intercept_: float
    effective_parameters_: float

    def _check_state(self) -> None:
        super()._check_state()
        sizes = {"d": self.n_features_in_}
        check_shapes(self, sizes, X_fit_="n d", dual_coef_="n")
        if len(self.spectrum_.sample_weight) != len(self.X_fit_):
            raise ValueError("spectrum_ belongs to another table")

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: float | str = 1.0,
        alphas: ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is the same as k copies of the row."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        self.kernel_ = RBF(median_distance(rows)) if self.kernel is None else require_kernel(self.kernel)
        data = spectrum(self.kernel_, rows, target, weight, center=bool(self.fit_intercept))
        for name in ("alphas_", "loo_errors_"):
            self.__dict__.pop(name, None)
        if isinstance(self.alpha, str):
            if self.alpha != "loo":
                raise ValueError(f'alpha must be a number or "loo"; got {self.alpha!r}')
            self.alphas_ = _candidates(data, self.alphas)
            self.loo_errors_ = data.loo_errors(self.alphas_)
            best = int(np.argmin(self.loo_errors_))
            self.alpha_ = float(self.alphas_[best])
            self.result_ = Result(True, len(self.alphas_), _choice_message(best, len(self.alphas_)))
        else:
            self.alpha_ = nonnegative("alpha", self.alpha)
            self.result_ = Result(True, 1, "solved in closed form")
        self.X_fit_, self.spectrum_ = rows.copy(), data
        self.dual_coef_ = data.dual(self.alpha_)
        self.intercept_ = data.intercept(self.dual_coef_)
        noise, self.dof_, self.effective_parameters_ = data.noise(self.alpha_)
        self.noise_std_ = float(np.sqrt(noise))
        if self.alpha_ == 0:
            self.result_ = Result(True, self.result_.n_iter, _NO_PENALTY)
            warn(_NO_PENALTY, FitWarning, stacklevel=2)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, penalty and noise, with an interval of that level for the noise."""
        check_is_fitted(self)
        lines: list[tuple[Any, ...]] = [("intercept", self.intercept_)] if self.fit_intercept else []
        lines += self.kernel_.entries(self._feature_names())
        lines += [("alpha", self.alpha_), ("effective parameters", self.effective_parameters_)]
        # σ̂²·dof/σ² has the χ² distribution of that many degrees of freedom.
        tail = (1 - interval_level(level)) / 2
        ends = stats.chi2.isf([tail, 1 - tail], self.dof_ if self.dof_ > 0 else np.nan)
        low, high = self.noise_std_ * np.sqrt(self.dof_ / ends)
        sd = self.noise_std_ / np.sqrt(2 * self.dof_) if self.dof_ > 0 else np.nan
        lines.append(("noise sd", self.noise_std_, sd, float(low), float(high)))
        columns = zip(*((*line, *[None] * (5 - len(line))) for line in lines), strict=True)
        return Table(
            "Kernel ridge regression",
            dict(zip(("parameter", "estimate", "sd", "lower", "upper"), map(list, columns), strict=True)),
            notes=(f"intervals at {100 * level:g} %", f"kernel {self.kernel_!r}", self.result_.message),
        )

    def _mean(self, rows: Array) -> Array:
        parts = [
            cross(self.kernel_, rows[part], self.X_fit_) @ self.dual_coef_
            for part in blocks(len(rows), len(self.X_fit_))
        ]
        return self.intercept_ + np.concatenate(parts)

    def _dist(self, rows: Array, *, latent: bool) -> Distribution:
        self._require_noise()
        mean, square = np.empty(len(rows)), np.empty(len(rows))
        for part in blocks(len(rows), len(self.X_fit_)):
            k = cross(self.kernel_, rows[part], self.X_fit_)
            mean[part] = self.intercept_ + k @ self.dual_coef_
            square[part] = self.spectrum_.latent_square(k, self.kernel_.diagonal(rows[part]), self.alpha_)
        return StudentT(self.dof_, mean, self.noise_std_ * np.sqrt(square + (not latent)))

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        k, between = cross(self.kernel_, rows, self.X_fit_), self.kernel_.gram(rows)
        cov = self.spectrum_.latent_covariance(k, between, self.alpha_)
        square = self.spectrum_.latent_square(k, np.diagonal(between).copy(), self.alpha_)
        np.fill_diagonal(cov, square + 1.0)
        return cov * float(StudentT(self.dof_, 0.0, self.noise_std_).var[0])

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.spectrum_.weight:g} rows and alpha={self.alpha_:g} leave no residuals to estimate the noise "
                "from: use more rows, or a larger alpha"
            )


_NO_PENALTY = (
    "alpha is 0: this is the solution of smallest norm, and intervals ignore the uncertainty about everything that the "
    "rows don't determine; use a positive alpha to include it"
)


def _candidates(data: Spectrum, alphas: ArrayLike | None) -> Array:
    """The candidate values of α, largest first."""
    if alphas is None:
        largest = float(data.values.max(initial=0.0))
        return largest * np.geomspace(_LARGEST, _SMALLEST, _N_ALPHAS) if largest > 0 else np.array([1.0])
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"alphas must be one or more finite, nonnegative numbers; got {alphas!r}")
    return np.sort(values)[::-1]


def _choice_message(best: int, n_alphas: int) -> str:
    if n_alphas > 1 and best == 0:
        return "the largest alpha tried was best: try larger ones, or another kernel"
    if n_alphas > 1 and best == n_alphas - 1:
        return "the smallest alpha tried was best: the data need hardly any penalty"
    return "alpha chosen by exact leave-one-out"
