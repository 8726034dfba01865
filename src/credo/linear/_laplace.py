"""Laplace's approximation for logistic and softmax regression: mode, curvature, evidence.

    ln p(Θ | y) = Σᵢ ωᵢ ln softmax(CΘφᵢ)_{yᵢ} − ½ Σ λ_d Θ²_{·d} + …
    q(Θ) = N(Θ̂, H⁻¹),    ln p(y) ≈ ln p(y | Θ̂) − ½ Σ λ_d Θ̂² + ½ ln|Λ| − ½ ln|H|       (Bishop 4.137, 4.142)

φ holds the centred row in the singular basis V of the data, and a 1 for the level: an isotropic prior is the same in
every basis, directions without data keep their prior and cancel in the evidence, and collinear or wildly scaled columns
leave the curvature H well conditioned. So a wide table costs what its rows span, and no p×p matrix exists. The contrasts
C are those of `_softmax`; the mean of the classes' weights, of which the labels say nothing, keeps its prior as well.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from credo.linalg import Factor, factorize
from credo.linear._softmax import Point, Task
from credo.linear._spectrum import Spectrum, spectrum

Array = NDArray[np.float64]

# Rows in the singular basis are held up to this many numbers (800 MB), and else made again in every pass.
_HELD_ENTRIES = 100_000_000
# A curvature of this many parameters fills 3.2 GB.
_MOST_PARAMETERS = 20_000
_MAX_ITER = 200
# Newton's decrement is twice what the objective can still gain. Below _SETTLED a full step can't fail, and what is
# gained is below the rounding error of the objective; below _DONE it is below that of the parameters.
_SETTLED, _DONE = 1e-9, 1e-20
# The scan over ln α, and how far its root is pinned down.
_SCAN_STEP, _SCAN_TOL = 2.5, 1e-9


@dataclass(frozen=True)
class Rotated:
    """Rows in the singular basis, made as they are asked for."""

    X: Any
    spectrum: Spectrum

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], len(self.spectrum.s)

    def __getitem__(self, part: slice) -> Array:
        return self.spectrum.coordinates(self.X[part])


@dataclass(frozen=True)
class LogPosterior(Task):
    """The log posterior: a task whose level has a prior as well, N(0, 1/level_penalty)."""

    level_penalty: float

    def at(self, alpha: float) -> "LogPosterior":
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
    held = X.shape[0] * rank <= _HELD_ENTRIES
    task = LogPosterior(
        X=data.coordinates(X) if held else Rotated(X, data),
        codes=codes,
        weight=np.ones(X.shape[0]) if weight is None else weight,
        n_classes=n_classes,
        center=np.zeros(rank),
        penalty=1.0,
        intercept=intercept,
        level_penalty=level_penalty,
    )
    return task, data


@dataclass(frozen=True)
class Mode:
    """The parameters of largest posterior density, and the curvature H there, as its factor at unit diagonal."""

    point: Point
    factor: Factor
    scale: Array
    n_iter: int
    converged: bool

    @property
    def theta(self) -> Array:
        return self.point.theta

    @property
    def logdet(self) -> float:
        """ln|H|."""
        return self.factor.logdet + 2.0 * float(np.log(self.scale).sum())

    def solve(self, b: Array) -> Array:
        """H⁻¹b for parameters in their shape."""
        return (self.factor.solve(b.ravel() / self.scale) / self.scale).reshape(b.shape)

    def root(self) -> Array:
        """R with H⁻¹ = RᵀR."""
        return self.factor.half_solve(np.eye(len(self.scale))) / self.scale


def find_mode(task: LogPosterior, *, start: Array | None = None) -> Mode:
    """Newton's method with a line search; the posterior is strictly log-concave, so there is one maximum."""
    point, before = task.evaluate(task.start() if start is None else start), math.inf
    for n_iter in range(1, _MAX_ITER + 1):
        mode = _factored(point, n_iter)
        step = mode.solve(point.gradient)
        gain = float((point.gradient * step).sum())
        decrement = gain / (1.0 + abs(point.value))
        # Where rounding is all that is left, the decrement no longer falls.
        if decrement <= _DONE or (decrement <= _SETTLED**1.5 and decrement > 0.25 * before):
            return mode
        before, length = decrement, 1.0
        point = task.evaluate(mode.theta + step)
        while decrement > _SETTLED and not point.value >= mode.point.value + 1e-4 * length * gain:
            length *= 0.5
            if length < 1e-10:
                return replace(mode, converged=False)
            point = task.evaluate(mode.theta + length * step)
    return replace(mode, converged=False)


