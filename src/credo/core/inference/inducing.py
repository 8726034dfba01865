"""Inducing points: a process that is known everywhere from its values at a few points.

With u = f(Z) at m points Z, K_uu = LLᵀ and the features ψ(x) = L⁻¹k(Z, x) of a row,

    f(x) = ψ(x)ᵀv + e(x),    v ~ N(0, I),    u = Lv,    var e(x) = k(x, x) − ψ(x)ᵀψ(x)

Given targets, `observe` maximizes Titsias's (2009) bound, in which e isn't learned. `sites` treat the e of different
training rows as independent (FITC: Snelson & Ghahramani 2006; with EP, Naish-Guzman & Holden 2008), which makes f ~
N(0, Q + diag(K − Q)) with Q = ΨᵀΨ a prior like any other for Laplace, EP and VI. With as many points as rows both are
exact. Time is O(nm²); training rows are visited in chunks, so that memory is O(m²) in addition to the data.

Titsias's bound for targets with Gaussian noise is

    F = ln N(y | 0, C) − ½ Σ eᵢ/λᵢ,    C = Q + Λ,    Q = ΨᵀΨ,    eᵢ = k(xᵢ, xᵢ) − ψᵢᵀψᵢ

(Titsias 2009, equation 9.) With B = I + ΨΛ⁻¹Ψᵀ, the posterior of the features' weights is v ~ N(B⁻¹ΨΛ⁻¹y, B⁻¹), and
C⁻¹ = Λ⁻¹ − Λ⁻¹ΨᵀB⁻¹ΨΛ⁻¹. With W = ½(ααᵀ + GGᵀ − C⁻¹) of `protocols`, for a mean with flat coefficients, the
derivatives are

    ∂F/∂K_fu = (αα_uᵀ + GG_uᵀ + Λ⁻¹Ψᵀ(I − B⁻¹))L⁻¹,    α_u = Ψα,    G_u = ΨG
    ∂F/∂K_uu = −½L⁻ᵀ(α_uα_uᵀ + G_uG_uᵀ + ΨΛ⁻¹Ψᵀ − I + B⁻¹)L⁻¹,    ∂F/∂k(xᵢ, xᵢ) = −1/2λᵢ
    ∂F/∂λᵢ = ½(αᵢ² + Gᵢ² − 1/λᵢ + (k(xᵢ, xᵢ) − ψᵢᵀ(I − B⁻¹)ψᵢ)/λᵢ²)

For sites, f = ψᵀv + e with independent e ~ N(0, r) at the training rows. A site exp(−½τf² + νf), integrated over e, is
one of ψᵀv with precision p = τ/(1 + τr) and location h = ν/(1 + τr). So with B = I + ΨPΨᵀ

    v ~ N(B⁻¹Ψh, B⁻¹),    E f = (ψᵀE v + rν)/(1 + τr),    var f = r/(1 + τr) + ψᵀB⁻¹ψ/(1 + τr)²
    a = K⁻¹μ = h − pψᵀE v,    ln|I + KT| = ln|B| + Σ ln(1 + τr)

The derivative of the evidence by K is W of `DenseSites.gradient`, a matrix of low rank and a diagonal. Since the
prior's covariance is Q + diag(K − Q), the diagonal of W multiplies that of ∂K, and W without it ∂Q.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dsyrk

from credo.core.estimator import positive_integer
from credo.core.inference.dense import UNDETERMINED, Dense, input_gradient
from credo.core.inference.inducing_sums import InducingFeatures, InducingSummary
from credo.core.inference.paths import Paths, prior_paths
from credo.core.inference.protocols import Basis, FlatMean, Gradient, Representation, no_basis
from credo.core.linalg import Factor, factorize, one_blas_thread, parallel_map, random_pivots
from credo.kernels import Kernel

Array = NDArray[np.float64]

# The number of points m makes an evaluation cost about n·m² = _TARGET_COST, within these limits.
_TARGET_COST, _MIN_POINTS, _MAX_POINTS = 1.25e10, 500, 1500
# Points are chosen among at most this many rows.
_MAX_CANDIDATES = 10_000
# Points are enough when they leave at most this share of the prior variance of any candidate.
_NEGLIGIBLE_SHARE = 1e-13
# The features of all rows are stored up to this many numbers (256 MB), and otherwise computed when needed.
_MAX_STORED_ENTRIES = 2**25


def default_points(n_rows: int) -> int:
    """The number of inducing points for this many rows.

    Examples
    --------
    >>> from credo.core.inference import default_points
    >>> default_points(10_000), default_points(10**7)
    (1118, 500)
    """
    return int(np.clip(math.sqrt(_TARGET_COST / max(n_rows, 1)), _MIN_POINTS, _MAX_POINTS))


class Inducing(Representation):
    """Rows X and inducing points Z, which are given or chosen among the rows.

    They are chosen under the kernel of a prior by pivoted Cholesky (Burt, Rasmussen & van der Wilk 2020), with random
    pivots. `adapted` keeps the choice, so that evidences under different kernels are values of one function.

    Parameters
    ----------
    X : array of shape (n, n_features)
    points : array of shape (m, n_features), optional
        Points that nearly depend on others under a kernel are left out there.
    n_points : int, optional
        How many are chosen at most; by default 500 to 1500, fewer for more rows.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Inducing
    >>> from credo.kernels import RBF
    >>> x = np.linspace(0, 5, 1000)[:, None]
    >>> len(Inducing(x).adapted(RBF()).points) < 30
    True
    """

    evidence_method = "elbo"

    def __init__(self, X: Array, points: Array | None = None, n_points: int | None = None) -> None:
        self.X = np.ascontiguousarray(X)
        self.points = None if points is None else np.ascontiguousarray(points)
        self.n_points = default_points(len(X)) if n_points is None else n_points

    def subset(self, rows: NDArray[np.intp]) -> Representation:
        """The same for some of the rows, exact if they are few."""
        # For fewer than two rows per point, an n×n matrix costs less.
        if len(rows) <= 2 * self.n_points:
            return Dense(self.X[rows])
        return Inducing(self.X[rows], self.points, self.n_points)

    def extended(self, rows: Array) -> Inducing:
        """The same with further rows. They become points as well, as long as there are fewer than `n_points`."""
        X = np.vstack([self.X, rows])
        if self.points is None:
            return Inducing(X, None, self.n_points)
        more = rows[: max(0, self.n_points - len(self.points))]
        return Inducing(X, np.vstack([self.points, more]), self.n_points)

    def adapted(self, kernel: Kernel) -> Inducing:
        """The same rows with points that are chosen among them under this kernel."""
        return Inducing(self.X, self._chosen(kernel), self.n_points)

    def prior(self, kernel: Kernel) -> InducingPrior:
        """f ~ GP(0, k), known through its values at the points."""
        points = self._chosen(kernel) if self.points is None else self.points
        return InducingPrior(self, InducingFeatures.of(kernel, points, _NEGLIGIBLE_SHARE))

    def _chosen(self, kernel: Kernel) -> Array:
        rows, rng = self.X, np.random.default_rng(0)
        if len(rows) > _MAX_CANDIDATES:
            rows = rows[np.sort(rng.choice(len(rows), _MAX_CANDIDATES, replace=False))]
        index = random_pivots(
            kernel.diagonal(rows),
            lambda some: kernel.cross(rows[some], rows).T,
            self.n_points,
            tolerance=_NEGLIGIBLE_SHARE,
            rng=rng,
        )
        return rows[index]


@dataclass(frozen=True, eq=False)
class InducingPrior:
    """f ~ GP(0, k) at the rows of an `Inducing`, through the features of its points."""

    representation: Inducing
    features: InducingFeatures

    @property
    def X(self) -> Array:
        return self.representation.X

    @property
    def kernel(self) -> Kernel:
        return self.features.kernel

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> InducingPosterior:
        """The bound's posterior of f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return InducingPosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> InducingSites:
        """f given one Gaussian site for each row."""
        return InducingSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """(Q + diag(K − Q)) v."""
        total = np.zeros(self.features.size)
        for part, psi in self.chunks():
            total += psi.T @ v[part]
        return self.residual * v + self.applied(total)

    def color(self, white: Array) -> Array:
        """None: the prior has more dimensions than rows."""
        raise ValueError(_NO_ROOT)

    def whiten(self, f: Array) -> Array:
        """None: the prior has more dimensions than rows."""
        raise ValueError(_NO_ROOT)

    @cached_property
    def residual(self) -> Array:
        """var e = k(x, x) − ψᵀψ of each row."""
        residual = self.kernel.diagonal(self.X)
        for part, psi in self.chunks():
            residual[part] -= np.einsum("ij,ij->i", psi, psi)
        return np.maximum(residual, 0.0)

    def applied(self, v: Array) -> Array:
        """ψᵀv at each row."""
        return np.concatenate([psi @ v for _, psi in self.chunks()])

    def chunks(self) -> Iterator[tuple[slice, Array]]:
        """Chunks of rows with their features, which are stored if those of all rows fit into memory."""
        if len(self.X) * self.features.size > _MAX_STORED_ENTRIES:
            yield from self.features.chunks(self.X)
            return
        yield from self._held

    def release(self) -> None:
        """Drop the features of all rows, which are computed again if needed."""
        vars(self).pop("_held", None)

    @cached_property
    def _held(self) -> list[tuple[slice, Array]]:
        return list(self.features.chunks(self.X))


