"""The Gaussian closest to the posterior of logistic and softmax regression, and a lower bound on the evidence.

    ln p(Θ | y) = Σᵢ ωᵢ ln softmax(CΘφᵢ)_{yᵢ} − ½ Σ λ_d Θ²_{·d} + …
    ln p(y) ≥ E_q ln p(y | Θ) − KL[q ‖ N(0, Λ⁻¹)],    q(Θ) = N(M, P⁻¹)

is highest where E_q of the log posterior's gradient is zero and P is E_q of its curvature (Opper & Archambeau 2009).
Laplace's approximation evaluates both at the mode instead; if the classes are nearly separable, the curvature there is
far too small.

φ is the centered row in the singular basis V of the data, with a 1 for the intercept. An isotropic prior is the same in
every orthonormal basis; directions outside the span of the rows keep their prior and cancel in the evidence; and P is
well conditioned even for collinear columns. No p×p matrix is formed, so the cost depends on the rank of the rows only.
The contrasts C are those of `_softmax`.

The precision of the weights' prior: integrated out by a few Gaussians, at the maximum of the bound, or given.

    p(Θ | y) = ∫ p(Θ | y, α) p(α | y) dα ≈ Σ_k w_k q_k(Θ),    ln p(α | y) ≈ highest bound + ln p(α)

The prior of α is one of τ, the standard deviation of the log odds of a typical row: τ² = mean‖x − x̄‖²/α. It has a
half-Cauchy distribution of scale 3 (log odds of ±3 are probabilities of .05 and .95), so neither the units of the
columns nor their number matter. Bound and slope at a few α make an interpolating spline, and the Gauss rule of its
exponential gives α_k and w_k. The same spline without the prior gives the maximum of the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.special import logsumexp

from credo.core.deadlines import check
from credo.core.inference import AndersonAcceleration
from credo.core.learning.integration import gauss_nodes
from credo.core.learning.spectrum import Spectrum, spectrum
from credo.core.linalg import NotPositiveDefiniteError
from credo.likelihoods import bernoulli as moderated
from credo.linear._ascent import Curvature, Optimum, newton
from credo.linear._softmax import Objective, Point, Sums

Array = NDArray[np.float64]

# Rows in the singular basis are stored up to this many numbers (800 MB), and otherwise computed in every pass.
_MAX_STORED_ENTRIES = 100_000_000
# The curvature of this many parameters takes 3.2 GB.
_MAX_PARAMETERS = 20_000
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
            logs, residual, curvature = terms(rows @ theta.T, self._row_covariances(rows, S), self.codes[part])
            weight = self.weight[part]
            value += float(weight @ logs)
            gradient += (weight[:, None] * residual).T @ rows
            for a in range(m):
                for b in range(a + 1):
                    H[a, :, b, :] += rows.T @ (rows * (weight * curvature[:, a, b])[:, None])
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
        loss, slope, curvature = moderated.expected_log_loss(sign * mean[:, 0], cov[:, 0, 0])
        return -loss, -(sign * slope)[:, None], curvature[:, None, None]

    def _more_classes(self, mean: Array, cov: Array, codes: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Averages of gradient and curvature by the contrasts' scores; zeros in place of E ln p(y).

        p_k = 1/Σ_j exp(f_j − f_k), and p_k p_l = (p_k + p_l)² σ'(f_k − f_l). With exp(f_j − f_k) replaced by the odds
        of the average of σ(f_j − f_k), and each factor by its average, both are exact if only one difference of logits
        matters, whatever its variance, and if variances are small.
        """
        C = self.contrasts
        k, l = np.triu_indices(len(C), 1)
        pairs = C[k] - C[l]
        var = np.maximum(np.einsum("nab,pa,pb->np", cov, pairs, pairs, optimize=True), 0.0)
        _, above, curvature = (
            part.reshape(var.shape) for part in moderated.expected_log_loss((mean @ pairs.T).ravel(), var.ravel())
        )
        odds = np.ones((len(mean), len(C), len(C)))
        above = np.clip(above, 1e-9, 1.0 - 1e-9)
        odds[:, k, l], odds[:, l, k] = 1.0 / above - 1.0, above / (1.0 - above)
        probs = 1.0 / odds.sum(axis=2)
        probs /= probs.sum(axis=1, keepdims=True)
        curvature = curvature * np.square(probs[:, k] + probs[:, l])
        H = np.einsum("np,pa,pb->nab", curvature, pairs, pairs, optimize=True)
        return np.zeros(len(mean)), C[codes] - probs @ C, H

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
    stored = X.shape[0] * rank <= _MAX_STORED_ENTRIES
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
    if n_parameters > _MAX_PARAMETERS:
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
    # With more parameters, storing the last six steps would take much memory.
    mixes = len(size) <= 2_000
    mixing, damping = AndersonAcceleration(1.0), 1.0
    while here.change > tol and n_iter < _MAX_STEPS:
        check()
        n_iter += 1
        z, step = _natural(here, units)
        proposal = mixing.step(z, step) if mixes else z + damping * step
        ahead = _gaussian(here, proposal, units, mixed=mixes)
        if ahead is None or not ahead.change <= 2.0 * here.change:
            mixing.restart()
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


