"""The periodic kernel of functions that average zero, and linear functions that are zero at a given point."""

import numpy as np
import pytest

from credo.kernels import Linear, Periodic, ZeroMeanPeriodic

X = np.random.default_rng(0).normal(size=(8, 1))


@pytest.mark.parametrize("lengthscale", [0.2, 1.0, 20.0])
def test_functions_average_zero_over_a_period(lengthscale):
    grid = np.linspace(0.0, 3.0, 400, endpoint=False)[:, None]
    kernel = ZeroMeanPeriodic(lengthscale, period=3.0, variance=2.0)
    np.testing.assert_allclose(kernel.cross(X, grid).mean(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(X), 2.0)
    # The plain kernel minus its mean, by summation instead of Bessel functions.
    plain = Periodic(lengthscale, period=3.0)
    c = plain.cross(X[:1], grid).mean()
    np.testing.assert_allclose(kernel.gram(X), 2.0 * (plain.gram(X) - c) / (1 - c), atol=1e-9)


def test_long_length_scales_make_sines():
    kernel = ZeroMeanPeriodic(100.0, period=3.0)
    np.testing.assert_allclose(kernel.gram(X), np.cos(2 * np.pi * (X - X.T) / 3.0), atol=1e-4)


def test_several_columns_are_refused():
    with pytest.raises(ValueError, match=r"single column, as in .on\(0\); got 2"):
        ZeroMeanPeriodic().gram(np.ones((3, 2)))


def test_a_center_shifts_the_columns():
    kernel = Linear(2.0, center=1.5)
    np.testing.assert_allclose(kernel.gram(X), Linear(2.0).gram(X - 1.5))
    assert kernel != Linear(2.0) and repr(kernel) == "Linear(variance=2, center=1.5)"
    with pytest.raises(ValueError, match="center must be a finite number, or one for each column; got nan"):
        Linear(center=np.nan)


def test_centers_and_scales_standardise_the_columns():
    rows = np.random.default_rng(0).normal([1.0, -3.0], [2.0, 0.5], size=(6, 2))
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    kernel = Linear(0.7, center=center, scale=scale)
    np.testing.assert_allclose(kernel.gram(rows), Linear(0.7).gram((rows - center) / scale))
    assert repr(kernel) == "Linear(variance=0.7, center=[1.06916, -2.99522], scale=[1.48096, 0.33283])"
    assert Linear.from_fields(kernel.to_fields()) == kernel
    with pytest.raises(ValueError, match="the kernel has 2 centers, but X has 1 columns"):
        kernel.gram(rows[:, :1])
    with pytest.raises(ValueError, match="scale must be above zero"):
        Linear(scale=[1.0, 0.0])
