"""The Gram matrix of weighted rows through its eigenvalues.

    √w K̃ √w = U diag(λ) Uᵀ,    q = Uᵀ √w (y − ȳ)

K̃ is K itself or, with an intercept, K in the feature space's coordinates about the mean of the rows. Given U, λ and q,
every penalty α costs O(n²): fit, residuals, leverages. All of it is `credo.linear`'s spectrum seen from the dual side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from credo.estimator import check_positive, check_shapes
from credo.kernels import Kernel
from credo.linalg import NotPositiveDefiniteError

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# An eigenvalue this far below zero, relative to the matrix, is no rounding error.
_INDEFINITE = 1e-8
# Gram matrix, eigenvectors and LAPACK's workspace of this order need 13 GB.
_MAX_ROWS = 20_000


@dataclass(frozen=True)
class Spectrum:
    """Weighted rows in the eigenbasis of their Gram matrix; see the module's equations.

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

    @property
    def free(self) -> float:
        """Observations beyond the first at each row, and beyond the intercept's share."""
        return max(self.weight - self.centered - len(self.values), 0.0)

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
        """σ² = RSS/(n − γ), its degrees of freedom, and γ = Σ λ/(λ + α), as `credo.linear.Ridge` has them.

        The degrees of freedom are Satterthwaite's for the weighted sum of squares that the residuals are.
        """
        slack = self.slack(np.array([alpha]))[:, 0]
        left = self.free + float(slack.sum())
        effective = float((1.0 - slack).sum())
        if left <= 0:
            return np.nan, 0.0, effective
        return float(((slack * self.q) ** 2).sum()) / left, left**2 / (self.free + float((slack**2).sum())), effective

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
    if n_samples > _MAX_ROWS:
        raise ValueError(
            f"X has {n_samples} rows, whose Gram matrix and eigenvectors would fill {32e-9 * n_samples**2:.0f} GB: use "
            f"at most {_MAX_ROWS} rows, or credo.linear.Ridge on credo.features.Radial or Fourier"
        )
    K = _gram(kernel, X)
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


def _gram(kernel: Kernel, X: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel.gram(X)
    if not np.isfinite(K).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(K))[0])
        raise ValueError(
            f"{kernel!r} gives {K[i, j]} for rows {i} and {j}, which overflows: rescale "
            "the columns, for example with StandardScaler"
        )
    return K


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
    return np.where(values > EPS * np.sqrt(len(values)) * size, values, 0.0)


def _reciprocal(values: Array, where: NDArray[np.bool_]) -> Array:
    return np.divide(1.0, values, out=np.zeros_like(values), where=where)
