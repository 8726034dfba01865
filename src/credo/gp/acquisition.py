"""Where to measure next to find a minimum: expected improvement, its logarithm and its gradient.

    EI(x) = E max(best − f(x), 0) = s h(z),    h(z) = φ(z) + zΦ(z),    z = (best − m(x))/s(x)

(Jones, Schonlau & Welch 1998, eq. 15), with m and s the mean and standard deviation of the latent f, so that noise
isn't taken for improvement. Far from the minimum EI underflows to zero, so the search maximizes ln EI instead
(Ament et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import erfcx, logsumexp, ndtr

from credo.core.learning.ascent import maximize
from credo.distributions import Distribution, Mixture, Normal
from credo.gp._gaussian_process import GaussianProcess

Array = NDArray[np.float64]

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
# Below the first, h is a difference of nearly equal numbers; below the second, its series has all digits.
_TAIL, _FAR_TAIL = -1.0, -30.0
# h(z)/φ(z) = Σ (−1)^k (2k + 1)!!/z^(2k+2), by parts; the coefficients in powers of 1/z² after the first 1/z².
_SERIES = (1.0, -3.0, 15.0, -105.0, 945.0, -10395.0, 135135.0, -2027025.0)
# Half width of the central difference, for models without a gradient.
_DIFFERENCE_STEP = 1e-5


def expected_improvement(model: Any, X: ArrayLike, *, best: float | None = None) -> Array:
    """E max(best − f(x), 0) at each row of X: the expected improvement on the best value so far.

    Parameters
    ----------
    model : fitted GPRegressor
        With `best`, any fitted regressor whose predictions are normal or mixtures of normals.
    X : array of shape (n_samples, n_features)
    best : float, optional
        The value to improve on. By default the smallest posterior mean at the training rows, which equals the smallest
        observation if there is no noise.

    Examples
    --------
    >>> from credo.gp import GPRegressor
    >>> from credo.gp.acquisition import expected_improvement
    >>> from credo.kernels import RBF
    >>> model = GPRegressor(RBF(1.0), noise=1e-6, hyperparameters="fixed")
    >>> model = model.fit([[0.0], [1.0], [2.0], [4.0]], [2.0, 0.8, 0.6, 3.0])
    >>> expected_improvement(model, [[0.0], [1.5], [3.0]]).round(3)
    array([0.   , 0.145, 0.001])
    """
    return np.exp(log_expected_improvement(model, X, best=best))


def log_expected_improvement(model: Any, X: ArrayLike, *, best: float | None = None) -> Array:
    """ln EI at each row of X, finite where EI itself underflows to zero; see `expected_improvement`.

    It is −∞ only if f is known for certain and no better than `best`.

    Examples
    --------
    >>> from credo.gp import GPRegressor, log_expected_improvement
    >>> from credo.kernels import RBF
    >>> model = GPRegressor(RBF(1.0), noise=1e-6, hyperparameters="fixed")
    >>> model = model.fit([[0.0], [1.0], [2.0], [4.0]], [2.0, 0.8, 0.6, 3.0])
    >>> log_expected_improvement(model, [[1.5], [3.0], [0.2]]).round(1)
    array([ -1.9,  -7.4, -98.1])
    """
    best = incumbent(model) if best is None else float(best)
    return _log_improvement(model.predict_dist(X, latent=True), best)


def incumbent(model: Any) -> float:
    """The smallest posterior mean of f at the rows that were fitted."""
    if not isinstance(model, GaussianProcess):
        raise ValueError(f"{type(model).__name__} doesn't keep its training rows: pass best=, the value to improve on")
    return float(np.min(model.posterior_.mean(model.X_train_)))


def _log_improvement(dist: Distribution, best: float) -> Array:
    if isinstance(dist, Mixture):
        # The expectation of a mixture is the mixture of the expectations.
        parts = np.column_stack([_log_improvement(part, best) for part in dist.components])
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(parts + np.log(dist.weights), axis=1))
    if not isinstance(dist, Normal):
        raise TypeError(f"expected improvement needs normal predictions of one target; got {type(dist).__name__}")
    return _log_ei(best - dist.mean, dist.std)


def _log_ei(gap: Array, s: Array) -> Array:
    """ln EI for means that are a gap below the best."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = gap / s
        # For larger z, h(z) = z to the last digit.
        certain = (s == 0) | (z > 40.0)
        return np.where(certain, np.log(np.maximum(gap, 0.0)), np.log(s) + log_h(np.where(certain, 0.0, z)))


