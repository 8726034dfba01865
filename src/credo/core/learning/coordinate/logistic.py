"""Log loss with an ℓ₁ penalty: the objective, its duality gap, and the intercepts at their optimum.

    P(W, b) = Σ_i ω_i (ln Σ_k exp f_ik − f_iy) + l1 Σ|W|,    f = XWᵀ + b

Two classes have one score, that of the second; that of the first is zero.

Newton steps minimize the second-order expansion of the log loss in the scores, a quadratic in the coefficients. For one
class that is weighted least squares (iteratively reweighted least squares), solved on a Gram matrix or on sparse
columns. For several classes at once the Hessian of row i in its scores is diag(p_i) − p_i p_iᵀ, and the Gram matrix has
a column for every pair of class and feature.

Sparse logistic regression takes such proximal Newton steps on a working set, each a lasso solved by coordinate descent.
A line search makes sure that each step lowers the objective (Lee, Sun & Saunders 2014). All classes take a step
together or, if there are too many, in groups. The working set is chosen as in `descent`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from scipy.special import entr

from credo.core.deadlines import check
from credo.core.estimator import is_sparse
from credo.core.learning.coordinate._jit import gram_descent, log_loss
from credo.core.learning.coordinate.rows import Gap, GramWorkingSet, Rows, SparseWorkingSet, blas_threads_for
from credo.core.linalg import EPS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Scores f, (n_samples, n_scores), their probabilities p, and the loss Σ ω (−ln p of each label)."""

    scores: Array
    p: Array
    loss: float


@dataclass(frozen=True)
class Labels:
    """Indicators of the classes that have a score, (n_samples, n_scores), and the weights of the rows."""

    Y: Array
    weight: Array

    @classmethod
    def of(cls, codes: NDArray[np.intp], n_classes: int, weight: Array) -> Self:
        """The labels of rows as indices of classes."""
        scored = np.arange(1 if n_classes == 2 else 0, n_classes)
        return cls((codes[:, None] == scored).astype(np.float64), weight)

    @property
    def binary(self) -> bool:
        return self.Y.shape[1] == 1

    def evaluate(self, scores: Array) -> Evaluation:
        p = np.empty_like(self.Y)
        return Evaluation(scores, p, log_loss(scores, self.Y, self.weight, p))

    def null_loss(self) -> float:
        """The loss of the intercept-only model."""
        totals = self.weight @ self.Y
        shares = np.append(totals, self.weight.sum() - totals.sum()) if self.binary else totals
        return float(self.weight.sum() * entr(shares / self.weight.sum()).sum())

    def with_optimal_intercepts(self, current: Evaluation) -> tuple[Array, Evaluation]:
        """The change of intercepts that is optimal for these scores, by Newton's method, and the loss with it.

        At the optimum the residuals of each class sum to zero, which a feasible dual point requires.
        """
        change, total = np.zeros(self.Y.shape[1]), float(self.weight.sum())
        for _ in range(100):
            slope = self.weight @ (self.Y - current.p)
            # Negated, so that NaN ends the loop too.
            if not np.abs(slope).max() > 1e-13 * total:
                break
            H = np.diag(self.weight @ current.p) - (current.p * self.weight[:, None]).T @ current.p
            step = np.linalg.lstsq(H, slope, rcond=1e-12)[0]
            while (trial := self.evaluate(current.scores + step)).loss > current.loss + 1e-14 * abs(current.loss):
                step *= 0.5
                if np.abs(step).max() < 1e-14:
                    return change, current
            change, current = change + step, trial
        return change, current

    def gap(self, rows: Rows, W: Array, current: Evaluation, l1: float) -> Gap:
        """The duality gap; the intercepts must be optimal, or there must be none.

        The dual point is the residual ω(y − p), rescaled to be feasible: the dual objective is Σ ω H(v), with the
        entropy H of a v between label and p. It is strongly concave with constant 4/ω (2/ω for a softmax), so the safe
        sphere has radius √(gap/2) (√gap).
        """
        abs_gradient = self._abs_gradient(rows, current.p)
        largest = float(abs_gradient.max(initial=0.0))
        scale = min(1.0, l1 / largest) if largest > 0.0 else 1.0
        mixed = (1.0 - scale) * self.Y + scale * current.p
        entropy = entr(mixed).sum(axis=1)
        if self.binary:
            entropy += entr(1.0 - mixed[:, 0])
        value = max(current.loss + l1 * float(np.abs(W).sum()) - float(self.weight @ entropy), 0.0)
        radius = np.sqrt(value * (0.5 if self.binary else 1.0) * rows.squares)
        return Gap(value, abs_gradient, scale * abs_gradient + radius < l1)

    def l1_max(self, rows: Rows, *, intercept: bool) -> float:
        """The smallest ℓ₁ penalty at which all coefficients are zero; 0 if the gradient there is a rounding error."""
        current = self.evaluate(np.zeros_like(self.Y))
        p = self.with_optimal_intercepts(current)[1].p if intercept else current.p
        abs_gradient = self._abs_gradient(rows, p)
        # The largest value that the sum could have, by Cauchy and Schwarz: √Σωx² √Σω(y − p)².
        bound = np.sqrt(np.outer(self.weight @ np.square(self.Y - p), rows.squares))
        abs_gradient[abs_gradient <= 16 * EPS * bound] = 0.0
        return float(abs_gradient.max(initial=0.0))

    def _abs_gradient(self, rows: Rows, p: Array) -> Array:
        """|x_jᵀω(y − p)| for each class and column; zero for constant columns."""
        abs_gradient = np.abs(np.asarray(rows.transposed @ (self.weight[:, None] * (self.Y - p))).T)
        abs_gradient[:, rows.squares == 0.0] = 0.0
        return abs_gradient


