"""Monotone maps that calibrate predictions, and which of them held-out rows need.

Class probabilities have scaled scores and isotonic maps, distributions of numbers a beta distribution of their PIT
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from credo.core.fields import Axes, Finite, Inner, NonNegative, Positive, Where
from credo.core.learning.ascent import maximize
from credo.distributions import Distribution, Recalibrated

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# The simplest first.
METHODS = ("none", "temperature", "sigmoid", "isotonic")
_MIN_PROBABILITY = 1e-12


@dataclass(frozen=True)
class ScoreScaling:
    """p = softmax(slope · scores + bias): temperature scaling if the bias is zero, for two classes Platt's sigmoid."""

    slope: Annotated[float, Finite, Positive]
    bias: Annotated[Array, Axes("k")]

    @classmethod
    def identity(cls, n_classes: int) -> Self:
        """The softmax of the scores themselves."""
        return cls(1.0, np.zeros(n_classes))

    @classmethod
    def fitted(cls, scores: Array, codes: Index, weight: Array, *, bias: bool = True) -> Self:
        """By maximum likelihood on held-out rows, whose labels are smoothed.

        Platt (2000): with two classes the target of a row is (n_k + 1)/(n_k + 2) and not 1, so that the slope stays
        finite if the scores separate the classes. With K classes it is 1 − 2/(K n_k + 4), and the other classes share
        the remainder: in total, two rows have other labels for any number of classes.
        """
        n_classes = scores.shape[1]
        count = np.bincount(codes, weight, minlength=n_classes)[codes]
        other = 2.0 / (n_classes * count + 4.0)
        target = np.repeat(other[:, None] / (n_classes - 1), n_classes, axis=1)
        target[np.arange(len(codes)), codes] = 1.0 - other
        Z = scores - scores.mean(axis=1, keepdims=True)
        size = float(np.sqrt(np.average(Z.var(axis=1), weights=weight))) or 1.0
        Z = Z / size

        def parameters(theta: Array) -> tuple[float, Array]:
            level = np.append(0.0, theta[1:]) if bias else np.zeros(n_classes)
            return float(np.exp(np.clip(theta[0], -9.0, 9.0))), level

        def objective(theta: Array) -> tuple[float, Array]:
            slope, level = parameters(theta)
            log_p = log_softmax(slope * Z + level, axis=1)
            gap = weight[:, None] * (target - np.exp(log_p))
            gradient = np.append(slope * (gap * Z).sum(), gap[:, 1:].sum(axis=0))
            return float(weight @ (target * log_p).sum(axis=1)), gradient[: len(theta)]

        start = np.zeros(n_classes if bias else 1)
        slope, level = parameters(maximize(objective, start, tolerance=1e-7, max_evaluations=200).vector)
        return cls(slope / size, level - level.mean())

    def scaled(self, scores: Array, share: float = 1.0) -> Array:
        """ln p up to a constant, with a share of the bias."""
        return self.slope * scores + share * self.bias

    def log_loss(self, scores: Array, codes: Index, weight: Array) -> float:
        """The mean of −ln p of the labels."""
        log_p = log_softmax(self.scaled(scores), axis=1)[np.arange(len(codes)), codes]
        return float(np.average(-log_p, weights=weight))