def log_h(z: Array) -> Array:
    """ln(φ(z) + zΦ(z)) to the last digits for every z (Ament et al. 2023, eq. 9, with a series for the far tail)."""
    with np.errstate(divide="ignore", over="ignore"):
        inner = np.log(np.exp(-0.5 * z**2 - _HALF_LOG_TAU) + z * ndtr(z))
        return np.where(z > _TAIL, inner, _log_ratio(np.minimum(z, _TAIL)) - 0.5 * z**2 - _HALF_LOG_TAU)


def _log_ratio(z: Array) -> Array:
    """ln(h/φ) for z ≤ −1."""
    middle = np.maximum(z, _FAR_TAIL)
    # h/φ = 1 − |z| Φ(z)/φ(z), and Φ(z)/φ(z) = √(π/2) erfcx(|z|/√2).
    near = np.log1p(middle * math.sqrt(math.pi / 2) * erfcx(-middle / math.sqrt(2)))
    square = np.minimum(z, _FAR_TAIL) ** -2.0
    far = np.log(square) + np.log(np.polynomial.polynomial.polyval(square, np.array(_SERIES)))
    return np.where(z > _FAR_TAIL, near, far)


def _ratios(z: float) -> tuple[float, float]:
    """Φ/h and φ/h: the derivatives of ln EI are −(Φ/h)/s by m and (φ/h)/s by s."""
    if z > _TAIL:
        density = math.exp(-0.5 * z * z - _HALF_LOG_TAU)
        h = density + z * float(ndtr(z))
        return float(ndtr(z)) / h, density / h
    inverse = math.exp(-float(_log_ratio(np.array(z))))
    return math.sqrt(math.pi / 2) * float(erfcx(-z / math.sqrt(2))) * inverse, inverse


class LogImprovement:
    """ln of the improvement on the incumbent x* that one measurement is expected to show, as a surface.

    A surface is a function over the unit cube: `values` at rows, and `slope`, value and gradient at one row.

    x* is the training row of smallest posterior mean. Without noise f(x*) is known, and this is ln EI. With noise
    neither f(x*) nor, after the measurement, f(x) is known. What matters then is the difference f(x*) − f(x), of
    variance v: a measurement with noise variance τ² changes its expected value by a normal amount with standard
    deviation v/√(v + τ²), which replaces s in EI. (Picheny et al. 2013 use τ in this way, Letham et al. 2019 the
    covariances with the training rows.) Plain EI would measure x* again and again.

    If hyperparameters are averaged over, the surface is that of the most probable ones.
    """

    def __init__(self, model: Any) -> None:
        # Everything in standardized units: ln EI of y is larger by ln scale.
        self.scale = float(model.scale_[0])
        self.noise = float(model.noise_variance_) / self.scale**2
        process = model.posterior_.processes[0]
        self.posterior = process.posterior()
        self.origin = model.X_train_[int(np.argmin(process.mean(model.X_train_)))]

    def values(self, rows: Array) -> Array:
        mean, variance = self.posterior.difference(rows, self.origin)
        with np.errstate(invalid="ignore"):
            s = np.where(variance > 0, variance / np.sqrt(variance + self.noise), 0.0)
        return _log_ei(-mean, s) + math.log(self.scale)

    def slope(self, row: Array) -> tuple[float, Array]:
        means, variances = self.posterior.difference(row[None], self.origin)
        gap, v = -float(means[0]), float(variances[0])
        if not v > 0:
            return -math.inf, np.zeros_like(row)
        s = v / math.sqrt(v + self.noise)
        by_gap, by_s = (ratio / s for ratio in _ratios(gap / s))
        by_variance = by_s * (0.5 * v + self.noise) / (v + self.noise) ** 1.5
        try:
            slope = self.posterior.difference_gradient(row, self.origin, by_mean=-by_gap, by_variance=by_variance)
        except ValueError:
            # The kernel has no derivative by its inputs.
            slope = self.by_differences(row)
        return float(_log_ei(np.array(gap), np.array(s))) + math.log(self.scale), slope

    def by_differences(self, row: Array) -> Array:
        """The gradient by central differences."""
        steps = _DIFFERENCE_STEP * np.eye(len(row))
        return (self.values(row + steps) - self.values(row - steps)) / (2 * _DIFFERENCE_STEP)


