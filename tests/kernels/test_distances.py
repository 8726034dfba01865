"""Kernels of the distance beside decimal arithmetic of fifty digits, from equal rows to overflowing squares."""

from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

from credo import GPRegressor
from credo.kernels import RBF, Columns, Exponential, Matern32, Matern52, Periodic, RationalQuadratic

DISTANCES = [0.0, 1e-9, 0.3, 1.0, 3.0, 30.0, 300.0, 316.0, 1e3, 1e10, 3e153, 1e160, 1e300]

ROOT3, ROOT5 = Decimal(3).sqrt(Context(prec=50)), Decimal(5).sqrt(Context(prec=50))
FORMULAS = {
    RBF: lambda r: (-r * r / 2).exp(),
    Exponential: lambda r: (-r).exp(),
    Matern32: lambda r: (1 + ROOT3 * r) * (-ROOT3 * r).exp(),
    Matern52: lambda r: (1 + ROOT5 * r + 5 * r * r / 3) * (-ROOT5 * r).exp(),
    RationalQuadratic: lambda r: 1 / (1 + r * r / 2),
}


@pytest.mark.parametrize("kind", FORMULAS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("distance", DISTANCES)
def test_values_at_any_distance(kind, distance):
    with localcontext(prec=50, Emin=-999999, Emax=999999):
        expected = float(FORMULAS[kind](Decimal(distance)))
    for found in (
        kind(1.0).gram([[0.0], [distance]])[0, 1],
        kind(1.0).cross([[distance]], [[0.0]])[0, 0],
    ):
        # What is below the smallest normal number, or belongs to a square that overflows, may be zero.
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-304)


@pytest.mark.parametrize("kind", FORMULAS, ids=lambda kind: kind.__name__)
def test_no_derivative_is_left_at_great_distances(kind):
    slopes = kind(1.0).pullback([[0.0], [1e150]], np.ones((2, 2)))
    np.testing.assert_allclose(slopes[0], 0.0, atol=1e-290)
    assert np.isfinite(slopes).all()


def test_rows_farther_than_squares_reach_are_as_far_as_any():
    """(1 + r²/2a)^(−a) decays slowly for a small shape, and never rises again."""
    far = RationalQuadratic(1.0, shape=0.01).cross([[0.0]], [[1e100], [1e153], [1e160], [1e200]])[0]
    assert (np.diff(far) <= 0).all() and far[-1] == pytest.approx(2e-2**0.01 * 1e-308**0.01, rel=0.1)


@pytest.mark.parametrize("columns", [slice(5, 9), slice(1, 1), slice(2, None)])
def test_a_slice_without_columns_is_an_error(columns):
    kernel = RBF(1.0).on(columns)
    assert isinstance(kernel, Columns)
    for ask in (kernel.gram, kernel.diagonal):
        with pytest.raises(ValueError, match="but X has only 2"):
            ask(np.zeros((3, 2)))


def test_tables_of_other_columns_never_reach_compiled_code():
    narrow, wide = np.zeros((3, 1)), np.zeros((3, 7))
    for kernel in (RBF(1.0), Periodic(1.0), RBF(1.0) + Periodic(1.0).on(0) + Matern52(1.0) * Periodic(2.0)):
        for pair in ((narrow, wide), (wide, narrow), (narrow[:, 0], wide)):
            with pytest.raises(ValueError, match=r"columns|2D array"):
                kernel.cross(*pair)
            with pytest.raises(ValueError, match=r"columns|2D array"):
                kernel.pullback_cross(*pair, np.ones((3, 3)))


@pytest.mark.parametrize("lengthscale", [1e-4, 3e-5, 1e-6, 1e-200])
def test_paths_of_a_periodic_kernel_of_short_length_scale(lengthscale):
    """Apart by half a length scale on the circle, functions correlate by exp(−2 sin²(ℓ/4)/ℓ²) ≈ exp(−1/8)."""
    kernel = Periodic(lengthscale)
    x = np.linspace(0.0, 0.9, 5)[:, None]
    paths = GPRegressor(kernel, noise=0.1, hyperparameters="fixed", mean="zero", standardize=False).fit(
        x, np.zeros(5)
    ).paths(3, random_state=0)  # fmt: skip
    assert np.isfinite(paths(np.linspace(0, 3, 50)[:, None])).all()
    if lengthscale >= 1e-6:
        gap = 0.5 * lengthscale / (2 * np.pi)
        Phi = kernel.features(np.zeros(1), 4096, np.random.default_rng(0))(np.array([[0.0], [gap]]))
        K = kernel.gram([[0.0], [gap]])
        np.testing.assert_allclose(Phi @ Phi.T, K, atol=0.01)
