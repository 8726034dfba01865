"""The Laplace approximation for logistic and softmax regression: mode, curvature, evidence.

    ln p(Θ | y) = Σᵢ ωᵢ ln softmax(CΘφᵢ)_{yᵢ} − ½ Σ λ_d Θ²_{·d} + …
    q(Θ) = N(Θ̂, H⁻¹),    ln p(y) ≈ ln p(y | Θ̂) − ½ Σ λ_d Θ̂² + ½ ln|Λ| − ½ ln|H|       (Bishop 4.137, 4.142)

φ is the centred row in the singular basis V of the data, with a 1 for the intercept. An isotropic prior is the same in
every orthonormal basis; directions outside the span of the rows keep their prior and cancel in the evidence; and H is
well conditioned even for collinear columns. No p×p matrix is formed, so the cost depends on the rank of the rows only.
The contrasts C are those of `_softmax`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.special import softmax

from credo.estimator import check_shapes
from credo.learning import highest
from credo.linear._ascent import Optimum, newton
from credo.linear._softmax import Objective, Point
from credo.linear._spectrum import Spectrum, components, spectrum
from credo.scale import BLOCK_ENTRIES

Array = NDArray[np.float64]

# Rows in the singular basis are stored up to this many numbers (800 MB), and otherwise computed in every pass.
_STORED_ENTRIES = 100_000_000
# The curvature of this many parameters takes 3.2 GB.
_MOST_PARAMETERS = 20_000
# Tolerance of Newton's method in posterior standard deviations, for the final mode and for the scan over ln α.
_TOL, _SCAN_TOL = 1e-10, 1e-4
# Step of the scan over ln α, and accuracy of the maximum.
_STRIDE, _PRECISE = 2.5, 1e-9
# Range of the scan, in natural logs: up to so far above the largest squared singular value that no log odds change by
# more than a thousandth, and down to so far below the mean square of the rows that log odds of ten thousand occur.
_REACH = (14.0, 19.0)


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

    def prior(self) -> Array:
        """The prior precisions λ of one contrast's parameters."""
        return np.array([self.penalty] * self.X.shape[1] + [self.level_penalty] * self.intercept)

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The log posterior at Θ, up to its constant."""
        point = super().evaluate(theta, curvature=curvature)
        if not self.intercept:
            return point
        level = theta[:, -1]
        point.gradient[:, -1] -= self.level_penalty * level
        if point.curvature is not None:
            np.einsum("ii->i", point.curvature).reshape(theta.shape)[:, -1] += self.level_penalty
        return replace(point, value=point.value - 0.5 * self.level_penalty * float(level @ level))


def log_posterior(
    X: Any, codes: NDArray[np.intp], weight: Array | None, *, n_classes: int, intercept: bool, level_penalty: float
) -> tuple[LogPosterior, Spectrum]:
    """The posterior of these rows in their singular basis, and that basis."""
    data = spectrum(X, codes.astype(np.float64), weight, center=intercept)
    rank = len(data.s)
    n_parameters = (rank + intercept) * (n_classes - 1)
    if n_parameters > _MOST_PARAMETERS:
        raise ValueError(
            f"{rank} directions of X and {n_classes} classes make {n_parameters} parameters, whose covariance would "
            f"need {8e-9 * n_parameters**2:.0f} GB. Use fewer columns or classes, or LogisticRegression, which gives "
            "probabilities without their uncertainty."
        )
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


def posterior_mode(posterior: LogPosterior, *, start: Array | None = None, tol: float = _TOL) -> Optimum:
    """The mode by Newton's method; the posterior is strictly log-concave, so there is one maximum."""
    return newton(posterior, start=start, tol=tol, independent=True)


def mode_tangent(posterior: LogPosterior, mode: Optimum) -> Array:
    """dΘ̂/d ln α = −H⁻¹(αW, 0)."""
    rank, gradient = posterior.X.shape[1], np.zeros(posterior.shape)
    gradient[:, :rank] = posterior.penalty * mode.point.theta[:, :rank]
    return -mode.curvature.solve(gradient.ravel()).reshape(posterior.shape)


def log_evidence(posterior: LogPosterior, mode: Optimum) -> float:
    """ln p(y | α) by the Laplace approximation."""
    return (
        mode.point.value
        + 0.5 * posterior.shape[0] * float(np.log(posterior.prior()).sum())
        - 0.5 * mode.curvature.logdet
    )


