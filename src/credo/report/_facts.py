"""What the held-out predictions show, as numbers; the sentences are made of these."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom, chisquare, kstest, spearmanr

from credo.distributions import StudentT
from credo.metrics import pit, point
from credo.metrics._calibration import pit_bars
from credo.selection import Gap, HeldOut, gap

Vector = NDArray[np.float64]

# What chance does less than once in a hundred times is called evidence; for a normal z that is |z| > 2.576.
ALARM = 0.01
ALARM_Z = 2.5758293035489
# Half of all normal numbers, and 95 in 100 of them, are no larger than this.
_QUARTILE, _NEARLY_ALL = 0.6744897501960817, 1.959963984540054


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


@dataclass(frozen=True)
class Guess:
    """The scores of always guessing the mean of the other rows, with their spread as its uncertainty."""

    log_score: float
    rmse: float
    crps: float
    coverage: float


def coverage(held: Predicted) -> Coverage:
    """How many rows fell inside their interval, and how many should."""
    return _coverage((held.lower <= held.y) & (held.y <= held.upper))


def _coverage(inside: NDArray[np.bool_]) -> Coverage:
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
        coverage=_coverage(off <= _NEARLY_ALL),
        bars=bars(values),
    )


def bars(values: Vector) -> Bars:
    """What can be said of the histogram that is drawn."""
    drawn = pit_bars(values, level=1 - ALARM)
    return Bars(len(drawn.counts), int(drawn.outside.sum()), float(chisquare(drawn.counts).pvalue))


def pattern(y: Vector, mean: Vector) -> Pattern:
    """Rank correlations that a model with nothing left to explain would not show."""
    left = y - mean
    return Pattern(
        n=len(left),
        level=_correlation(left, mean),
        bend=_correlation(left, np.abs(mean - np.median(mean))),
        size=_correlation(np.abs(left), mean),
    )


def gain(held: Predicted) -> Gap:
    """The squared error that a model saves, compared with the mean of the other rows."""
    return gap((held.y - _others(held.y)) ** 2, (held.y - held.mean) ** 2)


def _others(y: Vector) -> Vector:
    """The mean of all rows but one, for each row: ȳ₋ᵢ = ȳ − (yᵢ − ȳ)/(n − 1)."""
    return y.mean() - (y - y.mean()) / (len(y) - 1)


def guess(y: Vector) -> Guess | None:
    """Scores of the mean of the other rows: what a model that looks at no column would reach.

    With m = n − 1 other rows of mean ȳ₋ᵢ and standard deviation s₋ᵢ the predictive is Student's t with m − 1
    degrees of freedom, location ȳ₋ᵢ and scale s₋ᵢ √(1 + 1/m). None when the others don't vary.
    """
    n = len(y)
    if n < 4 or np.ptp(y) == 0:
        return None
    m = n - 1
    left = y - y.mean()
    location = _others(y)
    # Σⱼ≠ᵢ (yⱼ − ȳ₋ᵢ)² = Σⱼ (yⱼ − ȳ)² − (yᵢ − ȳ)² n / m
    squares = np.maximum(left @ left - left**2 * n / m, 0.0)
    scale = np.sqrt(squares / (m - 1) * (1 + 1 / m))
    if scale.min() <= 0:
        return None
    dist = StudentT(np.full(n, m - 1.0), location, scale)
    lower, upper = dist.interval(0.95)
    return Guess(
        log_score=float(np.mean(dist.log_prob(y))),
        rmse=float(np.sqrt(np.mean((y - location) ** 2))),
        crps=float(np.mean(dist.crps(y))),
        coverage=float(np.mean((lower <= y) & (y <= upper))),
    )


def _correlation(a: Vector, b: Vector) -> Correlation:
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Correlation(rho=0.0, p=1.0)
    result = spearmanr(a, b)
    return Correlation(rho=float(result.statistic), p=float(result.pvalue))
