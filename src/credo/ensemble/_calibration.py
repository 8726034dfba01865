"""Calibrating class probabilities: temperature, sigmoid and isotonic maps, and which of them held-out rows need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.isotonic import IsotonicRegression

from credo.estimator import check_positive, check_shapes
from credo.linear import LogisticRegression

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# The simplest first.
METHODS = ("none", "temperature", "sigmoid", "isotonic")
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Calibration:
    """A map of class probabilities to calibrated ones.

    "temperature": p ∝ p^slope. "sigmoid": for each class, σ(slope · logit p + intercept), normalized (Platt 1999; with
    two classes, only the second has parameters). "isotonic": for each class a rising step function, interpolated
    between `knots`, mixed with equal probabilities by `floor`, and normalized (Zadrozny & Elkan 2002).
    """

    method: str
    slope: Array
    intercept: Array
    knots: tuple[Array, ...] = ()
    heights: tuple[Array, ...] = ()
    floor: float = 0.0

    def _check_state(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}; got {self.method!r}")
        check_shapes(self, slope="k", intercept="k", floor="")
        check_positive(self, "floor", zero=True)
        if len(self.knots) != len(self.heights) or any(
            a.ndim != 1 or a.shape != b.shape or not a.size or not np.isfinite(b).all()
            for a, b in zip(self.knots, self.heights, strict=False)
        ):
            raise ValueError("knots and heights must be arrays of equal lengths")
        if self.method == "isotonic" and len(self.knots) != len(self.slope):
            raise ValueError("knots must be given for each class")

    @classmethod
    def fit(cls, method: str, table: Array, codes: Index, weight: Array) -> Self:
        """The map of that kind for held-out probabilities and the classes that came true."""
        n_classes = table.shape[1]
        ones, zeros = np.ones(n_classes), np.zeros(n_classes)
        if method == "none":
            return cls(method, ones, zeros)
        if method == "temperature":
            return cls(method, ones * _temperature(table, codes, weight), zeros)
        if method == "isotonic":
            return cls._isotonic(table, codes, weight)
        slope, intercept = ones.copy(), zeros.copy()
        for k in range(1 if n_classes == 2 else 0, n_classes):
            if 0 < (codes == k).sum() < len(codes):
                model = LogisticRegression(alpha=1e-2)
                model.fit(_logit(table[:, k])[:, None], (codes == k).astype(int), sample_weight=weight)
                slope[k], intercept[k] = model.coef_.ravel()[0], np.ravel(model.intercept_)[0]
        return cls(method, slope, intercept)

    @classmethod
    def _isotonic(cls, table: Array, codes: Index, weight: Array) -> Self:
        n_classes = table.shape[1]
        knots, heights = [], []
        for k in range(n_classes):
            found = IsotonicRegression(out_of_bounds="clip").fit(table[:, k], codes == k, sample_weight=weight)
            knots.append(np.asarray(found.X_thresholds_, dtype=np.float64))
            heights.append(np.asarray(found.y_thresholds_, dtype=np.float64))
        floor = float(1 / (weight.sum() / n_classes + 1))
        return cls("isotonic", np.ones(n_classes), np.zeros(n_classes), tuple(knots), tuple(heights), floor)

    def __call__(self, table: Array) -> Array:
        """The calibrated probabilities."""
        if self.method == "none":
            return table
        if self.method == "temperature":
            return softmax(self.slope * np.log(np.maximum(table, _SMALLEST)), axis=1)
        if self.method == "sigmoid":
            each = expit(self.slope * _logit(table) + self.intercept)
            if table.shape[1] == 2:
                return np.column_stack([1 - each[:, 1], each[:, 1]])
        else:
            steps = zip(table.T, self.knots, self.heights, strict=True)
            each = np.column_stack([np.interp(p, x, y) for p, x, y in steps])
            each = (1 - self.floor) * each + self.floor / table.shape[1]
        return each / each.sum(axis=1, keepdims=True)


def choose_calibration(
    table: Array, codes: Index, weight: Array, fold: Index, method: str
) -> tuple[Calibration, Array]:
    """The simplest map whose held-out log loss is within one standard error of the best, and each one's log loss.

    Each fold is calibrated by a map of the others.
    """
    methods = METHODS if method == "auto" else (method,)
    losses = np.empty((len(methods), len(codes)))
    for i, name in enumerate(methods):
        for k in np.unique(fold):
            own = fold == k
            found = Calibration.fit(name, table[~own], codes[~own], weight[~own])(table[own])
            losses[i, own] = -np.log(np.maximum(found[np.arange(own.sum()), codes[own]], _SMALLEST))
    share = weight / weight.sum()
    mean = losses @ share
    best = int(np.argmin(mean))
    for i in range(best + 1):
        gap = losses[i] - losses[best]
        error = np.sqrt(share @ (gap - share @ gap) ** 2 / weight.sum())
        if i == best or share @ gap <= error:
            return Calibration.fit(methods[i], table, codes, weight), mean
    raise AssertionError


def _logit(p: Array) -> Array:
    return logit(np.clip(p, _SMALLEST, 1 - _SMALLEST))


def _temperature(table: Array, codes: Index, weight: Array) -> float:
    """The power of the probabilities with the least log loss, by bisection of the derivative by its log.

    The log of the power has a standard normal prior, so that it stays near 1 where few rows are all predicted right.
    """
    logs = np.log(np.maximum(table, _SMALLEST))
    rows = np.arange(len(codes))
    low, high = -4.0, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        expected = (np.exp(log_softmax(np.exp(middle) * logs, axis=1)) * logs).sum(axis=1)
        if np.exp(middle) * (weight @ (logs[rows, codes] - expected)) > middle:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))