@dataclass(frozen=True)
class Calibration:
    """A map of class probabilities to calibrated ones.

    "temperature" and "sigmoid" scale the log probabilities, without and with a bias. "isotonic" has for each class an
    increasing step function, interpolated between `knots`, mixed with equal probabilities by `floor`, and normalized
    (Zadrozny & Elkan 2002).
    """

    method: Annotated[str, Where(METHODS.__contains__, f"one of {METHODS}")]
    scaling: Annotated[ScoreScaling, Inner(k="k")]
    knots: tuple[Array, ...] = ()
    heights: tuple[Array, ...] = ()
    floor: Annotated[float, Finite, NonNegative] = 0.0

    def _check_state(self) -> None:
        if len(self.knots) != len(self.heights) or any(
            a.ndim != 1 or a.shape != b.shape or not a.size or not np.isfinite([a, b]).all() or (np.diff(a) < 0).any()
            for a, b in zip(self.knots, self.heights, strict=False)
        ):
            raise ValueError("knots and heights must be finite arrays of equal lengths, with increasing knots")
        if self.method == "isotonic" and len(self.knots) != len(self.scaling.bias):
            raise ValueError("knots must be given for each class")

    @classmethod
    def fit(cls, method: str, table: Array, codes: Index, weight: Array) -> Self:
        """The map of that kind, fitted to held-out probabilities and the observed classes."""
        n_classes = table.shape[1]
        if method in ("temperature", "sigmoid"):
            return cls(method, ScoreScaling.fitted(_logs(table), codes, weight, bias=method == "sigmoid"))
        knots, heights, floor = [], [], 0.0
        if method == "isotonic":
            floor = float(1 / (weight.sum() / n_classes + 1))
            for k in range(n_classes):
                found = IsotonicRegression(out_of_bounds="clip").fit(table[:, k], codes == k, sample_weight=weight)
                knots.append(np.asarray(found.X_thresholds_, dtype=np.float64))
                heights.append(np.asarray(found.y_thresholds_, dtype=np.float64))
        return cls(method, ScoreScaling.identity(n_classes), tuple(knots), tuple(heights), floor)

    def __call__(self, table: Array) -> Array:
        """The calibrated probabilities."""
        if self.method == "none":
            return table
        if self.method != "isotonic":
            return softmax(self.scaling.scaled(_logs(table)), axis=1)
        steps = zip(table.T, self.knots, self.heights, strict=True)
        each = np.column_stack([np.interp(p, x, y) for p, x, y in steps])
        each = (1 - self.floor) * each + self.floor / table.shape[1]
        return each / each.sum(axis=1, keepdims=True)


def choose_calibration(
    table: Array, codes: Index, weight: Array, fold: Index, method: str
) -> tuple[Calibration, Array]:
    """The simplest map whose held-out log loss is within one standard error of the best, and each one's log loss.

    Each fold is calibrated by a map fitted to the others.
    """
    methods = METHODS if method == "auto" else (method,)
    losses = np.empty((len(methods), len(codes)))
    for i, name in enumerate(methods):
        for k in np.unique(fold):
            own = fold == k
            found = Calibration.fit(name, table[~own], codes[~own], weight[~own])(table[own])
            losses[i, own] = -np.log(np.maximum(found[np.arange(own.sum()), codes[own]], _MIN_PROBABILITY))
    share = weight / weight.sum()
    mean = losses @ share
    best = int(np.argmin(mean))
    for i in range(best + 1):
        gap = losses[i] - losses[best]
        error = np.sqrt(share @ (gap - share @ gap) ** 2 / weight.sum())
        if i == best or share @ gap <= error:
            return Calibration.fit(methods[i], table, codes, weight), mean
    raise AssertionError


@dataclass(frozen=True)
class BetaMap:
    """The cdf B of a beta distribution, which turns the cdf F of a prediction into B(F), as in `Recalibrated`."""

    a: Annotated[float, Finite, Positive]
    b: Annotated[float, Finite, Positive]

    @classmethod
    def fitted(cls, pit: Array) -> Self:
        """By maximum likelihood: the beta distribution of PIT values of held-out rows."""
        low, high = (float(np.log(_inside(u)).mean()) for u in (pit, 1 - pit))

        def objective(theta: Array) -> tuple[float, Array]:
            a, b = np.exp(np.clip(theta, -9.0, 9.0))
            value = (a - 1) * low + (b - 1) * high - betaln(a, b)
            gradient = np.array([low - digamma(a) + digamma(a + b), high - digamma(b) + digamma(a + b)])
            return float(value), np.array([a, b]) * gradient

        a, b = np.exp(np.clip(maximize(objective, np.zeros(2), tolerance=1e-9, max_evaluations=200).vector, -9.0, 9.0))
        return cls(float(a), float(b))

    def log_gain(self, pit: Array) -> Array:
        """What the map adds to the log score of each row."""
        u, rest = _inside(pit), _inside(1 - pit)
        return (self.a - 1) * np.log(u) + (self.b - 1) * np.log(rest) - betaln(self.a, self.b)

    def __call__(self, dist: Distribution) -> Distribution:
        """The calibrated distribution."""
        return Recalibrated(dist, self.a, self.b)


def _inside(u: Array) -> Array:
    return np.clip(u, _MIN_PROBABILITY, 1.0)


def _logs(table: Array) -> Array:
    return np.log(np.maximum(table, _MIN_PROBABILITY))
