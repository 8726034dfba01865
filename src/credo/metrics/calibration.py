"""Calibration: coverage, PIT, the calibration curve, and tests whether outcomes differ from predictions by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import binom, chisquare, kstest

from credo.core.estimator import interval_level
from credo.core.seeds import generator
from credo.distributions import Distribution
from credo.metrics._classes import forecast, groups
from credo.metrics._scores import average, numbers, outcomes


def coverage(y: ArrayLike, dist: Distribution, *, level: float = 0.95, sample_weight: ArrayLike | None = None) -> float:
    """Share of the outcomes inside the central interval of the given level (ends included).

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    level : float, default 0.95
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Normal
    >>> from credo.metrics import coverage
    >>> coverage([0.0, 1.0, 3.0, -1.0], Normal(np.zeros(4), np.ones(4)), level=0.95)
    0.75
    """
    values = outcomes(y, dist)
    lower, upper = dist.interval(interval_level(level))
    return average((lower <= values) & (values <= upper), sample_weight)


def pit(
    y: ArrayLike,
    dist: Distribution,
    *,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Probability integral transform F(y) of each outcome; uniform if the distributions are calibrated.

    If F jumps at y (a point mass, a discrete distribution, draws), F(y) alone can't be uniform. The result is then
    the mid-PIT ½ (F(y−) + F(y)) or, if `random_state` is given, the randomized PIT (Czado, Gneiting and Held 2009), a
    uniform point of the jump, which is exactly uniform.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    random_state : int or Generator, optional
        None gives the mid-PIT, which is deterministic.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> from credo.metrics import pit
    >>> pit([0.0, 1.96], Normal([0.0, 0.0], [1.0, 1.0])).round(3)
    array([0.5  , 0.975])
    >>> pit([2.0], Normal([2.0], [0.0]))
    array([0.5])
    """
    values = np.asarray(outcomes(y, dist), dtype=np.float64)
    upper = dist.cdf(values)
    # F(y−) is evaluated at the largest float below y, where a continuous F differs by rounding only.
    lower = np.minimum(dist.cdf(np.nextafter(values, -np.inf)), upper)
    if random_state is None:
        return 0.5 * (lower + upper)
    uniform = generator(random_state).uniform(size=len(values))
    return lower + uniform * (upper - lower)


