"""The compiled loops of the kernels, restated in plain NumPy."""

from itertools import product

import numpy as np
from tests.reference.twins import Twin

from credo.kernels import _jit
from credo.kernels.stationary import tiles

RNG = np.random.default_rng(8)
# More than two tiles and a bit, and more columns than the four that go together.
N, D = 2 * _jit.TILE + 23, 5
Z, Y = RNG.normal(size=(N, D)), RNG.normal(size=(_jit.TILE + 9, D))
W = RNG.normal(size=(N, N))
W = W + W.T
RECTANGLE = W[:, : len(Y)].copy()
SHAPE, VARIANCE = 0.7, 1.5
FAMILIES = [_jit.RBF, _jit.EXPONENTIAL, _jit.MATERN32, _jit.MATERN52, _jit.RATIONAL_QUADRATIC]
MODES = [_jit.SET, _jit.ADD, _jit.MULTIPLY]
SCALES = np.array([0.8, 1.0, 2.0, 1.3, 0.9]), np.array([3.0, 1.5, 2.0, 4.0, 2.5])


def rows(tiled, n):
    """The table whose tiles these are."""
    return tiled.transpose(0, 2, 1).reshape(-1, tiled.shape[1])[:n]


def squares(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def value(family, shape, r2):
    r = np.sqrt(r2)
    return [
        lambda: np.exp(-r2 / 2),
        lambda: np.exp(-r),
        lambda: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        lambda: (1 + np.sqrt(5) * r + 5 * r2 / 3) * np.exp(-np.sqrt(5) * r),
        lambda: (1 + r2 / (2 * shape)) ** -shape,
    ][family]()


def slope(family, shape, r2, h=1e-6):
    """dk/dr² by central differences; zero at distance zero, where it only meets zeros."""
    safe = np.where(r2 > 0, r2, 1.0)
    ahead, behind = (value(family, shape, safe * (1 + sign * h)) for sign in (1, -1))
    return np.where(r2 > 0, (ahead - behind) / (2 * h * safe), 0.0)


def combined(K, values, mode, triangle):
    new = [values, K + values, K * values][mode]
    K[...] = np.where(np.tri(*K.shape, k=-1, dtype=bool), K, new) if triangle else new


def symmetric(W, triangle):
    return np.triu(W) + np.triu(W, 1).T if triangle else W


def stationary_fill(A, B, family, shape, variance, mode, triangle, K):
    r2 = squares(rows(A, len(K)), rows(B, K.shape[1]))
    combined(K, variance * value(family, shape, r2), mode, triangle)


def stationary_pullback(A, B, family, shape, triangle, W):
    A, B, W = rows(A, len(W)), rows(B, W.shape[1]), symmetric(W, triangle)
    r2 = squares(A, B)
    u, by_shape = r2 / (2 * shape), 0.0
    if family == _jit.RATIONAL_QUADRATIC:
        by_shape = np.sum(W * value(family, shape, r2) * (u / (1 + u) - np.log1p(u)))
    by_column = np.einsum("ij,ijd->d", W * slope(family, shape, r2), (A[:, None] - B[None]) ** 2)
    return np.array([np.sum(W * value(family, shape, r2)), by_shape, *by_column])


def stationary_pullback_inputs(A, family, shape, W, out):
    A = rows(A, len(W))
    out += 4 * np.einsum("ij,ijd->id", W * slope(family, shape, squares(A, A)), A[:, None] - A[None])


def packed(places, table):
    """table[a, c] of each block for c ≤ a."""
    a, c = np.tril_indices(places.shape[1])
    return table[places[:, a], places[:, c]]


def stationary_blocks(A, places, family, shape, variance, mode, K):
    combined(K, variance * packed(places, value(family, shape, squares(A, A))), mode, False)


def stationary_pullback_blocks(A, places, family, shape, W):
    # The weight of each pair of rows, over all blocks; W is taken as one of i ≥ j only.
    total, (a, c) = np.zeros((len(A), len(A))), np.tril_indices(places.shape[1])
    np.add.at(total, (places[:, a], places[:, c]), W)
    padded = np.zeros((len(A), len(A)))
    padded[:] = total
    return stationary_pullback(A.T[None], A.T[None], family, shape, False, padded)


def periodic(A, B, lengthscale, period):
    sines = np.sin(np.pi * (A[:, None] - B[None]) / period) / lengthscale
    return np.exp(-2 * (sines**2).sum(axis=2))


def periodic_fill(At, Bt, lengthscale, period, variance, mode, triangle, K):
    combined(K, variance * periodic(At.T, Bt.T, lengthscale, period), mode, triangle)


def periodic_pullback(At, Bt, lengthscale, period, triangle, W, h=1e-6):
    W, slopes = symmetric(W, triangle), [np.sum(symmetric(W, triangle) * periodic(At.T, Bt.T, lengthscale, period))]
    for which, d in product((0, 1), range(len(At))):
        ends = []
        for sign in (1, -1):
            moved = [lengthscale.copy(), period.copy()]
            moved[which][d] += sign * h
            ends.append(np.sum(W * periodic(At.T, Bt.T, *moved)))
        slopes.append((ends[0] - ends[1]) / (2 * h))
    return np.array(slopes)


def mirror(K):
    K[...] = symmetric(K, True)


def exp_triangle(inner, mode, K):
    combined(K, np.exp(inner), mode, True)


def cosines_and_sines(turns, amplitudes, out):
    # Whole turns are taken off first, since 2π·turns would round them.
    angle = 2 * np.pi * (turns - np.rint(turns))
    out[...] = np.hstack([amplitudes * np.cos(angle), amplitudes * np.sin(angle)])


# Blocks of 13 rows have 91 pairs: a tile and a bit.
PLACES = np.stack([RNG.permutation(N)[:13] for _ in range(7)])
PACKED = RNG.normal(size=(7, 91))
TILES, OTHERS, TRIANGLE = tiles(Z.T), tiles(Y.T), np.triu(W)
COLUMNS, OTHER_COLUMNS = Z.T.copy(), Y.T.copy()
TURNS = np.vstack([RNG.normal(size=(5, 37)) * 10.0 ** RNG.integers(-8, 4, size=(5, 37)), np.linspace(-1, 1, 37)])
WAVES = TURNS, RNG.uniform(0.5, 2.0, size=37), np.empty((6, 74))
BELOW_ZERO = -np.concatenate([[0.0, 1e-300, 1e-16], np.geomspace(1e-8, 700, 1001)])
ABOVE_ZERO = np.concatenate([[0.0, 1e-300], np.geomspace(1e-18, 1e18, 1001), np.sqrt(2) * 2.0 ** np.arange(9) - 1])
SQUARE, BLOCK = (TILES, True, W), (OTHERS, False, RECTANGLE)
PERIODIC = (COLUMNS, True, W), (OTHER_COLUMNS, False, RECTANGLE)

TWINS = [
    Twin(_jit.exponential, np.exp, [(x,) for x in BELOW_ZERO], rtol=2e-15),
    Twin(_jit.logarithm, np.log1p, [(x,) for x in ABOVE_ZERO], rtol=2e-15),
    Twin(
        _jit.stationary_fill,
        stationary_fill,
        [
            (TILES, others, family, SHAPE, VARIANCE, mode, triangle, K)
            for family, mode, (others, triangle, K) in product(FAMILIES, MODES, (SQUARE, BLOCK))
        ],
        parts=True,
        atol=1e-15,
    ),
    Twin(
        _jit.stationary_pullback,
        stationary_pullback,
        [
            (TILES, others, family, SHAPE, triangle, np.triu(K) if triangle else K)
            for family, (others, triangle, K) in product(FAMILIES, (SQUARE, BLOCK))
        ],
        parts=True,
        rtol=1e-6,
        atol=1e-6,
    ),
    Twin(
        _jit.stationary_pullback_inputs,
        stationary_pullback_inputs,
        [(TILES, family, SHAPE, W, np.zeros((N, D))) for family in FAMILIES],
        parts=True,
        rtol=1e-5,
        atol=1e-7,
    ),
    Twin(
        _jit.stationary_blocks,
        stationary_blocks,
        [(Z, PLACES, family, SHAPE, VARIANCE, mode, PACKED) for family, mode in product(FAMILIES, MODES)],
        parts=True,
        atol=1e-15,
    ),
    Twin(
        _jit.stationary_pullback_blocks,
        stationary_pullback_blocks,
        [(Z, PLACES, family, SHAPE, PACKED) for family in FAMILIES],
        parts=True,
        rtol=1e-6,
        atol=1e-6,
    ),
    Twin(
        _jit.periodic_fill,
        periodic_fill,
        [
            (COLUMNS, others, *SCALES, VARIANCE, mode, triangle, K)
            for mode, (others, triangle, K) in product(MODES, PERIODIC)
        ],
        parts=True,
        atol=1e-15,
    ),
    Twin(
        _jit.periodic_pullback,
        periodic_pullback,
        [(COLUMNS, COLUMNS, *SCALES, True, TRIANGLE), (COLUMNS, OTHER_COLUMNS, *SCALES, False, RECTANGLE)],
        parts=True,
        rtol=1e-6,
        atol=1e-7,
    ),
    Twin(_jit.mirror, mirror, [(TRIANGLE,)], parts=True),
    Twin(_jit.triangle_total, lambda W: symmetric(W, True).sum(), [(TRIANGLE,)], parts=True),
    Twin(_jit.exp_triangle, exp_triangle, [(W, mode, W.copy()) for mode in MODES], parts=True, atol=1e-14, ignore=(0,)),
    Twin(_jit.cosines_and_sines, cosines_and_sines, [WAVES], parts=True, rtol=0.0, atol=1e-14),
]
