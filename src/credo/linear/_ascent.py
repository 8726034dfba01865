"""Newton's method, its matrix-free form, and steepest ascent: one loop, three directions.

    Θ ← Θ + t s,    t = 1, ½, ¼, … until the objective has increased enough

Newton's method, here the same as iteratively reweighted least squares (Bishop 4.92), has s = H⁻¹g. Its decrement λ,
λ² = gᵀs, is the distance to the maximum in standard deviations of the Gaussian approximation at Θ, whatever the units
of the columns. A monitor follows the steps, because there is no maximum if the classes are linearly separable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.learning.separation import margin, separation
from credo.core.linalg import EPS, Factor, factorize
from credo.linear._softmax import MatrixFreeObjective, Objective, Point

Array = NDArray[np.float64]

# Smaller differences of two values, relative to the value, are rounding errors.
_ROUNDING = 1e-12
# With more rows per parameter, every tenth row is fitted first.
_SUBSAMPLING_RATIO, _SUBSAMPLING_STEP = 400, 10
COLLINEAR = "the columns are collinear"


@dataclass(frozen=True)
class Curvature:
    """H = D A D with a factored A of unit diagonal, so that the units of the columns don't matter."""

    scale: Array
    factor: Factor

    @classmethod
    def of(cls, H: Array) -> Curvature:
        diagonal = np.diagonal(H)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        A = H / scale[:, None]
        A /= scale
        np.fill_diagonal(A, 1.0)
        return cls(scale, factorize(A, overwrite=True, assume_symmetric=True))

    @property
    def logdet(self) -> float:
        """ln det H."""
        return self.factor.logdet + 2.0 * float(np.log(self.scale).sum())

    def solve(self, b: Array) -> Array:
        """H⁻¹b for a vector."""
        return self.factor.solve(b / self.scale) / self.scale

    def root(self) -> Array:
        """R with H⁻¹ = RᵀR."""
        return self.factor.half_solve(np.eye(len(self.scale))) / self.scale

    def inverse(self) -> Array:
        """H⁻¹, the covariance of the estimates."""
        return self.factor.inverse() / np.outer(self.scale, self.scale)


@dataclass(frozen=True)
class Optimum:
    """Where an ascent ended; `failure` is "" or says why there is no maximum."""

    point: Point
    known_curvature: Curvature | None
    n_iter: int
    converged: bool
    decrement: float
    failure: str = ""

    @property
    def curvature(self) -> Curvature:
        if self.known_curvature is None:
            raise ValueError("this method has no curvature")
        return self.known_curvature


@dataclass(frozen=True)
class Step:
    """A direction of ascent from a point, its slope gᵀs, and what is known about the curvature there."""

    point: Point
    direction: Array
    slope: float
    curvature: Curvature | None = None
    failure: str = ""


# Called with each step; returns a sentence if there is no maximum.
Monitor = Callable[[Objective, Point, Array, float, int], str]


def ascend(
    objective: Objective,
    point: Point,
    method: _Newton | _NewtonCG | _SteepestAscent,
    *,
    max_iter: int,
    monitor: Monitor | None,
) -> Optimum:
    """Steps until gᵀs is below the method's goal, no step increases the objective, or there is no maximum."""
    for n_iter in range(max_iter + 1):
        check()
        step = method.step(point, n_iter)
        point, slope = step.point, step.slope
        end = Optimum(point, step.curvature, n_iter, False, float(np.sqrt(slope)), step.failure)
        if monitor is not None and not end.failure:
            end = replace(end, failure=monitor(objective, point, step.direction, slope, n_iter))
        if end.failure:
            return end
        if slope <= method.goal:
            return replace(end, converged=True)
        if n_iter == max_iter:
            break
        ahead = method.advance(step)
        if ahead is None:
            # No point along a direction of ascent is higher: the result is exact up to rounding.
            return replace(end, converged=slope <= _ROUNDING * max(abs(point.value), 1.0))
        point = ahead
    return end


def line_search(
    objective: Objective, step: Step, *, curvature: bool = False, length: float = 1.0, rounding: float = _ROUNDING
) -> Point | None:
    """The first point along the step that is high enough, or None; the curvature is computed at the full step only."""
    point, full = step.point, length
    while length > 1e-10 * full:
        ahead = objective.evaluate(point.theta + length * step.direction, curvature=curvature and length == full)
        gain = ahead.value - point.value
        # Armijo's rule.
        if gain >= 1e-4 * length * step.slope - rounding * abs(point.value):
            return ahead if gain > 0 or length == full else None
        length /= 2
    return None


