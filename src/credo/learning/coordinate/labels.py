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

_MOST_NEWTON = 100
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Odds:
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

    def odds(self, scores: Array) -> Odds:
        p = np.empty_like(self.Y)
        return Odds(scores, p, log_loss(scores, self.Y, self.weight, p))

    def null_loss(self) -> float:
        """The loss of the intercept-only model."""
        totals = self.weight @ self.Y
        shares = np.append(totals, self.weight.sum() - totals.sum()) if self.binary else totals
        return float(self.weight.sum() * entr(shares / self.weight.sum()).sum())

    def centred(self, odds: Odds) -> tuple[Array, Odds]:
        """The change of intercepts that is optimal for these scores, and the odds with it: Newton's method.

        At the optimum the residuals of each class sum to zero, without which no dual point is feasible.
        """
        change, total = np.zeros(self.Y.shape[1]), float(self.weight.sum())
        for _ in range(_MOST_NEWTON):
            slope = self.weight @ (self.Y - odds.p)
            # NaN ends it too.
            if not np.abs(slope).max() > 1e-13 * total:
                break
            H = np.diag(self.weight @ odds.p) - (odds.p * self.weight[:, None]).T @ odds.p
            step = np.linalg.lstsq(H, slope, rcond=1e-12)[0]
            while (trial := self.odds(odds.scores + step)).loss > odds.loss + 1e-14 * abs(odds.loss):
                step *= 0.5
                if np.abs(step).max() < 1e-14:
                    return change, odds
            change, odds = change + step, trial
        return change, odds

    def gap(self, rows: Rows, W: Array, odds: Odds, l1: float) -> Gap:
        """The duality gap; the intercepts must be optimal, or there must be none.

        The dual point is the residual ω(y − p), shrunk to be feasible; D = Σ ω H(v) with v between label and p. Its
        curvature is at least 4/ω (2/ω for a softmax), which makes the safe sphere √(gap/2) (√gap) in radius.
        """
        pressure = self._pressure(rows, odds.p)
        steepest = float(pressure.max(initial=0.0))
        share = min(1.0, l1 / steepest) if steepest > 0.0 else 1.0
        mixed = (1.0 - share) * self.Y + share * odds.p
        entropy = entr(mixed).sum(axis=1)
        if self.binary:
            entropy += entr(1.0 - mixed[:, 0])
        value = odds.loss + l1 * float(np.abs(W).sum()) - float(self.weight @ entropy)
        value = max(value, 0.0)
        radius = np.sqrt(value * (0.5 if self.binary else 1.0) * rows.squares)
        return Gap(value, pressure, share * pressure + radius < l1)

    def steepest(self, rows: Rows, *, intercept: bool) -> float:
        """The smallest ℓ₁ penalty at which all coefficients are zero; 0 where the slopes are rounding errors."""
        odds = self.odds(np.zeros_like(self.Y))
        p = self.centred(odds)[1].p if intercept else odds.p
        pressure = self._pressure(rows, p)
        # By Cauchy and Schwarz a slope is at most √Σωx² √Σω(y − p)², which is what it is a sum of.
        most = np.sqrt(np.outer(self.weight @ np.square(self.Y - p), rows.squares))
        pressure[pressure <= 16 * _EPS * most] = 0.0
        return float(pressure.max(initial=0.0))

    def _pressure(self, rows: Rows, p: Array) -> Array:
        """|x_jᵀω(y − p)| for each class and column; zero for constant columns."""
        pressure = np.abs(np.asarray(rows.transposed @ (self.weight[:, None] * (self.Y - p))).T)
        pressure[:, rows.squares == 0.0] = 0.0
        return pressure