def log_evidence_slope(posterior: LogPosterior, mode: Optimum) -> float:
    """d ln p(y | α)/d ln α, including the change of the mode, dΘ̂/d ln α = −H⁻¹(αW, 0).

    The curvature of a row is Σ_{k<l} p_k p_l c_kl c_klᵀ with c_kl = C_k − C_l, so that −½ d ln|H| along that change is
    −½ Σ d(p_k p_l) v_kl over rows and pairs, v_kl being the posterior variance of the difference of two logits.
    """
    m, width = posterior.shape
    rank, alpha, C = posterior.X.shape[1], posterior.penalty, posterior.contrasts
    S = mode.curvature.inverse().reshape(m, width, m, width)
    move = mode_tangent(posterior, mode)
    k, l = np.triu_indices(posterior.n_classes, 1)
    pairs = C[k] - C[l]
    W = mode.point.theta[:, :rank]
    variances = np.einsum("adad->ad", S)[:, :rank]
    total = m * rank - alpha * float(np.square(W).sum() + variances.sum())
    for rows, part in posterior.blocks((0, posterior.X.shape[0])):
        probs = softmax((rows @ mode.point.theta.T) @ C.T, axis=1)
        shift = (rows @ move.T) @ C.T
        shift -= np.einsum("nk,nk->n", probs, shift)[:, None]
        change = posterior.weight[part, None] * probs[:, k] * probs[:, l] * (shift[:, k] + shift[:, l])
        for a in range(m):
            for b in range(a + 1):
                # Posterior covariance of two contrasts' values at each row, which enters twice unless a = b.
                cov = np.einsum("nd,nd->n", rows @ S[a, :, b, :], rows)
                total -= (1 + (b < a)) * float(cov @ (change @ (pairs[:, a] * pairs[:, b])))
    return 0.5 * total


def effective_weights(posterior: LogPosterior, mode: Optimum) -> float:
    """The effective number of weights, Σ (1 − α var w) (Bishop 3.91)."""
    m, width = posterior.shape
    rank = posterior.X.shape[1]
    return m * rank - posterior.penalty * float(
        np.square(mode.curvature.root().reshape(-1, m, width)[..., :rank]).sum()
    )


@dataclass(frozen=True)
class LaplaceFit:
    """The posterior at its prior precision, its mode, the kind of maximum of the evidence, and the Newton steps."""

    posterior: LogPosterior
    mode: Optimum
    place: str
    n_iter: int


def given_precision(posterior: LogPosterior, alpha: float) -> LaplaceFit:
    """The approximation at a prior precision."""
    posterior = posterior.at(alpha)
    mode = posterior_mode(posterior)
    return LaplaceFit(posterior, mode, "given", mode.n_iter)


def best_precision(posterior: LogPosterior, data: Spectrum) -> LaplaceFit:
    """The approximation at the highest maximum of the evidence over α."""
    if not len(data.s):
        return replace(given_precision(posterior, 1.0), place="flat")
    squares = data.s**2
    high, low = math.log(squares.max()) + _REACH[0], math.log(squares.sum() / data.weight) - _REACH[1]
    profile = _Profile(posterior)
    top = highest(profile.value, profile.slope, np.arange(high, low, -_STRIDE)[::-1], precision=_PRECISE)
    posterior, mode = profile.at(top.place)
    return LaplaceFit(posterior, mode, top.kind, profile.n_iter)


class _Profile:
    """The log evidence along u = ln α; each mode is extrapolated from those already found, and their tangents."""

    def __init__(self, posterior: LogPosterior) -> None:
        self._posterior = posterior
        self._known: dict[float, tuple[Array, Array]] = {}
        self.n_iter = 0

    def value(self, u: Array) -> Array:
        # From large precisions, where all weights are zero, to small ones.
        return np.array([log_evidence(*self.at(each, tol=_SCAN_TOL)) for each in u[::-1].tolist()])[::-1]

    def slope(self, u: float) -> float:
        return log_evidence_slope(*self.at(u))

    def at(self, u: float, *, tol: float = _TOL) -> tuple[LogPosterior, Optimum]:
        posterior = self._posterior.at(math.exp(u))
        mode = posterior_mode(posterior, start=self._start(u), tol=tol)
        self._known[u] = mode.point.theta, mode_tangent(posterior, mode)
        self.n_iter += mode.n_iter
        return posterior, mode

    def _start(self, u: float) -> Array | None:
        """Cubic interpolation of the modes on both sides; linear extrapolation beyond the last one."""
        below = max((known for known in self._known if known <= u), default=None)
        above = min((known for known in self._known if known >= u), default=None)
        if below is None or above is None or below == above:
            near = above if below is None else below
            if near is None:
                return None
            theta, tangent = self._known[near]
            return theta + (u - near) * tangent
        modes, tangents = zip(self._known[below], self._known[above], strict=True)
        return np.asarray(CubicHermiteSpline([below, above], modes, tangents)(u))


