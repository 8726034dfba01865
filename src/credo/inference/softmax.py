"""Laplace's approximation for more than two classes: one latent function for each, joined by the softmax.

    p(c | f) = exp(f_c) / Σ exp(f_d),    f_c ~ N(0, K) independent

Newton's method with the blocks of Rasmussen & Williams alg. 3.3. With D = diag(w·π), M = Σ E_c and
E_c = D_c^½(I + D_c^½KD_c^½)⁻¹D_c^½, the curvature is W = D − Dw⁻¹D across classes, (W⁻¹ + K)⁻¹ = E − E M⁻¹ E across
classes, and by the determinant lemma ln|I + KW| = Σ_c ln|I + D_c^½KD_c^½| + ln|M| − Σ ln w.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.inference._newton import mode
from credo.linalg import Factor, factorize

Array = NDArray[np.float64]

_GAIN = 1e-10


@dataclass(frozen=True)
class SoftmaxGaussian:
    """The normal distribution around the mode: a = K⁻¹f and the blocks of its curvature, (n_classes, …) each."""

    K: Array
    probabilities: Array
    weight: Array

    @cached_property
    def _roots(self) -> Array:
        return np.sqrt(self.weight * self.probabilities)

    @cached_property
    def _factors(self) -> list[Factor]:
        factors = []
        for root in self._roots:
            B = root[:, None] * self.K * root
            B.flat[:: len(B) + 1] += 1.0
            factors.append(factorize(B, overwrite=True, assume_symmetric=True))
        return factors

    @cached_property
    def _E(self) -> Array:
        pairs = zip(self._roots, self._factors, strict=True)
        return np.stack([root[:, None] * factor.inverse() * root for root, factor in pairs])

    @cached_property
    def _M(self) -> Factor:
        return factorize(self._E.sum(axis=0), overwrite=True, assume_symmetric=True)

    @property
    def logdet(self) -> float:
        """ln|I + KW|."""
        return sum(factor.logdet for factor in self._factors) + self._M.logdet - float(np.log(self.weight).sum())

    def shrunk(self, b: Array) -> Array:
        """(W⁻¹ + K)⁻¹ b for b of shape (n_classes, n)."""
        inner = (self._E @ b[..., None])[..., 0]
        return inner - self._E @ self._M.solve(inner.sum(axis=0))

    def shrinkage(self) -> Array:
        """The sum over classes of the diagonal blocks of (W⁻¹ + K)⁻¹."""
        total = self._E.sum(axis=0)
        for block in self._E:
            half = self._M.half_solve(block)
            total = total - half.T @ half
        return total

    def blocks(self, cross: Array, prior: Array) -> Array:
        """The covariance between classes at each new row: (n_new, n_classes, n_classes)."""
        spread = self._E @ cross.T
        halves = [self._M.half_solve(part) for part in spread]
        cov = np.empty((len(cross), len(spread), len(spread)))
        for c, one in enumerate(halves):
            for d, other in enumerate(halves[: c + 1]):
                cov[:, c, d] = cov[:, d, c] = np.einsum("in,in->n", one, other)
        own = prior - np.einsum("cin,ni->cn", spread, cross)
        cov[:, np.arange(len(own)), np.arange(len(own))] += own.T
        return cov


@dataclass(frozen=True)
class SoftmaxApproximation:
    """The distribution of the latent functions, ln p(y), and how Newton's method ended."""

    posterior: SoftmaxGaussian
    alpha: Array
    log_evidence: float
    n_iter: int
    converged: bool
    message: str

    @property
    def start(self) -> Array:
        """A warm start for a similar kernel."""
        return self.alpha

    def kernel_weights(self) -> Array:
        """∂ ln p(y)/∂K, including the derivative of the mode (Rasmussen & Williams 5.5 for several classes)."""
        q, a = self.posterior, self.alpha
        W = 0.5 * (a.T @ a - q.shrinkage())
        pull = self._pull()
        tilt = pull - q.shrunk(pull @ q.K)
        cross = tilt.T @ a
        return W + 0.5 * (cross + cross.T)

    def _pull(self) -> Array:
        """−½ ∂ ln|I + KW|/∂f: with π' = ∂π/∂f_k, −½w(Σ_c S_cc π'_c − 2πᵀSπ') for the covariance S of each row."""
        q = self.posterior
        S = q.blocks(q.K, np.diagonal(q.K))
        pi = q.probabilities.T
        # π'_c = π_c(δ_ck − π_k): both sums split into a part at k and a mean over c.
        at = np.einsum("ncc->nc", S) - 2.0 * np.einsum("nc,ncd->nd", pi, S)
        weighted = pi * at
        return (-0.5 * q.weight[:, None] * (weighted - pi * weighted.sum(axis=1, keepdims=True))).T


def softmax_laplace(
    K: Array,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    weight: Array,
    start: Array | None = None,
    tolerance: float = _GAIN,
) -> SoftmaxApproximation:
    """The normal distribution around the mode of all classes' latent functions.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row.
    start : array of shape (n_classes, n), optional
        A first guess of a = K⁻¹f, used if it is better than zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.
    """
    hits = (codes == np.arange(n_classes)[:, None]).astype(np.float64)

    def height(f: Array, a: Array) -> float:
        likelihood = (hits * f).sum(axis=0) - logsumexp(f, axis=0)
        return float(weight @ likelihood) - 0.5 * float((a * f).sum())

    def target(f: Array) -> tuple[Array, Array]:
        q = SoftmaxGaussian(K, _softmax(f), weight)
        D = weight * q.probabilities
        b = D * f - D / weight * (D * f).sum(axis=0) + weight * (hits - q.probabilities)
        a = b - q.shrunk(b @ K)
        return a, a @ K

    guess = None if start is None else (start, start @ K)
    top = mode(height, target, shape=hits.shape, guess=guess, tolerance=tolerance)
    q = SoftmaxGaussian(K, _softmax(top.f), weight)
    return SoftmaxApproximation(q, top.a, top.height - 0.5 * q.logdet, top.n_iter, top.converged, top.message)


def _softmax(f: Array) -> Array:
    # Far from the mode a class may have no probability left; a floor keeps its block regular.
    return np.maximum(np.exp(f - logsumexp(f, axis=0)), 1e-14)