class LogSuccess:
    """ln of the chance that a measurement succeeds, by inverse-distance weights of those that did and didn't.

    p(x) = Σ_ok wᵢ / Σ_all wᵢ with wᵢ = ‖x − xᵢ‖^(−D−2) (Shepard 1968, with a power above the dimension D, so that the
    neighborhood decides): one at a success, zero at a failure. EI·p is the expected improvement if a failure
    brings none.
    """

    def __init__(self, succeeded: Array, failed: Array) -> None:
        self.rows = np.vstack([succeeded, failed])
        self.succeeded = np.arange(len(self.rows)) < len(succeeded)
        self.power = succeeded.shape[1] + 2

    def values(self, rows: Array) -> Array:
        squares = cdist(rows, self.rows, "sqeuclidean")
        # Relative to the nearest, so that no weight overflows; at distance zero, the outcome there counts.
        nearest = np.maximum(squares.min(axis=1, keepdims=True), np.finfo(float).tiny)
        weights = (nearest / np.maximum(squares, nearest)) ** (0.5 * self.power)
        with np.errstate(divide="ignore"):
            return np.log(weights[:, self.succeeded].sum(axis=1) / weights.sum(axis=1))

    def slope(self, row: Array) -> tuple[float, Array]:
        value = float(self.values(row[None])[0])
        gaps = row - self.rows
        squares = np.einsum("ij,ij->i", gaps, gaps)
        if not math.isfinite(value) or not squares.min() > 0:
            return value, np.zeros_like(row)
        weights = (squares.min() / squares) ** (0.5 * self.power)
        slopes = -self.power * (weights / squares)[:, None] * gaps
        good = self.succeeded
        return value, slopes[good].sum(axis=0) / weights[good].sum() - slopes.sum(axis=0) / weights.sum()


def ascend(surfaces: Sequence[LogImprovement | LogSuccess], start: Array, *, max_evaluations: int = 60) -> Array:
    """The row of the unit cube where L-BFGS ends on the sum of the surfaces.

    The search is in t with x = (1 + sin t)/2 (Box 1966), which needs no bounds and reaches those of the cube.
    """

    def objective(t: Array) -> tuple[float, Array]:
        row = 0.5 * (1.0 + np.sin(t))
        parts = [surface.slope(row) for surface in surfaces]
        return sum(value for value, _ in parts), 0.5 * np.cos(t) * np.sum([slope for _, slope in parts], axis=0)

    # On a bound the derivative by t is zero, so a start is moved inside.
    inside = np.clip(start, 1e-4, 1 - 1e-4)
    end = maximize(objective, np.arcsin(2 * inside - 1), tolerance=1e-9, max_evaluations=max_evaluations)
    # Rounded, so that a result next to a bound is on it.
    return np.round(0.5 * (1.0 + np.sin(end.vector)), 9)
