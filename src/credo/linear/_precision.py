"""The precision of the weights' prior: integrated out by a few Gaussians, at the maximum of the bound, or given.

    p(Θ | y) = ∫ p(Θ | y, α) p(α | y) dα ≈ Σ_k w_k q_k(Θ),    ln p(α | y) ≈ highest bound + ln p(α)

The prior of α is one of τ, the standard deviation of the log odds of a typical row: τ² = mean‖x − x̄‖²/α. It has a
half-Cauchy distribution of scale 3 (log odds of ±3 are probabilities of .05 and .95), so neither the units of the
columns nor their number matter. Bound and slope at a few α make an interpolating spline, and the Gauss rule of its
exponential has the α_k and w_k. The same spline without the prior leads to the maximum of the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.special import logsumexp

from credo.core.learning.integration import gauss_nodes
from credo.core.learning.spectrum import Spectrum
from credo.linear._ascent import Optimum
from credo.linear._variational import Gaussian, LogPosterior, closest_gaussian, posterior_mode

Array = NDArray[np.float64]

# Accuracy of the Gaussians in posterior standard deviations: of the grid, and of those that are kept.
_ROUGH, _FINAL = 1e-2, 1e-4


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
    q = closest_gaussian(_laplace(posterior, mode), tol=_FINAL)
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
    parts = [profile.at(float(u), tol=_FINAL) for u in nodes]
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
        # Between the ends of the grid, where the bound may still rise.
        if abs(profile.at(profile.top).slope) < 1e-3:
            break
    place = profile.top
    part, here = profile.at(place, tol=_FINAL), posterior.at(math.exp(place))
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

    def at(self, u: float, *, tol: float = _ROUGH) -> Gaussian:
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
        """Whether the bound is highest without any effect."""
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
        """Linear interpolation of the neighbours' means and of what the rows add to their precisions."""
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
