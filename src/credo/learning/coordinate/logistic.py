"""Sparse logistic regression: proximal Newton steps on a working set, each a lasso solved by coordinate descent.

A line search makes sure that each step lowers the objective (Lee, Sun & Saunders 2014). All classes take a step
together or, if there are too many, in groups. The working set is chosen as in `descent`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.estimator import is_sparse
from credo.learning.coordinate.gap import Gap
from credo.learning.coordinate.log_loss import Evaluation, Labels
from credo.learning.coordinate.newton import groups, minimum
from credo.learning.coordinate.rows import Rows, blas_threads_for

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# The fewest columns that may be added to the working set at once.
_FEW = 32
# Working sets with this few entries are faster as dense arrays, however sparse they are.
_DENSE = 10_000
# The quadratic model is solved to this fraction of the current gap at first, and at the finest.
_INNER, _FINEST = 0.01, 1e-10
# After this many rounds without a smaller gap only rounding errors are left.
_STALLED = 30


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
        inner, before, least, since = _INNER, np.inf, np.inf, 0
        for step in range(max_steps + 1):
            check()
            if self.intercept:
                change, self.current = self.labels.with_optimal_intercepts(self.current)
                self.b += change
            gap = self.labels.gap(self.rows, self.W, self.current, l1)
            least, since = (gap.value, 0) if gap.value < least else (least, since + 1)
            # Negated, so that NaN ends the loop too.
            if not gap.value > target or step == max_steps or since == _STALLED:
                break
            candidates &= ~gap.screened.all(axis=0)
            known, working = working, self._working(gap, candidates, working, l1)
            if gap.value > 0.5 * before and len(working) <= len(known):
                # The gap hardly decreases, though the working set hasn't grown: solve the quadratic models better.
                inner = max(0.1 * inner, _FINEST)
            before = gap.value
            if not self._newton_step(working, l1, inner * gap.value):
                if inner == _FINEST:
                    break
                inner = _FINEST
        return gap.value, step

    def _support(self) -> Indices:
        return np.flatnonzero((self.W != 0).any(axis=0))

    def _working(self, gap: Gap, candidates: NDArray[np.bool_], working: Indices, l1: float) -> Indices:
        """The next working set: the support, and columns that violate optimality, the largest gradients first."""
        abs_gradient, support = gap.abs_gradient.max(axis=0), self._support()
        outside = candidates & (abs_gradient > l1)
        outside[working] = False
        found = np.flatnonzero(outside)
        most = max(_FEW, 2 * len(support))
        if len(found) > most:
            found = found[np.argpartition(-abs_gradient[found], most)[:most]]
        return np.unique(np.concatenate([working[candidates[working]], support, found]))

    def _newton_step(self, working: Indices, l1: float, target: float) -> bool:
        """One Newton step for each group of classes, on the working set; returns whether any lowered the objective."""
        X, moved = self.rows.X[:, working], False
        # Dense where sparse storage doesn't pay.
        if is_sparse(X) and X.shape[0] * X.shape[1] <= _DENSE + 10 * X.nnz:
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
