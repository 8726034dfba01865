"""A Gaussian process given targets with Gaussian noise, by Titsias's bound.

    F = ln N(y | 0, C) − ½ Σ eᵢ/λᵢ,    C = Q + Λ,    Q = ΨᵀΨ,    eᵢ = k(xᵢ, xᵢ) − ψᵢᵀψᵢ

(Titsias 2009, equation 9.) With B = I + ΨΛ⁻¹Ψᵀ, the posterior of the features' weights is v ~ N(B⁻¹ΨΛ⁻¹y, B⁻¹), and
C⁻¹ = Λ⁻¹ − Λ⁻¹ΨᵀB⁻¹ΨΛ⁻¹. `flat_mean` has what a mean with flat coefficients adds. Its W = ½(ααᵀ + GGᵀ − C⁻¹) and the
trace above make

    ∂F/∂K_fu = (αα_uᵀ + GG_uᵀ + Λ⁻¹Ψᵀ(I − B⁻¹))L⁻¹,    α_u = Ψα,    G_u = ΨG
    ∂F/∂K_uu = −½L⁻ᵀ(α_uα_uᵀ + G_uG_uᵀ + ΨΛ⁻¹Ψᵀ − I + B⁻¹)L⁻¹,    ∂F/∂k(xᵢ, xᵢ) = −1/2λᵢ
    ∂F/∂λᵢ = ½(αᵢ² + Gᵢ² − 1/λᵢ + (k(xᵢ, xᵢ) − ψᵢᵀ(I − B⁻¹)ψᵢ)/λᵢ²)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

from credo.estimator import positive_integer
from credo.inference.dense_observed import UNDETERMINED, input_gradient
from credo.inference.flat_mean import FlatMean
from credo.inference.inducing_features import InducingFeatures, InducingSummary
from credo.inference.paths import Paths, prior_paths
from credo.inference.protocols import Basis, Gradient
from credo.linalg import Factor, factorize, one_blas_thread, parallel_map

if TYPE_CHECKING:
    from credo.inference.inducing import InducingPrior

Array = NDArray[np.float64]


_NO_ROWS = "the rows of a table in parts aren't kept, which this needs: fit the model to rows in memory, or to a sample"


class SummaryPosterior:
    """f given the summary of rows that needn't be there any more; see `ObservedPosterior` for what the methods give.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import InducingFeatures, SummaryPosterior, no_basis
    >>> from credo.kernels import RBF
    >>> features = InducingFeatures.of(RBF(1.0), np.linspace(0.0, 5.0, 8)[:, None])
    >>> rows = [np.random.default_rng(i).uniform(0.0, 5.0, (50, 1)) for i in range(4)]
    >>> chunks = ((X, np.sin(X), np.full(50, 0.01)) for X in rows)
    >>> SummaryPosterior.of_chunks(features, chunks, no_basis).expected(np.array([[1.5]])).round(2)
    array([[1.]])
    """

    jitter = 0.0

    @classmethod
    def of_chunks(
        cls, features: InducingFeatures, chunks: Iterable[tuple[Array, Array, Array]], basis: Basis
    ) -> SummaryPosterior:
        """From rows X, targets Y and noise variances, a chunk of rows at a time."""
        summary, n_targets = None, 0
        for X, Y, noise in chunks:
            n_targets = Y.shape[1]
            part = features.summarize(X, np.hstack([Y, basis(X)]), noise)
            summary = part if summary is None else summary.merge(part)
        if summary is None:
            raise ValueError("there are no chunks")
        return cls(features, summary, n_targets, basis)

    def __init__(self, features: InducingFeatures, summary: InducingSummary, n_targets: int, basis: Basis) -> None:
        self.features, self.n_targets, self.basis = features, n_targets, basis
        self._given = summary

    @cached_property
    def _summary(self) -> InducingSummary:
        return self._given

    @cached_property
    def log_evidence(self) -> float:
        """The bound."""
        sums = self._summary
        collapsed = self._mean.log_evidence(self._factor.logdet + sums.log_noise, sums.n)
        return collapsed - 0.5 * self.n_targets * sums.residual

    @property
    def mean(self) -> Array:
        raise ValueError(_NO_ROWS)

    @property
    def variance(self) -> Array:
        raise ValueError(_NO_ROWS)

    def gradient(self) -> Gradient:
        raise ValueError(_NO_ROWS)

    def by_noise(self) -> Array:
        raise ValueError(_NO_ROWS)

    def left_out(self) -> tuple[Array, Array]:
        raise ValueError(_NO_ROWS)

    def extended(self, rows: Array, Y: Array, noise: Array) -> SummaryPosterior:
        more = self.features.summarize(rows, np.hstack([Y, self.basis(rows)]), noise)
        return SummaryPosterior(self.features, self._summary.merge(more), self.n_targets, self.basis)

    def expected(self, rows: Array) -> Array:
        mean = self.basis(rows) @ self._mean.coefficients
        for part, psi in self.features.chunks(rows):
            mean[part] += psi @ self.weights
        return mean

    def latent(self, rows: Array) -> tuple[Array, Array]:
        mean, variance = np.empty((len(rows), self.n_targets)), np.empty(len(rows))
        for part, psi in self.features.chunks(rows):
            H = self.basis(rows[part])
            mean[part] = psi @ self.weights + H @ self._mean.coefficients
            variance[part] = self._variance(self.features.kernel.diagonal(rows[part]), psi, H)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        half, root = self._roots(psi := self.features(rows), self.basis(rows))
        if others is not None:
            other_half, other_root = self._roots(other := self.features(others), self.basis(others))
            prior = self.features.kernel.cross(rows, others) - psi @ other.T
            return prior + half.T @ other_half + root.T @ other_root
        prior = self.features.kernel.gram(rows) - psi @ psi.T
        diagonal = np.einsum("ii->i", prior)
        np.maximum(diagonal, 0.0, out=diagonal)
        cov = prior + half.T @ half + root.T @ root
        return 0.5 * (cov + cov.T)

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        kernel, other = self.features.kernel, origin[None]
        psi, H = self.features(rows) - self.features(other), self.basis(rows) - self.basis(other)
        prior = kernel.diagonal(rows) + kernel.diagonal(other) - 2 * kernel.cross(rows, other)[:, 0]
        mean = psi @ self.weights[:, 0] + H @ self._mean.coefficients[:, 0]
        return mean, self._variance(prior, psi, H)

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        """With ψ and h the differences between x and the origin of features and bases, and u = h − (B⁻¹b_H)ᵀψ, the
        mean is ψᵀv + hᵀb̂ and the variance k(x, x) + k(o, o) − 2k(x, o) − ψᵀ(I − B⁻¹)ψ + uᵀA⁻¹u.
        """
        here, other = row[None], origin[None]
        psi, h = (self.features(here) - self.features(other))[0], (self.basis(here) - self.basis(other))[0]
        by_psi = by_mean * self.weights[:, 0] - 2 * by_variance * (psi - self._factor.solve(psi))
        by_basis = by_mean * self._mean.coefficients[:, 0]
        if self._mean.factor is not None:
            uncertain = self._mean.factor.solve(h - self._basis_weights.T @ psi)
            by_psi = by_psi - 2 * by_variance * self._basis_weights @ uncertain
            by_basis = by_basis + 2 * by_variance * uncertain
        by_cross = self.features.factor.half_solve(by_psi, transpose=True)
        # The means on offer are affine in x, so that a difference over one unit is their derivative.
        corners = self.basis(np.vstack([row, row + np.eye(len(row))]))
        rows, weights = np.vstack([self.features.points, other]), np.append(by_cross, -2 * by_variance)
        return (corners[1:] - corners[0]) @ by_basis + input_gradient(
            self.features.kernel, row, rows, weights, by_variance
        )

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        """By Matheron's rule, with draws of the process at the inducing points in place of data; for the first target.

        (Wilson et al. 2020, equation 13.)
        """
        positive_integer("n", n)
        positive_integer("n_features", n_features)
        points = self.features.points
        prior = prior_paths(self.features.kernel, points, self.basis, n, n_features, rng)
        coefficients, weights = np.tile(self._mean.coefficients[:, :1], n), np.tile(self.weights[:, :1], n)
        if self._mean.factor is not None:
            shift = self._mean.factor.half_solve(rng.standard_normal((len(coefficients), n)), transpose=True)
            coefficients, weights = coefficients + shift, weights - self._basis_weights @ shift
        weights = weights + self._factor.half_solve(rng.standard_normal(weights.shape), transpose=True)
        misfit = weights - self.features.factor.half_solve(prior(points).T)
        return prior.corrected(self.features.factor.half_solve(misfit, transpose=True), coefficients)

    @cached_property
    def weights(self) -> Array:
        """E v for the mean's coefficients b̂: (m, n_targets)."""
        return self._solved[:, : self.n_targets] - self._basis_weights @ self._mean.coefficients

    @cached_property
    def _factor(self) -> Factor:
        """Of B."""
        B = np.array(self._summary.gram, order="F")
        B += np.tril(B, -1).T
        np.einsum("ii->i", B)[...] += 1.0
        return factorize(B, overwrite=True, assume_symmetric=True)

    @cached_property
    def _solved(self) -> Array:
        """B⁻¹ΨΛ⁻¹(Y, H)."""
        return self._factor.solve(self._summary.cross)

    @property
    def _basis_weights(self) -> Array:
        return self._solved[:, self.n_targets :]

    @cached_property
    def _mean(self) -> FlatMean:
        """From vectors that have the products (Y, H)ᵀC⁻¹(Y, H), which are all that it needs."""
        products = self._summary.square - self._summary.cross.T @ self._solved
        values, axes = np.linalg.eigh(0.5 * (products + products.T))
        white = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        return FlatMean.of(white[:, : self.n_targets], white[:, self.n_targets :])

    def _roots(self, psi: Array, H: Array) -> tuple[Array, Array]:
        """Roots of what v and the mean's coefficients add to the covariance."""
        half = self._factor.half_solve(psi.T)
        if self._mean.factor is None:
            return half, np.zeros((0, len(H)))
        return half, self._mean.factor.half_solve(H.T - self._basis_weights.T @ psi.T)

    def _variance(self, prior: Array, psi: Array, H: Array) -> Array:
        half, root = self._roots(psi, H)
        rest = np.maximum(prior - np.einsum("ij,ij->i", psi, psi), 0.0)
        return rest + np.einsum("ij,ij->j", half, half) + np.einsum("ij,ij->j", root, root)


