"""E-values: their mean is 1 and they seldom exceed 100 at any time, and they find what is wrong."""

import numpy as np
import pytest
from scipy import stats

from credo.metrics.anytime import log_e_value, log_e_value_of_events

LOOKS = np.unique(np.geomspace(1, 500, 12).astype(int))


def ever(log_e, *rows):
    """Whether there is an alarm at any look, with all rows so far."""
    return max(log_e(*(one[:n] for one in rows)) for n in LOOKS) > np.log(100)


def test_one_row_is_the_mean_of_densities():
    """By quadrature over the normal score: the mean is 1, but for what is beyond eight standard deviations."""
    z = np.linspace(-8.0, 8.0, 1601)
    values = np.exp([log_e_value(np.array([u])) for u in stats.norm.cdf(z)])
    assert 0.96 < (values * stats.norm.pdf(z)).sum() * (z[1] - z[0]) <= 1.0
    for p in (0.01, 0.4, 0.9):
        outcomes = [np.exp(log_e_value_of_events(np.array([p]), np.array([happened]))) for happened in (True, False)]
        assert p * outcomes[0] + (1 - p) * outcomes[1] == pytest.approx(1.0)


def test_calibrated_models_seldom_give_an_alarm_however_often_one_looks():
    rng, n_runs = np.random.default_rng(0), 150
    alarms = {"numbers": 0, "events": 0}
    for _ in range(n_runs):
        u, p = rng.random(500), rng.beta(0.5, 1.0, 500)
        happened = rng.random(500) < p
        alarms["numbers"] += ever(log_e_value, u)
        alarms["events"] += ever(log_e_value_of_events, p, happened)
    assert max(alarms.values()) <= stats.binom.ppf(0.99, n_runs, 0.01)


def test_a_bias_and_wrong_widths_are_found():
    rng = np.random.default_rng(1)
    for shift, scale in ((0.4, 1.0), (0.0, 1.4), (0.0, 0.7)):
        values = [log_e_value(stats.norm.cdf(shift + scale * rng.normal(size=200))) for _ in range(50)]
        assert np.mean(np.array(values) > np.log(100)) > 0.8
    p = rng.random((50, 400))
    sure = 1 / (1 + np.exp(-2.5 * np.log(p / (1 - p))))
    found = [log_e_value_of_events(s, rng.random(400) < one) for s, one in zip(sure, p, strict=True)]
    assert np.mean(np.array(found) > np.log(100)) > 0.8


def test_certain_and_impossible_events():
    p = np.array([0.0, 1.0])
    assert log_e_value_of_events(p, np.array([False, True])) == pytest.approx(0.0, abs=1e-6)
    assert log_e_value_of_events(p, np.array([True, True])) > np.log(100)
    assert np.isfinite(log_e_value(np.array([0.0, 1.0])))
