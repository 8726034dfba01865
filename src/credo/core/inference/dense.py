"""The exact representation: every covariance between the training rows, in one n×n matrix.

Given targets with Gaussian noise, C = K + Σ is filled, factored and inverted in one triangle of one matrix;
`protocols` has the equations. Given one Gaussian site for each row,

    q(f) ∝ N(f | 0, K) Πᵢ exp(−½ τᵢ fᵢ² + νᵢ fᵢ) = N(f | μ, Σ)
    Σ = (K⁻¹ + T)⁻¹,    B = I + T^½ K T^½,    R = (K + T⁻¹)⁻¹ = T^½ B⁻¹ T^½,    μ = K a,    a = ν − Tμ

Only B is factored, whose eigenvalues are at least one (Rasmussen & Williams 3.26): K may be singular, and a site may
have precision zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr2

from credo.core.estimator import positive_integer
from credo.core.inference.dense_jit import outer_minus_triangle
from credo.core.inference.paths import Paths, prior_paths
from credo.core.inference.protocols import Basis, FlatMean, Gradient, Representation, no_basis
from credo.core.linalg import Factor, Workspace, factorize, parallel_rows
from credo.kernels import Kernel

Array = NDArray[np.float64]

# An n×n matrix of this size takes 13 GB.
_MAX_EXACT_ROWS = 40_000
# Entries of the kernel between new and training rows held in memory at a time (64 MB).
_BLOCK_ENTRIES = 2**23


class Dense(Representation):
    """All covariances between the rows of X: O(n³) time, and the memory of one n×n matrix.

    Matrices that posteriors no longer need are reused, so that a search doesn't allocate one in each evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense
    >>> from credo.kernels import RBF
    >>> posterior = Dense(np.array([[0.0], [1.0]])).prior(RBF()).observe(np.array([[1.0], [0.0]]), noise=0.1)
    >>> round(posterior.log_evidence, 6)
    -2.405074
    """

    pilot_scale = 1

    def __init__(self, X: Array) -> None:
        if len(X) > _MAX_EXACT_ROWS:
            raise ValueError(
                f"exact inference needs an n×n matrix, and n = {len(X)} is too large; use at most {_MAX_EXACT_ROWS} "
                'rows, or method="inducing"'
            )
        self.X = np.ascontiguousarray(X)
        self._unused: list[Workspace] = []

    def __reduce__(self) -> tuple[type, tuple[Array]]:
        return Dense, (self.X,)

    def search_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """The rows at random."""
        return rng.permutation(len(self.X))

    def subset(self, rows: NDArray[np.intp]) -> Dense:
        """The same for some of the rows."""
        return Dense(self.X[rows])

    def extended(self, rows: Array) -> Dense:
        """The same with further rows."""
        return Dense(np.vstack([self.X, rows]))

    def prior(self, kernel: Kernel) -> DensePrior:
        """f ~ N(0, K) at the rows."""
        return DensePrior(self, kernel)

    def acquire(self) -> Workspace:
        """Memory for one matrix, which belongs to the caller until it is released."""
        try:
            return self._unused.pop()
        except IndexError:
            return Workspace(len(self.X))

    def release(self, workspace: Workspace) -> None:
        """Return memory that is no longer needed."""
        self._unused.append(workspace)


@dataclass(frozen=True, eq=False)
class DensePrior:
    """f ~ N(0, K) at the rows of a `Dense`."""

    representation: Dense
    kernel: Kernel

    @property
    def X(self) -> Array:
        return self.representation.X

    @cached_property
    def gram(self) -> Array:
        """K."""
        return self.kernel.gram(self.X)

    @cached_property
    def _factor(self) -> Factor:
        return factorize(self.gram, assume_symmetric=True)

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> DensePosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return DensePosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> DenseSites:
        """f given one Gaussian site for each row."""
        return DenseSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """K v."""
        return self.gram @ v

    def color(self, white: Array) -> Array:
        """L z, for K = LLᵀ."""
        return self._factor.L @ white

    def whiten(self, f: Array) -> Array:
        """L⁻¹f."""
        return self._factor.half_solve(f)

    def cross(self, rows: Array) -> Array:
        """The kernel between new and training rows."""
        return self.kernel.cross(np.ascontiguousarray(rows), self.X)

    def blocks(self, rows: Array) -> Iterator[tuple[slice, Array, Array]]:
        """The kernel with the training rows, and its diagonal, for some new rows at a time."""
        size = max(1, _BLOCK_ENTRIES // len(self.X))
        for start in range(0, len(rows), size):
            part = np.ascontiguousarray(rows[start : start + size])
            yield slice(start, start + len(part)), self.cross(part), self.kernel.diagonal(part)


# Rows that share one Gram matrix in a derivative by an input: n·64 kernel values instead of n².
_GRADIENT_ROWS = 64
# Differences of covariances below this share of the prior variance are rounding errors.
_ROUNDING_SHARE = 1e-13
# A left-out target isn't determined if its precision is below this share of that under a known mean.
UNDETERMINED = 1e-9


class DensePosterior:
    """f given targets with Gaussian noise; see `ObservedPosterior` for what the methods give.

    C is factored when first needed. `gradient` overwrites the factor by the inverse; if something else is needed
    afterwards, C is factored again.
    """

    def __init__(
        self,
        prior: DensePrior,
        Y: Array,
        noise: Array,
        basis: Basis,
        *,
        extended: Factor | None = None,
    ) -> None:
        self.prior, self.Y, self.noise, self.basis = prior, Y, noise, basis
        self._workspace: Workspace | None = None
        if extended is not None:
            self._factor = extended

    def __del__(self) -> None:
        workspace = getattr(self, "_workspace", None)
        if workspace is not None:
            self.prior.representation.release(workspace)

    def __getstate__(self) -> dict[str, Any]:
        """With a copy of the factor, if there is one, because its memory is reused."""
        if self._workspace is None and "_factor" not in vars(self):
            return vars(self)
        factor = Factor(self._factor.L.copy(order="F"), jitter=self.jitter)
        return vars(self) | {"_factor": factor, "_workspace": None}

    @property
    def mean(self) -> Array:
        """Y − Nα with the noise N, since (K + N)α = Y − Hb; noise within the kernel (`White`) belongs to f here."""
        return self.Y - (self.noise + self.jitter)[:, None] * self.alpha

    @property
    def variance(self) -> Array:
        """N − N(C⁻¹ − GGᵀ)N, cheaper than at new rows."""
        noise = self.noise + self.jitter
        return np.maximum(noise - noise**2 * self._diagonals()[1], 0.0)

    @property
    def jitter(self) -> float:
        return self._solver.jitter

    @property
    def logdet(self) -> float:
        """ln|C|."""
        return self._solver.logdet

    @cached_property
    def log_evidence(self) -> float:
        if "_factor" not in vars(self) and self._workspace is None:
            # Here, so that a fit reaches the factorization directly.
            self._workspace = self.prior.representation.acquire().factor(self._fill)
        return self._mean.log_evidence(self.logdet)

    def gradient(self) -> Gradient:
        n_targets = self.Y.shape[1]
        columns = [self.alpha]
        if self._mean.factor is not None:
            columns.append(math.sqrt(n_targets) * self._solver.half_solve(self._mean.root, transpose=True))
        workspace = self._factored()
        V = workspace.invert()
        self._workspace = None
        parallel_rows(outer_minus_triangle, len(V), np.ascontiguousarray(np.hstack(columns)), float(n_targets), V)
        found = Gradient(self.prior.kernel.pullback(self.prior.X, V, triangle=True), np.diagonal(V).copy())
        vars(self).pop("_factor", None)
        self.prior.representation.release(workspace)
        return found

    def expected(self, rows: Array) -> Array:
        mean = self.basis(rows) @ self._mean.coefficients
        for block, cross, _ in self.prior.blocks(rows):
            mean[block] += cross @ self.alpha
        return mean

    def latent(self, rows: Array) -> tuple[Array, Array]:
        mean, variance = np.empty((len(rows), self.Y.shape[1])), np.empty(len(rows))
        for block, cross, prior in self.prior.blocks(rows):
            H = self.basis(rows[block])
            mean[block] = cross @ self.alpha + H @ self._mean.coefficients
            variance[block] = self._variance(prior, cross, H)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        half, root = self._roots(self.prior.cross(rows), self.basis(rows))
        if others is not None:
            other_half, other_root = self._roots(self.prior.cross(others), self.basis(others))
            return self.prior.kernel.cross(rows, others) - half.T @ other_half + root.T @ other_root
        prior = self.prior.kernel.gram(rows)
        cov = prior - half.T @ half
        # Variances that are negative by rounding are corrected.
        diagonal = np.einsum("ii->i", cov)
        np.maximum(diagonal, _ROUNDING_SHARE * np.diagonal(prior), out=diagonal)
        cov += root.T @ root
        return 0.5 * (cov + cov.T)

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        kernel, other = self.prior.kernel, origin[None]
        cross, H = self.prior.cross(rows) - self.prior.cross(other), self.basis(rows) - self.basis(other)
        prior = kernel.diagonal(rows) + kernel.diagonal(other) - 2 * kernel.cross(rows, other)[:, 0]
        mean = cross @ self.alpha[:, 0] + H @ self._mean.coefficients[:, 0]
        return mean, self._variance(prior, cross, H)

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        """With k and h the differences between x and the origin of the covariances with the training rows and of the
        bases, and u = h − HᵀC⁻¹k (Rasmussen & Williams 2.41–2.42), the mean is kᵀα + hᵀb̂ and the variance
        k(x, x) + k(o, o) − 2k(x, o) − kᵀC⁻¹k + uᵀA⁻¹u.
        """
        here, other = row[None], origin[None]
        half = self._factor.half_solve((self.prior.cross(here) - self.prior.cross(other)).T)
        by_cross = by_mean * self.alpha[:, 0]
        by_basis = by_mean * self._mean.coefficients[:, 0]
        solved = half[:, 0]
        if self._mean.factor is not None:
            uncertain = self._mean.factor.solve(
                (self.basis(here) - self.basis(other))[0] - self._mean.basis.T @ half[:, 0]
            )
            solved = solved + self._mean.basis @ uncertain
            by_basis = by_basis + 2 * by_variance * uncertain
        by_cross = by_cross - 2 * by_variance * self._factor.half_solve(solved, transpose=True)
        # The mean functions are affine in x, so a difference over one unit is their derivative.
        corners = self.basis(np.vstack([row, row + np.eye(len(row))]))
        rows = np.vstack([self.prior.X, other])
        slope = input_gradient(self.prior.kernel, row, rows, np.append(by_cross, -2 * by_variance), by_variance)
        return (corners[1:] - corners[0]) @ by_basis + slope

    def by_noise(self) -> Array:
        return 0.5 * ((self.alpha**2).sum(axis=1) - self.Y.shape[1] * self._diagonals()[1])

    def _diagonals(self) -> tuple[Array, Array]:
        """The diagonals of C⁻¹ and of C⁻¹ − GGᵀ."""
        root = self._factor.half_solve(self._mean.root, transpose=True)
        whole = self._factor.inverse_diagonal()
        return whole, whole - np.einsum("ij,ij->i", root, root)

    def left_out(self) -> tuple[Array, Array]:
        """Rasmussen & Williams 5.10–5.12."""
        whole, precision = self._diagonals()
        determined = precision > UNDETERMINED * whole
        variance = np.where(determined, 1.0 / np.where(determined, precision, 1.0), np.inf)
        with np.errstate(invalid="ignore"):
            return self.Y - self.alpha * variance[:, None], variance

    def extended(self, rows: Array, Y: Array, noise: Array) -> DensePosterior:
        own = self.prior.kernel.gram(rows)
        own.flat[:: len(own) + 1] += noise
        factor = self._factor.extend(self.prior.cross(rows).T, own)
        prior = self.prior.representation.extended(rows).prior(self.prior.kernel)
        return DensePosterior(prior, np.vstack([self.Y, Y]), np.append(self.noise, noise), self.basis, extended=factor)

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        """By Matheron's rule; for the first target."""
        positive_integer("n", n)
        positive_integer("n_features", n_features)
        prior = prior_paths(self.prior.kernel, self.prior.X, self.basis, n, n_features, rng)
        # The jitter counts as noise.
        errors = np.sqrt(self.noise + self.jitter)[:, None] * rng.standard_normal((len(self.Y), n))
        misfit = self._factor.half_solve(self.Y[:, :1] - prior(self.prior.X).T - errors)
        mean = FlatMean.of(misfit, self._mean.basis)
        return prior.corrected(self._factor.half_solve(mean.residual, transpose=True), mean.coefficients)

    @cached_property
    def alpha(self) -> Array:
        """α = C⁻¹(Y − Hb̂)."""
        return self._solver.half_solve(self._mean.residual, transpose=True)

    @cached_property
    def _mean(self) -> FlatMean:
        solver = self._solver
        return FlatMean.of(solver.half_solve(self.Y), solver.half_solve(self.basis(self.prior.X)))

    @property
    def _solver(self) -> Workspace | Factor:
        """What solves with L: the factor if it exists, or else the workspace, which is cheaper to make."""
        return self._factor if "_factor" in vars(self) else self._factored()

    @cached_property
    def _factor(self) -> Factor:
        workspace = self._factored()
        # Means are solved for first, so that their last digits don't depend on the order of requests.
        assert self.alpha is not None
        return workspace.as_factor()

    def _factored(self) -> Workspace:
        """A workspace with the factor of C."""
        if self._workspace is None:
            self._workspace = self.prior.representation.acquire().factor(self._fill)
        return self._workspace

    def _fill(self, C: Array) -> None:
        self.prior.kernel.fill(self.prior.X, C)
        np.einsum("ii->i", C)[...] += self.noise

    def _roots(self, cross: Array, H: Array) -> tuple[Array, Array]:
        """L⁻¹k for each new row, and a root of the covariance due to the mean's coefficients."""
        half = self._factor.half_solve(cross.T)
        return half, self._mean.uncertainty(H, half)

    def _variance(self, prior: Array, cross: Array, H: Array) -> Array:
        half, root = self._roots(cross, H)
        inner = prior - np.einsum("ij,ij->j", half, half)
        return np.maximum(inner, 0.0) + np.einsum("ij,ij->j", root, root)


