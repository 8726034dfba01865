"""The Gaussian closest to the posterior of logistic and softmax regression, and a lower bound on the evidence.

    ln p(Θ | y) = Σᵢ ωᵢ ln softmax(CΘφᵢ)_{yᵢ} − ½ Σ λ_d Θ²_{·d} + …
    ln p(y) ≥ E_q ln p(y | Θ) − KL[q ‖ N(0, Λ⁻¹)],    q(Θ) = N(M, P⁻¹)

is highest where E_q of the log posterior's gradient is zero and P is E_q of its curvature (Opper & Archambeau 2009).
Laplace's approximation takes both at the mode instead; if the classes are nearly separable, the curvature there is far
too small.

φ is the centred row in the singular basis V of the data, with a 1 for the intercept. An isotropic prior is the same in
every orthonormal basis; directions outside the span of the rows keep their prior and cancel in the evidence; and P is
well conditioned even for collinear columns. No p×p matrix is formed, so the cost depends on the rank of the rows only.
The contrasts C are those of `_softmax`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.inference import Mixing
from credo.core.learning.spectrum import Spectrum, spectrum
from credo.core.linalg import NotPositiveDefiniteError
from credo.likelihoods import bernoulli as moderated
from credo.linear._ascent import Curvature, Optimum, newton
from credo.linear._softmax import Objective, Point, Sums

Array = NDArray[np.float64]

# Rows in the singular basis are stored up to this many numbers (800 MB), and otherwise computed in every pass.
_STORED_ENTRIES = 100_000_000
# The curvature of this many parameters takes 3.2 GB.
_MOST_PARAMETERS = 20_000
# Steps to the closest Gaussian.
_MAX_STEPS = 200


@dataclass(frozen=True)
class Rotated:
    """Rows in the singular basis, computed when they are sliced."""

    X: Any
    spectrum: Spectrum

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], len(self.spectrum.s)

    def __getitem__(self, part: slice) -> Array:
        return self.spectrum.coordinates(self.X[part])


@dataclass(frozen=True)
class LogPosterior(Objective):
    """The log posterior: the intercept has a prior as well, N(0, 1/level_penalty)."""

    level_penalty: float

    def at(self, alpha: float) -> LogPosterior:
        """The same with another precision of the weights' prior."""
        return replace(self, penalty=alpha)

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]

    def prior(self) -> Array:
        """The prior precisions λ of one contrast's parameters."""
        return np.array([self.penalty] * self.X.shape[1] + [self.level_penalty] * self.intercept)

    def expected(self, theta: Array, S: Array) -> Point:
        """Gradient and curvature of the log posterior, averaged over N(Θ, S); `bound` has its value."""
        blocks = S.reshape(self.shape * 2)
        return self._penalized(theta, self._over_rows(partial(self._expected_sums, theta, blocks)))

    def expected_log_likelihood(self, theta: Array, S: Array) -> float:
        """E ln p(y | Θ) over N(Θ, S): by quasi-random points for more than two classes."""
        total, blocks = 0.0, S.reshape(self.shape * 2)
        for rows, part in self.blocks((0, self.X.shape[0])):
            mean, cov = rows @ theta.T, self._row_covariances(rows, blocks)
            if self.n_classes == 2:
                logs = self._two_classes(mean, cov, self.codes[part])[0]
            else:
                values, axes = np.linalg.eigh(cov)
                root = (axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ axes.swapaxes(1, 2)
                logs = moderated.expected_log_softmax(self._nodes, mean, root, self.contrasts, self.codes[part])
            total += float(self.weight[part] @ logs)
        return total

    def _penalized(self, theta: Array, sums: Sums) -> Point:
        point = super()._penalized(theta, sums)
        if not self.intercept:
            return point
        level = theta[:, -1]
        point.gradient[:, -1] -= self.level_penalty * level
        if point.curvature is not None:
            np.einsum("ii->i", point.curvature).reshape(theta.shape)[:, -1] += self.level_penalty
        return replace(point, value=point.value - 0.5 * self.level_penalty * float(level @ level))

    def _expected_sums(self, theta: Array, S: Array, span: tuple[int, int]) -> Sums:
        m, width = self.shape
        value, gradient, H = 0.0, np.zeros((m, width)), np.zeros((m, width, m, width))
        terms = self._two_classes if self.n_classes == 2 else self._more_classes
        for rows, part in self.blocks(span):
            logs, residual, bend = terms(rows @ theta.T, self._row_covariances(rows, S), self.codes[part])
            weight = self.weight[part]
            value += float(weight @ logs)
            gradient += (weight[:, None] * residual).T @ rows
            for a in range(m):
                for b in range(a + 1):
                    H[a, :, b, :] += rows.T @ (rows * (weight * bend[:, a, b])[:, None])
        for a in range(m):
            for b in range(a):
                H[b, :, a, :] = H[a, :, b, :].T
        return Sums(value, gradient, H.reshape(m * width, m * width), np.nan)

    def _row_covariances(self, rows: Array, S: Array) -> Array:
        """The covariance of the contrasts' scores at each row, (n, m, m)."""
        m = self.shape[0]
        cov = np.empty((len(rows), m, m))
        for a in range(m):
            for b in range(a + 1):
                cov[:, a, b] = cov[:, b, a] = np.einsum("nd,nd->n", rows @ S[a, :, b, :], rows)
        return cov

    def _two_classes(self, mean: Array, cov: Array, codes: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """E ln p(y) of each row, and its gradient and curvature by the score."""
        sign = np.where(codes == 1, -1.0, 1.0)
        loss, slope, bend = moderated.expected_log_loss(sign * mean[:, 0], cov[:, 0, 0])
        return -loss, -(sign * slope)[:, None], bend[:, None, None]

    def _more_classes(self, mean: Array, cov: Array, codes: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Averages of gradient and curvature by the contrasts' scores; zeros in place of E ln p(y).

        p_k = 1/Σ_j exp(f_j − f_k), and p_k p_l = (p_k + p_l)² σ'(f_k − f_l). With exp(f_j − f_k) replaced by the odds
        of the average of σ(f_j − f_k), and each factor by its average, both are exact where one difference of logits
        matters, whatever its variance, and where variances are small.
        """
        C = self.contrasts
        k, l = np.triu_indices(len(C), 1)
        pairs = C[k] - C[l]
        var = np.maximum(np.einsum("nab,pa,pb->np", cov, pairs, pairs, optimize=True), 0.0)
        _, above, bend = (
            part.reshape(var.shape) for part in moderated.expected_log_loss((mean @ pairs.T).ravel(), var.ravel())
        )
        odds = np.ones((len(mean), len(C), len(C)))
        above = np.clip(above, 1e-9, 1.0 - 1e-9)
        odds[:, k, l], odds[:, l, k] = 1.0 / above - 1.0, above / (1.0 - above)
        probs = 1.0 / odds.sum(axis=2)
        probs /= probs.sum(axis=1, keepdims=True)
        bend = bend * np.square(probs[:, k] + probs[:, l])
        return np.zeros(len(mean)), C[codes] - probs @ C, np.einsum("np,pa,pb->nab", bend, pairs, pairs, optimize=True)

    @cached_property
    def _nodes(self) -> Array:
        """Points whose second moments are exactly those of the normal distribution."""
        points = moderated.normal_points(self.contrasts.shape[1], log2=9)
        values, axes = np.linalg.eigh(points.T @ points / len(points))
        return points @ (axes / np.sqrt(values)) @ axes.T


def log_posterior(
    X: Any, codes: NDArray[np.intp], weight: Array | None, *, n_classes: int, intercept: bool, level_penalty: float
) -> tuple[LogPosterior, Spectrum]:
    """The posterior of these rows in their singular basis, and that basis."""
    data = spectrum(X, codes.astype(np.float64), weight, center=intercept)
    rank = len(data.s)
    require_storable(rank, n_classes, intercept)
    stored = X.shape[0] * rank <= _STORED_ENTRIES
    posterior = LogPosterior(
        X=data.coordinates(X) if stored else Rotated(X, data),
        codes=codes,
        weight=np.ones(X.shape[0]) if weight is None else weight,
        n_classes=n_classes,
        center=np.zeros(rank),
        penalty=1.0,
        intercept=intercept,
        level_penalty=level_penalty,
    )
    return posterior, data


def require_storable(rank: int, n_classes: int, intercept: bool) -> None:
    """Raise an error if there are too many parameters for a covariance matrix."""
    n_parameters = (rank + intercept) * (n_classes - 1)
    if n_parameters > _MOST_PARAMETERS:
        raise ValueError(
            f"{rank} directions of X and {n_classes} classes make {n_parameters} parameters, whose covariance would "
            f"need {8e-9 * n_parameters**2:.0f} GB. Use fewer columns or classes, or LogisticRegression, which gives "
            "probabilities without their uncertainty."
        )


def posterior_mode(posterior: LogPosterior, *, start: Array | None = None) -> Optimum:
    """The mode by Newton's method; the posterior is strictly log-concave, so there is one maximum."""
    return newton(posterior, start=start, tol=1e-10, independent=True)


@dataclass(frozen=True)
class Gaussian:
    """q(Θ) = N(mean, precision⁻¹), the log posterior averaged over it, and how the search for q ended."""

    posterior: LogPosterior
    mean: Array
    precision: Array
    curvature: Curvature  # the factored precision
    n_iter: int = 0
    converged: bool = False

    @classmethod
    def of(cls, posterior: LogPosterior, mean: Array, precision: Array) -> Gaussian:
        """From mean and precision."""
        return cls(posterior, mean, precision, Curvature.of(precision))

    @cached_property
    def covariance(self) -> Array:
        return self.curvature.inverse()

    @cached_property
    def average(self) -> Point:
        """The averaged log posterior, its gradient and its curvature."""
        return self.posterior.expected(self.mean, self.covariance)

    @cached_property
    def bound(self) -> float:
        """The lower bound on ln p(y)."""
        prior = np.tile(self.posterior.prior(), len(self.mean))
        spread = float(prior @ np.diagonal(self.covariance)) - float(np.log(prior).sum()) + self.curvature.logdet
        spread += float(prior @ np.square(self.mean.ravel()))
        if self.posterior.n_classes == 2:
            # Known from the averages, without another pass over the rows.
            return self.average.log_likelihood - 0.5 * (spread - len(prior))
        return self.posterior.expected_log_likelihood(self.mean, self.covariance) - 0.5 * (spread - len(prior))

    @property
    def slope(self) -> float:
        """The derivative of the highest bound by ln α: that of −KL, because the bound doesn't change with q there."""
        return 0.5 * (self.effective_weights - self.posterior.penalty * float(np.square(self._weights()).sum()))

    @property
    def effective_weights(self) -> float:
        """The effective number of weights, Σ (1 − α var w) (Bishop 3.91)."""
        variances = np.diagonal(self.covariance).reshape(self.mean.shape)[:, : self.posterior.X.shape[1]]
        return variances.size - self.posterior.penalty * float(variances.sum())

    @cached_property
    def change(self) -> float:
        """How far q is from the highest bound: its mean in standard deviations, its precision relatively."""
        step = self.curvature.solve(self.average.gradient.ravel())
        assert self.average.curvature is not None
        move = self.covariance @ (self.average.curvature - self.precision)
        by_mean = max(float(step @ self.average.gradient.ravel()), 0.0)
        return math.sqrt(max(by_mean, float((move * move.T).sum())))

    def _weights(self) -> Array:
        return self.mean[:, : self.posterior.X.shape[1]]


def closest_gaussian(start: Gaussian, *, tol: float) -> Gaussian:
    """The Gaussian with the highest bound, by natural-gradient steps with Anderson mixing.

    In the natural parameters P and PM, a full step goes to H and HM + g, with g and H the averages of gradient and
    curvature (Khan & Lin 2017). A damped step keeps P positive definite, as both its ends are.
    """
    here, n_iter = start, 0
    size = np.sqrt(np.diagonal(start.precision))
    units = np.concatenate([np.outer(size, size)[np.triu_indices(len(size))], size])
    # The memory of the last six steps takes little beside the matrices then.
    mixes = len(size) <= 2_000
    mixing, damping = Mixing(1.0), 1.0
    while here.change > tol and n_iter < _MAX_STEPS:
        check()
        n_iter += 1
        z, step = _natural(here, units)
        proposal = mixing.step(z, step) if mixes else z + damping * step
        ahead = _gaussian(here, proposal, units, mixed=mixes)
        if ahead is None or not ahead.change <= 2.0 * here.change:
            mixing.forget()
            damping = max(0.6 * damping, 0.1)
            ahead = _gaussian(here, z + damping * step, units, mixed=False)
            assert ahead is not None
        else:
            damping = min(1.0, 1.2 * damping)
        here = ahead
    return replace(here, n_iter=n_iter, converged=here.change <= tol)


def _natural(q: Gaussian, units: Array) -> tuple[Array, Array]:
    """The natural parameters of q and the step towards the highest bound, in these units."""
    H, mean = q.average.curvature, q.mean.ravel()
    assert H is not None
    upper = np.triu_indices(len(mean))
    z = np.concatenate([q.precision[upper], q.precision @ mean]) / units
    return z, np.concatenate([H[upper], H @ mean + q.average.gradient.ravel()]) / units - z


def _gaussian(near: Gaussian, z: Array, units: Array, *, mixed: bool) -> Gaussian | None:
    """The Gaussian of these natural parameters, or None if mixing made a precision that isn't positive definite."""
    d = near.mean.size
    z = z * units
    P = np.zeros((d, d))
    P[np.triu_indices(d)] = z[:-d]
    P += np.triu(P, 1).T
    try:
        curvature = Curvature.of(P)
    except NotPositiveDefiniteError:
        if not mixed:
            raise
        return None
    if mixed and curvature.factor.jitter > 0:
        return None
    mean = curvature.solve(z[-d:]).reshape(near.mean.shape)
    return Gaussian(near.posterior, mean, P, curvature)
