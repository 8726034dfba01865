"""The features of inducing points, and sums over rows that are all a posterior needs of its data.

ψ(x) = L⁻¹k(Z, x) with K_uu = LLᵀ; see `inducing`. The sums are taken over rows in any order and in any parts, so that
rows needn't fit into memory or be in one place.

Variational sites of rows in parts: q(v) of inducing points, updated by sums over all rows.

The process is that of `inducing_sites`, f = ψᵀv + e with independent e ~ N(0, r) at each row. With v ~ q(v), the row's
own part q(e | v) maximizes the bound where its site (τ, ν) is −2 ∂E/∂var, ∂E/∂mean + τ·mean at the moments

    E f = (ψᵀE v + rν)/(1 + τr),    var f = r/(1 + τr) + s/(1 + τr)²,    s = ψᵀ(var v)ψ

which are two equations for each row. So a row needs nothing but q(v), and adds its precision p = τ/(1 + τr) and
location h = ν/(1 + τr) of ψᵀv to the sums Σpψψᵀ and Σhψ: the natural parameters of q(v) after a natural-gradient step.
At the maximum of the bound they are those of the sites of all rows in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from credo.core.estimator import check_positive, check_shapes
from credo.core.linalg import Factor, factorize, one_blas_thread, parallel_map, pivoted_factor
from credo.kernels import Kernel
from credo.likelihoods import Likelihood

Array = NDArray[np.float64]

# Numbers in the features of the rows that are computed at a time (4 MB, which stay in the cache), and fewest rows.
_CHUNK, _FEWEST = 2**19, 512
# Sums are taken in so many groups of chunks, whatever the number of cores: the digits are the same on every machine.
GROUPS = 8
# The ratio of the smallest to the largest pivot of K_uu from which on its inverse is used.
_WELL_CONDITIONED = 1e-7


@dataclass(frozen=True, eq=False)
class InducingSummary:
    """Sums over rows with targets and mean columns b = (y, h), features ψ, residual variances e and noise λ.

    n, Σψψᵀ/λ, Σψbᵀ/λ, Σbbᵀ/λ, Σ ln λ and Σe/λ. Of the matrix Σψψᵀ/λ only the lower triangle is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import InducingFeatures
    >>> from credo.kernels import RBF
    >>> features = InducingFeatures.of(RBF(1.0), np.array([[0.0], [1.0]]))
    >>> first = features.summarize(np.array([[0.2]]), np.array([[1.0]]), np.array([0.1]))
    >>> second = features.summarize(np.array([[0.7]]), np.array([[2.0]]), np.array([0.1]))
    >>> first.merge(second).n
    2
    """

    n: int
    gram: Array
    cross: Array
    square: Array
    log_noise: float
    residual: float

    def _check_state(self) -> None:
        check_shapes(self, gram="m m", cross="m b", square="b b", log_noise="", residual="")
        check_positive(self, "n")
        check_positive(self, "residual", zero=True)

    def merge(self, other: InducingSummary) -> InducingSummary:
        """The summary of both parts of the rows."""
        if self.cross.shape != other.cross.shape:
            raise ValueError("the summaries are of different inducing points, targets or means")
        return InducingSummary(
            self.n + other.n,
            self.gram + other.gram,
            self.cross + other.cross,
            self.square + other.square,
            self.log_noise + other.log_noise,
            self.residual + other.residual,
        )


@dataclass(frozen=True, eq=False)
class InducingFeatures:
    """ψ(x) = L⁻¹k(Z, x), for points Z that are independent of each other under the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import InducingFeatures
    >>> from credo.kernels import RBF
    >>> features = InducingFeatures.of(RBF(1.0), np.array([[0.0], [1.0], [2.0]]))
    >>> _, psi = next(features.chunks(np.array([[0.5], [10.0]])))
    >>> (psi**2).sum(axis=1).round(3)  # how much of the prior variance the points explain
    array([0.982, 0.   ])
    """

    kernel: Kernel
    points: Array
    factor: Factor

    @classmethod
    def of(cls, kernel: Kernel, points: Array, tolerance: float = 1e-10) -> InducingFeatures:
        """Without points that the others leave less than this share of the variance, such as repeated ones."""
        index, factor = pivoted_factor(kernel.gram(points), tolerance)
        return cls(kernel, np.ascontiguousarray(points[index]), factor)

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether products with K_uu⁻¹ keep eight digits."""
        pivots = np.square(np.diagonal(self.factor.L))
        return bool(pivots.min() > _WELL_CONDITIONED * pivots.max())

    def __call__(self, rows: Array) -> Array:
        """(n_rows, m)."""
        cross = self.kernel.cross(np.ascontiguousarray(rows), self.points)
        return self.factor.half_solve(cross.T, overwrite=True).T

    def slices(self, rows: Array) -> Iterator[slice]:
        """The rows in parts, whose features take a bounded memory."""
        size = max(_FEWEST, _CHUNK // self.size)
        for start in range(0, len(rows), size):
            yield slice(start, min(start + size, len(rows)))

    def chunks(self, rows: Array) -> Iterator[tuple[slice, Array]]:
        """Some rows at a time, and their features."""
        for part in self.slices(rows):
            yield part, self(rows[part])

    def summarize(self, rows: Array, targets: Array, noise: Array) -> InducingSummary:
        """The sums over some rows.

        Parameters
        ----------
        targets : array of shape (n, n_targets + n_mean_columns)
        noise : array of shape (n,)
        """
        if not (noise > 0).all():
            raise ValueError(
                'inducing points need a noise variance above zero at every row; use method="exact" for targets '
                "without noise"
            )
        slices = list(self.slices(rows))
        groups = [slices[k::GROUPS] for k in range(min(GROUPS, len(slices)))]
        # Each thread has chunks of its own, of which nothing is done by one core while the others wait.
        with one_blas_thread():
            parts = parallel_map(lambda group: self._sums(rows, targets, noise, group), groups)
        gram, cross, residual = parts[0]
        for own, more, rest in parts[1:]:
            gram += own
            cross += more
            residual += rest
        weighted = targets / noise[:, None]
        return InducingSummary(
            len(rows), gram, cross, targets.T @ weighted, float(np.log(noise).sum()), max(residual, 0.0)
        )

    def _sums(self, rows: Array, targets: Array, noise: Array, group: Sequence[slice]) -> tuple[Array, Array, float]:
        """Σψψᵀ/λ, Σψbᵀ/λ and Σe/λ over some chunks."""
        gram, cross = np.zeros((self.size, self.size), order="F"), np.zeros((self.size, targets.shape[1]))
        residual = 0.0
        for part in group:
            psi = self(rows[part])
            root = np.sqrt(noise[part])
            psi /= root[:, None]
            residual += float((self.kernel.diagonal(rows[part]) / noise[part]).sum()) - float(np.vdot(psi, psi))
            cross += psi.T @ (targets[part] / root[:, None])
            gram = dsyrk(1.0, psi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        return gram, cross, residual


# Iterations for the site of a row, and what a last one may change of a standard deviation of f.
_MAX_STEPS, _CLOSE = 50, 1e-9
_SHORTEST, _ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True, eq=False)
class SiteSums:
    """Σpψψᵀ (its lower triangle), Σhψ and what the rows add to the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import SiteSums
    >>> part = SiteSums(np.eye(2), np.ones(2), bound=-1.0)
    >>> part.merge(part).bound, part.natural.tolist()
    (-2.0, [1.0, 0.0, 1.0, 1.0, 1.0])
    """

    gram: Array
    cross: Array
    bound: float = 0.0

    def merge(self, other: SiteSums) -> SiteSums:
        """The sums over both parts of the rows."""
        return SiteSums(self.gram + other.gram, self.cross + other.cross, self.bound + other.bound)

    @property
    def natural(self) -> Array:
        """As one vector."""
        return np.concatenate([self.gram[np.tril_indices(len(self.gram))], self.cross])

    @classmethod
    def of_natural(cls, vector: Array, size: int) -> SiteSums:
        gram = np.zeros((size, size))
        gram[np.tril_indices(size)] = vector[:-size]
        return cls(gram, vector[-size:])


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """v ~ N(B⁻¹c, B⁻¹) with B = I + Σpψψᵀ, and so f anywhere; `factor` is that of B and `mean` B⁻¹c.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import FeatureWeights, InducingFeatures, SiteSums
    >>> from credo.kernels import RBF
    >>> Z = np.array([[0.0], [1.0]])
    >>> prior = FeatureWeights.of(InducingFeatures.of(RBF(), Z), SiteSums(np.zeros((2, 2)), np.zeros(2)))
    >>> mean, variance = prior.latent(np.array([[0.5]]))
    >>> float(mean[0]), round(float(variance[0]), 6), prior.divergence
    (0.0, 1.0, 0.0)
    """

    features: InducingFeatures
    factor: Factor
    mean: Array

    @classmethod
    def of(cls, features: InducingFeatures, sums: SiteSums) -> FeatureWeights:
        """A NotPositiveDefiniteError where the sums belong to no distribution."""
        gram = np.tril(sums.gram)
        B = gram + np.tril(gram, -1).T + np.eye(len(gram))
        factor = factorize(B, jitter=0.0, overwrite=True, assume_symmetric=True)
        return cls(features, factor, factor.solve(sums.cross))

    @cached_property
    def divergence(self) -> float:
        """The Kullback–Leibler divergence from the prior N(0, I)."""
        inverse = self.factor.half_solve(np.eye(len(self.mean)))
        trace = float(np.einsum("ij,ij->", inverse, inverse))
        return 0.5 * (trace - len(self.mean) + float(self.mean @ self.mean) + self.factor.logdet)

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """E f and var f at new rows."""
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        for part, psi in self.features.chunks(rows):
            mean[part], spread, rest = self._parts(rows[part], psi)
            variance[part] = spread + rest
        return mean, variance

    def sums(self, rows: Array, y: Array, weight: Array, likelihood: Likelihood) -> SiteSums:
        """The sums over some rows for sites that are optimal given this distribution of v."""
        slices = list(self.features.slices(rows))
        groups = [slices[k::GROUPS] for k in range(min(GROUPS, len(slices)))]
        with one_blas_thread():
            parts = parallel_map(lambda group: self._sums(rows, y, weight, likelihood, group), groups)
        total = parts[0]
        for part in parts[1:]:
            total = total.merge(part)
        return total

    def _sums(self, rows: Array, y: Array, weight: Array, likelihood: Likelihood, group: Sequence[slice]) -> SiteSums:
        size = len(self.mean)
        gram, cross, bound = np.zeros((size, size), order="F"), np.zeros(size), 0.0
        for part in group:
            psi = self.features(rows[part])
            precision, location, value = optimal_sites(likelihood, y[part], weight[part], *self._parts(rows[part], psi))
            cross += psi.T @ location
            psi *= np.sqrt(precision)[:, None]
            gram = dsyrk(1.0, psi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            bound += value
        return SiteSums(gram, cross, bound)

    def _parts(self, rows: Array, psi: Array) -> tuple[Array, Array, Array]:
        """Mean and variance of ψᵀv, and the variance r of e."""
        half = self.factor.half_solve(psi.T)
        rest = self.features.kernel.diagonal(rows) - np.einsum("ij,ij->i", psi, psi)
        return psi @ self.mean, np.einsum("ij,ij->j", half, half), np.maximum(rest, 0.0)


def optimal_sites(
    likelihood: Likelihood, y: Array, weight: Array, mean: Array, variance: Array, residual: Array
) -> tuple[Array, Array, float]:
    """Precision and location of the sites of ψᵀv ~ N(mean, variance), and the rows' part of the bound.

    Rows are iterated over until each site is that of its own moments. The part of the bound is E ln p(y | f) less the
    divergence of q(e | v) from N(0, r): ½[ln g − 1 + 1/g + r((ν − τ·mean)² + τ²·variance)/g²] with g = 1 + τr.
    """
    state = np.zeros((5, len(y)))
    state[0] = -np.inf
    size, rows = np.ones(len(y)), np.arange(len(y))
    for _ in range(_MAX_STEPS):
        # The highest bound so far, the site that has it, and the step that leads on from there.
        best, tau, nu, by_tau, by_nu = state[:, rows]
        a, s, r, w = mean[rows], variance[rows], residual[rows], weight[rows]
        tau, nu = tau + size[rows] * by_tau, nu + size[rows] * by_nu
        growth = 1.0 + tau * r
        center, spread = (a + r * nu) / growth, r / growth + s / growth**2
        expected, by_mean, by_var = likelihood.expected(y[rows], center, spread)
        gap = np.log(growth) - tau * r / growth + r * ((nu - tau * a) ** 2 + tau**2 * s) / growth**2
        value, target = w * expected - 0.5 * gap, np.maximum(-2.0 * w * by_var, 0.0)
        by_tau, by_nu = target - tau, w * by_mean + target * center - nu
        change = np.sqrt(spread) * np.abs(by_nu - by_tau * center) + spread * np.abs(by_tau)
        # Steps that lower the bound are taken back by half.
        better = value >= best - _ROUNDING * np.abs(best)
        state[:, rows[better]] = np.stack([value, tau, nu, by_tau, by_nu])[:, better]
        size[rows] = np.where(better, np.minimum(1.1 * size[rows], 1.0), 0.5 * size[rows])
        # Without a residual, the moments don't depend on the site.
        rows = rows[(r > 0.0) & ~(better & (change <= _CLOSE)) & (size[rows] > _SHORTEST)]
        if not len(rows):
            break
    value, tau, nu, by_tau, by_nu = state
    tau, nu = tau + by_tau, nu + by_nu
    growth = 1.0 + tau * residual
    return tau / growth, nu / growth, float(value.sum())
