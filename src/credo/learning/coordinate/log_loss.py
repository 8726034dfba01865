"""Log loss with an ℓ₁ penalty: the objective, its duality gap, and the intercepts at their optimum.

    P(W, b) = Σ_i ω_i (ln Σ_k exp f_ik − f_iy) + l1 Σ|W|,    f = XWᵀ + b

Two classes have one score, that of the second, against zero for the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from credo.learning.coordinate._jit import log_loss
from credo.learning.coordinate.gap import Gap
from credo.learning.coordinate.rows import Rows

Array = NDArray[np.float64]

_MAX_NEWTON_STEPS = 100
_EPS = float(np.finfo(np.float64).eps)


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
        for _ in range(_MAX_NEWTON_STEPS):
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
        abs_gradient[abs_gradient <= 16 * _EPS * bound] = 0.0
        return float(abs_gradient.max(initial=0.0))

    def _abs_gradient(self, rows: Rows, p: Array) -> Array:
        """|x_jᵀω(y − p)| for each class and column; zero for constant columns."""
        abs_gradient = np.abs(np.asarray(rows.transposed @ (self.weight[:, None] * (self.Y - p))).T)
        abs_gradient[:, rows.squares == 0.0] = 0.0
        return abs_gradient
