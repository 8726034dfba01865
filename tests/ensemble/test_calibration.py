"""The map that calibrates distributions: the beta distribution of PIT values."""

import numpy as np
import pytest
from scipy import stats

from credo.distributions import Normal, Recalibrated
from credo.ensemble.calibration import BetaMap
from credo.metrics import pit


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 0.7), (3.0, 1.5)])
def test_it_is_the_beta_distribution_of_highest_likelihood(a, b):
    u = np.random.default_rng(0).beta(a, b, size=400)
    found = BetaMap.fitted(u)
    expected = stats.beta.fit(u, floc=0, fscale=1)[:2]
    np.testing.assert_allclose([found.a, found.b], expected, rtol=1e-3)
    np.testing.assert_allclose(found.log_gain(u), stats.beta.logpdf(u, found.a, found.b), rtol=1e-9)


def test_what_it_gains_is_the_difference_of_the_log_scores():
    y = np.random.default_rng(1).normal(size=200)
    base = Normal(np.zeros(200), np.full(200, 0.5))
    u = pit(y, base)
    found = BetaMap.fitted(u)
    better = found(base)
    assert isinstance(better, Recalibrated) and found.a < 1 and found.b < 1
    np.testing.assert_allclose(found.log_gain(u), better.log_prob(y) - base.log_prob(y), rtol=1e-6, atol=1e-9)


def test_outcomes_at_the_ends_are_finite():
    found = BetaMap.fitted(np.array([0.0, 0.0, 0.5, 1.0]))
    assert np.isfinite([found.a, found.b]).all() and np.isfinite(found.log_gain(np.array([0.0, 1.0]))).all()
