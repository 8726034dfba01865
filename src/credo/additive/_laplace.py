"""Laplace's approximation of the evidence of an additive model, for likelihoods other than normal noise.

    y ~ p(y | η),    η = o + Zw,    w_k ~ N(0, τ_k² I) for each block k, or a flat prior

    ln p(y) ≈ ln p(y | η̂) − ½ v̂ᵀv̂ − ½ ln |M|,    w = Dv,    M = Dᵀ ZᵀWZ D + 1

at the mode v̂, with W the negative second derivatives of the log likelihood. The gradient follows the mode (implicit
differentiation), so that it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.additive._learning import (
    LINK_PRIOR_STD,
    MAX_EVALUATIONS,
    Array,
    Layout,
    Learned,
    averaged,
    blas_threads,
    log_prior,
    variance_costs,
    without,
)
from credo.core.deadlines import check
from credo.core.learning.ascent import Maximum, curvature_at, inverse_root, refine
from credo.core.linalg import NotPositiveDefiniteError, factorize

# With less curvature of the log likelihood than this, averaged over the rows, a coefficient is infinite.
_LEAST_CURVATURE = 1e-7
# The relative gain at which the search ends: for an average over the variances, and for their maximum, which others
# report with many digits.
_TOLERANCE_OF_AVERAGE, _TOLERANCE = 1e-9, 1e-15
_MAX_NEWTON_STEPS = 100


class Noise(Protocol):
    """A likelihood of one or several latent values for each row, as Laplace's method needs it.

    For latent values F of shape (n, m): `log_prob` (n,), `gradient` (n, m), `curvature` (n, m, m), the negative second
    derivatives, and `third`, −½ ∂ tr(Q W)/∂F for given matrices Q, of shape (n, m). `by_parameters` gives for each of
    the parameters the derivatives of log_prob (n,), of the gradient (n, m) and of the curvature (n, m, m).
    """

    @property
    def n_latents(self) -> int: ...
    def log_prob(self, F: Array) -> Array: ...
    def gradient(self, F: Array) -> Array: ...
    def curvature(self, F: Array) -> Array: ...
    def third(self, F: Array, Q: Array) -> Array: ...
    def by_parameters(self, F: Array) -> list[tuple[Array, Array, Array]]: ...


class LaplaceEvidence:
    """ln p(y) by Laplace's method as a function of (t, parameters of the noise, and flat coefficients if maximized).

    Parameters
    ----------
    Z : array of shape (n, p)
        An intercept, if there is one, is a column with a flat prior.
    noise_at : callable
        The `Noise` for given parameters.
    maximize_flat : bool
        Coefficients with flat priors are maximized, as in lme4 and glmmTMB, instead of integrated out.
    """

    def __init__(
        self,
        Z: Array,
        offset: Array,
        layout: Layout,
        noise_at: Callable[[Array], Noise],
        start: Array,
        *,
        prior: bool,
        maximize_flat: bool = False,
    ) -> None:
        self.layout, self.noise_at, self.prior = layout, noise_at, prior
        self.offset, self.n_parameters, self.m = offset, len(start), noise_at(start).n_latents
        self.outer = Z[:, layout.is_flat] if maximize_flat else Z[:, :0]
        inner = ~layout.is_flat if maximize_flat else np.ones(Z.shape[1], dtype=bool)
        self.Z, self.inner = np.ascontiguousarray(Z[:, inner]), Layout(layout.block[inner], layout.scale)
        self.all, self.start = Z, start
        with np.errstate(divide="ignore"):
            self.flat = 1.0 / np.sqrt(np.maximum(np.einsum("ij,ij->j", Z, Z), 1e-300))[inner]
        self._w = np.zeros((self.Z.shape[1], self.m))
        self._level = 0.0

    def begin_at(self, level: float) -> None:
        """Start Newton's method at a constant."""
        flat = np.flatnonzero(self.inner.is_flat)
        if len(flat):
            self._w[flat[0]] = level
        self._level = level

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """t, the parameters of the noise, and the flat coefficients that are maximized, (q, m)."""
        k = self.layout.n_blocks
        return theta[:k], theta[k : k + self.n_parameters], theta[k + self.n_parameters :].reshape(-1, self.m)

    def mode(self, theta: Array) -> tuple[Array, Array, Array, Any, Noise]:
        """D, v, the latent values, the factor of M and the noise, by Newton's method."""
        t, parameters, beta = self.split(theta)
        noise, d = self.noise_at(parameters), self.inner.deviations(t, self.flat)
        base = self.offset[:, None] + self.outer @ beta
        penalized = (~self.inner.is_flat)[:, None]
        DZ = self.Z * d
        v = self._w / d[:, None]
        F = base + DZ @ v
        height = self._height(noise, F, v, penalized)
        if not math.isfinite(height):
            v = np.zeros_like(v)
            F = base.copy()
            height = self._height(noise, F, v, penalized)
        for _ in range(_MAX_NEWTON_STEPS):
            check()
            slope = DZ.T @ noise.gradient(F) - penalized * v
            factor = self._factor(DZ, noise.curvature(F))
            step = factor.solve(slope.T.ravel()).reshape(self.m, -1).T
            promise = float((slope * step).sum())
            length = 1.0
            while length > 1e-8:
                ahead = F + length * (DZ @ step)
                reached = self._height(noise, ahead, v + length * step, penalized)
                if reached >= height - 1e-12 * abs(height):
                    break
                length *= 0.5
            gained, height = reached - height, reached
            v, F = v + length * step, ahead
            if promise <= 1e-13 * (1.0 + abs(height)) or (length <= 1e-8 and gained <= 0):
                break
        self._w = d[:, None] * v
        return d, v, F, self._factor(DZ, noise.curvature(F)), noise

    def _height(self, noise: Noise, F: Array, v: Array, penalized: NDArray[np.bool_]) -> float:
        with np.errstate(all="ignore"):
            return float(noise.log_prob(F).sum() - 0.5 * (penalized * v * v).sum())

    def _factor(self, DZ: Array, W: Array) -> Any:
        """The factor of M; where the likelihood isn't log-concave, only its concave part in a step to the mode."""
        p = DZ.shape[1]
        M = np.empty((self.m * p, self.m * p))
        for a in range(self.m):
            for b in range(a + 1):
                block = _weighted_gram(DZ, W[:, a, b])
                M[a * p : (a + 1) * p, b * p : (b + 1) * p] = block
                M[b * p : (b + 1) * p, a * p : (a + 1) * p] = block.T
        M[np.diag_indices(len(M))] += np.tile(~self.inner.is_flat, self.m)
        try:
            return factorize(M, assume_symmetric=True)
        except NotPositiveDefiniteError:
            if self.m > 1 or not (W < 0).any():
                raise
            return self._factor(DZ, np.maximum(W, 0.0))

    def value(self, theta: Array) -> float:
        """The log evidence without the prior of t."""
        d, v, F, factor, noise = self.mode(theta)
        return self._value(d, v, F, factor, noise)

    def _value(self, d: Array, v: Array, F: Array, factor: Any, noise: Noise) -> float:
        flat = self.inner.is_flat
        improper = self.m * (float(np.log(d[flat]).sum()) + 0.5 * int(flat.sum()) * math.log(2 * math.pi))
        return self._height(noise, F, v, (~flat)[:, None]) - 0.5 * factor.logdet + improper

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient, exact at the mode (implicit differentiation)."""
        try:
            d, v, F, factor, noise = self.mode(theta)
        except NotPositiveDefiniteError:
            return -np.inf, np.zeros_like(theta)
        value = self._value(d, v, F, factor, noise)
        if not math.isfinite(value):
            return -np.inf, np.zeros_like(theta)
        m, p = self.m, self.Z.shape[1]
        DZ = self.Z * d
        S = factor.inverse()
        Q = np.empty((len(DZ), m, m))
        for a in range(m):
            for b in range(m):
                Q[:, a, b] = np.einsum("ij,ij->i", DZ @ S[a * p : (a + 1) * p, b * p : (b + 1) * p], DZ)
        third = noise.third(F, Q)
        # How the curvature at the mode changes with the mode.
        pull = factor.solve((DZ.T @ third).T.ravel()).reshape(m, p).T
        traces = np.diagonal(S).reshape(m, p).sum(axis=0)
        t_slope = self.inner.sums(0.5 * ((v**2).sum(axis=1) - m + traces) + (pull * v).sum(axis=1))
        slopes = [t_slope]
        for by_value, by_gradient, by_curvature in noise.by_parameters(F):
            explicit = float(by_value.sum()) - 0.5 * float((Q * by_curvature).sum())
            slopes.append(np.array([explicit + float((pull * (DZ.T @ by_gradient)).sum())]))
        if self.outer.shape[1]:
            moved = np.einsum("iab,ib->ia", noise.curvature(F), DZ @ pull)
            slopes.append((self.outer.T @ (noise.gradient(F) + third - moved)).ravel())
        slope = np.concatenate(slopes)
        if self.prior:
            t = self.split(theta)[0]
            more, gradient, _ = log_prior(t, LINK_PRIOR_STD)
            value, slope[: len(t)] = value + more, slope[: len(t)] + gradient
        return value, slope

    def _determines_flat(self, W: Array) -> bool:
        """Whether the likelihood has curvature along every direction of the coefficients with flat priors."""
        flat = self.all[:, self.layout.is_flat]
        if not flat.shape[1]:
            return True
        flat = flat / np.sqrt(np.maximum(np.square(flat).sum(axis=0), 1e-300))
        squares, axes = np.linalg.eigh(flat.T @ flat)
        kept = squares > 1e-10
        directions = flat @ (axes[:, kept] / np.sqrt(squares[kept]))
        along = [np.linalg.eigvalsh(directions.T @ (w[:, None] * directions))[0] for w in np.einsum("naa->an", W)]
        return min(along) > _LEAST_CURVATURE

    def information(self, theta: Array) -> Array:
        """The Fisher information of t in a normal model with the same curvature; the identity for other parameters."""
        _, _, F, factor, noise = self.mode(theta)
        p, k = self.Z.shape[1], self.layout.n_blocks
        shrinkage = np.eye(len(factor.L)) - factor.inverse()
        found = np.eye(len(theta))
        found[:k, :k] = 0.0 if self.prior else 0.1 * np.eye(k)
        for a in range(self.m):
            part = shrinkage[a * p : (a + 1) * p, a * p : (a + 1) * p]
            found[:k, :k] += 0.5 * self.inner.block_squares(part)
        if self.prior:
            found[:k, :k] += np.diag(log_prior(self.split(theta)[0], LINK_PRIOR_STD)[2])
        rest = slice(k + self.n_parameters, None)
        W = np.einsum("iaa->ia", noise.curvature(F))
        weights = np.einsum("ij,ia->ja", self.outer**2, np.maximum(W, 0.0)).ravel()
        found[rest, rest] = np.diag(np.maximum(weights, 1e-3))
        for j, (_, by_gradient, by_curvature) in enumerate(noise.by_parameters(F)):
            found[k + j, k + j] = max(1.0, float(np.abs(by_curvature).sum()), float(np.square(by_gradient).sum()))
        return found

    def _polished(self, found: Maximum) -> Maximum:
        """The maximum after steps that shorten the gradient, which has more correct digits than the value."""
        vector, value, slope, inverse = found.vector, found.value, found.slope, found.inverse
        if slope is None or np.abs(slope).max(initial=0.0) < 1e-9:
            return found
        if inverse is None:
            # L-BFGS ended the search, where rounding errors hid the gain of further steps.
            root = inverse_root(curvature_at(self, vector), 1.0)
            inverse = root @ root.T
        for _ in range(12):
            step = inverse @ slope
            if np.abs(step).max() < 1e-10 or np.abs(step).max() > 0.1:
                break
            ahead, by_ahead = self(vector + step)
            if not np.abs(by_ahead).max() < np.abs(slope).max():
                break
            change = slope - by_ahead
            if step @ change > 0:
                turn = np.eye(len(step)) - np.outer(step, change) / (step @ change)
                inverse = turn @ inverse @ turn.T + np.outer(step, step) / (step @ change)
            vector, value, slope = vector + step, ahead, by_ahead
        return replace(found, vector=vector, value=value, slope=slope, inverse=inverse)

    def learn(self, start: Array, *, average: bool) -> Learned:
        """The variances and parameters at the maximum, and the coefficients given them."""
        with blas_threads(self.m * self.all.shape[1]):
            return self._learn(start, average=average)

    def _learn(self, start: Array, *, average: bool) -> Learned:
        theta = np.concatenate([start, self.start])
        if self.outer.shape[1]:
            # Flat coefficients start at the mode of all.
            whole = LaplaceEvidence(self.all, self.offset, self.layout, self.noise_at, self.start, prior=self.prior)
            whole.begin_at(self._level)
            whole.mode(theta)
            theta = np.concatenate([theta, whole._w[self.layout.is_flat].ravel()])
            self._w = whole._w[~self.layout.is_flat]
        tolerance = _TOLERANCE_OF_AVERAGE if average else _TOLERANCE
        found = refine(self, theta, tolerance=tolerance, max_evaluations=MAX_EVALUATIONS)
        found = found if average else self._polished(found)
        t, parameters, beta = self.split(found.vector)
        d, v, _, _, _ = self.mode(found.vector)
        whole = self
        mean = d[:, None] * v
        if self.outer.shape[1]:
            mean = np.zeros((self.all.shape[1], self.m))
            mean[self.layout.is_flat], mean[~self.layout.is_flat] = beta, d[:, None] * v
            whole = LaplaceEvidence(self.all, self.offset, self.layout, self.noise_at, self.start, prior=self.prior)
            d = self.layout.deviations(t, whole.flat)
            v = mean / d[:, None]
        F = self.offset[:, None] + self.all @ mean
        W = self.noise_at(parameters).curvature(F)
        factor = whole._factor(self.all * d, W)
        S = factor.inverse()
        wide = np.tile(d, self.m)
        layout = Layout(np.tile(self.layout.block, self.m), self.layout.scale)
        covariance = wide[:, None] * S * wide
        log_evidence = peak = found.value - (log_prior(t, LINK_PRIOR_STD)[0] if self.prior else 0.0)
        cost = np.zeros(len(t))
        if average and len(t):
            curvature = self.information(found.vector)[: len(t), : len(t)]
            cost = variance_costs(t, curvature, LINK_PRIOR_STD)
            covariance, change = averaged(covariance, wide, S, v.T.ravel(), curvature, layout, least=LINK_PRIOR_STD**-2)
            log_evidence = found.value + change
        return Learned(
            mean=mean.T.ravel(),
            covariance=covariance,
            variances=np.exp(t) / self.layout.scale**2,
            noise=math.nan,
            df=math.inf,
            dof=layout.sums(1.0 - np.diagonal(S)),
            log_evidence=log_evidence,
            peak=peak,
            parameters=parameters,
            search=found,
            cost=cost,
            without=lambda gone: without(S, v.T.ravel(), np.tile(gone, self.m), math.inf, 1.0),
            is_finite=self._determines_flat(W),
        )


def _weighted_gram(A: Array, weight: Array) -> Array:
    """Aᵀ diag(weight) A, in half the time if no weight is negative."""
    if (weight >= 0).all():
        A = np.sqrt(weight)[:, None] * A
        return A.T @ A
    return A.T @ (weight[:, None] * A)
