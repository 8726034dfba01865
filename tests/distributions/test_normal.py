"""The normal distribution against scipy, its score against its integral, and its limits."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.distributions import oracles

from credo.distributions import Normal

SCALES = [1e-200, 1e-8, 1.0, 1e8, 1e200]
Z = np.array([-40.0, -37.0, -8.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 8.0])


@pytest.mark.parametrize("scale", SCALES)
def test_equals_scipy_over_scales(scale: float) -> None:
    dist, oracle = Normal(2.0 * scale, scale), stats.norm(2.0 * scale, scale)
    y = (2.0 + Z) * scale
    np.testing.assert_allclose(dist.log_prob(y), oracle.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(dist.cdf(y), oracle.cdf(y), rtol=1e-11)
    q = np.array([1e-300, 1e-20, 0.025, 0.5, 0.975, 1 - 1e-12])
    np.testing.assert_allclose(dist.quantile(q), oracle.ppf(q), rtol=1e-14)
    assert dist.mean == 2 * scale and dist.std == scale


@pytest.mark.parametrize("y", [-6.0, -0.5, 0.0, 1.0, 2.9])
def test_crps_is_its_integral(y: float) -> None:
    points = np.linspace(-9, 11, 11)
    expected = oracles.crps(stats.norm(1.0, 2.0).cdf, y, points=points)
    np.testing.assert_allclose(Normal(1.0, 2.0).crps(y), expected, rtol=1e-9)


def test_crps_at_the_centre_is_the_published_constant() -> None:
    """σ(√2 − 1)/√π, from Gneiting & Raftery's closed form at z = 0."""
    np.testing.assert_allclose(Normal(0.0, 3.0).crps(0.0), 3 * (np.sqrt(2) - 1) / np.sqrt(np.pi), rtol=1e-15)


@pytest.mark.parametrize("z", [1e3, 1e8, 1e16, 1e160, 1e300])
def test_crps_far_away_is_distance_less_half_the_mean_difference(z: float) -> None:
    np.testing.assert_allclose(Normal(0.0, 1.0).crps([-z, z]), z - 1 / np.sqrt(np.pi), rtol=1e-15)


def test_score_is_absolute_error_when_the_scale_vanishes() -> None:
    scores = Normal(1.0, [1e-300, 5e-324, 0.0]).crps(1e10)
    np.testing.assert_array_equal(scores, 1e10 - 1.0)


def test_point_mass() -> None:
    point = Normal(2.0, 0.0)
    np.testing.assert_array_equal(point.cdf([1.9, 2.0, 2.1]), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(point.quantile([0.0, 0.3, 1.0]), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(point.crps([0.0, 2.0, 3.5]), [2.0, 0.0, 1.5])
    np.testing.assert_array_equal(point.log_prob([2.0, 2.1]), [np.inf, -np.inf])
    np.testing.assert_array_equal(point.interval(0.9), [2.0, 2.0])
    np.testing.assert_array_equal(point.sample(2, random_state=0), [2.0, 2.0])


def test_extremes_raise_no_warning() -> None:
    largest = np.finfo(float).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist = Normal([-largest, 0.0, 0.0, largest], [1.0, 5e-324, 0.0, largest])
        for y in (-np.inf, -largest, 0.0, 5e-324, largest, np.inf):
            values = np.array([dist.cdf(y), dist.log_prob(y), dist.crps(y)])
            assert not np.isnan(values).any()
        assert not np.isnan(dist.quantile([0.0, 0.5, 1.0])).any()
        assert not np.isnan(dist.var).any()


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(1e-12, 1 - 1e-12))
@settings(max_examples=30, deadline=None)
def test_cdf_undoes_quantile(mean: float, std: float, q: float) -> None:
    dist = Normal(mean, std)
    # The quantile is rounded to a float, which moves the cdf by the density times that.
    slack = 1e-12 + 4 * np.spacing(abs(mean) + 8 * std) / std
    np.testing.assert_allclose(dist.cdf(dist.quantile(q)), q, rtol=1e-10, atol=slack)


@given(st.floats(-1e3, 1e3), st.floats(0, 1e3), st.floats(-1e3, 1e3), st.floats(-10, 10), st.floats(0.01, 100))
@settings(max_examples=30, deadline=None)
def test_scores_move_and_scale_with_the_data(m: float, s: float, y: float, shift: float, k: float) -> None:
    here, there = Normal(m, s).crps(y), Normal(k * m + shift, k * s).crps(k * y + shift)
    np.testing.assert_allclose(there, k * here, rtol=1e-9, atol=1e-9)
    assert here >= 0


def test_bad_parameters_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"std must not be negative; got -1.0 at index 1"):
        Normal([0.0, 1.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"mean must not contain NaN; got nan at index 1"):
        Normal([0.0, np.nan], 1.0)
    with pytest.raises(ValueError, match=r"std must be finite; got inf at index 0"):
        Normal(0.0, np.inf)
    with pytest.raises(ValueError, match=r"equal lengths \(or length 1\): mean has 2, std has 3"):
        Normal([0.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"mean must be a number or one-dimensional; got shape \(1, 2\)"):
        Normal([[0.0, 1.0]], 1.0)
    with pytest.raises(TypeError, match=r"mean must be real numbers; got \['a'\]"):
        Normal(["a"], 1.0)
    with pytest.raises(TypeError, match="real numbers"):
        Normal(1j, 1.0)


def test_parameters_are_read_only_copies() -> None:
    mean = np.array([1.0, 2.0])
    dist = Normal(mean, 1.0)
    mean[0] = 99.0
    np.testing.assert_array_equal(dist.mean, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        dist.mean[0] = 5.0


def test_repr_is_short() -> None:
    assert repr(Normal([0.0, 1.5], 2.0)) == "Normal(mean=[0. , 1.5], std=[2., 2.])"
    assert repr(Normal(np.arange(1000.0), 1.0)) == (
        "Normal(mean=[  0.,   1., ..., 998., 999.], std=[1., 1., ..., 1., 1.])"
    )
