"""Argument checks name the argument, its value and what would do."""

import numpy as np
import pytest

from credo.core.estimator import choice, interval_level, nonnegative, positive, positive_integer


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, True, [1.0]])
def test_positive_refuses(value):
    with pytest.raises(ValueError, match="alpha must be a positive finite number; got"):
        positive("alpha", value)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_positive_takes_numbers(value):
    assert positive("alpha", value) == float(value)


def test_nonnegative_takes_zero():
    assert nonnegative("alpha", 0) == 0.0
    with pytest.raises(ValueError, match=r"alpha must be a finite number that is not negative; got -0\.1"):
        nonnegative("alpha", -0.1)


@pytest.mark.parametrize("value", [0, 1.5, True, "3", None])
def test_positive_integer_refuses(value):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got"):
        positive_integer("n", value)


def test_choice_lists_the_options():
    assert choice("mode", "a", ["a", "b"]) == "a"
    with pytest.raises(ValueError, match="mode must be one of 'a', 'b'; got 'c'"):
        choice("mode", "c", ["a", "b"])


@pytest.mark.parametrize("value", [0, 1, 95, "0.9", np.nan])
def test_levels_are_probabilities(value):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        interval_level(value)