Indices = NDArray[np.intp]

# Passes of coordinate descent in one step.
_MAX_PASSES = 1000
# The order of the largest common Gram matrix of several classes.
_MAX_GRAM_ORDER = 1000


def groups(n_scores: int, shape: tuple[int, int]) -> list[Indices]:
    """The classes in groups that take a step together: all of them if memory allows."""
    n_samples, n_features = shape
    # The Gram matrix is made from a matrix of at most 160 MB.
    together = min(_MAX_GRAM_ORDER, 20_000_000 // n_samples) // max(n_features, 1)
    return np.array_split(np.arange(n_scores), -(-n_scores // max(together, 1)))


def minimum(
    X: Any, labels: Labels, p: Array, old: Array, group: Indices, *, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    """Coefficients (n_group, n_features) that minimize the penalized expansion at p, and the change of intercepts.

    `old` are the coefficients at which the probabilities are p.
    """
    if len(group) > 1:
        return _several(X, labels, p[:, group], old, group, l1, intercept, target)
    q, residual = p[:, group[0]], labels.Y[:, group[0]] - p[:, group[0]]
    curvature = q * (1.0 - q) + _floor(residual[:, None])
    response = residual / curvature + np.asarray(X @ old[0])
    rows, w = Rows.of(X, response, labels.weight * curvature, center=intercept), old[0].copy()
    # A pass over a Gram matrix takes p² products, eight at a time; one over sparse columns reads each entry twice.
    sparse = is_sparse(X) and len(w) ** 2 > 16 * (X.nnz + len(p))
    working_set = SparseWorkingSet(rows, w) if sparse else GramWorkingSet(rows, w, whole=True)
    working_set.add(np.arange(len(w)))
    working_set.descend(l1=l1, l2=0.0, target=target, max_passes=_MAX_PASSES)
    return w[None], np.array([rows.intercept(w) if intercept else 0.0])


def _floor(residual: Array) -> Array:
    """Added to p(1 − p): rows that are predicted wrongly with certainty have no curvature of their own."""
    return 1e-6 * np.abs(residual).max(axis=1) + 1e-16


def _several(
    X: Any, labels: Labels, p: Array, old: Array, group: Indices, l1: float, intercept: bool, target: float
) -> tuple[Array, Array]:
    omega, residual = labels.weight, labels.Y[:, group] - p
    floor = _floor(residual)
    K = _curvature(X, p, omega, floor)
    w = old.ravel().copy()
    g = np.asarray(X.T @ (omega[:, None] * residual)).T.ravel()
    c = K @ w + g
    yy = float(w @ (c + g)) + float(omega @ _decrements(p, residual, floor))
    b_step = np.zeros(len(group))
    if intercept:
        # The intercepts at their optimum for any coefficients: a Schur complement.
        H, U = _intercept_curvature(X, p, omega, floor)
        v = U.T @ w + omega @ residual
        solved = np.linalg.solve(H, np.column_stack([v, U.T]))
        K -= U @ solved[:, 1:]
        c -= U @ solved[:, 0]
        yy -= float(v @ solved[:, 0])
        g = c - K @ w
    gram_descent(K, len(w), c, w, g, l1, 0.0, yy, target, _MAX_PASSES)
    if intercept:
        b_step = solved[:, 0] - solved[:, 1:] @ w
    return w.reshape(old.shape), b_step


def _curvature(X: Any, p: Array, omega: Array, floor: Array) -> Array:
    """Σ ω (diag(p + floor) − ppᵀ) ⊗ xxᵀ, pairs of class and column in the order of the classes."""
    n_classes, n_features = p.shape[1], X.shape[1]
    scaled = np.sqrt(omega)[:, None] * p
    if is_sparse(X):
        products = sp.hstack([X.multiply(scaled[:, [k]]) for k in range(n_classes)], format="csc")
        K = -(products.T @ products).toarray()
    else:
        products = (scaled[:, :, None] * X[:, None, :]).reshape(len(p), -1)
        K = -(products.T @ products)
    for k in range(n_classes):
        part = slice(k * n_features, (k + 1) * n_features)
        weight = (omega * (p[:, k] + floor))[:, None]
        own = X.T @ (X.multiply(weight) if is_sparse(X) else weight * X)
        K[part, part] += own.toarray() if is_sparse(own) else own
    return np.ascontiguousarray(K)


def _intercept_curvature(X: Any, p: Array, omega: Array, floor: Array) -> tuple[Array, Array]:
    """The same curvature among the intercepts, (n_group, n_group), and between coefficients and intercepts."""
    n_classes = p.shape[1]
    H = -(omega[:, None] * p)[:, :, None] * p[:, None, :]
    H[:, np.arange(n_classes), np.arange(n_classes)] += (omega * (p.T + floor)).T
    U = np.asarray(X.T @ H.reshape(len(p), -1))
    U = U.reshape(X.shape[1], n_classes, n_classes).transpose(1, 0, 2).reshape(-1, n_classes)
    return H.sum(axis=0), U


def _decrements(p: Array, residual: Array, floor: Array) -> Array:
    """An upper bound of rᵀH⁻¹r for each row; H⁻¹ is diag(1/p) plus 1/rest if some class isn't in the group."""
    rest, left = 1.0 - p.sum(axis=1), residual.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (residual**2 / p).sum(axis=1)
        exact += np.where(np.abs(left) > 1e-12, left**2 / rest, 0.0)
    flat = (residual**2).sum(axis=1) / floor
    return np.where((rest > -1e-12) & (exact < flat), exact, flat)


# The quadratic model is solved to at least this fraction of the current gap.
_MIN_GAP_SHARE = 1e-10


@dataclass
class LogisticSolution:
    """Coefficients (n_scores, n_features), intercepts and the duality gap at the end."""

    W: Array
    b: Array
    gap: float
    n_steps: int
    converged: bool


def logistic_path(
    rows: Rows,
    labels: Labels,
    penalties: Array,
    *,
    intercept: bool,
    start: tuple[Array, Array],
    tol: float,
    max_steps: int,
) -> Iterator[LogisticSolution]:
    """Coefficients that minimize the penalized log loss, to a gap of tol × the loss of the intercept-only model.

    One solution for each penalty, best from the largest down: each starts from the one before, the first from the given
    coefficients and intercepts.
    """
    W, b = start[0].copy(), start[1] + start[0] @ rows.offset
    solver = _Solver(rows, labels, intercept, W, b, labels.evaluate(np.asarray(rows.X @ W.T) + b))
    target = tol * labels.null_loss()
    for l1 in penalties:
        with blas_threads_for(rows.X):
            gap, n_steps = solver.solve(l1, target, max_steps)
        yield LogisticSolution(W.copy(), b - W @ rows.offset, gap, n_steps, bool(gap <= target))


@dataclass
class _Solver:
    """Coefficients and intercepts, which change in place, with their scores and loss."""

    rows: Rows
    labels: Labels
    intercept: bool
    W: Array
    b: Array
    current: Evaluation

    def solve(self, l1: float, target: float, max_steps: int) -> tuple[float, int]:
        """Newton steps until the gap is at most `target`; returns the gap and the number of steps."""
        candidates = self.rows.squares > 0.0
        working = self._support()
        inner, before, least, since = 0.01, np.inf, np.inf, 0
        for step in range(max_steps + 1):
            check()
            if self.intercept:
                change, self.current = self.labels.with_optimal_intercepts(self.current)
                self.b += change
            gap = self.labels.gap(self.rows, self.W, self.current, l1)
            least, since = (gap.value, 0) if gap.value < least else (least, since + 1)
            # Negated, so that NaN ends the loop too. After 30 rounds without a smaller gap only rounding is left.
            if not gap.value > target or step == max_steps or since == 30:
                break
            candidates &= ~gap.screened.all(axis=0)
            known, working = working, self._working(gap, candidates, working, l1)
            if gap.value > 0.5 * before and len(working) <= len(known):
                # The gap hardly decreases, though the working set hasn't grown: solve the quadratic models better.
                inner = max(0.1 * inner, _MIN_GAP_SHARE)
            before = gap.value
            if not self._newton_step(working, l1, inner * gap.value):
                if inner == _MIN_GAP_SHARE:
                    break
                inner = _MIN_GAP_SHARE
        return gap.value, step

    def _support(self) -> Indices:
        return np.flatnonzero((self.W != 0).any(axis=0))

    def _working(self, gap: Gap, candidates: NDArray[np.bool_], working: Indices, l1: float) -> Indices:
        """The next working set: the support, and columns that violate optimality, the largest gradients first."""
        abs_gradient, support = gap.abs_gradient.max(axis=0), self._support()
        outside = candidates & (abs_gradient > l1)
        outside[working] = False
        found = np.flatnonzero(outside)
        most = max(32, 2 * len(support))
        if len(found) > most:
            found = found[np.argpartition(-abs_gradient[found], most)[:most]]
        return np.unique(np.concatenate([working[candidates[working]], support, found]))

    def _newton_step(self, working: Indices, l1: float, target: float) -> bool:
        """One Newton step for each group of classes, on the working set; returns whether any lowered the objective."""
        X, moved = self.rows.X[:, working], False
        # Dense if sparse storage isn't faster.
        if is_sparse(X) and X.shape[0] * X.shape[1] <= 10_000 + 10 * X.nnz:
            X = X.toarray()
        for group in groups(len(self.W), X.shape):
            index = np.ix_(group, working)
            old, p = self.W[index], self.current.p
            new, b_step = minimum(X, self.labels, p, old, group, l1=l1, intercept=self.intercept, target=target)
            score_step = np.asarray(X @ (new - old).T) + b_step
            self.current, size = self._line_search(group, score_step, old, new - old, l1)
            self.W[index] = new if size == 1.0 else old + size * (new - old)
            self.b[group] += size * b_step
            moved |= size > 0.0
        return moved

    def _line_search(
        self, group: Indices, score_step: Array, old: Array, step: Array, l1: float
    ) -> tuple[Evaluation, float]:
        """Backtracking with step lengths 1, ½, ¼, … until Armijo's rule holds; the length is 0 if it never does."""
        labels, current, norm = self.labels, self.current, float(np.abs(old).sum())
        expected = -float(labels.weight @ ((labels.Y - current.p)[:, group] * score_step).sum(axis=1))
        expected += l1 * (float(np.abs(old + step).sum()) - norm)
        size = 1.0
        while size > 1e-10:
            scores = current.scores.copy()
            scores[:, group] += size * score_step
            trial = labels.evaluate(scores)
            change = trial.loss - current.loss + l1 * (float(np.abs(old + size * step).sum()) - norm)
            if change <= 0.1 * size * expected + 1e-14 * abs(current.loss):
                return trial, size
            size *= 0.5
        return current, 0.0