def newton(
    objective: Objective,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    monitor: Monitor | None = None,
    independent: bool = False,
    exact_curvature: bool = True,
) -> Optimum:
    """The maximum by Newton's method.

    Ends when the decrement is below `tol` for rows of unit weight on average, or if there is no unique maximum: when
    the monitor says so, or for collinear columns, unless the columns are known to be `independent`. Without
    `exact_curvature`, the curvature that is returned may be that of a point close to the maximum.
    """
    method = _Newton(objective, tol, independent, exact_curvature)
    if start is None:
        start = method.start_on_subsample()
    point = objective.evaluate(start, curvature=method.known is None)
    return ascend(objective, point, method, max_iter=max_iter, monitor=monitor)


class _Newton:
    """Newton's method, which evaluates value, gradient and curvature in one pass over the rows.

    If there are many rows, every tenth row gives a start and a curvature that serve for the first steps on all rows;
    these then need the gradient only.
    """

    def __init__(self, objective: Objective, tol: float, independent: bool, exact: bool) -> None:
        self.goal = tol**2 * objective.mean_weight
        self._objective, self._independent, self._exact = objective, independent, exact
        # The curvature of an earlier point or of the subsample.
        self.known: Curvature | None = None
        self._reuses = False
        self._before = np.inf

    def start_on_subsample(self) -> Array:
        """The maximum on every tenth row if there are many rows, else zero weights."""
        whole = self._objective
        every = slice(None, None, _SUBSAMPLING_STEP)
        few = whole.codes[every]
        if whole.X.shape[0] < _SUBSAMPLING_RATIO * np.prod(whole.shape) or np.unique(few).size < whole.n_classes:
            return whole.start()
        penalty = whole.penalty / _SUBSAMPLING_STEP
        part = replace(whole, X=whole.X[every], codes=few, weight=whole.weight[every], penalty=penalty)
        end = newton(part, start=part.start(), tol=1.0, max_iter=10)
        H = end.point.curvature
        if not end.converged or end.point.min_margin > 0 or H is None:
            return whole.start()
        self.known, self._reuses, self._independent = Curvature.of(_SUBSAMPLING_STEP * H), True, True
        return end.point.theta

    def step(self, point: Point, n_iter: int) -> Step:
        step = self._direction(point)
        # A curvature is reused as long as each step reduces λ² to a tenth.
        if point.curvature is None and (
            step.slope > 0.1 * self._before or (self._exact and step.slope <= self.goal)
        ):  # fmt: skip
            self._before = np.inf
            step = self._direction(self._objective.evaluate(point.theta))
        if n_iter == 0 and not self._independent and self._is_collinear(step):
            return replace(step, failure=COLLINEAR)
        return step

    def advance(self, step: Step) -> Point | None:
        fresh = step.point.curvature is not None
        renew = not self._reuses or (not fresh and self._needs_new_curvature(step.slope))
        ahead = line_search(self._objective, step, curvature=renew)
        if ahead is not None and ahead.curvature is None and not self._reuses:
            ahead = self._objective.evaluate(ahead.theta)
        self.known, self._before = step.curvature, step.slope
        return ahead

    def _direction(self, point: Point) -> Step:
        curvature = self.known if point.curvature is None else Curvature.of(point.curvature)
        assert curvature is not None
        direction = curvature.solve(point.gradient.ravel()).reshape(point.theta.shape)
        return Step(point, direction, max(float(np.vdot(direction, point.gradient)), 0.0), curvature)

    def _needs_new_curvature(self, slope: float) -> bool:
        """Whether an old curvature, at the rate of its last step, needs over three steps, the cost of a new one."""
        known = 0.0 < slope < self._before < np.inf
        return known and bool(np.log(self.goal / slope) < 3 * np.log(slope / self._before))

    def _is_collinear(self, step: Step) -> bool:
        H, curvature, objective = step.point.curvature, step.curvature, self._objective
        assert H is not None and curvature is not None
        # The other columns explain a column up to 1e-9 of its square.
        if np.square(np.diagonal(curvature.factor.L)).min(initial=1.0) < 1e-9:
            return True
        diagonal = np.diagonal(H).reshape(objective.shape)
        mass = diagonal[:, -1:] if objective.intercept else 0.0
        # A constant column differs from its mean by rounding errors only.
        rounding = np.square(16 * EPS * objective.center) * mass
        return bool((diagonal[:, : len(objective.center)] <= rounding).any())


