"""Compiled loops over pairs of rows, over many small sets of rows, and over cosines and sines.

Each function does the parts `start, start + step, …` of the work, which threads share; all release the lock. A part
is a row, or for stationary kernels a band of `TILE` rows.

The rows of stationary kernels come in tiles, an array (n_tiles, n_columns, TILE) in units of the length scales and
filled up with zeros: a tile stays in the nearest cache while it meets another, and inner loops of a known length on
contiguous memory become vector instructions.

A triangle is the part i ≤ j of an n×n array in C order: what LAPACK calls lower in Fortran order.

A block is a row of `places`, the numbers of some rows. Its covariances k(x_a, x_c), c ≤ a, are packed one a after the
other. Each function does the blocks `start, start + step, …`, which threads share; all release the lock.
"""

import math

import numpy as np
from numpy import empty, float64, int64, zeros
from numpy.typing import NDArray

from credo.core.numba import njit

# How a kernel's values are combined with those in the array.
SET, ADD, MULTIPLY = 0, 1, 2
# The stationary families.
RBF, EXPONENTIAL, MATERN32, MATERN52, RATIONAL_QUADRATIC = 0, 1, 2, 3, 4
# exp(−u) is zero from here on, so u is cut to keep polynomials of u from overflowing.
MAX_EXPONENT = 1000.0
# Squared distances that overflow are set to this.
MAX_SQUARE = 1e308
# Rows in a tile.
TILE = 64
_FAST = {"contract", "reassoc", "nsz", "arcp"}
# For code whose accuracy depends on the order of operations.
_ORDERED = {"contract", "nsz"}
# 1.5·2⁵²: adding it leaves a number's nearest integer in the last bits.
_ROUND = 6755399441055744.0


@njit(nogil=True, cache=True, fastmath=_ORDERED)
def exponential(x):
    """exp(x) for x ≤ 0 to about 3 ulp, without a branch, so that loops over it become vector instructions.

    x = k ln 2 + t with |t| ≤ ½ ln 2, exp(t) by its Taylor series to t¹³, and 2ᵏ put together from its bits. Below the
    smallest normal number, 2⁻¹⁰²², it is zero: the bits of k = −1023 are those of 0.
    """
    x = max(x, -709.1)
    shifted = x * 1.4426950408889634 + _ROUND
    k = shifted - _ROUND
    # ln 2 in two parts, so that k ln 2 is taken off exactly (Cody & Waite 1980).
    t = (x - k * 0.693145751953125) - k * 1.4286068203094172e-06
    p = ((1.6059043836821613e-10 * t + 2.08767569878681e-09) * t + 2.505210838544172e-08) * t + 2.755731922398589e-07
    p = ((p * t + 2.7557319223985893e-06) * t + 2.48015873015873e-05) * t + 0.0001984126984126984
    p = ((p * t + 0.001388888888888889) * t + 0.008333333333333333) * t + 0.041666666666666664
    p = (((p * t + 0.16666666666666666) * t + 0.5) * t + 1.0) * t + 1.0
    return p * int64((float64(shifted).view(int64) + 1023) << 52).view(float64)


