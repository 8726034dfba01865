"""The highest point of functions whose maxima are known."""

import numpy as np
import pytest
from scipy import optimize

from credo.core.learning import maximize_scalar


def counted(function):
    calls = []

    def call(u):
        calls.append(u)
        return function(u)

    return call, calls


@pytest.mark.parametrize("place", [-3.3, 0.0, 1.234567890123, 4.9])
def test_one_maximum_is_found_to_rounding(place):
    """ln sech, whose slope is −tanh."""
    top = maximize_scalar(
        lambda u: -np.log(np.cosh(u - place)), lambda u: -np.tanh(u - place), np.linspace(-10, 10, 41)
    )
    assert top.place == pytest.approx(place, abs=1e-13) and top.kind == "inner"


def test_of_several_the_highest():
    """Two bells of different height and a ripple, against a fine grid and a general optimiser."""

    def value(u):
        return np.exp(-((u + 4) ** 2)) + 1.5 * np.exp(-((u - 3) ** 2)) + 0.02 * np.sin(u)

    def slope(u):
        left, right = np.exp(-((u + 4) ** 2)), np.exp(-((u - 3) ** 2))
        return -2 * (u + 4) * left - 3 * (u - 3) * right + 0.02 * np.cos(u)

    top = maximize_scalar(value, slope, np.linspace(-8, 8, 40))
    oracle = optimize.minimize_scalar(lambda u: -value(u), bounds=(2, 4), method="bounded", options={"xatol": 1e-9})
    assert top.kind == "several" and top.place == pytest.approx(oracle.x, abs=1e-6)
    assert abs(slope(top.place)) < 1e-12


def test_a_rising_function_ends_at_its_end():
    grid = np.linspace(-2.0, 5.0, 20)
    assert maximize_scalar(np.exp, np.exp, grid).place == 5.0
    assert maximize_scalar(np.exp, np.exp, grid).kind == "high"
    falling = maximize_scalar(lambda u: -np.exp(u), lambda u: -np.exp(u), grid)
    assert (falling.place, falling.kind, falling.n_iter) == (-2.0, "low", 0)


def test_rounding_on_a_plateau_is_no_maximum():
    """A step that has risen to its plateau long before the grid's end, with noise of a few units in the last place."""
    noise = 4e-16 * np.random.default_rng(0).standard_normal(60)
    grid = np.linspace(-5.0, 60.0, 60)
    seen = iter([1.0 / (1.0 + np.exp(-grid)) + noise])
    top = maximize_scalar(lambda u: next(seen) if len(u) else u, lambda u: np.exp(-u) / (1 + np.exp(-u)) ** 2, grid)
    assert top.kind == "high" and top.place == 60.0


def test_what_the_scan_saw_stays_where_the_slope_turns_between_strides():
    """Ripples narrower than the strides, on a bell: no bracket holds one root for certain."""

    def value(u):
        return np.exp(-(u**2)) + 0.05 * np.cos(40 * u)

    def slope(u):
        return -2 * u * np.exp(-(u**2)) - 2 * np.sin(40 * u)

    grid = np.linspace(-6.0, 6.1, 12)
    top = maximize_scalar(value, slope, grid)
    assert top.kind in ("inner", "several") and value(top.place) >= value(grid).max()


def test_a_range_without_width_is_flat():
    def never(u):
        raise AssertionError("nothing to look at")

    top = maximize_scalar(never, never, np.zeros(1))
    assert (top.place, top.n_iter, top.kind) == (0.0, 0, "flat")


def test_no_slope_is_asked_for_twice():
    slope, calls = counted(lambda u: -np.tanh(u - 0.3))
    maximize_scalar(lambda u: -np.log(np.cosh(u - 0.3)), slope, np.linspace(-10, 10, 9), precision=1e-9)
    assert len(calls) == len(set(calls)) < 14