def newton_cg(
    objective: MatrixFreeObjective, *, tol: float, max_iter: int, monitor: Monitor | None
) -> Optimum:  # fmt: skip
    """The maximum by Newton's method if H is too large to store: Hs = g is solved by conjugate gradients."""
    point = objective.evaluate(objective.start())
    return ascend(objective, point, _NewtonCG(objective, tol), max_iter=max_iter, monitor=monitor)


class _NewtonCG:
    """Steps more accurate as they get shorter (Dembo, Eisenstat & Steihaug 1982)."""

    def __init__(self, objective: MatrixFreeObjective, tol: float) -> None:
        self.goal = tol**2 * objective.mean_weight
        self._objective, self._first = objective, 0.0

    def step(self, point: Point, n_iter: int) -> Step:
        times, diagonal = self._objective.product(point.theta)
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        size = float(np.sqrt(np.vdot(point.gradient, point.gradient / diagonal)))
        self._first = self._first or size
        forcing = min(0.5, np.sqrt(size / self._first)) if size > 0 else 0.5
        direction = conjugate_gradients(times, point.gradient, diagonal, forcing * size)
        return Step(point, direction, max(float(np.vdot(direction, point.gradient)), 0.0))

    def advance(self, step: Step) -> Point | None:
        return line_search(self._objective, step)


def conjugate_gradients(times: Callable[[Array], Array], b: Array, diagonal: Array, target: float) -> Array:
    """H⁻¹b by conjugate gradients with the diagonal of H as preconditioner, until the residual's norm is `target`."""
    x = np.zeros_like(b)
    r = b.copy()
    z = r / diagonal
    d, old = z.copy(), float(np.vdot(r, z))
    for _ in range(500):
        if np.sqrt(old) <= target or old == 0.0:
            break
        Hd = times(d)
        curvature = float(np.vdot(d, Hd))
        if curvature <= 0.0:
            break
        a = old / curvature
        x += a * d
        r -= a * Hd
        z = r / diagonal
        new = float(np.vdot(r, z))
        d = z + (new / old) * d
        old = new
    # The preconditioned gradient if not even one product was needed.
    return x if x.any() else b / diagonal


def steepest_ascent(
    objective: Objective, *, tol: float, max_iter: int, monitor: Monitor | None
) -> tuple[Optimum, list[Point]]:  # fmt: skip
    """The maximum by steps D⁻¹g, and all points visited.

    D is the diagonal of the curvature at the start, that is, of the variances of the columns: steepest ascent on
    columns of one scale.
    """
    method = _SteepestAscent(objective, tol)
    return ascend(objective, method.visited[0], method, max_iter=max_iter, monitor=monitor), method.visited


class _SteepestAscent:
    def __init__(self, objective: Objective, tol: float) -> None:
        self.goal = (1e3 * tol) ** 2 * objective.total
        self._objective = objective
        first = objective.evaluate(objective.start())
        if isinstance(objective, MatrixFreeObjective):
            diagonal = objective.product(first.theta)[1]
        else:
            assert first.curvature is not None
            diagonal = np.diagonal(first.curvature).reshape(objective.shape)
        self._metric = np.where(diagonal > 0, diagonal, 1.0)
        self.visited, self._length = [first], 1.0

    def step(self, point: Point, n_iter: int) -> Step:
        direction = point.gradient / self._metric
        return Step(point, direction, float(np.vdot(point.gradient, direction)))

    def advance(self, step: Step) -> Point | None:
        # Twice the last length is tried first, so that steps can grow again.
        ahead = line_search(self._objective, step, length=2.0 * self._length, rounding=EPS)
        if ahead is not None:
            moved = float(np.abs(ahead.theta - step.point.theta).max())
            self._length = moved / float(np.abs(step.direction).max())
            self.visited.append(ahead)
        return ahead