@njit(nogil=True, cache=True, fastmath=_ORDERED, error_model="numpy")
def logarithm(u):
    """ln(1 + u) for u ≥ 0 to about 3 ulp, without a branch.

    1 + u = 2ᵏm with m in [1/√2, √2), and ln m = 2 artanh s with s = (m − 1)/(m + 1) by its series to s²¹.
    """
    y = 1.0 + u
    # Moves the cut between powers of two from 1 to 1/√2: 0x3ff0… − 0x3fe6a09e667f3bcd.
    bits = float64(y).view(int64) + 0x00095F619980C433
    # An integer below 2⁵² in the last bits of 2⁵² is that number more than 2⁵².
    k = int64((bits >> 52) | 0x4330000000000000).view(float64) - 4503599627371519.0
    m = int64((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(float64)
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    p = (((t / 21 + 1 / 19) * t + 1 / 17) * t + 1 / 15) * t + 1 / 13
    p = ((((p * t + 1 / 11) * t + 1 / 9) * t + 1 / 7) * t + 1 / 5) * t + 1 / 3
    # Corrects the rounding of 1 + u, which matters if u is small.
    lost = (u - (y - 1.0)) / y
    return k * 0.6931471805599453 + (2.0 * s + (2.0 * s * t * p + lost))


@njit(nogil=True, cache=True, fastmath=_FAST)
def _distances(own, i, others, out):
    """Squared distances from row i of one tile to all rows of another."""
    n_columns = own.shape[0]
    for j in range(TILE):
        out[j] = 0.0
    # Four columns at a time, so that out is read and written a quarter as often.
    fours = n_columns - n_columns % 4
    for d in range(0, fours, 4):
        z0, z1, z2, z3 = own[d, i], own[d + 1, i], own[d + 2, i], own[d + 3, i]
        for j in range(TILE):
            a, b, c, e = z0 - others[d, j], z1 - others[d + 1, j], z2 - others[d + 2, j], z3 - others[d + 3, j]
            out[j] += (a * a + b * b) + (c * c + e * e)
    for d in range(fours, n_columns):
        z = own[d, i]
        for j in range(TILE):
            gap = z - others[d, j]
            out[j] += gap * gap


@njit(nogil=True, cache=True, fastmath=_ORDERED, error_model="numpy")
def _values(family, shape, r):
    """k at the squared distances r, in place."""
    if family == RBF:
        for j in range(TILE):
            r[j] = exponential(-0.5 * r[j])
    elif family == EXPONENTIAL:
        for j in range(TILE):
            r[j] = exponential(-math.sqrt(r[j]))
    elif family == MATERN32:
        for j in range(TILE):
            u = min(math.sqrt(3.0 * r[j]), MAX_EXPONENT)
            r[j] = (1.0 + u) * exponential(-u)
    elif family == MATERN52:
        for j in range(TILE):
            u = min(math.sqrt(5.0 * r[j]), MAX_EXPONENT)
            r[j] = (1.0 + u + u * u / 3.0) * exponential(-u)
    else:
        for j in range(TILE):
            r[j] = exponential(-shape * logarithm(min(r[j] / (2.0 * shape), MAX_SQUARE)))


@njit(nogil=True, cache=True, fastmath=_ORDERED, error_model="numpy")
def _slopes(family, shape, r, k, slope, by_shape):
    """k and dk/dr² at the squared distances r, and ∂k/∂shape if the family has one."""
    if family == RBF:
        for j in range(TILE):
            k[j] = exponential(-0.5 * r[j])
            slope[j] = -0.5 * k[j]
    elif family == EXPONENTIAL:
        for j in range(TILE):
            u = math.sqrt(r[j])
            k[j] = exponential(-u)
            # dk/dr² = −k/2r has no limit at r = 0, but is multiplied by zero there.
            slope[j] = -0.5 * k[j] / (u if u > 0.0 else 1.0)
    elif family == MATERN32:
        for j in range(TILE):
            u = min(math.sqrt(3.0 * r[j]), MAX_EXPONENT)
            e = exponential(-u)
            k[j] = (1.0 + u) * e
            slope[j] = -1.5 * e
    elif family == MATERN52:
        for j in range(TILE):
            u = min(math.sqrt(5.0 * r[j]), MAX_EXPONENT)
            e = exponential(-u)
            k[j] = (1.0 + u + u * u / 3.0) * e
            slope[j] = -(5.0 / 6.0) * (1.0 + u) * e
    else:
        for j in range(TILE):
            u = min(r[j] / (2.0 * shape), MAX_SQUARE)
            log = logarithm(u)
            k[j] = exponential(-shape * log)
            slope[j] = -0.5 * k[j] / (1.0 + u)
            by_shape[j] = k[j] * (u / (1.0 + u) - log)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _combine(mode, factor, values, first, row):
    """Set, add to or multiply a row from its entry `first` on by factor·values."""
    # The compiler must know that no index is negative.
    first, n = max(first, 0), len(row)
    if mode == SET:
        for j in range(first, n):
            row[j] = factor * values[j]
    elif mode == ADD:
        for j in range(first, n):
            row[j] += factor * values[j]
    else:
        for j in range(first, n):
            row[j] *= factor * values[j]


@njit(nogil=True, cache=True)
def stationary_fill(start, step, Z, Y, family, shape, variance, mode, triangle, K):
    """variance·k(‖zᵢ − yⱼ‖²) into K, or into its triangle."""
    r = empty(TILE)
    for a in range(start, len(Z), step):
        own = Z[a]
        for b in range(a if triangle else 0, len(Y)):
            others = Y[b]
            block = K[a * TILE : min(len(K), (a + 1) * TILE), b * TILE : min(K.shape[1], (b + 1) * TILE)]
            for i in range(len(block)):
                _distances(own, i, others, r)
                _values(family, shape, r)
                _combine(mode, variance, r, i if triangle and a == b else 0, block[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_pullback(start, step, Z, Y, family, shape, triangle, W):
    """Σ W∘k, Σ W∘∂k/∂shape, and Σ W∘(dk/dr²)∘(zᵢ − yⱼ)² for each column; a symmetric W may be given by its triangle."""
    r, k, slope, by_shape, w = empty(TILE), empty(TILE), empty(TILE), empty(TILE), empty(TILE)
    sums = zeros(Z.shape[1] + 2)
    for a in range(start, len(Z), step):
        own = Z[a]
        for b in range(a if triangle else 0, len(Y)):
            others = Y[b]
            block = W[a * TILE : min(len(W), (a + 1) * TILE), b * TILE : min(W.shape[1], (b + 1) * TILE)]
            for i in range(len(block)):
                _pick_weights(block, i, triangle, a == b, w)
                _distances(own, i, others, r)
                _slopes(family, shape, r, k, slope, by_shape)
                sums[0] += _dot(w, k)
                if family == RATIONAL_QUADRATIC:
                    sums[1] += _dot(w, by_shape)
                for j in range(TILE):
                    slope[j] *= w[j]
                _weigh_gaps(own, i, others, slope, sums)
    return sums


@njit(nogil=True, cache=True, fastmath=_FAST)
def _dot(a, b):
    total = 0.0
    for j in range(TILE):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True)
def _pick_weights(block, i, triangle, diagonal, w):
    """Row i of a block of W, padded with zeros; in a triangle, entries off the diagonal count twice."""
    n, factor = block.shape[1], 2.0 if triangle else 1.0
    if n == TILE and not (triangle and diagonal):
        for j in range(TILE):
            w[j] = factor * block[i, j]
        return
    w[:] = 0.0
    for j in range(i if triangle and diagonal else 0, n):
        w[j] = factor * block[i, j]
    if triangle and diagonal:
        w[i] *= 0.5


@njit(nogil=True, cache=True, fastmath=_FAST)
def _weigh_gaps(own, i, others, slope, sums):
    """Add Σ_j slope_j (z_i − z_j)² to the sum of each column, four columns at a time."""
    n_columns = own.shape[0]
    fours = n_columns - n_columns % 4
    for d in range(0, fours, 4):
        z0, z1, z2, z3 = own[d, i], own[d + 1, i], own[d + 2, i], own[d + 3, i]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(TILE):
            w = slope[j]
            a, b, c, e = z0 - others[d, j], z1 - others[d + 1, j], z2 - others[d + 2, j], z3 - others[d + 3, j]
            s0 += w * a * a
            s1 += w * b * b
            s2 += w * c * c
            s3 += w * e * e
        sums[2 + d] += s0
        sums[3 + d] += s1
        sums[4 + d] += s2
        sums[5 + d] += s3
    for d in range(fours, n_columns):
        z, total = own[d, i], 0.0
        for j in range(TILE):
            gap = z - others[d, j]
            total += slope[j] * gap * gap
        sums[2 + d] += total


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_pullback_inputs(start, step, Z, family, shape, W, out):
    """Σⱼ 2 Wᵢⱼ ∂k(zᵢ, zⱼ)/∂zᵢ for each row i, added to out; W symmetric and given whole."""
    n, n_columns = W.shape[0], Z.shape[1]
    r, k, slope, by_shape = empty(TILE), empty(TILE), empty(TILE), empty(TILE)
    for a in range(start, len(Z), step):
        own = Z[a]
        for b in range(len(Z)):
            others = Z[b]
            block = W[a * TILE : min(n, (a + 1) * TILE), b * TILE : min(n, (b + 1) * TILE)]
            for i in range(len(block)):
                _distances(own, i, others, r)
                _slopes(family, shape, r, k, slope, by_shape)
                for d in range(n_columns):
                    z, total = own[d, i], 0.0
                    for j in range(block.shape[1]):
                        total += block[i, j] * slope[j] * (z - others[d, j])
                    out[a * TILE + i, d] += 4.0 * total


@njit(nogil=True, cache=True, fastmath=_FAST)
def periodic_fill(start, step, Xt, Yt, lengthscale, period, variance, mode, triangle, K):
    """variance·exp(−2 Σ sin²(π(xᵢ − yⱼ)/p)/ℓ²) into K, or into its triangle."""
    n = Yt.shape[1]
    r = empty(n)
    for i in range(start, Xt.shape[1], step):
        first = i if triangle else 0
        _sines(Xt, i, first, Yt, lengthscale, period, r)
        for j in range(first, n):
            r[j] = exponential(-2.0 * r[j])
        _combine(mode, variance, r, first, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def _sines(Xt, i, first, Yt, lengthscale, period, out):
    n_columns, n = Yt.shape
    for j in range(first, n):
        out[j] = 0.0
    for d in range(n_columns):
        x, other = Xt[d, i], Yt[d]
        for j in range(first, n):
            s = math.sin(math.pi * (x - other[j]) / period[d]) / lengthscale[d]
            out[j] += s * s


@njit(nogil=True, cache=True, fastmath=_FAST)
def periodic_pullback(start, step, Xt, Yt, lengthscale, period, triangle, W):
    """Σ W∘k, then Σ W∘∂k/∂ℓ and Σ W∘∂k/∂p for each column, at unit variance; a symmetric W may be its triangle."""
    n_columns, n = Yt.shape
    r = empty(n)
    sums = zeros(1 + 2 * n_columns)
    # On the diagonal k is one and has no derivative; off the diagonal, a triangle counts twice.
    factor = 2.0 if triangle else 1.0
    for i in range(start, Xt.shape[1], step):
        w = W[i]
        if triangle:
            sums[0] += w[i]
        first, total = i + 1 if triangle else 0, 0.0
        _sines(Xt, i, first, Yt, lengthscale, period, r)
        for j in range(first, n):
            r[j] = w[j] * exponential(-2.0 * r[j])
            total += r[j]
        sums[0] += factor * total
        for d in range(n_columns):
            x, other, by_scale, by_period = Xt[d, i], Yt[d], 0.0, 0.0
            for j in range(first, n):
                angle = math.pi * (x - other[j]) / period[d]
                s, c = math.sin(angle), math.cos(angle)
                by_scale += r[j] * s * s
                by_period += r[j] * s * c * angle
            sums[1 + d] += factor * by_scale * 4.0 / lengthscale[d] ** 3
            sums[1 + n_columns + d] += factor * by_period * 4.0 / (lengthscale[d] ** 2 * period[d])
    return sums


@njit(nogil=True, cache=True)
def mirror(start, step, K):
    """Copy the triangle to the other side, in tiles that fit the cache."""
    n, tile = K.shape[0], 32
    n_tiles = (n + tile - 1) // tile
    for a in range(start, n_tiles, step):
        for b in range(a + 1):
            for i in range(a * tile, min(n, (a + 1) * tile)):
                for j in range(b * tile, min(i, (b + 1) * tile)):
                    K[i, j] = K[j, i]


@njit(nogil=True, cache=True, fastmath=_FAST)
def triangle_total(start, step, W):
    """The part of these rows in the sum of all entries of a symmetric matrix."""
    n, total = W.shape[0], 0.0
    for i in range(start, n, step):
        row, part = W[i], 0.0
        for j in range(i + 1, n):
            part += row[j]
        total += row[i] + 2.0 * part
    return total


@njit(nogil=True, cache=True, fastmath=_FAST)
def exp_triangle(start, step, inner, mode, K):
    """exp of one triangle into another."""
    n = K.shape[0]
    for i in range(start, n, step):
        row = inner[i]
        for j in range(i, n):
            row[j] = math.exp(row[j])
        _combine(mode, 1.0, row, i, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def _block_distances(Z, places, columns, out):
    """Squared distances between the rows of Z at these places, packed: those of c ≤ a, one a after the other."""
    size, n_columns = len(places), Z.shape[1]
    for a in range(size):
        for d in range(n_columns):
            columns[d, a] = Z[places[a], d]
    first = 0
    for a in range(size):
        row = out[first : first + a + 1]
        row[:] = 0.0
        for d in range(n_columns):
            z, other = columns[d, a], columns[d]
            for c in range(a + 1):
                gap = z - other[c]
                row[c] += gap * gap
        first += a + 1


@njit(nogil=True, cache=True)
def stationary_blocks(start, step, Z, places, family, shape, variance, mode, K):
    """variance·k between the rows of Z at each row of places, packed into a row of K."""
    size, n_pairs = places.shape[1], K.shape[1]
    columns, r = empty((Z.shape[1], size)), zeros(-(-n_pairs // TILE) * TILE)
    for i in range(start, len(places), step):
        _block_distances(Z, places[i], columns, r)
        for first in range(0, n_pairs, TILE):
            _values(family, shape, r[first : first + TILE])
        _combine(mode, variance, r, 0, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_pullback_blocks(start, step, Z, places, family, shape, W):
    """Σ W∘k, Σ W∘∂k/∂shape, and Σ W∘(dk/dr²)∘(z_a − z_c)² for each column; W as `stationary_blocks` packs K."""
    size, n_pairs, n_columns = places.shape[1], W.shape[1], Z.shape[1]
    length = -(-n_pairs // TILE) * TILE
    columns, r, w = empty((n_columns, size)), zeros(length), zeros(length)
    k, slope, by_shape = empty(TILE), empty(length), empty(TILE)
    sums = zeros(n_columns + 2)
    for i in range(start, len(places), step):
        _block_distances(Z, places[i], columns, r)
        for p in range(n_pairs):
            w[p] = W[i, p]
        for first in range(0, n_pairs, TILE):
            part = slope[first : first + TILE]
            _slopes(family, shape, r[first : first + TILE], k, part, by_shape)
            sums[0] += _dot(w[first : first + TILE], k)
            if family == RATIONAL_QUADRATIC:
                sums[1] += _dot(w[first : first + TILE], by_shape)
        for p in range(n_pairs):
            slope[p] *= w[p]
        for d in range(n_columns):
            total, first, column = 0.0, 0, columns[d]
            for a in range(size):
                z = column[a]
                for c in range(a):
                    gap = z - column[c]
                    total += slope[first + c] * gap * gap
                first += a + 1
            sums[2 + d] += total
    return sums


@njit(nogil=True, cache=True, fastmath=_FAST)
def cosines_and_sines(
    start: int, step: int, turns: NDArray[np.float64], amplitudes: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Amplitudes times cos and then sin of 2π·turns, to about 3e-15, for the rows start, start + step, ….

    With t the turns less the nearest whole number, |πt/2| ≤ π/4: Taylor's series there, then the angle doubled twice.
    There is no branch, so that the loop becomes vector instructions.
    """
    m = turns.shape[1]
    for i in range(start, turns.shape[0], step):
        turn, cosine, sine = turns[i], out[i, :m], out[i, m:]
        for j in range(m):
            x = (0.5 * np.pi) * (turn[j] - np.rint(turn[j]))
            y = x * x
            s = -1.0 / 1307674368000.0
            s = s * y + 1.0 / 6227020800.0
            s = s * y - 1.0 / 39916800.0
            s = s * y + 1.0 / 362880.0
            s = s * y - 1.0 / 5040.0
            s = s * y + 1.0 / 120.0
            s = s * y - 1.0 / 6.0
            s = s * y * x + x
            c = 1.0 / 20922789888000.0
            c = c * y - 1.0 / 87178291200.0
            c = c * y + 1.0 / 479001600.0
            c = c * y - 1.0 / 3628800.0
            c = c * y + 1.0 / 40320.0
            c = c * y - 1.0 / 720.0
            c = c * y + 1.0 / 24.0
            c = c * y - 0.5
            c = c * y + 1.0
            s2 = 2.0 * s * c
            c2 = 1.0 - 2.0 * s * s
            cosine[j] = amplitudes[j] * (1.0 - 2.0 * s2 * s2)
            sine[j] = amplitudes[j] * (2.0 * s2 * c2)
