"""Sparse logistic regression: Newton steps on a working set, each a lasso solved by coordinate descent.

A line search makes the steps a descent (Lee, Sun & Saunders 2014). Classes take a step together or, if they are too
many for that, in turn. The working set is chosen as in `descent`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.learning.coordinate.gap import Gap
from credo.learning.coordinate.labels import Labels, Odds
from credo.learning.coordinate.newton import groups, minimum
from credo.learning.coordinate.rows import Rows, is_sparse, undivided

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_FEW = 32
# Sparse columns of so few numbers are handled quicker as dense ones, whatever is in them.
_DENSE = 10_000
# The quadratic model of a step is solved to this share of the present gap at first, and at the finest.
_INNER, _FINEST = 0.01, 1e-10
# Rounds without a smaller gap after which rounding errors are all that is left.
_STALLED = 30


@dataclass
class Verdict:
    """Coefficients (n_scores, n_features), intercepts and the duality gap at the end."""

    W: Array
    b: Array
    gap: float
    n_steps: int
    converged: bool


def classify(
    rows: Rows,
    labels: Labels,
    penalties: Array,
    *,
    intercept: bool,
    start: tuple[Array, Array],
    tol: float,
    max_steps: int,
) -> Iterator[Verdict]:
    """Coefficients that minimize the penalized log loss, to a gap of tol × the loss of the intercept-only model.

    One solution for each penalty, best from the largest down: each starts from the one before, the first from the given
    coefficients and intercepts.
    """
    W, b = start[0].copy(), start[1] + start[0] @ rows.offset
    odds, target = labels.odds(np.asarray(rows.X @ W.T) + b), tol * labels.null_loss()
    for l1 in penalties:
        with undivided(rows.X):
            gap, odds, n_steps = _solve(rows, labels, W, b, odds, l1, intercept, target, max_steps)
        yield Verdict(W.copy(), b - W @ rows.offset, gap.value, n_steps, bool(gap.value <= target))


def _solve(
    rows: Rows,
    labels: Labels,
    W: Array,
    b: Array,
    odds: Odds,
    l1: float,
    intercept: bool,
    target: float,
    max_steps: int,
) -> tuple[Gap, Odds, int]:
    """Rounds of Newton steps until the gap is at most `target`; W and b change in place. Gap, odds and rounds."""
    alive = rows.squares > 0.0
    working = np.flatnonzero((W != 0).any(axis=0))
    inner, before, least, since = _INNER, np.inf, np.inf, 0
    for step in range(max_steps + 1):
        check()
        if intercept:
            change, odds = labels.centred(odds)
            b += change
        gap = labels.gap(rows, W, odds, l1)
        least, since = (gap.value, 0) if gap.value < least else (least, since + 1)
        # NaN is never larger than the target.
        if not gap.value > target or step == max_steps or since == _STALLED:
            break
        alive &= ~gap.excluded.all(axis=0)
        known, working = working, _working(gap, W, alive, working, l1)
        if gap.value > 0.5 * before and len(working) <= len(known):
            # The gap hardly falls, though nobody has come: the models aren't solved well enough to show the way.
            inner = max(0.1 * inner, _FINEST)
        before = gap.value
        odds, moved = _cycle(_part(rows.X, working), labels, W, b, working, odds, l1, intercept, inner * gap.value)
        if not moved:
            if inner == _FINEST:
                break
            inner = _FINEST
    return gap, odds, step


def _working(gap: Gap, W: Array, alive: NDArray[np.bool_], working: Order, l1: float) -> Order:
    """The next working set: the support, and columns that violate optimality, those with the largest gradient first."""
    pressure = gap.pressure.max(axis=0)
    waiting = alive & (pressure > l1)
    waiting[working] = False
    found = np.flatnonzero(waiting)
    support = np.flatnonzero((W != 0).any(axis=0))
    most = max(_FEW, 2 * len(support))
    if len(found) > most:
        found = found[np.argpartition(-pressure[found], most)[:most]]
    return np.unique(np.concatenate([working[alive[working]], support, found]))


def _part(X: Any, working: Order) -> Any:
    """The columns of the working set, dense where sparse storage doesn't pay."""
    part = X[:, working]
    return part.toarray() if is_sparse(part) and part.shape[0] * part.shape[1] <= _DENSE + 10 * part.nnz else part


def _cycle(
    X: Any,
    labels: Labels,
    W: Array,
    b: Array,
    working: Order,
    odds: Odds,
    l1: float,
    intercept: bool,
    target: float,
) -> tuple[Odds, bool]:
    """One Newton step for each group of classes, on the working set; W and b change in place.

    The new odds, and whether any step was one that lowers the objective.
    """
    moved = False
    for group in groups(len(W), X.shape):
        place = np.ix_(group, working)
        old = W[place]
        new, level = minimum(X, labels, odds.p, old, group, l1=l1, intercept=intercept, target=target)
        move = np.asarray(X @ (new - old).T) + level
        odds, size = _searched(labels, odds, group, move, old, new - old, l1)
        W[place] = new if size == 1.0 else old + size * (new - old)
        b[group] += size * level
        moved |= size > 0.0
    return odds, moved


def _searched(
    labels: Labels, odds: Odds, group: Order, move: Array, old: Array, step: Array, l1: float
) -> tuple[Odds, float]:  # fmt: skip
    """The odds after a backtracking line search with step lengths 1, ½, ¼, … (Armijo's rule)."""
    norm = float(np.abs(old).sum())
    expected = -float(labels.weight @ ((labels.Y - odds.p)[:, group] * move).sum(axis=1))
    expected += l1 * (float(np.abs(old + step).sum()) - norm)
    size = 1.0
    while size > 1e-10:
        scores = odds.scores.copy()
        scores[:, group] += size * move
        trial = labels.odds(scores)
        fall = trial.loss - odds.loss + l1 * (float(np.abs(old + size * step).sum()) - norm)
        if fall <= 0.1 * size * expected + 1e-14 * abs(odds.loss):
            return trial, size
        size *= 0.5
    return odds, 0.0
