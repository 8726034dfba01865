"""The naive forecast: a random walk by hand, seasons, and its calibration on what it assumes."""

import math

import numpy as np
import pytest
from scipy import stats

import credo
from credo.linear import NaiveForecast


def test_the_last_value_with_the_spread_of_a_random_walk():
    t = np.array([0.0, 1.0, 3.0, 4.0])
    y = np.array([1.0, 2.0, 0.0, 1.0])
    model = NaiveForecast(1).fit(np.column_stack([np.zeros(4), t])[::-1], y[::-1])
    # (1² + 2²/2 + 1²)/3
    assert model.step_std_ == pytest.approx(np.sqrt(4 / 3))
    new = np.column_stack([np.zeros(4), [4.0, 5.0, 13.0, 2.0]])
    dist = model.predict_dist(new)
    np.testing.assert_allclose(dist.mean, [0.0, 1.0, 1.0, 2.0])
    expected = stats.t(3, dist.mean, model.step_std_ * np.sqrt([1.0, 1.0, 9.0, 1.0]))
    np.testing.assert_allclose(dist.interval(0.9), expected.interval(0.9))


def test_intervals_of_a_random_walk_hold_what_they_promise():
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(300, 60)).cumsum(axis=1)
    t = np.arange(60.0)[:, None]
    inside = []
    for walk in walks:
        lower, upper = NaiveForecast().fit(t[:30], walk[:30]).predict_dist(t[[30, 40, 59]]).interval(0.9)
        inside.append((lower <= walk[[30, 40, 59]]) & (walk[[30, 40, 59]] <= upper))
    # Three standard errors of a share of 0.9 among 300.
    np.testing.assert_allclose(np.mean(inside, axis=0), 0.9, atol=0.052)


def test_the_last_season():
    t = np.arange(48.0)
    season = np.tile(np.arange(12.0), 4)
    model = NaiveForecast(period=12.0).fit(t[:, None], season + np.repeat([0.0, 1.0, 0.0, 1.0], 12))
    later = np.array([48.0, 50.0, 59.0, 60.0])
    np.testing.assert_allclose(model.predict(later[:, None]), [1.0, 3.0, 12.0, 1.0])
    assert model.step_std_ == pytest.approx(1.0)
    scale = model.predict_dist(later[:, None]).std / np.sqrt(36 / 34)
    np.testing.assert_allclose(scale, [1.0, 1.0, 1.0, np.sqrt(2)])


def test_bad_input():
    with pytest.raises(ValueError, match="time is column 1, and X has 1 columns"):
        NaiveForecast(1).fit([[0.0], [1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="period must be"):
        NaiveForecast(period=0.0).fit([[0.0], [1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="n_samples = 1"):
        NaiveForecast().fit([[0.0]], [1.0])
    # One time alone has the spread of its values.
    assert NaiveForecast().fit([[0.0], [0.0], [0.0]], [1.0, 2.0, 3.0]).step_std_ == pytest.approx(1.0)


@pytest.mark.parametrize("forged", [{"time": 7}, {"time": -1}, {"period": 0.0}, {"period": math.nan}])
def test_a_file_with_arguments_that_cannot_be_is_refused(tmp_path, forged):
    model = NaiveForecast().fit(np.arange(5.0)[:, None], [1.0, 2.0, 1.0, 2.0, 1.0])
    vars(model).update(forged)
    with pytest.raises(credo.tables.ModelFileError, match=next(iter(forged))):
        credo.save(model, tmp_path / "model.credo")