@dataclass(frozen=True)
class LogitPosterior:
    """The Gaussian posterior of linear logits, in the singular basis V of the rows.

    `mode` (m, d) holds the parameters of the m contrasts, `root` R their covariance RᵀR, `contrasts` C the logits
    (K, m) that they make. Directions outside the span of the rows keep their prior variance.
    """

    V: Array
    x_mean: Array
    mode: Array
    root: Array
    contrasts: Array
    prior_variance: float
    centered: bool

    def _check_state(self) -> None:
        check_shapes(self, V="d r", x_mean="d", mode="m p", root="a b", contrasts="k m", prior_variance="")

    @classmethod
    def of(cls, posterior: LogPosterior, mode: Optimum, data: Spectrum) -> LogitPosterior:
        """The posterior at a mode."""
        return cls(
            V=data.V,
            x_mean=data.x_mean,
            mode=mode.point.theta,
            root=mode.curvature.root(),
            contrasts=posterior.contrasts,
            prior_variance=1.0 / posterior.penalty,
            centered=posterior.intercept,
        )

    @property
    def outputs(self) -> Array:
        """Rows of C for the reported logits: all of them, or the log odds of two classes."""
        return self.contrasts[1:] if len(self.contrasts) == 2 else self.contrasts

    @property
    def rank(self) -> int:
        return self.V.shape[1]

    def coef(self) -> Array:
        """Weights of each output, shape (K or 1, p)."""
        return (self.outputs @ self.mode[:, : self.rank]) @ self.V.T

    def intercept(self) -> Array:
        """Logits at x = 0."""
        level = self.outputs @ self.mode[:, self.rank :].sum(axis=1)
        return level - self.coef() @ self.x_mean

    def coef_std(self) -> Array:
        """Posterior standard deviation of each weight."""
        blocks = self._root_blocks()[..., : self.rank]
        outside = np.maximum(1.0 - np.einsum("ij,ij->i", self.V, self.V), 0.0)
        variance = np.empty((len(self.outputs), len(self.V)))
        for row, load in zip(variance, self.outputs, strict=True):
            half = np.tensordot(load, blocks, axes=(0, 1)) @ self.V.T
            row[:] = np.einsum("xi,xi->i", half, half) + self.prior_variance * (load @ load) * outside
        return np.sqrt(variance)

    def intercept_std(self) -> Array:
        """Posterior standard deviation of each logit at x = 0; zero where there is no intercept."""
        if not self.centered:
            return np.zeros(len(self.outputs))
        _, half = next(self.moments(np.zeros((1, len(self.V)))))
        return np.sqrt(np.square(self.outputs @ half[0]).sum(axis=1))

    def coef_cov(self) -> Array:
        """Covariance of the weights, output by output: shape (Kp, Kp), (p, p) for two classes."""
        V, outputs = self.V, self.outputs
        half = np.einsum("kj,xjr,ir->xki", outputs, self._root_blocks()[..., : self.rank], V, optimize=True)
        half = half.reshape(len(half), -1)
        null = np.eye(len(V)) - V @ V.T
        return half.T @ half + self.prior_variance * np.kron(outputs @ outputs.T, null)

    def moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Means (n, m) and roots (n, m, k), covariance = root rootᵀ, of the latent values, block by block of rows."""
        m, d = self.mode.shape
        step = max(64, BLOCK_ENTRIES // max(m * (m * d + m), self.V.shape[0], 1))
        blocks = self._root_blocks()
        for start in range(0, X.shape[0], step):
            inside, outside = components(X[start : start + step], self.V, self.x_mean, rest=True)
            phi = np.column_stack([inside, np.ones(len(inside))]) if self.centered else inside
            half = np.empty((len(phi), m, m * d + m))
            np.einsum("xjd,nd->njx", blocks, phi, optimize=True, out=half[..., : m * d])
            half[..., m * d :] = np.sqrt(self.prior_variance * outside)[:, None, None] * np.eye(m)
            yield phi @ self.mode.T, half

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n draws of weights (n, K or 1, p) and intercepts (n, K or 1)."""
        m, d = self.mode.shape
        theta = self.mode + (rng.standard_normal((n, m * d)) @ self.root).reshape(n, m, d)
        noise = np.sqrt(self.prior_variance) * rng.standard_normal((n, m, len(self.V)))
        weights = theta[..., : self.rank] @ self.V.T + noise - (noise @ self.V) @ self.V.T
        weights, level = self.outputs @ weights, theta[..., self.rank :].sum(axis=2) @ self.outputs.T
        return weights, level - weights @ self.x_mean

    def _root_blocks(self) -> Array:
        """R with its columns by latent value: shape (md, m, d)."""
        return self.root.reshape(len(self.root), *self.mode.shape)


def triangular_roots(half: Array) -> Array:
    """Lower triangular L with L Lᵀ = half halfᵀ for each row, unique by its diagonal: shape (n, m, m)."""
    R = np.asarray(np.linalg.qr(half.swapaxes(1, 2), mode="r"))
    sign = np.where(np.einsum("nii->ni", R) < 0, -1.0, 1.0)
    return (R * sign[:, :, None]).swapaxes(1, 2)
