"""The Kaplan–Meier estimate."""

import numpy as np
import pytest
from tests.additive.published import ovarian

from credo.metrics import kaplan_meier


def test_it_is_that_of_r():
    """`survfit(Surv(futime, fustat) ~ 1, ovarian)` of R's survival 3.5, with its default interval."""
    table = ovarian()
    found = kaplan_meier(table["futime"], table["fustat"])
    np.testing.assert_array_equal(found.time, [59, 115, 156, 268, 329, 353, 365, 431, 464, 475, 563, 638])
    np.testing.assert_array_equal(found.at_risk, [26, 25, 24, 23, 22, 21, 20, 17, 15, 14, 12, 11])
    survival = [
        0.96154, 0.92308, 0.88462, 0.84615, 0.80769, 0.76923, 0.73077, 0.68778, 0.64193, 0.59608, 0.54641, 0.49673,
    ]  # fmt: skip
    np.testing.assert_allclose(found.survival, survival, atol=5e-6)
    assert found.std_error[[0, -1]] == pytest.approx([0.037715, 0.105103], abs=1e-6)
    lower, upper = found.interval(0.95)
    assert lower[[0, 5, 11]] == pytest.approx([0.890389007, 0.623193529, 0.328108828], abs=1e-8)
    assert upper[[0, 5, 11]] == pytest.approx([1.0, 0.949489924, 0.752014834], abs=1e-8)
    assert found.median == 638


def test_without_censoring_it_is_the_share_of_longer_times():
    y = np.random.default_rng(0).integers(1, 20, size=200).astype(float)
    found = kaplan_meier(y, np.ones(200))
    np.testing.assert_allclose(found.survival, [np.mean(y > time) for time in found.time], atol=1e-12)
    assert found.survival[-1] == 0 and found.std_error[-1] == 0


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="one finite number and one truth value for each row"):
        kaplan_meier([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="event must be true or false, or 1 or 0, in each row; got 2 in row 1"):
        kaplan_meier([1.0, 2.0], [1, 2])
    with pytest.raises(ValueError, match="got 'no' in row 0"):
        kaplan_meier([1.0, 2.0], ["no", "yes"])


@pytest.mark.parametrize("n", [24, 46, 200])
def test_median_of_an_even_number_of_times(n):
    """S falls to one half at the n/2-th of n times, whatever the rounding of the product."""
    assert kaplan_meier(np.arange(1.0, n + 1), np.ones(n)).median == n / 2
