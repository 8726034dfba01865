"""Scores against scipy, scikit-learn, quadrature, and the laws that make a score proper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.metrics import root_mean_squared_error

from credo.distributions import Bernoulli, Categorical, Normal, StudentT
from credo.metrics import crps, log_score, rmse


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    mean, std = rng.normal(size=40), rng.uniform(0.5, 2.0, size=40)
    return mean + std * rng.normal(size=40), mean, std


def test_log_score_is_the_mean_log_density_of_scipy(data):
    y, mean, std = data
    assert log_score(y, Normal(mean, std)) == pytest.approx(stats.norm(mean, std).logpdf(y).mean(), rel=1e-12)
    expected = stats.t(4.0, mean, std).logpdf(y).mean()
    assert log_score(y, StudentT(np.full(40, 4.0), mean, std)) == pytest.approx(expected, rel=1e-12)


def test_log_score_of_class_labels_takes_the_probability_of_the_label_that_came():
    dist = Categorical([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], classes=["ant", "bee", "cat"])
    assert log_score(["bee", "cat"], dist) == pytest.approx(np.log([0.2, 0.4]).mean())
    assert log_score([1, 0], Bernoulli([0.9, 0.4])) == pytest.approx(np.log([0.9, 0.6]).mean())


def test_crps_is_the_integral_of_its_definition():
    y, dist = 1.3, stats.t(5.0, 0.2, 0.8)
    below = integrate.quad(lambda t: dist.cdf(t) ** 2, -np.inf, y)[0]
    above = integrate.quad(lambda t: dist.sf(t) ** 2, y, np.inf)[0]
    assert crps([y], StudentT([5.0], [0.2], [0.8])) == pytest.approx(below + above, rel=1e-6)


def test_crps_of_a_point_mass_is_the_absolute_error():
    assert crps([1.0, 5.0], Normal([2.0, 2.0], [0.0, 0.0])) == pytest.approx(2.0)


def test_rmse_is_scikit_learns(data):
    y, mean, std = data
    weight = np.arange(40.0)
    assert rmse(y, mean) == pytest.approx(root_mean_squared_error(y, mean), rel=1e-13)
    assert rmse(y, Normal(mean, std)) == rmse(y, mean)
    expected = root_mean_squared_error(y, mean, sample_weight=weight)
    assert rmse(y, mean, sample_weight=weight) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_rmse_survives_scales_whose_squares_are_no_numbers(scale):
    assert rmse([3 * scale, 4 * scale], [0.0, 0.0]) == pytest.approx(np.sqrt(12.5) * scale, rel=1e-12)


def test_rmse_of_a_perfect_prediction_is_zero():
    assert rmse([1.0, 2.0], [1.0, 2.0]) == 0.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any))
def test_an_integer_weight_is_a_repeated_row(weight):
    y, mean, std = np.arange(5.0), np.linspace(1, 2, 5), np.linspace(0.5, 1, 5)
    again = np.repeat(np.arange(5), weight)
    for score in (log_score, crps, rmse):
        weighted = score(y, Normal(mean, std), sample_weight=weight)
        assert weighted == pytest.approx(score(y[again], Normal(mean[again], std[again])), rel=1e-12)


def test_the_truth_has_the_best_score():
    # Propriety: with 20 000 outcomes the gaps are many standard errors wide.
    y = np.random.default_rng(0).normal(size=20_000)
    zeros, ones = np.zeros_like(y), np.ones_like(y)
    truth = Normal(zeros, ones)
    for wrong in (Normal(zeros + 0.3, ones), Normal(zeros, 1.3 * ones), Normal(zeros, 0.7 * ones)):
        assert log_score(y, truth) > log_score(y, wrong)
        assert crps(y, truth) < crps(y, wrong)


def test_an_impossible_outcome_costs_everything_unless_its_weight_is_zero():
    dist = Normal([0.0, 0.0], [1.0, 0.0])
    assert log_score([0.0, 1.0], dist) == -np.inf
    assert log_score([0.0, 1.0], dist, sample_weight=[1.0, 0.0]) == pytest.approx(stats.norm.logpdf(0))


DIST = Normal([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 1.0], DIST), "y has 2 values and dist has 3 rows"),
        (([[0.0], [1.0], [2.0]], DIST), r"one-dimensional; got shape \(3, 1\)"),
        (([0.0, np.nan, np.inf], DIST), "2 values that are not finite, the first is nan at index 1"),
        ((["a", "b", "c"], DIST), "y must be numbers"),
        (([], Normal([], [])), "y is empty"),
    ],
)
@pytest.mark.parametrize("score", [log_score, crps])
def test_bad_outcomes_are_refused_in_words(score, arguments, words):
    with pytest.raises(ValueError, match=words):
        score(*arguments)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 1.0], "sample_weight has 2 values and y has 3"),
        ([1.0, -2.0, 1.0], "must not be negative; got -2.0 at index 1"),
        ([0.0, 0.0, 0.0], "all sample weights are zero"),
        ([1.0, np.nan, 1.0], "sample_weight has 1 values that are not finite"),
    ],
)
@pytest.mark.parametrize("score", [log_score, crps, rmse])
def test_bad_weights_are_refused_in_words(score, weight, words):
    with pytest.raises(ValueError, match=words):
        score([0.5, 1.0, 2.0], DIST, sample_weight=weight)


def test_an_array_is_no_distribution():
    with pytest.raises(TypeError, match="as predict_dist returns; got ndarray"):
        log_score([0.0], np.zeros(1))


def test_rmse_says_that_lengths_differ():
    with pytest.raises(ValueError, match="y has 2 values and there are 1 predictions"):
        rmse([1.0, 2.0], [1.0])
