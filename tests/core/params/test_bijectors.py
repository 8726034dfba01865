"""Bijectors: round trips, derivatives by finite differences, and what happens at the extremes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.core.params import Identity, Interval, LogInterval, Positive

BIJECTORS = [
    Identity(),
    Positive(),
    Interval(-2.0, 5.0),
    Interval(0.0, 1e-3),
    LogInterval(1e-5, 1e5),
]
each = pytest.mark.parametrize("bijector", BIJECTORS, ids=repr)
MODERATE = np.array([-15.0, -3.0, -0.5, 0.0, 0.1, 2.0, 9.0])


@each
@given(u=st.floats(-12.0, 12.0))
def test_inverse_undoes_forward(bijector, u):
    # A bound b is approached like e^−|u|, so that rounding of x moves u by eps·e^|u|·|b| / width.
    assert_allclose(bijector.inverse(bijector.forward(u)), u, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("bijector", [Positive()], ids=repr)
@given(exponent=st.floats(-298.0, 298.0))
def test_positive_values_of_any_magnitude_come_back(bijector, exponent):
    x = 10.0**exponent
    assert_allclose(bijector.forward(bijector.inverse(x)), x, rtol=1e-12)


@each
def test_derivatives_equal_finite_differences(bijector):
    h = 1e-5
    for u in MODERATE:
        slope = (bijector.forward(u + h) - bijector.forward(u - h)) / (2 * h)
        spacing = np.spacing(np.abs(bijector.forward(u))) / h
        assert_allclose(bijector.derivative(u), slope, rtol=1e-7, atol=20 * spacing)
        curve = (bijector.log_derivative(u + h) - bijector.log_derivative(u - h)) / (2 * h)
        assert_allclose(bijector.log_derivative_slope(u), curve, rtol=1e-6, atol=1e-8)
        assert_allclose(np.log(bijector.derivative(u)), bijector.log_derivative(u), rtol=1e-12, atol=1e-14)


@each
@pytest.mark.parametrize("u", [-1e300, -1e4, -800.0, -745.0, -40.0, 40.0, 710.0, 800.0, 1e4, 1e300])
def test_extreme_steps_stay_inside_the_domain_without_warnings(bijector, u):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        x = bijector.forward(u)
        assert bijector.contains(x).all()
        assert np.isfinite(bijector.inverse(x))
        assert np.isfinite(bijector.derivative(u))
        assert np.isfinite(bijector.log_derivative(u))
        assert np.isfinite(bijector.log_derivative_slope(u))


def test_log_derivatives_keep_their_digits_where_derivatives_underflow():
    assert_allclose(Interval(0.0, 2.0).log_derivative([-800.0, 800.0]), np.log(2.0) - 800.0)
    assert_allclose(Positive().log_derivative(-800.0), -800.0)


def test_published_forms():
    u = np.array([-1.0, 0.0, 2.0])
    assert_allclose(Positive().forward(u), np.exp(u))
    assert_allclose(Interval(1.0, 4.0).forward(u), 1.0 + 3.0 / (1.0 + np.exp(-u)))
    assert_allclose(LogInterval(0.1, 10.0).forward(u), 0.1 * 100.0 ** (1.0 / (1.0 + np.exp(-u))))
    assert_array_equal(Identity().forward(u), u)


@each
def test_maps_increase_and_keep_shapes(bijector):
    grid = np.linspace(-9.0, 9.0, 12).reshape(3, 4)
    x = bijector.forward(grid)
    assert x.shape == bijector.inverse(x).shape == bijector.derivative(grid).shape == (3, 4)
    assert (np.diff(x.ravel()) > 0).all()


def test_domains():
    assert_array_equal(Positive().contains([-1.0, 0.0, 1.0, np.inf, np.nan]), [False, False, True, False, False])
    assert_array_equal(Interval(0.0, 1.0).contains([0.0, 0.5, 1.0]), [False, True, False])
    assert_array_equal(Identity().contains([-1e308, np.inf]), [True, False])


def test_refusals():
    with pytest.raises(ValueError, match=r"needs finite lower < upper; got lower=1.0, upper=1.0"):
        Interval(1.0, 1.0)
    with pytest.raises(ValueError, match=r"needs finite lower < upper; got lower=0.0, upper=inf"):
        Interval(0.0, np.inf)
    with pytest.raises(ValueError, match=r"needs 0 < lower < upper < inf; got lower=0.0, upper=1.0"):
        LogInterval(0.0, 1.0)
