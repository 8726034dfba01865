"""Kernel ridge regression: the whole path over α from one eigendecomposition, α by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import FitWarning, Regressor, Result, interval_level
from credo.core.fields import Axes, Finite, Inner
from credo.core.frames import Table
from credo.core.learning import Penalty, Posterior, Spectrum, loo_squares
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.notices import warn
from credo.distributions import Distribution, StudentT, t_variance
from credo.kernel_machines._rows import blocks, cross, finite_gram, median_distance
from credo.kernels import RBF, Kernel, require_kernel

Array = NDArray[np.float64]

_NO_PENALTY = (
    "alpha is 0: this is the solution of smallest norm, and intervals ignore the uncertainty about directions that the "
    "rows don't determine; use a positive alpha to include it"
)


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
        Add an unpenalized intercept: K is then centered in feature space. Without it f tends to zero far from the rows,
        so y should be centered first.

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

    alpha_: float
    alphas_: Array
    loo_errors_: Array
    noise_std_: float
    dof_: float
    kernel_: Kernel
    posterior_: Annotated[Posterior, Inner(d="m")]
    X_fit_: Annotated[Array, Axes("n d")]
    dual_coef_: Annotated[Array, Axes("n")]
    intercept_: Annotated[float, Finite]
    effective_parameters_: float

    def _sizes(self) -> dict[str, int]:
        return {"m": self.dual_coef_.size + 1}

    _title = "Kernel ridge regression"
    _equation = "f(x) = b + Σ aᵢ k(x, xᵢ)"

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: float | Literal["loo"] = 1.0,
        alphas: ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is equivalent to k copies of the row."""
        self._reset()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        self.kernel_ = RBF(median_distance(rows)) if self.kernel is None else require_kernel(self.kernel)
        data, loo_errors = kernel_spectrum(self.kernel_, rows, target, weight, center=bool(self.fit_intercept))
        largest = float(data.s.max(initial=0.0)) ** 2
        # From an almost flat fit to the resolution of eigenvalues in double precision.
        default = largest * np.geomspace(1e3, 1e-10, 200) if largest > 0 else np.ones(1)
        found = Penalty.chosen(self.alpha, self.alphas, default, loo_errors, advice="or another kernel")
        if found.alphas is not None and found.errors is not None:
            self.alphas_, self.loo_errors_ = found.alphas, found.errors
        self.alpha_, self.result_ = found.alpha, found.result
        self.X_fit_, self.posterior_ = rows.copy(), Posterior.of_penalty(data, self.alpha_)
        self.dual_coef_, self.intercept_ = self.posterior_.coef[:-1], self.posterior_.intercept
        self.dof_, self.noise_std_ = self.posterior_.df, float(np.sqrt(self.posterior_.noise_variance))
        self.effective_parameters_ = float((data.s**2 / (data.s**2 + self.alpha_)).sum())
        if self.alpha_ == 0:
            self.result_ = Result(True, self.result_.n_iter, _NO_PENALTY)
            warn(_NO_PENALTY, FitWarning, stacklevel=2)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Kernel, penalty and noise, with an interval for the noise."""
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
            values = self._kernel_values(rows[part])
            mean[part] = self.intercept_ + values[:, :-1] @ self.dual_coef_
            square[part] = self.posterior_.latent_square(values)[0]
        noise = 0.0 if latent else self.noise_std_**2
        return StudentT(self.dof_, mean, np.sqrt(square + noise))

    def _covariance(self, rows: Array) -> Array:
        self._require_noise()
        data, values, between = self.posterior_.spectrum, self._kernel_values(rows), self.kernel_.gram(rows)
        assert isinstance(data, KernelSpectrum)
        cov = self.posterior_.latent_covariance(values, outside=data.outside(values, between))
        np.fill_diagonal(cov, (self.posterior_.latent_square(values)[0] + self.noise_std_**2) * t_variance(self.dof_))
        return cov

    def _kernel_values(self, rows: Array) -> Array:
        """k between rows and all training rows, and last between rows and themselves."""
        return np.column_stack([cross(self.kernel_, rows, self.X_fit_), self.kernel_.diagonal(rows)])

    def _require_noise(self) -> None:
        if not self.dof_ > 0:
            raise ValueError(
                f"{self.posterior_.spectrum.weight:g} rows and alpha={self.alpha_:g} leave no residuals to estimate "
                "the noise from: use more rows, or a larger alpha"
            )


@dataclass(frozen=True)
class KernelSpectrum(Spectrum):
    """The spectrum of rows in the feature space of a kernel, whose coordinates come from kernel values.

        √w K̃ √w = U diag(s²) Uᵀ,    V = √w U diag(1/s),    q = Uᵀ √w (y − ȳ)

    A row holds k(x, xᵢ) for all training rows and, last, k(x, x). K̃ is K itself or, with an intercept, K about the
    mean of the rows in feature space; `x_mean` has the means of K's columns, `k_mean` that of all of K, and `share` the
    weights of the rows, as shares of their sum (zero without intercept).
    """

    share: Annotated[Array, Axes("n")]
    k_mean: Annotated[float, Finite]

    def _sizes(self) -> dict[str, int]:
        return {"n": self.x_mean.size - 1}

    def components(self, X: Any) -> tuple[Array, Array]:
        inside = self.coordinates(X)
        length = X[:, -1] - 2.0 * (X[:, :-1] @ self.share) + self.k_mean
        return inside, np.maximum(length - np.einsum("ij,ij->i", inside, inside), 0.0)

    def outside(self, X: Array, between: Array) -> Array:
        """Inner products of the parts outside the span of the training rows; `between` is the rows' Gram matrix."""
        inside, shift = self.coordinates(X), X[:, :-1] @ self.share
        return between - shift[:, None] - shift + self.k_mean - inside @ inside.T


