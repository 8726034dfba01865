"""Coverage, PIT and calibration curve: on data that the distributions really generated, and by hand."""

import numpy as np
import pytest
from scipy import stats

from credo.distributions import Bernoulli, Empirical, Normal, StudentT
from credo.metrics import calibration_curve, coverage, pit


@pytest.fixture(scope="module")
def honest():
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=4000), rng.uniform(0.1, 5.0, size=4000)
    return mean + std * rng.normal(size=4000), Normal(mean, std)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_coverage_of_honest_distributions_is_the_level(honest, level):
    y, dist = honest
    error = np.sqrt(level * (1 - level) / len(y))
    assert abs(coverage(y, dist, level=level) - level) < 4 * error


def test_coverage_counts_the_ends_of_the_interval():
    lower, upper = Normal([0.0], [1.0]).interval(0.9)
    y = [lower[0], upper[0], np.nextafter(upper[0], np.inf)]
    assert coverage(y, Normal(np.zeros(3), np.ones(3)), level=0.9) == pytest.approx(2 / 3)
    assert coverage([2.0, 2.1], Normal([2.0, 2.0], [0.0, 0.0])) == 0.5


def test_coverage_is_weighted():
    dist = Normal([0.0, 0.0], [1.0, 1.0])
    assert coverage([0.0, 9.0], dist, sample_weight=[3.0, 1.0]) == 0.75


@pytest.mark.parametrize("level", [0.0, 1.0, 95, True, "0.9"])
def test_a_wrong_level_is_refused_in_words(level):
    with pytest.raises(ValueError, match=r"strictly between 0 and 1, as in 0\.95"):
        coverage([0.0], Normal([0.0], [1.0]), level=level)


def test_pit_is_the_cdf_of_scipy_where_it_is_continuous():
    y, loc = np.linspace(-3, 3, 11), np.linspace(-1, 1, 11)
    expected = stats.t(3.0, loc, 2.0).cdf(y)
    np.testing.assert_allclose(pit(y, StudentT(np.full(11, 3.0), loc, np.full(11, 2.0))), expected, rtol=1e-12)


def test_pit_of_honest_distributions_is_uniform(honest):
    assert stats.kstest(pit(*honest), "uniform").pvalue > 0.01


def test_pit_takes_the_middle_of_a_jump():
    # F of a Bernoulli(0.3) jumps from 0 to 0.7 at 0 and from 0.7 to 1 at 1.
    np.testing.assert_allclose(pit([0, 1], Bernoulli([0.3, 0.3])), [0.35, 0.85])
    np.testing.assert_allclose(pit([1.0, 2.0, 3.0], Normal(np.full(3, 2.0), np.zeros(3))), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(pit([2.0], Empirical([[1.0], [2.0], [3.0], [4.0]])), [0.375])


def test_randomised_pit_of_a_discrete_distribution_is_uniform():
    rng = np.random.default_rng(5)
    probs = rng.uniform(size=4000)
    y = (rng.uniform(size=4000) < probs).astype(int)
    dist = Bernoulli(probs)
    values = pit(y, dist, random_state=1)
    assert stats.kstest(values, "uniform").pvalue > 0.01
    assert stats.kstest(pit(y, dist), "uniform").pvalue < 1e-6
    np.testing.assert_array_equal(values, pit(y, dist, random_state=1))
    assert np.all((values >= np.where(y, 1 - probs, 0)) & (values <= np.where(y, 1, 1 - probs)))


def test_calibration_curve_is_the_coverage_at_each_level(honest):
    y, dist = honest
    weight = np.arange(len(y), dtype=float)
    levels, observed = calibration_curve(y, dist, levels=[0.1, 0.5, 0.9], sample_weight=weight)
    expected = [coverage(y, dist, level=level, sample_weight=weight) for level in levels]
    np.testing.assert_allclose(observed, expected, atol=1e-12)


def test_calibration_curve_shows_which_way_a_distribution_is_wrong(honest):
    y, dist = honest
    levels, observed = calibration_curve(y, dist)
    np.testing.assert_allclose(levels, np.linspace(0.05, 0.95, 19))
    assert np.abs(observed - levels).max() < 0.04
    assert np.all(np.diff(observed) >= 0)
    assert np.all(calibration_curve(y, Normal(dist.mean, dist.std / 2))[1] < levels)
    assert np.all(calibration_curve(y, Normal(dist.mean, dist.std * 2))[1] > levels)


def test_levels_outside_are_refused_in_words():
    with pytest.raises(ValueError, match=r"levels must lie strictly between 0 and 1, as in 0\.95; got 1\.0"):
        calibration_curve([0.0], Normal([0.0], [1.0]), levels=[0.5, 1.0])
