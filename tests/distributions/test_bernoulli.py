"""Bernoulli probabilities, and the Brier score as their CRPS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from credo.distributions import Bernoulli, Categorical


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-12, 0.3, 1 - 1e-12, 1.0])
def test_equals_scipy(p: float) -> None:
    dist, oracle = Bernoulli(p), stats.bernoulli(p)
    np.testing.assert_allclose(dist.log_prob([0, 1]), oracle.logpmf([0, 1]), rtol=1e-12)
    np.testing.assert_allclose(dist.cdf([-0.1, 0.0, 0.5, 1.0]), oracle.cdf([-0.1, 0.0, 0.5, 1.0]), rtol=1e-15)
    np.testing.assert_allclose(dist.std, oracle.std(), rtol=1e-12)


def test_certain_outcomes() -> None:
    dist = Bernoulli([0.0, 1.0])
    np.testing.assert_array_equal(dist.quantile([0.0, 0.5, 1.0]), [[0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(dist.log_prob([1, 0]), -np.inf)
    np.testing.assert_array_equal(dist.log_prob([0, 1]), 0.0)


def test_the_ends_of_the_support_are_reached_however_improbable() -> None:
    np.testing.assert_array_equal(Bernoulli(1e-30).quantile([0.0, 1 - 1e-12, 1.0]), [0, 0, 1])


@given(st.floats(0, 1), st.sampled_from([0, 1]))
@settings(max_examples=30, deadline=None)
def test_is_the_categorical_of_two_classes(p: float, y: int) -> None:
    one, two = Bernoulli(p), Categorical([1 - p, p])
    np.testing.assert_allclose(one.crps(y), (p - y) ** 2, rtol=1e-15)
    np.testing.assert_allclose(one.crps(y), two.crps(y), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.exp(one.log_prob(y)), np.exp(two.log_prob(y)), atol=1e-15)


def test_mode_and_labels() -> None:
    dist = Bernoulli([0.2, 0.5, 0.7])
    assert dist.mode.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(dist.probs, [0.2, 0.5, 0.7])
    np.testing.assert_array_equal(dist.log_prob([True, False, True]), dist.log_prob([1, 0, 1]))
    assert set(np.unique(dist.sample(50, random_state=0))) == {0, 1}


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"probs must be between 0 and 1; got 1.5 at index 1"):
        Bernoulli([0.5, 1.5])
    for method in (Bernoulli(0.5).log_prob, Bernoulli(0.5).crps):
        with pytest.raises(ValueError, match=r"must be 0 or 1; use Categorical .*; got 2.0 at index 1"):
            method([0, 2])
