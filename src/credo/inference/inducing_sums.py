"""Variational sites of rows in parts: q(v) of inducing points, updated by sums over all rows.

The process is that of `inducing_sites`, f = ψᵀv + e with independent e ~ N(0, r) at each row. With v ~ q(v), the row's
own part q(e | v) maximizes the bound where its site (τ, ν) is −2 ∂E/∂var, ∂E/∂mean + τ·mean at the moments

    E f = (ψᵀE v + rν)/(1 + τr),    var f = r/(1 + τr) + s/(1 + τr)²,    s = ψᵀ(var v)ψ

which are two equations for each row. So a row needs nothing but q(v), and adds its precision p = τ/(1 + τr) and
location h = ν/(1 + τr) of ψᵀv to the sums Σpψψᵀ and Σhψ: the natural parameters of q(v) after a natural-gradient step.
At the maximum of the bound they are those of the sites of all rows in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from credo.inference.inducing_features import GROUPS, InducingFeatures
from credo.likelihoods import Likelihood
from credo.linalg import Factor, factorize, one_blas_thread, parallel_map

Array = NDArray[np.float64]

# Iterations for the site of a row, and what a last one may change of a standard deviation of f.
_MAX_STEPS, _CLOSE = 50, 1e-9
_SHORTEST, _ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True, eq=False)
class SiteSums:
    """Σpψψᵀ (its lower triangle), Σhψ and what the rows add to the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import SiteSums
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
    >>> from credo.inference import FeatureWeights, InducingFeatures, SiteSums
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
