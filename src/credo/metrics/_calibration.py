"""Calibration of intervals: coverage, PIT and the calibration curve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, chisquare

from credo.distributions import Distribution
from credo.estimator import interval_level
from credo.metrics._outcomes import average, numbers, outcomes
from credo.seeds import generator


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

    Where F jumps at y (a point mass, a discrete distribution, draws), F(y) alone can't be uniform. The result is then
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

    >>> bars = pit_histogram(np.repeat([0.05, 0.25, 0.5, 0.7, 0.95], [30, 5, 5, 5, 5]), bins=5)
    >>> bars.low, bars.high, bars.outside.tolist()
    (2.0, 19.0, [True, False, False, False, False])
    """
    n = len(values)
    k = bins or (5 if n < 50 else 10 if n < 1000 else 20)
    counts, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=k, range=(0.0, 1.0))
    tail = (1 - level) / (2 * k)
    low, high = (float(binom.ppf(q, n, 1 / k)) for q in (tail, 1 - tail))
    return PitHistogram(counts, edges, low, high)