# Accuracy of the Gaussians in posterior standard deviations: of the grid, and of those that are kept.
_GRID_TOLERANCE, _FINAL_TOLERANCE = 1e-2, 1e-4


@dataclass(frozen=True)
class PosteriorFit:
    """Gaussians with their weights, the mode at one α, ln p(y), and how α was found."""

    parts: list[Gaussian]
    weights: Array
    mode: Optimum
    alpha: float
    log_evidence: float
    place: str
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether mode and Gaussians were found, to a small share of the posterior's width."""
        return self.mode.converged and all(part.change < 0.05 for part in self.parts)


def given_precision(posterior: LogPosterior, alpha: float, *, place: str = "given") -> PosteriorFit:
    """The posterior at a prior precision."""
    posterior = posterior.at(alpha)
    mode = posterior_mode(posterior)
    q = closest_gaussian(_laplace(posterior, mode), tol=_FINAL_TOLERANCE)
    return PosteriorFit([q], np.ones(1), mode, alpha, q.bound, place, mode.n_iter + q.n_iter)


def integrated_precision(posterior: LogPosterior, data: Spectrum) -> PosteriorFit:
    """The posterior averaged over the prior precision."""
    if not len(data.s):
        return given_precision(posterior, 1.0, place="flat")
    profile = _Profile(posterior, float(np.square(data.s).sum()) / data.weight)
    profile.explore()
    place, fine = profile.top, profile.fine()
    # Each Gaussian of many parameters is costly.
    nodes, weights = gauss_nodes(*fine, 1) if posterior.n_parameters > 300 else gauss_rule(*fine)
    parts = [profile.at(float(u), tol=_FINAL_TOLERANCE) for u in nodes]
    here = posterior.at(math.exp(place))
    mode = posterior_mode(here, start=profile.nearest(place).mean)
    return PosteriorFit(
        parts, weights, mode, here.penalty, profile.log_integral, profile.kind, mode.n_iter + profile.n_iter
    )


def maximized_precision(posterior: LogPosterior, data: Spectrum) -> PosteriorFit:
    """The posterior at the prior precision with the highest bound."""
    if not len(data.s):
        return given_precision(posterior, 1.0, place="flat")
    profile = _Profile(posterior, float(np.square(data.s).sum()) / data.weight, flat=True)
    profile.explore()
    for _ in range(8):
        # The bound may still rise between the points of the grid.
        if abs(profile.at(profile.top).slope) < 1e-3:
            break
    place = profile.top
    part, here = profile.at(place, tol=_FINAL_TOLERANCE), posterior.at(math.exp(place))
    mode = posterior_mode(here, start=part.mean)
    kind = "high" if profile.kind == "high" else "maximized"
    return PosteriorFit([part], np.ones(1), mode, here.penalty, part.bound, kind, mode.n_iter + profile.n_iter)


