"""What is observed of a right-censored time."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from credo.distributions import Normal, RightCensored


@pytest.mark.parametrize("limit", [-1.0, 0.4, 6.0, 1e3, 1e8, 1e300])
def test_moments_for_a_limit_anywhere(limit):
    """Those of a truncated normal variable and of the limit, also if the limit is far above the distribution."""
    dist, below = RightCensored(Normal([0.0], 1.0), [limit]), Normal(0.0, 1.0).cdf(limit)
    inside = truncnorm(-np.inf, min(limit, 40.0))
    above = 0.0 if limit > 40 else (1.0 - below) * limit
    mean = below * inside.mean() + above
    second = below * inside.moment(2) + above * limit if above else 1.0
    assert dist.mean[0] == pytest.approx(mean, abs=1e-8)
    assert dist.std[0] == pytest.approx(np.sqrt(second - mean**2), rel=1e-7)


def test_limits_are_checked():
    with pytest.raises(ValueError, match=r"one number, or one for each of the 2 rows; got shape \(3,\)"):
        RightCensored(Normal([0.0, 1.0], 1.0), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="infinite where there is none; got -inf"):
        RightCensored(Normal([0.0], 1.0), [-np.inf])