def calibration_curve(
    y: ArrayLike,
    dist: Distribution,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Observed coverage of central intervals against their level.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    levels : array of shape (k,), optional
        Levels strictly between 0 and 1; by default 0.05, 0.10, …, 0.95.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    levels : array of shape (k,)
    observed : array of shape (k,)
        Below the level: overconfident, the distributions are too narrow. Above: underconfident, too wide.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Normal
    >>> from credo.metrics import calibration_curve
    >>> dist = Normal(np.zeros(3), np.ones(3))
    >>> levels, observed = calibration_curve([0.0, 0.5, 3.0], dist, levels=[0.5, 0.9])
    >>> observed.round(3)
    array([0.667, 0.667])
    """
    values = outcomes(y, dist)
    grid = np.arange(1, 20) / 20 if levels is None else numbers(levels, name="levels")
    outside = grid[(grid <= 0) | (grid >= 1)]
    if outside.size:
        raise ValueError(f"levels must lie strictly between 0 and 1, as in 0.95; got {outside[0]}")
    lower, upper = dist.quantile(0.5 - grid / 2), dist.quantile(0.5 + grid / 2)
    inside = (lower <= values[:, None]) & (values[:, None] <= upper)
    return grid, np.array([average(column, sample_weight) for column in inside.T])


class PitHistogram(NamedTuple):
    """A histogram of PIT values, and the range of counts, ends included, for all bars of a calibrated model."""

    counts: NDArray[np.intp]
    edges: NDArray[np.float64]
    low: float
    high: float

    @property
    def outside(self) -> NDArray[np.bool_]:
        """The bars that are outside the range."""
        return (self.counts < self.low) | (self.counts > self.high)

    @property
    def p(self) -> float:
        """The p-value of the chi-square test of a flat histogram."""
        return float(chisquare(self.counts).pvalue)


def pit_histogram(values: NDArray[np.float64], *, bins: int | None = None, level: float = 0.99) -> PitHistogram:
    """PIT values in bars of equal width, by default 5 below 50 rows, 10 below 1000 and 20 above.

    With probability `level` or more no bar of a calibrated model is outside, by Bonferroni: if each of k bars is in its
    range with probability 1 − a/k, all are with probability 1 − a or more.
    """
    n = len(values)
    k = bins or (5 if n < 50 else 10 if n < 1000 else 20)
    counts, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=k, range=(0.0, 1.0))
    tail = (1 - level) / (2 * k)
    low, high = (float(binom.ppf(q, n, 1 / k)) for q in (tail, 1 - tail))
    return PitHistogram(counts, edges, low, high)


Vector = NDArray[np.float64]

# The significance level of all tests; for a normal z that is |z| > 2.576.
ALARM = 0.01
ALARM_Z = 2.5758293035489
# Fewer rows than this can't show whether class probabilities are calibrated.
MIN_CALIBRATION_ROWS = 20
# A calibration error below this matters little for most uses.
NEGLIGIBLE_ERROR = 0.02


@dataclass(frozen=True)
class Coverage:
    """Rows inside their 95 % interval, and the central 99 % range of that count if the intervals are right.

    `expected` is their probability: 0.95, or more if outcomes have probabilities of their own, as counts have; such
    intervals contain more.
    """

    inside: int
    n: int
    low: int
    high: int
    expected: float = 0.95


@dataclass(frozen=True)
class Uniformity:
    """How far PIT values are from uniform.

    `bias` is their standardized mean: positive means observations above their predictions. `spread` is the standardized
    variance of their normal scores: positive means more observations in the tails than expected. `middle` is the
    standardized number of values in the middle half, `central` their share, and `coverage` counts those inside the
    central 95 %; if there is a bias, the middle is that of the values. `above` is the share above ½, and `distance` the
    Kolmogorov distance, the largest difference between a stated and an observed probability. `bars` is the histogram.
    """

    n: int
    above: float
    bias: float
    spread: float
    middle: float
    central: float
    distance: float
    coverage: Coverage
    bars: PitHistogram

    @property
    def is_flat(self) -> bool:
        """Whether chance explains the differences between the bars."""
        return not self.bars.outside.any() and self.bars.p >= ALARM

    @property
    def too_wide(self) -> bool:
        """Whether the distributions are too wide, by any of three tests."""
        return self.spread < -ALARM_Z or self.middle > ALARM_Z or self.coverage.inside > self.coverage.high

    @property
    def too_narrow(self) -> bool:
        """Whether the distributions are too narrow; they can be too wide for most rows and too narrow for some."""
        return self.spread > ALARM_Z or self.middle < -ALARM_Z or self.coverage.inside < self.coverage.low


@dataclass(frozen=True)
class Confidence:
    """The mean probability of the predicted labels, and how often they were right.

    Under calibrated probabilities cᵢ, the number of correct labels has mean Σ cᵢ and variance Σ cᵢ(1 − cᵢ): `z` is the
    standardized difference, negative if the model is overconfident.
    """

    n: int
    right: int
    stated: float
    z: float

    @property
    def share(self) -> float:
        """The share of correct labels."""
        return self.right / self.n

    @property
    def by_chance(self) -> bool:
        """Whether chance explains the difference."""
        return abs(self.z) <= ALARM_Z


@dataclass(frozen=True)
class Calibration:
    """Mean difference between predicted and observed shares over groups of rows, and what is expected by chance.

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
        """Empty, "overconfident", "underconfident", "miscalibrated" or "slightly miscalibrated".

        Empty if chance explains both the error in groups of rows and the share of correct labels.
        """
        if self.confidence.n < MIN_CALIBRATION_ROWS or (self.by_chance and self.confidence.by_chance):
            return ""
        if not self.confidence.by_chance:
            return "overconfident" if self.confidence.z < 0 else "underconfident"
        return "slightly miscalibrated" if self.error < NEGLIGIBLE_ERROR else "miscalibrated"


def coverage_test(inside: NDArray[np.bool_], expected: float = 0.95) -> Coverage:
    """How many rows are inside their 95 % interval, and how many should be."""
    n = len(inside)
    low, high = (int(binom.ppf(q, n, expected)) for q in (ALARM / 2, 1 - ALARM / 2))
    return Coverage(inside=int(inside.sum()), n=n, low=low, high=high, expected=expected)


def interval_probability(dist: Distribution, level: float = 0.95) -> float:
    """The mean probability of the intervals of that level, which is higher where outcomes have probabilities."""
    jumps = dist._atoms()
    if not jumps.any():
        return level
    part = dist[np.flatnonzero(jumps)]
    lower, upper = part.interval(level)
    inside = part.cdf(upper) - part.cdf(np.nextafter(lower, -np.inf))
    return float((level * np.sum(~jumps) + np.maximum(inside, level).sum()) / len(jumps))


def uniformity(pit: Vector) -> Uniformity:
    """Tests of PIT values against the uniform distribution.

    For U uniform on (0, 1), Var U = 1/12, and Φ⁻¹(U) is standard normal, so that its sample variance about its own mean
    has mean 1 and variance 2/n.
    """
    values = np.clip(pit[np.isfinite(pit)], 0.0, 1.0)
    n = len(values)
    # Values of exactly 0 or 1 have infinite normal scores, so they are moved to where 2n uniform values would start.
    normal = ndtri(np.clip(values, 0.25 / n, 1 - 0.25 / n))
    bias = float((values.mean() - 0.5) * np.sqrt(12 * n))
    off = np.abs(normal - (normal.mean() if abs(bias) > ALARM_Z else 0.0))
    # Half of all standard normal numbers have at most this absolute value, and 95 % at most 1.96.
    central = float(np.mean(off < 0.6744897501960817))
    return Uniformity(
        n=n,
        above=float(np.mean(values > 0.5)),
        bias=bias,
        spread=float((normal.var(ddof=1) - 1) * np.sqrt(n / 2)),
        middle=float((central - 0.5) * 2 * np.sqrt(n)),
        central=central,
        distance=float(kstest(values, "uniform").statistic),
        coverage=coverage_test(off <= 1.959963984540054),
        bars=pit_histogram(values, level=1 - ALARM),
    )


def confidence(y: ArrayLike, dist: Distribution) -> Confidence:
    """The mean probability of the predicted labels and the share of correct ones."""
    found = forecast(y, dist)
    stated, right = found.table.max(axis=1), found.predicted == found.codes
    spread = float(np.sqrt(np.sum(stated * (1 - stated))))
    excess = float(right.sum() - stated.sum())
    # With certain predictions there is no spread: z is 0 if all are right, infinite otherwise.
    z = excess / spread if spread > 0 else 0.0 if excess == 0 else float(np.copysign(np.inf, excess))
    return Confidence(len(right), int(right.sum()), float(stated.mean()), z)


def class_calibration(y: ArrayLike, dist: Distribution) -> Calibration:
    """The calibration error, and that of calibrated probabilities by chance alone.

    In a group the number of events minus the sum of probabilities is about normal with variance v = Σ p(1 − p): its
    absolute value has mean √(2v/π) and variance (1 − 2/π) v.
    """
    probability, happened = forecast(y, dist).event
    group = groups(probability)
    off = np.abs(np.bincount(group, weights=happened - probability))
    variance = np.bincount(group, weights=probability * (1 - probability))
    chance = float(np.sqrt(2 * variance / np.pi).sum())
    spread = float(np.sqrt((1 - 2 / np.pi) * variance.sum()))
    excess = float(off.sum()) - chance
    # With certain predictions an excess below half a row is a rounding error.
    z = excess / spread if spread > 0 else 0.0 if excess < 0.5 else np.inf
    return Calibration(float(off.sum()) / len(group), chance / len(group), z, confidence(y, dist))
