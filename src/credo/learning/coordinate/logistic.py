"""Sparse logistic regression: Newton steps on the columns at work, each a lasso solved by coordinate descent.

The second-order expansion of the loss in the scores of one class is a weighted least-squares problem (iterated
reweighted least squares), so that a step is what `blocks` solves; a line search makes it a descent (Lee, Sun &
Saunders 2014). Classes take turns. Which columns are at work is decided as in `descent`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.learning.coordinate.blocks import Columns, Gram
from credo.learning.coordinate.gap import Gap
from credo.learning.coordinate.labels import Labels
from credo.learning.coordinate.rows import Rows, is_sparse

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_FEW = 32
# Curvatures of rows that are decided beyond doubt are raised to this share of the largest possible one.
_FLATTEST = 1e-6
# The quadratic model of a step is solved to this share of the present gap at first.
_INNER = 0.01
# Passes of coordinate descent in one Newton step.
_PASSES = 1000


@dataclass
class Verdict:
    """Weights (n_scores, n_features) and intercepts at the end of the descent, and the gap that it was ended by."""

    W: Array
    b: Array
    gap: float
    n_steps: int
    converged: bool


def classify(
    X: Any,
    labels: Labels,
    *,
    l1: float,
    squares: Array,
    intercept: bool,
    start: tuple[Array, Array],
    tol: float,
    max_steps: int,
) -> Verdict:
    """Weights that minimise the penalised log loss, to a gap of tol × the loss of constants."""
    W, b = start[0].copy(), start[1].copy()
    target = tol * labels.null_loss()
    scores = np.asarray(X @ W.T) + b
    alive = squares > 0.0
    working = np.flatnonzero((W != 0).any(axis=0))
    inner, before = _INNER, np.inf
    for step in range(max_steps + 1):
        if intercept:
            change, scores = labels.centred(scores)
            b += change
        gap = labels.gap(X, W, scores, squares, l1)
        if gap.value <= target or step == max_steps:
            break
        alive &= ~gap.excluded.all(axis=0)
        working = _working(gap, W, alive, working, l1)
        # Where the gap hardly falls, the models aren't solved well enough to show the way.
        inner, before = inner if gap.value < 0.5 * before else max(0.1 * inner, 1e-10), gap.value
        scores = _cycle(X[:, working], labels, W, b, working, scores, l1, intercept, inner * gap.value)
    return Verdict(W, b, gap.value, step, gap.value <= target)


def _working(gap: Gap, W: Array, alive: NDArray[np.bool_], working: Order, l1: float) -> Order:
    """The support and the columns at work that still matter, and the steepest of those that violate optimality."""
    pressure = gap.pressure.max(axis=0)
    waiting = alive & (pressure > l1)
    waiting[working] = False
    found = np.flatnonzero(waiting)
    support = np.flatnonzero((W != 0).any(axis=0))
    most = max(_FEW, 2 * len(support))
    if len(found) > most:
        found = found[np.argpartition(-pressure[found], most)[:most]]
    return np.unique(np.concatenate([working[alive[working]], support, found]))


def _cycle(
    X: Any,
    labels: Labels,
    W: Array,
    b: Array,
    working: Order,
    scores: Array,
    l1: float,
    intercept: bool,
    target: float,
) -> Array:
    """One Newton step for each class in turn, on the columns at work; W and b change in place. The new scores."""
    for k in range(labels.Y.shape[1]):
        p = labels.probabilities(scores)[:, k]
        slope = labels.Y[:, k] - p
        curvature = np.maximum(p * (1.0 - p), 0.25 * _FLATTEST)
        old = W[k, working].copy()
        fitted = np.asarray(X @ old)
        rows = Rows.of(X, slope / curvature + fitted, labels.weight * curvature, center=intercept)
        block = Columns(rows, old.copy()) if is_sparse(X) else Gram(rows, old.copy(), whole=True)
        block.admit(np.arange(len(old)))
        block.descend(l1=l1, l2=0.0, target=target, max_passes=_PASSES)
        step = block.w - old
        level = rows.intercept(block.w) if intercept else 0.0
        move = np.asarray(X @ step) + level
        scores, size = _searched(labels, scores, k, move, old, step, l1)
        W[k, working] = block.w if size == 1.0 else old + size * step
        b[k] += size * level
    return scores


def _searched(
    labels: Labels, scores: Array, k: int, move: Array, old: Array, step: Array, l1: float
) -> tuple[Array, float]:  # fmt: skip
    """The scores after the longest of 1, ½, ¼, … steps that lowers the objective as it should (Armijo's rule)."""
    value, norm = labels.loss(scores), float(np.abs(old).sum())
    p = labels.probabilities(scores)[:, k]
    expected = -float((labels.weight * (labels.Y[:, k] - p)) @ move)
    expected += l1 * (float(np.abs(old + step).sum()) - norm)
    size = 1.0
    while size > 1e-10:
        trial = scores.copy()
        trial[:, k] += size * move
        fall = labels.loss(trial) - value + l1 * (float(np.abs(old + size * step).sum()) - norm)
        if fall <= 0.1 * size * expected + 1e-14 * abs(value):
            return trial, size
        size *= 0.5
    return scores, 0.0


def column_squares(X: Any, weight: Array, *, center: bool) -> Array:
    """Σ ω (x − x̄)² of each column; 0 where it is constant to rounding error."""
    return Rows.of(X, np.zeros(X.shape[0]), weight, center=center).squares