def input_gradient(kernel: Kernel, row: Array, others: Array, weights: Array, own: float) -> Array:
    """∂/∂x of Σ wⱼ k(x, zⱼ) + own·k(x, x), by pulling back Gram matrices of x and a few other rows at a time."""
    total = np.zeros_like(row)
    for start in range(0, len(others), _GRADIENT_ROWS):
        part = weights[start : start + _GRADIENT_ROWS]
        W = np.zeros((len(part) + 1, len(part) + 1))
        W[0, 1:] = W[1:, 0] = 0.5 * part
        W[0, 0] = own if start == 0 else 0.0
        total += kernel.pullback_inputs(np.vstack([row[None], others[start : start + _GRADIENT_ROWS]]), W)[0]
    return total


@dataclass(frozen=True, eq=False)
class DenseSites:
    """N(f | 0, K) times one Gaussian site for each row; see `SitePosterior` for what the methods give."""

    prior: DensePrior
    precision: Array
    location: Array

    @cached_property
    def alpha(self) -> Array:
        return self.weights(self.location)

    @cached_property
    def mean(self) -> Array:
        return self.prior.multiply(self.alpha)

    @cached_property
    def variance(self) -> Array:
        """(1 − (B⁻¹)ᵢᵢ)/τᵢ, or Kᵢᵢ − ‖L⁻¹T^½kᵢ‖² if a site's precision is too small for that."""
        K = self.prior.gram
        prior = np.diagonal(K)
        # Below this share of the prior variance, 1 − (B⁻¹)ᵢᵢ has lost the digits of τΣ.
        faint = self.precision * prior < 1e-6
        shrunk = 1.0 - self._factor.inverse_diagonal()
        variance = shrunk / np.where(faint, 1.0, self.precision)
        if faint.any():
            half = self._factor.half_solve(self._root[:, None] * K[:, faint])
            variance[faint] = prior[faint] - np.einsum("ij,ij->j", half, half)
        return np.clip(variance, 1e-12 * prior, prior)

    @property
    def logdet(self) -> float:
        return self._factor.logdet

    @property
    def log_evidence(self) -> float:
        return 0.5 * (float(self.location @ self.mean) - self.logdet)

    @property
    def divergence(self) -> float:
        """tr(K⁻¹Σ) − n = −Σ τᵢΣᵢᵢ, and ln|K| − ln|Σ| = ln|B|."""
        return 0.5 * (float(self.alpha @ self.mean) - float(self.precision @ self.variance) + self.logdet)

    def weights(self, location: Array) -> Array:
        return location - self._root * self._factor.solve(self._root * self.prior.multiply(location))

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """Σ W∘∂K/∂θ with W = ½(aaᵀ + uaᵀ + auᵀ − R) and u = (I + TK)⁻¹s for the term sᵀ∂μ (alg. 5.1 there)."""
        W = self._factor.inverse()
        W *= -0.5 * self._root
        W *= self._root[:, None]
        a, b = self.alpha, 0.5 * self.alpha
        if by_mean is not None:
            b = b + self.weights(by_mean)
        # In C order the lower triangle is the one that kernels read.
        W = dsyr2(0.5, a, b, a=np.asfortranarray(W), lower=1, overwrite_a=1).T
        return Gradient(self.prior.kernel.pullback(self.prior.X, W, triangle=True))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        for block, cross, prior in self.prior.blocks(rows):
            half = self._factor.half_solve((cross * self._root).T)
            mean[block] = cross @ self.alpha
            variance[block] = np.maximum(prior - np.einsum("ij,ij->j", half, half), 0.0)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        half = self._factor.half_solve((self.prior.cross(rows) * self._root).T)
        if others is None:
            return self.prior.kernel.gram(rows) - half.T @ half
        other = self._factor.half_solve((self.prior.cross(others) * self._root).T)
        return self.prior.kernel.cross(rows, others) - half.T @ other

    def draw(self, rng: np.random.Generator) -> Array:
        return self._covariance_factor.L @ rng.standard_normal(len(self.location))

    @cached_property
    def _covariance_factor(self) -> Factor:
        K = self.prior.gram
        half = self._factor.half_solve(self._root[:, None] * K)
        return factorize(K - half.T @ half, overwrite=True, assume_symmetric=True)

    @cached_property
    def _root(self) -> Array:
        """T^½."""
        return np.sqrt(self.precision)

    @cached_property
    def _factor(self) -> Factor:
        """The factor of B."""
        B = self.prior.gram * self._root
        B *= self._root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        return factorize(B, overwrite=True, assume_symmetric=True)
