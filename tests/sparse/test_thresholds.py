"""The thresholds minimise what they say they minimise."""

import numpy as np
import pytest

from credo.sparse import hard_threshold, soft_threshold

GRID = np.linspace(-6, 6, 120_001)


@pytest.mark.parametrize("a", [-3.2, -1.0, -0.4, 0.0, 0.7, 1.0, 1.3, 5.0])
def test_soft_threshold_minimises(a):
    best = GRID[np.argmin(0.5 * (GRID - a) ** 2 + 1.0 * np.abs(GRID))]
    assert soft_threshold(a, 1.0) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("a", [-3.2, -0.4, 0.0, 0.7, 1.3, 5.0])
def test_hard_threshold_minimises(a):
    best = GRID[np.argmin(0.5 * (GRID - a) ** 2 + 0.5 * (np.abs(GRID) > 1e-9))]
    assert hard_threshold(a, 1.0) == pytest.approx(best, abs=1e-4)


def test_thresholds_broadcast_and_keep_shape():
    a = np.array([[1.0, -2.0], [3.0, 0.0]])
    np.testing.assert_array_equal(soft_threshold(a, [0.5, 1.0]), [[0.5, -1.0], [2.5, 0.0]])
    np.testing.assert_array_equal(hard_threshold(a, [1.0, 1.0]), [[0.0, -2.0], [3.0, 0.0]])
    np.testing.assert_array_equal(soft_threshold(a, 0.0), a)


@pytest.mark.parametrize("threshold", [soft_threshold, hard_threshold])
@pytest.mark.parametrize("delta", [-0.1, np.nan, [1.0, -1.0]])
def test_a_bad_threshold_is_refused_in_words(threshold, delta):
    with pytest.raises(ValueError, match="delta must not be negative"):
        threshold([1.0, 2.0], delta)


@pytest.mark.parametrize("threshold", [soft_threshold, hard_threshold])
def test_infinite_numbers(threshold):
    np.testing.assert_array_equal(threshold([-np.inf, 3.0, np.inf], [1.0, np.inf, 0.0]), [-np.inf, 0.0, np.inf])
    with pytest.raises(ValueError, match="a and delta are infinite at the same place"):
        threshold([1.0, -np.inf], np.inf)


def test_what_is_not_a_number_stays():
    for threshold in (soft_threshold, hard_threshold):
        np.testing.assert_array_equal(np.isnan(threshold([np.nan, 2.0], 1.0)), [True, False])
