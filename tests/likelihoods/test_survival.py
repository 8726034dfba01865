"""Likelihoods of right-censored times: derivatives by f and by the scale."""

import numpy as np
import pytest

from credo.likelihoods import LogNormal, Weibull


@pytest.mark.parametrize("family", [LogNormal, Weibull])
def test_derivatives_of_censored_rows_are_differences(family):
    f = np.linspace(-4, 4, 21)
    y, h = np.full_like(f, 1.7), 1e-5
    for observed in (np.arange(21) % 2 == 0, np.arange(21) % 2 == 1):
        likelihood = family(0.6, observed)
        first, second, third = likelihood.derivatives(y, f)
        ahead, behind = likelihood.derivatives(y, f + h), likelihood.derivatives(y, f - h)
        slope = (likelihood.log_prob(y, f + h) - likelihood.log_prob(y, f - h)) / (2 * h)
        np.testing.assert_allclose(first, slope, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(second, (ahead[0] - behind[0]) / (2 * h), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(third, (ahead[1] - behind[1]) / (2 * h), rtol=1e-5, atol=1e-7)
        ((value, by_first, by_second),) = likelihood.by_parameters(y, f)
        up, down = (family(0.6 * np.exp(step), observed) for step in (h, -h))
        np.testing.assert_allclose(value, (up.log_prob(y, f) - down.log_prob(y, f)) / (2 * h), rtol=1e-6, atol=1e-8)
        gaps = [(a - b) / (2 * h) for a, b in zip(up.derivatives(y, f), down.derivatives(y, f), strict=True)]
        np.testing.assert_allclose(by_first, gaps[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(by_second, gaps[1], rtol=1e-6, atol=1e-7)


def test_far_tails_of_a_normal_distribution():
    """h(z) − z = 1/z − 2/z³ + …, where the difference of two large numbers has no digits left."""
    likelihood = LogNormal(1.0, np.array([False]))
    for z in (150.0, 250.0, 1e6):
        first, second, _ = (part[0] for part in likelihood.derivatives(np.ones(1), np.array([-z])))
        assert first == pytest.approx(z + 1 / z - 2 / z**3, rel=1e-9) and second == pytest.approx(
            -1.0, abs=1.1 / z**2 + 1e-7
        )
