"""Counts of huge rates, whose logarithms are as good as normal, and wide distributions of the rate."""

import numpy as np
import pytest
from scipy import stats

from credo import PoissonLogNormal


@pytest.mark.parametrize("loc, scale", [(30.0, 1.0), (45.0, 0.1), (0.0, 10.0), (-40.0, 50.0)])
def test_quantiles_of_huge_counts_are_those_of_the_rate(loc, scale):
    level = stats.norm.cdf((40.0 - loc) / scale), 1 - 1e-12
    dist, rate = PoissonLogNormal(loc, scale), stats.lognorm(scale, scale=np.exp(loc))
    if 1e-12 < level[0] < 1 - 1e-12:
        np.testing.assert_allclose(dist.quantile(level[0]), rate.ppf(level[0]), rtol=1e-6)
    np.testing.assert_allclose(dist.quantile(level[1]), rate.ppf(level[1]), rtol=1e-6)
    np.testing.assert_allclose(dist.cdf(1e20), rate.cdf(1e20), rtol=1e-9)


def test_a_huge_rate_leaves_the_quantiles_of_other_rows():
    loc, scale, q = np.array([0.0, 60.0, 5.0]), np.array([1.0, 10.0, 3.0]), [1e-12, 0.5, 0.999]
    alone = [PoissonLogNormal(*row).quantile(q) for row in zip(loc, scale, strict=True)]
    np.testing.assert_array_equal(PoissonLogNormal(loc, scale).quantile(q), alone)


def test_crps_of_a_wide_distribution_is_the_mean_distance_less_half_that_of_two_draws():
    """∫ (F − 1{y ≤ x})² dx of a log-normal rate has a closed form, which counts of large rates approach."""
    for loc, scale, y in [(12.0, 1.0, 200_000), (20.0, 4.0, 0), (45.0, 0.0, 0)]:
        center, mean = (np.log(max(y, 1)) - loc) / max(scale, 1e-300), np.exp(loc + 0.5 * scale**2)
        below, shifted = (0.0, 0.0) if y == 0 else (stats.norm.cdf(center), stats.norm.cdf(center - scale))
        truth = y * (2 * below - 1) - 2 * mean * (shifted + stats.norm.cdf(scale / 2**0.5) - 1)
        np.testing.assert_allclose(PoissonLogNormal(loc, scale).crps(y), truth, rtol=1e-4)


def test_rates_that_overflow_have_an_infinite_crps_and_a_finite_log_probability():
    dist = PoissonLogNormal([700.0, 700.0], [0.0, 10.0])
    assert np.isfinite(dist.log_prob(3)).all()
    assert dist.crps(3)[1] == np.inf