class _Profile:
    """The log density of u = ln α given the labels, up to its prior if `flat`, and the Gaussians found so far."""

    def __init__(self, posterior: LogPosterior, mean_square: float, *, flat: bool = False) -> None:
        self._posterior = posterior
        self._flat = flat
        self._center = math.log(mean_square) - 2.0 * math.log(3.0)
        self._known: dict[float, Gaussian] = {}
        self.n_iter = 0

    def at(self, u: float, *, tol: float = _GRID_TOLERANCE) -> Gaussian:
        """The Gaussian at ln α = u, searched from those on both sides."""
        posterior = self._posterior.at(math.exp(u))
        if self._known:
            start = self._between(u, posterior)
        else:
            mode = posterior_mode(posterior)
            self.n_iter += mode.n_iter
            start = _laplace(posterior, mode)
        found = self._known[u] = closest_gaussian(start, tol=tol)
        self.n_iter += found.n_iter
        return found

    def explore(self) -> None:
        """Points on a grid until the density is negligible on both sides, then at the maximum of the spline."""
        self.at(self._center)
        for side in (1, -1):
            for k in range(1, 5):
                u = self._center + side * k * 2.5
                self.at(u)
                heights = self._heights()
                if heights[u] < max(heights.values()) - 7.0:
                    break
        for _ in range(3):
            top = self.top
            told = float(self._spline()(top))
            if top in self._known:
                break
            self.at(top)
            if abs(self._heights()[top] - told) < 0.02:
                break

    @property
    def top(self) -> float:
        """The maximum of the spline."""
        u, logs = self._scan()
        return float(u[np.argmax(logs)])

    @property
    def kind(self) -> str:
        """Whether the bound is highest without any linear effect."""
        bounds = {u: part.bound for u, part in self._known.items()}
        return "high" if bounds[max(bounds)] >= max(bounds.values()) - 1e-3 else "integrated"

    @property
    def log_integral(self) -> float:
        """ln p(y)."""
        u, logs = self._scan()
        return float(logsumexp(logs)) + math.log(u[1] - u[0])

    def fine(self) -> tuple[Array, Array]:
        """Points of ln α and their probabilities."""
        u, logs = self._scan()
        return u, np.exp(logs - logsumexp(logs))

    def nearest(self, u: float) -> Gaussian:
        return self._known[min(self._known, key=lambda known: abs(known - u))]

    def _scan(self) -> tuple[Array, Array]:
        u = np.linspace(min(self._known), max(self._known), 4001)
        return u, np.asarray(self._spline()(u))

    def _spline(self) -> CubicHermiteSpline:
        places, heights = sorted(self._known), self._heights()
        slopes = [self._known[u].slope + self._log_prior(u)[1] for u in places]
        return CubicHermiteSpline(places, [heights[u] for u in places], slopes)

    def _heights(self) -> dict[float, float]:
        return {u: part.bound + self._log_prior(u)[0] for u, part in self._known.items()}

    def _log_prior(self, u: float) -> tuple[float, float]:
        """Log density of u = ln α and its derivative: τ/3 = e^−x/2 is half-Cauchy, where x = u − center."""
        if self._flat:
            return 0.0, 0.0
        x = 0.5 * (u - self._center)
        # 1/(π(e^x + e^−x)), without overflow.
        return -math.log(math.pi) - float(np.logaddexp(x, -x)), -0.5 * math.tanh(x)

    def _between(self, u: float, posterior: LogPosterior) -> Gaussian:
        """Linear interpolation of the neighbors' means and of their precisions without the prior."""
        below = max((known for known in self._known if known <= u), default=None)
        above = min((known for known in self._known if known >= u), default=None)
        left = self._known[below if below is not None else min(self._known)]
        right = self._known[above if above is not None else max(self._known)]
        share = 0.0 if below is None or above is None or below == above else (u - below) / (above - below)
        mean = (1.0 - share) * left.mean + share * right.mean
        rows = (1.0 - share) * _from_rows(left) + share * _from_rows(right)
        np.einsum("ii->i", rows)[:] += np.tile(posterior.prior(), len(mean))
        return Gaussian.of(posterior, mean, rows)


def gauss_rule(points: Array, weights: Array) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss rule of a discrete distribution.

    Five nodes integrate polynomials of degree nine; a narrow distribution needs one or three.
    """
    std = math.sqrt(float(weights @ (points - weights @ points) ** 2))
    return gauss_nodes(points, weights, 1 if std < 0.1 else 3 if std < 0.4 else 5)


def _laplace(posterior: LogPosterior, mode: Optimum) -> Gaussian:
    """Laplace's approximation, from which the search starts."""
    point = mode.point if mode.point.curvature is not None else posterior.evaluate(mode.point.theta)
    H = point.curvature
    assert H is not None
    return Gaussian.of(posterior, mode.point.theta, H)


def _from_rows(q: Gaussian) -> Array:
    """The precision without that of the prior."""
    rows = q.precision.copy()
    np.einsum("ii->i", rows)[:] -= np.tile(q.posterior.prior(), len(q.mean))
    return rows
