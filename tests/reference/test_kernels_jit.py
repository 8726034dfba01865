"""The compiled loops of the kernels, restated in plain NumPy."""

import numpy as np
import pytest

from credo.kernels import _jit
from credo.kernels.stationary import tiles

RNG = np.random.default_rng(8)
# More than two tiles and a bit, and more columns than the four that go together.
N, D = 2 * _jit.TILE + 23, 5
Z, Y = RNG.normal(size=(N, D)), RNG.normal(size=(_jit.TILE + 9, D))
W = RNG.normal(size=(N, N))
W = W + W.T
UPPER = np.triu_indices(N)
FAMILIES = ["RBF", "EXPONENTIAL", "MATERN32", "MATERN52", "RATIONAL_QUADRATIC"]
SHAPE = 0.7


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def value(family, r2):
    r = np.sqrt(r2)
    return {
        "RBF": lambda: np.exp(-r2 / 2),
        "EXPONENTIAL": lambda: np.exp(-r),
        "MATERN32": lambda: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "MATERN52": lambda: (1 + np.sqrt(5) * r + 5 * r2 / 3) * np.exp(-np.sqrt(5) * r),
        "RATIONAL_QUADRATIC": lambda: (1 + r2 / (2 * SHAPE)) ** -SHAPE,
    }[family]()


def slope(family, r2, h=1e-6):
    """dk/dr² by central differences; zero at distance zero, where it only meets zeros."""
    safe = np.where(r2 > 0, r2, 1.0)
    return np.where(r2 > 0, (value(family, safe * (1 + h)) - value(family, safe * (1 - h))) / (2 * h * safe), 0.0)


def in_two_parts(loop, *arguments):
    return [loop(start, 2, *arguments) for start in (0, 1)]