_NO_ROOT = (
    "the prior of inducing points has no square root at the training rows, which sampling needs: use "
    'method="exact", or another inference'
)


_NO_ROWS = "the rows of a table in parts aren't kept, which this needs: fit the model to rows in memory, or to a sample"


class SummaryPosterior:
    """f given a summary of the rows, which aren't needed any more; see `ObservedPosterior` for what the methods give.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import InducingFeatures, SummaryPosterior, no_basis
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
        # The mean functions are affine in x, so a difference over one unit is their derivative.
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
        """The factor of B."""
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
        """From vectors with the products (Y, H)ᵀC⁻¹(Y, H), all that is needed."""
        products = self._summary.square - self._summary.cross.T @ self._solved
        values, axes = np.linalg.eigh(0.5 * (products + products.T))
        white = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        return FlatMean.of(white[:, : self.n_targets], white[:, self.n_targets :])

    def _roots(self, psi: Array, H: Array) -> tuple[Array, Array]:
        """Roots of the covariances due to v and to the mean's coefficients."""
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

        The inducing points stay the same.
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


@dataclass(frozen=True, eq=False)
class InducingSites:
    """A process with inducing points times Gaussian sites; see `SitePosterior` for what the methods give."""

    prior: InducingPrior
    precision: Array
    location: Array

    @cached_property
    def alpha(self) -> Array:
        return self.weights(self.location)

    @cached_property
    def mean(self) -> Array:
        return (self.prior.applied(self._weights) + self.prior.residual * self.location) / self._growth

    @cached_property
    def variance(self) -> Array:
        variance = self.prior.residual / self._growth
        for part, psi in self.prior.chunks():
            half = self._factor.half_solve(psi.T)
            variance[part] += np.einsum("ij,ij->j", half, half) / self._growth[part] ** 2
        return variance

    @property
    def logdet(self) -> float:
        return self._factor.logdet + float(np.log(self._growth).sum())

    @property
    def log_evidence(self) -> float:
        return 0.5 * (float(self.location @ self.mean) - self.logdet)

    @property
    def divergence(self) -> float:
        """tr(K⁻¹Σ) − n = −Σ τᵢΣᵢᵢ, and ln|K| − ln|Σ| = ln|I + KT|."""
        return 0.5 * (float(self.alpha @ self.mean) - float(self.precision @ self.variance) + self.logdet)

    def weights(self, location: Array) -> Array:
        own = location / self._growth
        return own - self.precision / self._growth * self.prior.applied(self._factor.solve(self._gathered(own)))

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """With 2W = ½(abᵀ + baᵀ) − P + PΨᵀB⁻¹ΨP, and b = a + 2u with u = (I + TK)⁻¹s for a term sᵀ∂μ."""
        features, kernel = self.prior.features, self.prior.kernel
        a, p = self.alpha, self.precision / self._growth
        b = a if by_mean is None else a + 2.0 * self.weights(by_mean)
        inverse = self._factor.inverse()
        pulled_a, pulled_b = self._gathered(a), self._gathered(b)
        by_kernel, V = np.zeros(len(kernel.names)), np.zeros((features.size, features.size))
        for part, psi in self.prior.chunks():
            rows, shrunk = self.prior.X[part], psi @ inverse
            diagonal = a[part] * b[part] - p[part] + p[part] ** 2 * np.einsum("ij,ij->i", shrunk, psi)
            # Twice W without its diagonal, times Ψᵀ, where PΨᵀB⁻¹ΨPΨᵀ = PΨᵀ(I − B⁻¹).
            W = -diagonal[:, None] * psi - p[part][:, None] * shrunk
            W += 0.5 * (np.outer(a[part], pulled_b) + np.outer(b[part], pulled_a))
            V += psi.T @ W
            by_kernel += kernel.pullback_diagonal(rows, 0.5 * diagonal)
            by_kernel += kernel.pullback_cross(rows, features.points, features.factor.half_solve(W.T, transpose=True).T)
        V = features.factor.half_solve(features.factor.half_solve(V, transpose=True).T, transpose=True)
        return Gradient(by_kernel + kernel.pullback(features.points, -0.5 * V))

    def latent(self, rows: Array) -> tuple[Array, Array]:
        features, factor, weights = self.prior.features, self._factor, self._weights
        # Predictions need nothing else from the training rows.
        self.prior.release()
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        for part, psi in features.chunks(rows):
            half = factor.half_solve(psi.T)
            rest = features.kernel.diagonal(rows[part]) - np.einsum("ij,ij->i", psi, psi)
            mean[part] = psi @ weights
            variance[part] = np.einsum("ij,ij->j", half, half) + np.maximum(rest, 0.0)
        return mean, variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        kernel, psi = self.prior.kernel, self.prior.features(rows)
        half = self._factor.half_solve(psi.T)
        if others is None:
            return kernel.gram(rows) - psi @ psi.T + half.T @ half
        other = self.prior.features(others)
        return kernel.cross(rows, others) - psi @ other.T + half.T @ self._factor.half_solve(other.T)

    def draw(self, rng: np.random.Generator) -> Array:
        v = self._factor.half_solve(rng.standard_normal(self.prior.features.size), transpose=True)
        rest = np.sqrt(self.prior.residual / self._growth) * rng.standard_normal(len(self.location))
        return self.prior.applied(v) / self._growth + rest

    @cached_property
    def _growth(self) -> Array:
        """1 + τr."""
        return 1.0 + self.precision * self.prior.residual

    @cached_property
    def _weights(self) -> Array:
        """E v."""
        return self._factor.solve(self._gathered(self.location / self._growth))

    def _gathered(self, values: Array) -> Array:
        """Ψ times a vector with an entry for each row."""
        return np.sum([psi.T @ values[part] for part, psi in self.prior.chunks()], axis=0)

    @cached_property
    def _factor(self) -> Factor:
        """The factor of B."""
        size = self.prior.features.size
        B, root = np.eye(size, order="F"), np.sqrt(self.precision / self._growth)
        for part, psi in self.prior.chunks():
            B = dsyrk(1.0, (psi * root[part][:, None]).T, beta=1.0, c=B, lower=1, overwrite_c=1)
        B += np.tril(B, -1).T
        return factorize(B, overwrite=True, assume_symmetric=True)
