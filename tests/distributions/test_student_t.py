"""Student's t against scipy, its score against its integral, and its heavy tails."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.distributions import oracles

from credo.distributions import Normal, StudentT

DF = [0.7, 1.0, 1.5, 2.0, 3.0, 7.5, 59.0, 61.0, 1e3]


@pytest.mark.parametrize("df", DF)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_equals_scipy(df: float, scale: float) -> None:
    dist, oracle = StudentT(df, 3 * scale, scale), stats.t(df, 3 * scale, scale)
    y = (3 + np.array([-1e5, -30.0, -2.0, -1e-7, 0.0, 0.5, 1.0, 4.0, 1e3])) * scale
    np.testing.assert_allclose(dist.log_prob(y), oracle.logpdf(y), rtol=1e-11)
    np.testing.assert_allclose(dist.cdf(y), oracle.cdf(y), rtol=1e-10)
    q = np.array([1e-12, 1e-3, 0.2, 0.4, 0.5, 0.6, 0.999])
    np.testing.assert_allclose(dist.quantile(q), oracle.ppf(q), rtol=1e-9)


@pytest.mark.parametrize("q", [1e-300, 1e-100, 1e-13, 0.3])
def test_cauchy_tails_keep_their_digits(q: float) -> None:
    """F(x) = 1/2 + arctan(x)/π, and −1/(πq) in the far tail."""
    exact = -1 / np.tan(np.pi * q)
    np.testing.assert_allclose(StudentT(1.0).quantile(q), exact, rtol=1e-13)
    np.testing.assert_allclose(StudentT(1.0).cdf(exact), q, rtol=1e-13)


@pytest.mark.parametrize("df", [1e8, 1e12, 1e300])
def test_many_degrees_of_freedom_are_normal(df: float) -> None:
    y, q = np.array([-8.0, -2.0, 0.0, 0.7, 5.0]), np.array([1e-12, 0.1, 0.5, 0.975])
    t, normal = StudentT(df, 1.0, 2.0), Normal(1.0, 2.0)
    for method in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(t, method)(y), getattr(normal, method)(y), rtol=1e-5)
        if df > 1e10:
            np.testing.assert_allclose(getattr(t, method)(y), getattr(normal, method)(y), rtol=1e-9)
    np.testing.assert_allclose(t.quantile(q), normal.quantile(q), rtol=1e-6)


def test_moments_exist_where_they_do() -> None:
    dist = StudentT([0.5, 1.0, 1.5, 2.0, 3.0, 10.0], 4.0, 2.0)
    np.testing.assert_array_equal(dist.mean, [np.nan, np.nan, 4.0, 4.0, 4.0, 4.0])
    np.testing.assert_allclose(dist.std, [np.nan, np.nan, np.inf, np.inf, np.sqrt(12.0), np.sqrt(5.0)])
    np.testing.assert_allclose(dist.var, [np.nan, np.nan, np.inf, np.inf, 12.0, 5.0])


@pytest.mark.parametrize("df", [0.8, 1.0, 1 + 1e-9, 1.001, 1.0019, 1.0021, 1.5, 2.0, 3.0, 30.0])
@pytest.mark.parametrize("y", [-25.0, 0.0, 1.3])
def test_crps_is_its_integral(df: float, y: float) -> None:
    points = [-1e4, -100.0, -10.0, -3.0, 0.5, 3.0, 10.0, 100.0, 1e4]
    expected = oracles.crps(stats.t(df, 0.5, 2.0).cdf, y, points=points)
    np.testing.assert_allclose(StudentT(df, 0.5, 2.0).crps(y), expected, rtol=2e-8)


def test_crps_is_smooth_through_one_degree_of_freedom() -> None:
    """Where the textbook formula divides by zero: the second difference over equal steps almost vanishes."""
    for step in (1e-12, 1e-9, 1e-6, 1e-4, 1e-3):
        scores = StudentT([1 - step, 1.0, 1 + step]).crps(0.7)
        assert abs(scores[0] - 2 * scores[1] + scores[2]) < 10 * step**2 + 1e-14


def test_crps_is_infinite_where_its_integral_diverges() -> None:
    np.testing.assert_array_equal(StudentT([0.3, 0.5]).crps(0.0), np.inf)
    assert np.isfinite(StudentT(0.51).crps(0.0)).all()


def test_point_mass() -> None:
    point = StudentT([0.4, 3.0], 2.0, 0.0)
    np.testing.assert_array_equal(point.mean, 2.0)
    np.testing.assert_array_equal(point.std, 0.0)
    np.testing.assert_array_equal(point.cdf([[1.9], [2.0]]), [[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(point.quantile([0.0, 0.3, 1.0]), 2.0)
    np.testing.assert_array_equal(point.crps(5.0), 3.0)
    np.testing.assert_array_equal(point.log_prob([[2.0], [2.5]]), [[np.inf, np.inf], [-np.inf, -np.inf]])


def test_extremes_raise_no_warning() -> None:
    largest = np.finfo(float).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist = StudentT([0.6, 1.0, 3.0, 1e300], [-largest, 0.0, 0.0, largest], [1.0, 5e-324, 1.0, largest])
        for y in (-np.inf, -largest, 0.0, 5e-324, largest, np.inf):
            values = np.array([dist.cdf(y), dist.log_prob(y), dist.crps(y)])
            assert not np.isnan(values).any()
        assert not np.isnan(dist.quantile([0.0, 1e-300, 0.5, 1.0])).any()


def test_log_density_far_in_the_tail() -> None:
    """The Cauchy density at y is 1/(πy²) to rounding, even where y² overflows."""
    np.testing.assert_allclose(
        StudentT(1.0, 0.0, [1.0, 1e-150]).log_prob(1e200),
        [-np.log(np.pi) - 400 * np.log(10.0), -np.log(np.pi) - 550 * np.log(10.0)],
        rtol=1e-13,
    )


@given(st.floats(0.6, 1e4), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_quantiles_are_odd_and_monotone(df: float, p: float, q: float) -> None:
    dist = StudentT(df)
    low, high = dist.quantile(min(p, q)), dist.quantile(max(p, q))
    assert low <= high
    np.testing.assert_array_equal(dist.quantile(1 - p), -dist.quantile(1 - (1 - p)))


@given(st.floats(0.6, 1e4), st.floats(1e-9, 1 - 1e-9))
@settings(max_examples=30, deadline=None)
def test_cdf_undoes_quantile(df: float, q: float) -> None:
    dist = StudentT(df)
    np.testing.assert_allclose(dist.cdf(dist.quantile(q)), q, rtol=1e-10)


def test_bad_parameters_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"df must be positive; got 0.0 at index 1"):
        StudentT([1.0, 0.0])
    with pytest.raises(ValueError, match=r"df must be finite; got inf at index 0"):
        StudentT(np.inf)
    with pytest.raises(ValueError, match=r"scale must not be negative; got -2.0 at index 0"):
        StudentT(3.0, 0.0, -2.0)
    with pytest.raises(ValueError, match="df has 2, loc has 3, scale has 1"):
        StudentT([1.0, 2.0], [0.0, 1.0, 2.0])
