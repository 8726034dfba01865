"""Log loss with an ℓ₁ penalty: the objective, its duality gap, and the intercepts at their optimum.

    P(W, b) = Σ_i ω_i (ln Σ_k exp f_ik − f_iy) + l1 Σ|W|,    f = XWᵀ + b

Two classes have one score, that of the second, against zero for the first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, log_softmax, softmax

from credo.learning.coordinate.gap import Gap

Array = NDArray[np.float64]

_MOST_NEWTON = 100


@dataclass(frozen=True)
class Labels:
    """Indicators of the classes that have a score, (n_samples, n_scores), and the weights of the rows."""

    Y: Array
    weight: Array

    @property
    def binary(self) -> bool:
        return self.Y.shape[1] == 1

    def probabilities(self, scores: Array) -> Array:
        return expit(scores) if self.binary else softmax(scores, axis=1)

    def loss(self, scores: Array) -> float:
        """Σ ω (−ln p of each label)."""
        if self.binary:
            sign = 2.0 * self.Y[:, 0] - 1.0
            return float(self.weight @ np.logaddexp(0.0, -sign * scores[:, 0]))
        return -float(self.weight @ (self.Y * log_softmax(scores, axis=1)).sum(axis=1))

    def null_loss(self) -> float:
        """The loss of the best constants."""
        totals = self.weight @ self.Y
        shares = np.append(totals, self.weight.sum() - totals.sum()) if self.binary else totals
        return float(self.weight.sum() * entr(shares / self.weight.sum()).sum())

    def centred(self, scores: Array) -> tuple[Array, Array]:
        """The change of intercepts that is optimal for these scores, and the scores with it: Newton's method.

        At the optimum the residuals of each class sum to zero, without which no dual point is feasible.
        """
        change = np.zeros(self.Y.shape[1])
        value = self.loss(scores)
        for _ in range(_MOST_NEWTON):
            p = self.probabilities(scores + change)
            slope = self.weight @ (self.Y - p)
            if np.abs(slope).max() <= 1e-13 * self.weight.sum():
                break
            H = np.diag(self.weight @ p) - (p * self.weight[:, None]).T @ p
            step = np.linalg.lstsq(H, slope, rcond=1e-12)[0]
            while (trial := self.loss(scores + change + step)) > value + 1e-14 * abs(value):
                step *= 0.5
                if np.abs(step).max() < 1e-14:
                    return change, scores + change
            change, value = change + step, trial
        return change, scores + change

    def gap(self, X: Any, W: Array, scores: Array, squares: Array, l1: float) -> Gap:
        """The duality gap; scores must have optimal intercepts, or there must be none.

        The dual point is the residual ω(y − p), shrunk to be feasible; D = Σ ω H(v) with v between label and p. Its
        curvature is at least 4/ω (2/ω for a softmax), which makes the safe sphere √(gap/2) (√gap) in radius.
        """
        p = self.probabilities(scores)
        residual = self.weight[:, None] * (self.Y - p)
        pressure = np.abs(np.asarray(X.T @ residual).T)
        pressure[:, squares == 0.0] = 0.0
        steepest = float(pressure.max(initial=0.0))
        share = min(1.0, l1 / steepest) if steepest > 0.0 else 1.0
        mixed = (1.0 - share) * self.Y + share * p
        entropy = entr(mixed).sum(axis=1)
        if self.binary:
            entropy += entr(1.0 - mixed[:, 0])
        value = self.loss(scores) + l1 * float(np.abs(W).sum()) - float(self.weight @ entropy)
        value = max(value, 0.0)
        radius = np.sqrt(value * (0.5 if self.binary else 1.0) * squares)
        return Gap(value, pressure, share * pressure + radius < l1)