def kernel_spectrum(
    kernel: Kernel, X: Array, y: Array, weight: Array, *, center: bool
) -> tuple[KernelSpectrum, Callable[[Array], Array]]:
    """The spectrum of weighted rows under a kernel, and the mean squared leave-one-out error as a function of α."""
    K, total, root = finite_gram(kernel, X), float(weight.sum()), np.sqrt(weight)
    share = weight / total if center else np.zeros(len(X))
    x_mean = K @ share
    y_mean = float(share @ y)
    K *= root
    K *= root[:, None]
    size = float(np.linalg.norm(K))
    values, U = _eigh_beside(K, root / np.sqrt(total)) if center else _eigh(K)
    values, q = _clean(values, kernel, size), U.T @ (root * (y - y_mean))
    used = values > 0
    s = np.sqrt(values[used])
    data = KernelSpectrum(
        V=np.vstack([root[:, None] * U[:, used] / s, np.zeros(len(s))]),
        s=s,
        q=q[used],
        rss=float(np.square(q[~used]).sum()),
        weight=total,
        x_mean=np.append(x_mean, 0.0),
        y_mean=y_mean,
        y_square=float(np.average(y * y, weights=weight)),
        centered=center,
        share=share,
        k_mean=float(x_mean @ share),
    )

    def loo_errors(alphas: Array) -> Array:
        # All directions together fit every row, so least squares leaves only the other copies of a row.
        residual, gap = np.zeros(len(y)), 1.0 - np.minimum(weight, 1.0) / weight
        squares = loo_squares(U / root[:, None], q, values, alphas, residual=residual, gap=gap, weight=weight)
        return squares / total

    return data, loo_errors


def _eigh(A: Array) -> tuple[Array, Array]:
    if not len(A):
        return np.empty(0), np.empty((0, 0))
    values, vectors = sla.eigh(A, check_finite=False, driver="evd", overwrite_a=True)
    return values, vectors


def _eigh_beside(A: Array, u: Array) -> tuple[Array, Array]:
    """Eigenpairs of (I − uuᵀ) A (I − uuᵀ) orthogonal to the unit vector u.

    With u ∝ √w the projection centers K: k(x, x′) and its centered form differ by terms that depend on one of the two
    rows alone. A reflection P with Pu = −e₁ leaves the wanted pairs in a corner of PAP (Golub & Van Loan 8.3.1).
    """
    v = u.copy()
    v[0] += 1.0
    beta = 1.0 / (1.0 + u[0])
    p = beta * (A @ v)
    w = p - (0.5 * beta * float(p @ v)) * v
    A -= np.outer(v, w)
    A -= np.outer(w, v)
    values, V = _eigh(A[1:, 1:])
    U = -beta * np.outer(v, v[1:] @ V)
    U[1:] += V
    return values, U


def _clean(values: Array, kernel: Kernel, size: float) -> Array:
    """The eigenvalues; rounding errors of a matrix of that norm (before centering) are set to zero."""
    least = float(values.min(initial=0.0))
    if least < -1e-8 * size:
        raise NotPositiveDefiniteError(
            f"{kernel!r} is not positive semidefinite: its Gram matrix has the eigenvalue {least:.3g}; "
            "credo.kernels.check_kernel names the rows"
        )
    return np.where(values > np.finfo(np.float64).eps * np.sqrt(len(values)) * size, values, 0.0)
