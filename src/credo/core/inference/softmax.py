"""Laplace's approximation for more than two classes: one latent function for each, joined by the softmax.

    p(c | f) = exp(f_c) / Σ exp(f_d),    f_c ~ N(0, K) independent

Newton's method with the blocks of Rasmussen & Williams alg. 3.3. With D = diag(w·π), M = Σ E_c and
E_c = D_c^½(I + D_c^½KD_c^½)⁻¹D_c^½, the curvature is W = D − Dw⁻¹D across classes, (W⁻¹ + K)⁻¹ = E − E M⁻¹ E across
classes, and by the determinant lemma ln|I + KW| = Σ_c ln|I + D_c^½KD_c^½| + ln|M| − Σ ln w.

The blocks are dense matrices, so only the representation `Dense` is supported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.inference.dense import DensePrior
from credo.core.inference.protocols import Gradient, LatentPrior
from credo.core.inference.site_updates import mode
from credo.core.linalg import Factor, factorize

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SoftmaxGaussian:
    """The normal distribution around the mode: a = K⁻¹f, and the probabilities π, of shape (n_classes, n) each."""

    prior: DensePrior
    alpha: Array
    probabilities: Array
    weight: Array

    @cached_property
    def _roots(self) -> Array:
        return np.sqrt(self.weight * self.probabilities)

    @cached_property
    def _factors(self) -> list[Factor]:
        factors = []
        for root in self._roots:
            B = root[:, None] * self.prior.gram * root
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

    def _shrinkage(self) -> Array:
        """The sum over classes of the diagonal blocks of (W⁻¹ + K)⁻¹."""
        total = self._E.sum(axis=0)
        for block in self._E:
            half = self._M.half_solve(block)
            total = total - half.T @ half
        return total

    def latent(self, rows: Array) -> tuple[Array, Array]:
        """Mean (n_new, n_classes) and covariance (n_new, n_classes, n_classes) of the latent values at each new row."""
        cross = self.prior.cross(rows)
        return cross @ self.alpha.T, self._blocks(cross, self.prior.kernel.diagonal(rows))

    def gradient(self) -> Gradient:
        """The derivatives of ln p(y), including that of the mode (Rasmussen & Williams 5.5 for several classes)."""
        a, s = self.alpha, self._by_mode()
        u = s - self.shrunk(s @ self.prior.gram)
        cross = (u + 0.5 * a).T @ a
        W = 0.5 * (cross + cross.T - self._shrinkage())
        return Gradient(self.prior.kernel.pullback(self.prior.X, W, triangle=True))

    def _by_mode(self) -> Array:
        """−½ ∂ ln|I + KW|/∂f: with π' = ∂π/∂f_k, −½w(Σ_c S_cc π'_c − 2πᵀSπ') for the covariance S of each row."""
        K = self.prior.gram
        S = self._blocks(K, np.diagonal(K))
        pi = self.probabilities.T
        # π'_c = π_c(δ_ck − π_k): both sums split into a part at k and a mean over c.
        at = np.einsum("ncc->nc", S) - 2.0 * np.einsum("nc,ncd->nd", pi, S)
        weighted = pi * at
        return (-0.5 * self.weight[:, None] * (weighted - pi * weighted.sum(axis=1, keepdims=True))).T

    def _blocks(self, cross: Array, prior: Array) -> Array:
        """The covariance between classes at each row, from the kernel with the training rows and its diagonal."""
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
    """The distribution of the latent functions, ln p(y), and how Newton's method ended.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, softmax_laplace
    >>> from credo.kernels import RBF
    >>> prior = Dense(np.array([[0.0], [2.0], [4.0]])).prior(RBF(1.0))
    >>> found = softmax_laplace(prior, np.array([0, 1, 2]), 3, weight=np.ones(3))
    >>> found.converged, round(found.log_evidence, 3)
    (True, -3.42)
    """

    posterior: SoftmaxGaussian
    log_evidence: float
    n_iter: int
    converged: bool
    message: str

    @property
    def start(self) -> Array:
        """A warm start for a similar kernel."""
        return self.posterior.alpha

    def gradient(self) -> Gradient:
        """The derivatives of ln p(y) by the kernel's parameters."""
        return self.posterior.gradient()


def softmax_laplace(
    prior: LatentPrior,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    weight: Array,
    start: Array | None = None,
    tolerance: float = 1e-10,
) -> SoftmaxApproximation:
    """The normal distribution around the mode of all classes' latent functions.

    Parameters
    ----------
    prior : DensePrior
        The prior of each class's latent function. Other representations raise an error.
    codes : array of shape (n,)
        The class of each row.
    start : array of shape (n_classes, n), optional
        A first guess of a = K⁻¹f, used if it is better than zero.
    tolerance : float
        The mode is found when a step gains less than this many nats.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, softmax_laplace
    >>> from credo.kernels import RBF
    >>> prior = Dense(np.array([[0.0], [0.1], [4.0]])).prior(RBF(1.0))
    >>> found = softmax_laplace(prior, np.array([0, 0, 1]), 2, weight=np.ones(3))
    >>> found.n_iter < 10, round(found.log_evidence, 3)
    (True, -1.873)
    """
    if not isinstance(prior, DensePrior):
        raise ValueError(
            f"the softmax of several classes needs the exact representation, and this is a {type(prior).__name__}: use "
            "one class against the rest"
        )
    hits = (codes == np.arange(n_classes)[:, None]).astype(np.float64)

    def log_posterior(f: Array, a: Array) -> float:
        likelihood = (hits * f).sum(axis=0) - logsumexp(f, axis=0)
        return float(weight @ likelihood) - 0.5 * float((a * f).sum())

    def newton(f: Array) -> tuple[Array, Array]:
        q = SoftmaxGaussian(prior, f, _softmax(f), weight)
        D = weight * q.probabilities
        b = D * f - D / weight * (D * f).sum(axis=0) + weight * (hits - q.probabilities)
        a = b - q.shrunk(b @ prior.gram)
        return a, a @ prior.gram

    guess = None if start is None else (start, start @ prior.gram)
    top = mode(log_posterior, newton, shape=hits.shape, guess=guess, tolerance=tolerance)
    q = SoftmaxGaussian(prior, top.a, _softmax(top.f), weight)
    return SoftmaxApproximation(q, top.value - 0.5 * q.logdet, top.n_iter, top.converged, top.message)


def _softmax(f: Array) -> Array:
    # Far from the mode a class may have no probability left; a floor keeps its block regular.
    return np.maximum(np.exp(f - logsumexp(f, axis=0)), 1e-14)
