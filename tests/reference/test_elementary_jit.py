"""Compiled logarithms and exponentials of many numbers beside NumPy's, in as many digits as it has."""

import numpy as np
import pytest

from credo.subsets.walk.elementary._jit import exps, logs
from credo.subsets.walk.factors._jit import dot

# Where long doubles are doubles NumPy's own rounding counts too.
ULPS = 2.0 if np.finfo(np.longdouble).eps < 1e-17 else 3.0


def distance(ours, exact):
    """In units of the last place."""
    return np.abs((ours - exact) / np.spacing(np.abs(exact.astype(np.float64)))).max()


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 5000])
def test_logs_of_all_magnitudes(size):
    x = np.exp(np.random.default_rng(size).uniform(-708, 709, size))
    ours = x.copy()
    logs(ours)
    assert size == 0 or distance(ours, np.log(x.astype(np.longdouble))) < ULPS


def test_logs_beside_one_and_where_the_fraction_is_cut():
    around = 2.0 ** np.arange(-60, 61) * np.sqrt(0.5)
    near = 1.0 + np.append(2.0 ** -np.arange(1.0, 53.0), -(2.0 ** -np.arange(1.0, 54.0)))
    x = np.concatenate([near, around, np.nextafter(around, 0.0), np.nextafter(around, np.inf), [2.3e-308, 1.7e308]])
    ours = x.copy()
    logs(ours)
    assert distance(ours, np.log(x.astype(np.longdouble))) < ULPS
    one = np.ones(3)
    logs(one)
    np.testing.assert_array_equal(one, 0.0)


@pytest.mark.parametrize("least", [-1.0, -40.0, -708.0])
def test_exps(least):
    x = np.random.default_rng(1).uniform(least, 0.0, 5000)
    ours = x.copy()
    exps(ours)
    assert distance(ours, np.exp(x.astype(np.longdouble))) < ULPS


def test_exps_at_the_ends():
    x = np.array([0.0, -0.0, -708.1, -1e300, -np.inf])
    exps(x)
    np.testing.assert_array_equal(x, [1.0, 1.0, 0.0, 0.0, 0.0])


def test_a_dot_of_first_parts():
    a, b = np.random.default_rng(2).normal(size=(2, 50))
    assert dot(a, b, 33) == pytest.approx(np.dot(a[:33], b[:33]), rel=1e-13)