def _factored(point: Point, n_iter: int) -> Mode:
    H = np.asarray(point.curvature)
    scale = np.sqrt(H.diagonal())
    return Mode(point, factorize(H / np.outer(scale, scale), assume_symmetric=True, overwrite=True), scale, n_iter, True)


def log_evidence(task: LogPosterior, mode: Mode) -> float:
    """ln p(y | α) by Laplace's approximation."""
    return mode.point.value + 0.5 * task.shape[0] * float(np.log(task.prior()).sum()) - 0.5 * mode.logdet


def log_evidence_slope(task: LogPosterior, mode: Mode) -> float:
    """d ln p(y | α)/d ln α, with the mode moving along: dΘ̂/d ln α = −H⁻¹(αW, 0).

    The curvature of a row is Σ_{k<l} p_k p_l c_kl c_klᵀ with c_kl = C_k − C_l, so that −½ d ln|H| along that move is
    −½ Σ d(p_k p_l) v_kl over rows and pairs, v_kl being the posterior variance of the difference of two logits.
    """
    m, width = task.shape
    rank, alpha, C = task.X.shape[1], task.penalty, task.contrasts
    root = mode.root().reshape(m * width, m, width)
    pull = np.zeros(task.shape)
    pull[:, :rank] = alpha * mode.theta[:, :rank]
    move = -mode.solve(pull)
    k, l = np.triu_indices(task.n_classes, 1)
    halves = np.einsum("qj,xjd->qdx", C[k] - C[l], root)
    W = mode.theta[:, :rank]
    total = m * rank - alpha * float(np.einsum("ij,ij->", W, W)) - alpha * float(np.square(root[..., :rank]).sum())
    for rows, part in task.blocks((0, task.X.shape[0])):
        probs = softmax((rows @ mode.theta.T) @ C.T, axis=1)
        shift = (rows @ move.T) @ C.T
        shift -= np.einsum("nk,nk->n", probs, shift)[:, None]
        change = task.weight[part, None] * probs[:, k] * probs[:, l] * (shift[:, k] + shift[:, l])
        for w, half in zip(change.T, halves, strict=True):
            total -= float(w @ np.square(rows @ half).sum(axis=1))
    return 0.5 * total


def best_precision(task: LogPosterior, data: Spectrum) -> tuple[float, Mode, str]:
    """The prior precision at the highest maximum of the evidence, its mode, and where on the range it lies.

    A scan from large precisions, where the weights are zero, to small ones follows the mode; a root of the slope
    pins the maximum down.
    """
    if not len(data.s):
        return task.penalty, find_mode(task), "flat"
    squares = data.s**2
    # From weights that move no log odds by a thousandth to log odds of ten thousand.
    grid = np.arange(math.log(squares.max()) + 14.0, math.log(squares.sum() / data.weight) - 19.0, -_SCAN_STEP)
    thetas: list[Array] = []
    heights: list[float] = []
    for u in grid:
        here = task.at(math.exp(u))
        mode = find_mode(here, start=thetas[-1] if thetas else None)
        thetas.append(mode.theta)
        heights.append(log_evidence(here, mode))
    best = int(np.argmax(heights))
    if best in (0, len(grid) - 1):
        alpha = math.exp(grid[best])
        return alpha, find_mode(task.at(alpha), start=thetas[best]), "low" if best else "high"
    return *_climb(task, grid[best - 1 : best + 2].tolist(), thetas[best]), "inner"


def _climb(task: LogPosterior, u: list[float], theta: Array) -> tuple[float, Mode]:
    """The maximum between three points of falling u, the middle one the highest: a root of the slope by Illinois."""

    def visit(u: float, theta: Array) -> tuple[float, Mode]:
        here = task.at(math.exp(u))
        mode = find_mode(here, start=theta)
        return log_evidence_slope(here, mode), mode

    b, (at_b, mode) = u[1], visit(u[1], theta)
    a = u[0] if at_b > 0 else u[2]
    at_a, _ = visit(a, theta)
    if at_a * at_b >= 0:
        return math.exp(b), mode
    for _ in range(_MAX_ITER):
        middle = (a * at_b - b * at_a) / (at_b - at_a)
        slope, mode = visit(middle, mode.theta)
        if abs(middle - b) <= _SCAN_TOL or slope == 0:
            return math.exp(middle), mode
        if slope * at_b < 0:
            a, at_a = b, at_b
        else:
            # The end that stays counts half, or it would stay for ever (Dowell & Jarratt 1971).
            at_a *= 0.5
        b, at_b = middle, slope
    return math.exp(b), mode
