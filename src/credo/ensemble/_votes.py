"""Calibrated probabilities from the votes of a boosted classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from credo.estimator import check_positive, check_shapes
from credo.learning.hyperparameters import maximize

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class VoteScale:
    """p = softmax(slope · F + bias) for the votes F of the classes; slope 1 and bias 0 are AdaBoost's own formula.

    `total` is the sum of the weights of all votes. After some of the rounds, the bias is in proportion to their part of
    it.
    """

    slope: float
    bias: Array
    total: float

    def _check_state(self) -> None:
        check_shapes(self, slope="", bias="k", total="")
        check_positive(self, "slope")
        check_positive(self, "total", zero=True)

    @classmethod
    def uncalibrated(cls, n_classes: int, total: float) -> VoteScale:
        """AdaBoost's own formula."""
        return cls(1.0, np.zeros(n_classes), total)

    @classmethod
    def fitted(cls, F: Array, codes: Index, weight: Array, total: float) -> VoteScale:
        """By maximum likelihood on held-out rows, whose labels are smoothed as by one more row of each class.

        Platt (2000): the target of a row of class k is (n_k + 1)/(n_k + K) and not 1, so that the slope stays finite
        where the votes separate the classes.
        """
        n_classes = F.shape[1]
        count = np.bincount(codes, weight, minlength=n_classes)[codes]
        target = np.repeat((1.0 / (count + n_classes))[:, None], n_classes, axis=1)
        target[np.arange(len(codes)), codes] = (count + 1.0) / (count + n_classes)
        size = float(np.sqrt(np.average((F - F.mean(axis=1, keepdims=True)).var(axis=1), weights=weight))) or 1.0
        Z = (F - F.mean(axis=1, keepdims=True)) / size

        def objective(theta: Array) -> tuple[float, Array]:
            slope = np.exp(np.clip(theta[0], -9.0, 9.0))
            scores = slope * Z + np.append(0.0, theta[1:])
            gap = weight[:, None] * (target - softmax(scores, axis=1))
            value = float(weight @ (target * log_softmax(scores, axis=1)).sum(axis=1))
            return value, np.append(slope * (gap * Z).sum(), gap[:, 1:].sum(axis=0))

        theta = maximize(objective, np.zeros(n_classes), tolerance=1e-7, max_evaluations=200).vector
        bias = np.append(0.0, theta[1:])
        return cls(float(np.exp(np.clip(theta[0], -9.0, 9.0))) / size, bias - bias.mean(), total)

    def scores(self, F: Array, part: float | None = None) -> Array:
        """ln p up to a constant, of the votes of all rounds, or of those whose weights sum to `part`."""
        share = 1.0 if part is None or not self.total else part / self.total
        return self.slope * F + share * self.bias

    def log_loss(self, F: Array, codes: Index, weight: Array) -> float:
        """The mean of −ln p of the labels."""
        log_p = log_softmax(self.scores(F), axis=1)[np.arange(len(codes)), codes]
        return float(np.average(-log_p, weights=weight))