REMEDY = "Use alpha>0, for example alpha=1, which has a maximum."
COMPLETE = (
    "the likelihood has no maximum, because the classes are perfectly separated: larger coefficients always fit "
    f"better. {REMEDY} The coefficients define a separating boundary, but their size is arbitrary"
)
SEPARABLE = (
    "the likelihood has no maximum, because the classes are linearly separable: larger coefficients always fit better. "
    f"{REMEDY} The size of the coefficients is arbitrary"
)
TIED = (
    "the likelihood has no maximum, because the classes are quasi-separated (with ties on the boundary): larger "
    f"coefficients always fit better. {REMEDY} The size of the coefficients is arbitrary"
)
DIVERGING = (
    "the likelihood probably has no maximum: the coefficients keep growing while the likelihood hardly changes, as "
    f"with separable classes. {REMEDY} The size of the coefficients is arbitrary"
)
# With more parameters, the curvature decides instead of a linear program: it must have fallen to this share.
_MAX_PROGRAM_PARAMETERS = 400
_VANISHED_SHARE = 1e-7


class SeparationMonitor:
    """Watches the steps of an ascent, and reports if there is no maximum.

    Without `exact`, no linear program is solved, which would need all rows: those of the objective are a sample.
    """

    def __init__(self, *, exact: bool = True) -> None:
        self._exact, self._decided = exact, False
        # The step at which the classes were found to be separable; the ascent continues until it has separated them.
        self._known: int | None = None

    def __call__(self, objective: Objective, point: Point, step: Array, slope: float, n_iter: int) -> str:
        if point.min_margin > 0:
            return COMPLETE
        if self._known is not None:
            # A boundary exists, and further steps find it.
            return SEPARABLE if n_iter >= self._known + 40 or slope < _VANISHED_SHARE else ""
        if self._decided or n_iter < 8:
            return ""
        moves = scores(objective, step)
        flat = 0.25 * float(objective.weight @ np.square(moves).sum(axis=1))
        # Steps still change scores, although the curvature has nearly vanished.
        if np.abs(moves).max(initial=0.0) < 0.5 or slope > 1e-3 * flat:
            return ""
        if step.size > _MAX_PROGRAM_PARAMETERS or not self._exact:
            return DIVERGING if slope < _VANISHED_SHARE * flat else ""
        self._decided = True
        constraints = _Constraints(objective)
        found = separation(constraints.leads, constraints.at, constraints.total())
        if found is None:
            return ""
        if margin(constraints.leads, constraints.at, found) > 0:
            self._known = n_iter
            return ""
        return TIED


def scores(objective: Objective, theta: Array) -> Array:
    """Θφ for all rows, (n_samples, n_contrasts)."""
    parts = [rows @ theta.T for rows, _ in objective.blocks((0, objective.X.shape[0]))]
    return np.concatenate(parts)


class _Constraints:
    """The aᵢ of `credo.core.learning.separation`: the logit of a row's class must not be below any other."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._all = (0, objective.X.shape[0])
        squares = [np.square(rows).sum(axis=0) for rows, _ in objective.blocks(self._all)]
        scale = np.sqrt(np.sum(squares, axis=0))
        self._scale = np.where(scale > 0, scale, 1.0)
        others = [[k for k in range(objective.n_classes) if k != own] for own in range(objective.n_classes)]
        C = objective.contrasts
        # Cᵀ(e_own − e_rival), of shape (n_samples, n_rivals, n_contrasts).
        self._pairs = C[objective.codes][:, None, :] - C[np.array(others)[objective.codes]]
        size = [np.sqrt(np.square(rows / self._scale).sum(axis=1)) for rows, _ in objective.blocks(self._all)]
        length = np.concatenate(size)[:, None] * np.sqrt(np.square(self._pairs).sum(axis=2))
        self._length = np.where(length > 0, length, 1.0)

    def leads(self, d: Array) -> Array:
        values = scores(self._objective, d.reshape(self._objective.shape) / self._scale)
        return (np.einsum("im,irm->ir", values, self._pairs) / self._length).ravel()

    def at(self, places: NDArray[np.intp]) -> Array:
        i, r = np.unravel_index(places, self._length.shape)
        rows = np.vstack([next(self._objective.blocks((k, k + 1)))[0] for k in i]) / self._scale
        table = np.einsum("im,ij->imj", self._pairs[i, r], rows)
        return table.reshape(len(i), -1) / self._length[i, r][:, None]

    def total(self) -> Array:
        table = np.zeros(self._objective.shape)
        for rows, part in self._objective.blocks(self._all):
            table += np.einsum("irm,ir->mi", self._pairs[part], 1.0 / self._length[part]) @ (rows / self._scale)
        return table.ravel()
