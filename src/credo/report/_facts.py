"""What the held-out predictions show, as numbers; the sentences are made of these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from credo.metrics import pit, point
from credo.metrics._calibration_test import (
    ALARM as ALARM,
)
from credo.metrics._calibration_test import (
    ALARM_Z as ALARM_Z,
)
from credo.metrics._calibration_test import (
    Bars as Bars,
)
from credo.metrics._calibration_test import (
    Coverage as Coverage,
)
from credo.metrics._calibration_test import (
    Uniformity as Uniformity,
)
from credo.metrics._calibration_test import (
    bars as bars,
)
from credo.metrics._calibration_test import (
    coverage_test,
)
from credo.metrics._calibration_test import (
    uniformity as uniformity,
)
from credo.selection import Gap, HeldOut, gap

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Predicted:
    """Held-out predictions of numbers: `mean` is the median where there is no mean, and then `std` is infinite."""

    held: HeldOut

    @property
    def y(self) -> Vector:
        return self.held.y

    @cached_property
    def mean(self) -> Vector:
        return point(self.held.dist)

    @cached_property
    def std(self) -> Vector:
        return np.where(np.isnan(self.held.dist.std), np.inf, self.held.dist.std)

    @cached_property
    def interval(self) -> tuple[Vector, Vector]:
        return self.held.dist.interval(0.95)

    @property
    def lower(self) -> Vector:
        return self.interval[0]

    @property
    def upper(self) -> Vector:
        return self.interval[1]

    @cached_property
    def pit(self) -> Vector:
        return pit(self.held.y, self.held.dist)


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation with its p-value."""

    rho: float
    p: float


@dataclass(frozen=True)
class Pattern:
    """Residuals along the prediction: their level, their level at both ends, and their size."""

    n: int
    level: Correlation
    bend: Correlation
    size: Correlation


def coverage(held: Predicted) -> Coverage:
    """How many rows fell inside their interval, and how many should."""
    return coverage_test((held.lower <= held.y) & (held.y <= held.upper))


def pattern(y: Vector, mean: Vector, std: Vector | float = 1.0) -> Pattern:
    """Rank correlations that a model with nothing left to explain would not show.

    Where the predictive standard deviation varies, the size of the residuals is measured in units of it.
    """
    left = y - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.abs(left) / std
    return Pattern(
        n=len(left),
        level=_correlation(left, mean),
        bend=_correlation(left, np.abs(mean - np.median(mean))),
        size=_correlation(size, mean) if np.isfinite(size).all() else Correlation(0.0, 1.0),
    )


def gain(held: Predicted, baseline: Predicted) -> Gap:
    """The squared error that a model saves, compared with the baseline."""
    return gap((held.y - baseline.mean) ** 2, (held.y - held.mean) ** 2)


def _correlation(a: Vector, b: Vector) -> Correlation:
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Correlation(rho=0.0, p=1.0)
    result = spearmanr(a, b)
    return Correlation(rho=float(result.statistic), p=float(result.pvalue))
