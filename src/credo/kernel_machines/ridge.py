"""Kernel ridge regression: the whole path over α from one eigendecomposition, α by exact leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, StudentT
from credo.estimator import FitWarning, Regressor, Result, check_positive, check_shapes, interval_level, nonnegative
from credo.frames import Table
from credo.kernel_machines._rows import blocks, cross, finite_gram, median_distance
from credo.kernels import RBF, Kernel, require_kernel
from credo.learning import best_penalty, penalties, residual_noise
from credo.linalg import NotPositiveDefiniteError
from credo.notices import warn

Array = NDArray[np.float64]

# Candidates reach from a fit that is almost flat to the edge of what eigenvalues in double precision resolve.
_LARGEST, _SMALLEST, _N_ALPHAS = 1e3, 1e-10, 200
# An eigenvalue this far below zero, relative to the matrix, is no rounding error.
_INDEFINITE = 1e-8


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

    alpha_: float
    alphas_: Array
    loo_errors_: Array
    noise_std_: float
    dof_: float
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
            largest = float(data.values.max(initial=0.0))
            default = largest * np.geomspace(_LARGEST, _SMALLEST, _N_ALPHAS) if largest > 0 else np.ones(1)
            self.alphas_ = penalties(self.alphas, default)
            self.loo_errors_ = data.loo_errors(self.alphas_)
            self.alpha_, self.result_ = best_penalty(self.alphas_, self.loo_errors_, advice="or another kernel")
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
        return cov * float(StudentT(self.dof_, 0.0, self.noise_std_).var)

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


@dataclass(frozen=True)
class Spectrum:
    """Weighted rows in the eigenbasis of their Gram matrix.

        √w K̃ √w = U diag(λ) Uᵀ,    q = Uᵀ √w (y − ȳ)

    K̃ is K itself or, with an intercept, K in the feature space's coordinates about the mean of the rows. Given U, λ and
    q, every penalty α costs O(n²): fit, residuals, leverages. It is `credo.linear`'s spectrum seen from the dual side.

    `basis` is √w U, whose columns turn k(x, ·) into coordinates; `lean` are the coordinates of the mean of the rows;
    `k_mean` and `k_grand` are the means of K's columns and of all of it (zero without intercept); `weight` is the sum
    of the sample weights, that is the number of observations.
    """

    basis: Array
    values: Array
    q: Array
    lean: Array
    sample_weight: Array
    weight: float
    k_mean: Array
    k_grand: float
    y_mean: float
    centered: bool

    def _check_state(self) -> None:
        check_shapes(self, basis="n r", values="r", q="r", lean="r", sample_weight="n", k_mean="n", k_grand="")
        check_positive(self, "weight", "sample_weight")

    def slack(self, alphas: Array) -> Array:
        """α/(λ + α), the share that the fit leaves in each direction (rows) for each α (columns)."""
        total = self.values[:, None] + alphas
        return np.divide(np.broadcast_to(alphas, total.shape), total, out=np.ones_like(total), where=total > 0)

    def dual(self, alpha: float) -> Array:
        """a with f(x) = b + Σ aᵢ k(x, xᵢ); with an intercept its entries sum to zero."""
        return self.basis @ (_reciprocal(self.values + alpha, self.values + alpha > 0) * self.q)

    def intercept(self, dual: Array) -> float:
        """b of the same formula."""
        return self.y_mean - float(self.k_mean @ dual)

    def loo_errors(self, alphas: Array) -> Array:
        """Mean squared leave-one-out error at each α.

        The error of a row predicted from the others is e/(1 − h), e its residual and h its leverage: f is linear in y
        and its penalty doesn't involve y. Both are sums over U of the slack, without cancellation. A row of weight k
        stands for k rows, of which one is left out; one of weight below 1 is left out as a whole.
        """
        slack, root = self.slack(alphas), np.sqrt(self.sample_weight)[:, None]
        U = self.basis / root
        residual = (U @ (slack * self.q[:, None])) / root
        copies = np.maximum(self.sample_weight, 1.0)[:, None]
        gap = (copies - 1.0 + (U * U) @ slack) / copies
        # A leverage of one means that the row alone decides its own fit: left out, nothing is known there.
        errors = np.divide(residual, gap, out=np.full_like(gap, np.inf), where=gap > 1e-12)
        return self.sample_weight @ errors**2 / self.weight

    def noise(self, alpha: float) -> tuple[float, float, float]:
        """σ², its degrees of freedom, and γ = Σ λ/(λ + α)."""
        slack = self.slack(np.array([alpha]))[:, 0]
        free = max(self.weight - self.centered - len(self.values), 0.0)
        return *residual_noise(slack, self.q, free=free), float((1.0 - slack).sum())

    def latent_square(self, k: Array, diagonal: Array, alpha: float) -> Array:
        """Variance of f at rows with these k(x, xᵢ) and k(x, x), in units of the noise variance.

        That of the Gaussian process with kernel k/α and unit noise: the part along the eigenvectors is φᵀ(ΦᵀΦ + αI)⁻¹φ
        and the rest of ‖φ‖² has the prior's 1/α.
        """
        coordinates = (k @ self.basis - self.lean) ** 2
        positive = self.values > 0
        inside = coordinates @ _reciprocal(self.values, positive)
        square = coordinates @ _reciprocal(self.values * (self.values + alpha), positive)
        if alpha > 0:
            square += np.maximum(self._own(k, diagonal) - inside, 0.0) / alpha
        return square + (1.0 / self.weight if self.centered else 0.0)

    def latent_covariance(self, k: Array, between: Array, alpha: float) -> Array:
        """Covariance of f between rows whose own Gram matrix is `between`, in units of the noise variance."""
        coordinates = k @ self.basis - self.lean
        positive = self.values > 0
        cov = (coordinates * _reciprocal(self.values * (self.values + alpha), positive)) @ coordinates.T
        if alpha > 0:
            shift = k @ self.sample_weight / self.weight if self.centered else np.zeros(len(k))
            prior = between - shift[:, None] - shift + self.k_grand
            cov += (prior - (coordinates * _reciprocal(self.values, positive)) @ coordinates.T) / alpha
        return cov + (1.0 / self.weight if self.centered else 0.0)

    def _own(self, k: Array, diagonal: Array) -> Array:
        """The squared length of φ(x), or of φ(x) less the mean of the rows."""
        if not self.centered:
            return diagonal
        return diagonal - 2.0 * (k @ self.sample_weight) / self.weight + self.k_grand


def spectrum(kernel: Kernel, X: Array, y: Array, weight: Array | None, *, center: bool) -> Spectrum:
    """The spectrum of rows X with targets y and weights under a kernel."""
    n_samples = len(X)
    K = finite_gram(kernel, X)
    weights = np.ones(n_samples) if weight is None else weight
    total, root = float(weights.sum()), np.sqrt(weights)
    k_mean = K @ weights / total if center else np.zeros(n_samples)
    k_grand = float(k_mean @ weights) / total
    y_mean = float(np.average(y, weights=weights)) if center else 0.0
    K *= root
    K *= root[:, None]
    size = float(np.linalg.norm(K))
    values, U = _eigh_beside(K, root / np.sqrt(total)) if center else _eigh(K)
    target = root * (y - y_mean)
    basis = root[:, None] * U
    return Spectrum(
        basis=basis,
        values=_clean(values, kernel, size),
        q=U.T @ target,
        lean=k_mean @ basis,
        sample_weight=weights,
        weight=total,
        k_mean=k_mean,
        k_grand=k_grand,
        y_mean=y_mean,
        centered=center,
    )


def _eigh(A: Array) -> tuple[Array, Array]:
    if not len(A):
        return np.empty(0), np.empty((0, 0))
    values, vectors = sla.eigh(A, check_finite=False, driver="evd", overwrite_a=True)
    return values, vectors


def _eigh_beside(A: Array, u: Array) -> tuple[Array, Array]:
    """Eigenpairs of (I − uuᵀ) A (I − uuᵀ), those at right angles to the unit vector u only.

    With u ∝ √w the projection is the centring of K: k(x, x′) and its centred form differ by what depends on one of the
    two rows alone. A reflection P with Pu = −e₁ leaves the wanted pairs in a corner of PAP (Golub & Van Loan 8.3.1).
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
    """The eigenvalues, zero where they are rounding error of a matrix of that norm (before it was centred)."""
    least = float(values.min(initial=0.0))
    if least < -_INDEFINITE * size:
        raise NotPositiveDefiniteError(
            f"{kernel!r} is not positive semidefinite: its Gram matrix has the eigenvalue {least:.3g}; "
            "credo.kernels.check_kernel names the rows"
        )
    return np.where(values > np.finfo(np.float64).eps * np.sqrt(len(values)) * size, values, 0.0)


def _reciprocal(values: Array, where: NDArray[np.bool_]) -> Array:
    return np.divide(1.0, values, out=np.zeros_like(values), where=where)