def test_tiles():
    found = tiles(Z.T)
    assert found.shape == (3, D, _jit.TILE)
    for i in range(N):
        np.testing.assert_array_equal(found[i // _jit.TILE, :, i % _jit.TILE], Z[i])
    assert not found[2, :, 23:].any()


def test_exponential():
    """Against the library's exp, from 0 down to where numbers end; below, a number that is zero for every purpose."""
    x = -np.concatenate([[0.0, 1e-300, 1e-16], np.geomspace(1e-8, 700, 4001)])
    found = np.array([_jit.exponential(value) for value in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=2e-15)
    assert found[0] == 1.0 and 0.0 <= _jit.exponential(-1e6) < 1e-300


def test_logarithm():
    """Against the library's log1p, over the powers of two and where they meet."""
    u = np.concatenate([[1e-300, 1e-16], np.geomspace(1e-18, 1e18, 4001), np.sqrt(2) * 2.0 ** np.arange(9) - 1])
    found = np.array([_jit.logarithm(value) for value in u])
    np.testing.assert_allclose(found, np.log1p(u), rtol=2e-15)
    assert _jit.logarithm(0.0) == 0.0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", [_jit.SET, _jit.ADD, _jit.MULTIPLY])
def test_stationary_fill(family, mode):
    settings = getattr(_jit, family), SHAPE, 1.5, mode
    K, C = W.copy(), W[:, : len(Y)].copy()
    in_two_parts(_jit.stationary_fill, tiles(Z.T), tiles(Z.T), *settings, True, K)
    k = 1.5 * value(family, squared(Z, Z))
    np.testing.assert_allclose(K[UPPER], [k, W + k, W * k][mode][UPPER], rtol=1e-12, atol=1e-15)
    in_two_parts(_jit.stationary_fill, tiles(Z.T), tiles(Y.T), *settings, False, C)
    k, before = 1.5 * value(family, squared(Z, Y)), W[:, : len(Y)]
    np.testing.assert_allclose(C, [k, before + k, before * k][mode], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("triangle", [True, False])
def test_stationary_pullback(family, triangle):
    B, weights = (Z, W) if triangle else (Y, W[:, : len(Y)].copy())
    given = np.triu(weights) if triangle else weights
    settings = getattr(_jit, family), SHAPE, triangle
    sums = np.sum(in_two_parts(_jit.stationary_pullback, tiles(Z.T), tiles(B.T), *settings, given), axis=0)
    r2 = squared(Z, B)
    assert sums[0] == pytest.approx(np.sum(weights * value(family, r2)))
    by_column = [np.sum(weights * slope(family, r2) * (Z[:, None, d] - B[None, :, d]) ** 2) for d in range(D)]
    np.testing.assert_allclose(sums[2:], by_column, rtol=1e-6)
    if family == "RATIONAL_QUADRATIC":
        u = r2 / (2 * SHAPE)
        assert sums[1] == pytest.approx(np.sum(weights * value(family, r2) * (u / (1 + u) - np.log1p(u))))


@pytest.mark.parametrize("family", FAMILIES)
def test_stationary_pullback_inputs(family):
    out = np.zeros((N, D))
    in_two_parts(_jit.stationary_pullback_inputs, tiles(Z.T), getattr(_jit, family), SHAPE, W, out)
    gaps = Z[:, None] - Z[None]
    plain = 4 * np.einsum("ij,ijd->id", W * slope(family, squared(Z, Z)), gaps)
    np.testing.assert_allclose(out, plain, rtol=1e-5, atol=1e-7)


LENGTHSCALE, PERIOD = np.array([0.8, 1.0, 2.0, 1.3, 0.9]), np.array([3.0, 1.5, 2.0, 4.0, 2.5])


def periodic(A, B, lengthscale=LENGTHSCALE, period=PERIOD):
    sines = np.sin(np.pi * (A[:, None] - B[None]) / period) / lengthscale
    return np.exp(-2 * (sines**2).sum(axis=2))


def test_periodic_fill():
    K = np.zeros((N, N))
    in_two_parts(_jit.periodic_fill, Z.T.copy(), Z.T.copy(), LENGTHSCALE, PERIOD, 0.3, _jit.SET, True, K)
    np.testing.assert_allclose(K[UPPER], 0.3 * periodic(Z, Z)[UPPER], rtol=1e-12)
    C = np.empty((N, len(Y)))
    in_two_parts(_jit.periodic_fill, Z.T.copy(), Y.T.copy(), LENGTHSCALE, PERIOD, 0.3, _jit.SET, False, C)
    np.testing.assert_allclose(C, 0.3 * periodic(Z, Y), rtol=1e-12)


@pytest.mark.parametrize("triangle", [True, False])
def test_periodic_pullback(triangle):
    B, weights = (Z, W) if triangle else (Y, W[:, : len(Y)].copy())
    given = np.triu(weights) if triangle else weights
    columns = Z.T.copy(), B.T.copy()
    sums = np.sum(in_two_parts(_jit.periodic_pullback, *columns, LENGTHSCALE, PERIOD, triangle, given), axis=0)
    h = 1e-6
    numeric = [np.sum(weights * periodic(Z, B))]
    for which in ("lengthscale", "period"):
        for d in range(D):
            step = h * np.eye(D)[d]
            base = {"lengthscale": LENGTHSCALE, "period": PERIOD}
            ahead, behind = ({**base, which: base[which] + s * step} for s in (1, -1))
            numeric.append(np.sum(weights * (periodic(Z, B, **ahead) - periodic(Z, B, **behind))) / (2 * h))
    np.testing.assert_allclose(sums, numeric, rtol=1e-6, atol=1e-7)


def test_mirror():
    K = np.triu(W)
    in_two_parts(_jit.mirror, K)
    np.testing.assert_array_equal(K, W)


def test_triangle_total():
    assert sum(in_two_parts(_jit.triangle_total, np.triu(W))) == pytest.approx(W.sum())


def test_exp_triangle():
    K = np.zeros((N, N))
    in_two_parts(_jit.exp_triangle, W.copy(), _jit.SET, K)
    np.testing.assert_allclose(K[UPPER], np.exp(W)[UPPER], rtol=1e-13)
