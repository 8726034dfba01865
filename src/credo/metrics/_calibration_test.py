"""Tests of calibration: whether held-out outcomes are what the predictive distributions said, beyond chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import binom, chisquare, kstest

from credo.distributions import Distribution
from credo.metrics._calibration import pit_bars
from credo.metrics._classes import forecast, groups

Vector = NDArray[np.float64]

# A p-value below this is called evidence; for a normal z that is |z| > 2.576.
ALARM = 0.01
ALARM_Z = 2.5758293035489
# Half of all normal numbers, and 95 in 100 of them, are no larger than this.
_QUARTILE, _NEARLY_ALL = 0.6744897501960817, 1.959963984540054
# Fewer rows than this can't show whether class probabilities are calibrated.
FEW = 20
# A calibration error below this matters little for most uses.
SMALL = 0.02


@dataclass(frozen=True)
class Coverage:
    """Rows inside their 95 % interval, and the central 99 % range of that count under binomial(n, 0.95)."""

    inside: int
    n: int
    low: int
    high: int


@dataclass(frozen=True)
class Bars:
    """A histogram of PIT values, and how many of its bars leave the range that all of an honest model keep to.

    They do so at least 99 times in 100. `p` is that of the chi-square test for level bars.
    """

    n: int
    outside: int
    p: float

    @property
    def are_level(self) -> bool:
        """Whether chance explains how they differ."""
        return self.outside == 0 and self.p >= ALARM


@dataclass(frozen=True)
class Uniformity:
    """How far PIT values are from uniform.

    `bias` is their standardised mean: positive means observations above their predictions. `spread` is the
    standardised variance of their normal scores: positive means observations out in the tails. `middle` is the
    standardised number of those in the middle half, `central` their share, and `coverage` counts those outside the
    outermost 5 %; where there is a bias, the middle is that of the values. `above` is the share above ½, and `distance`
    Kolmogorov's, the largest difference between a stated and an observed probability.
    """

    n: int
    above: float
    bias: float
    spread: float
    middle: float
    central: float
    distance: float
    coverage: Coverage
    bars: Bars

    @property
    def too_wide(self) -> bool:
        """Whether the distributions are wider than what happened, by any of three tests."""
        return self.spread < -ALARM_Z or self.middle > ALARM_Z or self.coverage.inside > self.coverage.high

    @property
    def too_narrow(self) -> bool:
        """Whether they are narrower. Both are true where they are too wide for most rows and too narrow for some."""
        return self.spread > ALARM_Z or self.middle < -ALARM_Z or self.coverage.inside < self.coverage.low


@dataclass(frozen=True)
class Confidence:
    """How sure a model was of the labels it named, on average, and how often it was right.

    Were its probabilities true, the number of right labels would have the mean Σ cᵢ and the variance Σ cᵢ(1 − cᵢ): `z`
    is the standardised difference, negative where the model was too sure.
    """

    n: int
    right: int
    stated: float
    z: float

    @property
    def share(self) -> float:
        """The share of right labels."""
        return self.right / self.n

    @property
    def honest(self) -> bool:
        """Whether chance explains the difference."""
        return abs(self.z) <= ALARM_Z


@dataclass(frozen=True)
class Calibration:
    """Mean difference between predicted and observed shares over groups of rows, and what chance alone would leave.

    `z` measures the excess over chance in standard deviations.
    """

    error: float
    chance: float
    z: float
    confidence: Confidence

    @property
    def by_chance(self) -> bool:
        """Whether chance explains the error."""
        return self.z <= ALARM_Z

    @property
    def verdict(self) -> str:
        """The one judgement of the probabilities: "", "too sure", "too unsure", "off" or "slightly off".

        Nothing is said where chance explains both the error in groups of rows and the share of right labels.
        """
        if self.confidence.n < FEW or (self.by_chance and self.confidence.honest):
            return ""
        if not self.confidence.honest:
            return "too sure" if self.confidence.z < 0 else "too unsure"
        return "slightly off" if self.error < SMALL else "off"


def coverage_test(inside: NDArray[np.bool_]) -> Coverage:
    """How many rows are inside their 95 % interval, and how many should be."""
    n = len(inside)
    low, high = (int(binom.ppf(q, n, 0.95)) for q in (ALARM / 2, 1 - ALARM / 2))
    return Coverage(inside=int(inside.sum()), n=n, low=low, high=high)


def uniformity(pit: Vector) -> Uniformity:
    """Tests of PIT values against the uniform distribution.

    Of U uniform on (0, 1): Var U = 1/12, and Φ⁻¹(U) is standard normal, so that its sample variance about its
    own mean (a bias is no matter of spread) has mean 1 and variance 2/n.
    """
    values = np.clip(pit[np.isfinite(pit)], 0.0, 1.0)
    n = len(values)
    # Values of exactly 0 or 1 count as far out as the first of 2n uniform ones would be.
    normal = ndtri(np.clip(values, 0.25 / n, 1 - 0.25 / n))
    bias = float((values.mean() - 0.5) * np.sqrt(12 * n))
    off = np.abs(normal - (normal.mean() if abs(bias) > ALARM_Z else 0.0))
    central = float(np.mean(off < _QUARTILE))
    return Uniformity(
        n=n,
        above=float(np.mean(values > 0.5)),
        bias=bias,
        spread=float((normal.var(ddof=1) - 1) * np.sqrt(n / 2)),
        middle=float((central - 0.5) * 2 * np.sqrt(n)),
        central=central,
        distance=float(kstest(values, "uniform").statistic),
        coverage=coverage_test(off <= _NEARLY_ALL),
        bars=bars(values),
    )


def bars(values: Vector) -> Bars:
    """What can be said of the histogram that is drawn."""
    drawn = pit_bars(values, level=1 - ALARM)
    return Bars(len(drawn.counts), int(drawn.outside.sum()), float(chisquare(drawn.counts).pvalue))


def confidence(y: ArrayLike, dist: Distribution) -> Confidence:
    """How sure the model was, and how often right."""
    found = forecast(y, dist)
    stated, right = found.table.max(axis=1), found.named == found.codes
    spread = float(np.sqrt(np.sum(stated * (1 - stated))))
    excess = float(right.sum() - stated.sum())
    # Certain and right everywhere leaves nothing to doubt; certain and wrong leaves no doubt at all.
    z = excess / spread if spread > 0 else 0.0 if excess == 0 else float(np.copysign(np.inf, excess))
    return Confidence(len(right), int(right.sum()), float(stated.mean()), z)


def class_calibration(y: ArrayLike, dist: Distribution) -> Calibration:
    """The calibration error beside that of honest probabilities.

    In a group the events differ from their probabilities' sum by about a normal number of variance v = Σ p(1 − p): its
    size has the mean √(2v/π) and the variance (1 − 2/π) v.
    """
    probability, happened = forecast(y, dist).event
    group = groups(probability)
    off = np.abs(np.bincount(group, weights=happened - probability))
    variance = np.bincount(group, weights=probability * (1 - probability))
    chance = float(np.sqrt(2 * variance / np.pi).sum())
    spread = float(np.sqrt((1 - 2 / np.pi) * variance.sum()))
    excess = float(off.sum()) - chance
    # A fraction of one row is no more than rounding where all probabilities are certain.
    z = excess / spread if spread > 0 else 0.0 if excess < 0.5 else np.inf
    return Calibration(float(off.sum()) / len(group), chance / len(group), z, confidence(y, dist))