class InducingPosterior(SummaryPosterior):
    """f given targets at the training rows; see `ObservedPosterior` for what the methods give."""

    def __init__(self, prior: InducingPrior, Y: Array, noise: Array, basis: Basis) -> None:
        self.features, self.n_targets, self.basis = prior.features, Y.shape[1], basis
        self.prior, self.Y, self.noise = prior, Y, noise

    @cached_property
    def _summary(self) -> InducingSummary:
        return self.features.summarize(self.prior.X, self._targets(), self.noise)

    @property
    def mean(self) -> Array:
        return self._at_rows[0]

    @property
    def variance(self) -> Array:
        return self._at_rows[1]

    @cached_property
    def _at_rows(self) -> tuple[Array, Array]:
        return self.latent(self.prior.X)

    def gradient(self) -> Gradient:
        features, kernel, X, n_targets = self.features, self.prior.kernel, self.prior.X, self.n_targets
        shrinkage = np.eye(features.size) - self._factor.inverse()
        # Rows of (I − B⁻¹)L⁻¹, and of (α_u, G_u)ᵀL⁻¹.
        inner = np.ascontiguousarray(features.factor.half_solve(shrinkage, transpose=True).T)
        pulled = self._with_roots(self.weights, self._basis_weights)
        outer = np.ascontiguousarray(features.factor.half_solve(pulled, transpose=True).T)
        solved = self._solved
        # Ψᵀb = K_fu(L⁻ᵀb) saves a triangular solve for each row, if it doesn't lose digits.
        quick = features.is_well_conditioned
        if quick:
            inner, solved = (features.factor.half_solve(b, transpose=True) for b in (inner, solved))
        by_noise = np.empty(len(X))

        def pulled_back(part: slice) -> Array:
            """The derivatives by the kernel's parameters from some rows, of which `by_noise` is set."""
            rows, noise = np.ascontiguousarray(X[part]), self.noise[part]
            cross = kernel.cross(rows, features.points)
            psi = cross if quick else features.factor.half_solve(cross.T).T
            W = psi @ inner
            explained = np.einsum("ij,ij->i", W, cross)
            W *= (n_targets / noise)[:, None]
            left = self._left(part, psi @ solved)
            # W += left·outer, in place.
            dgemm(1.0, outer.T, left.T, beta=1.0, c=W.T, overwrite_c=1)
            rest = (kernel.diagonal(rows) - explained) / noise - 1.0
            by_noise[part] = 0.5 * (np.einsum("ij,ij->i", left, left) + n_targets * rest / noise)
            diagonal = kernel.pullback_diagonal(rows, -0.5 * n_targets / noise)
            return kernel.pullback_cross(rows, features.points, W) + diagonal

        with one_blas_thread():
            by_kernel = np.sum(parallel_map(pulled_back, features.slices(X)), axis=0)
        V = np.tril(self._summary.gram) + np.tril(self._summary.gram, -1).T - shrinkage
        V = pulled @ pulled.T + n_targets * V
        V = features.factor.half_solve(features.factor.half_solve(V, transpose=True).T, transpose=True)
        return Gradient(by_kernel + kernel.pullback(features.points, -0.5 * V), by_noise)

    def by_noise(self) -> Array:
        return self.gradient().by_noise

    def left_out(self) -> tuple[Array, Array]:
        """Rasmussen & Williams 5.10–5.12 for C, with the variance that the inducing points don't explain added.

        The inducing points stay where they are.
        """
        mean, variance = np.empty(self.Y.shape), np.empty(len(self.Y))
        for part, psi in self.features.chunks(self.prior.X):
            noise, left = self.noise[part], self._left(part, psi @ self._solved)
            half = self._factor.half_solve(psi.T)
            whole = (1.0 - np.einsum("ij,ij->j", half, half) / noise) / noise
            roots = left[:, self.n_targets :] / math.sqrt(self.n_targets)
            precision = whole - np.einsum("ij,ij->i", roots, roots)
            determined = precision > UNDETERMINED * whole
            own = np.where(determined, 1.0 / np.where(determined, precision, 1.0), np.inf)
            with np.errstate(invalid="ignore"):
                mean[part] = self.Y[part] - left[:, : self.n_targets] * own[:, None]
            rest = self.prior.kernel.diagonal(self.prior.X[part]) - np.einsum("ij,ij->i", psi, psi)
            variance[part] = own + np.maximum(rest, 0.0)
        return mean, variance

    def extended(self, rows: Array, Y: Array, noise: Array) -> InducingPosterior:
        representation = self.prior.representation.extended(rows)
        prior = representation.prior(self.prior.kernel)
        Y, noise = np.vstack([self.Y, Y]), np.append(self.noise, noise)
        return InducingPosterior(prior, Y, noise, self.basis)

    def _targets(self, part: slice = slice(None)) -> Array:
        """(Y, H) of some rows."""
        return np.hstack([self.Y[part], self.basis(self.prior.X[part])])

    def _left(self, part: slice, fitted: Array) -> Array:
        """α and √t·G of some rows, for t targets, from ΨᵀB⁻¹ΨΛ⁻¹(Y, H)."""
        solved = (self._targets(part) - fitted) / self.noise[part][:, None]
        own, others = solved[:, : self.n_targets], solved[:, self.n_targets :]
        return self._with_roots(own - others @ self._mean.coefficients, others)

    def _with_roots(self, own: Array, others: Array) -> Array:
        """`own`, and √t times the columns of `others` made orthonormal as A makes those of the basis."""
        if self._mean.factor is None:
            return own
        return np.hstack([own, math.sqrt(self.n_targets) * self._mean.factor.half_solve(others.T).T])
