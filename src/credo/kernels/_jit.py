"""Compiled loops over the pairs of rows, one triangle at a time.

Each function visits the rows `start, start + step, …` of a triangle, so that threads share the work evenly; all
release the lock. Inputs are transposed (a row for each column of X) and divided by the length scales, which
keeps the inner loops on contiguous memory.

A triangle is the part i ≤ j of an n×n array in C order: what LAPACK calls lower in Fortran order.
"""

import math

from numba import njit
from numpy import empty, float64, int64, zeros

# How a kernel's values meet what is in the array already.
SET, ADD, MULTIPLY = 0, 1, 2
# The stationary families.
RBF, EXPONENTIAL, MATERN32, MATERN52, RATIONAL_QUADRATIC = 0, 1, 2, 3, 4

_FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def _distances(Zt, i, first, Yt, out):
    """Squared distances from row i of Z to the rows of Y from `first` on, into out."""
    n_columns, n = Yt.shape
    for j in range(first, n):
        out[j] = 0.0
    # Four columns at a time, so that out is read and written a quarter as often.
    fours = n_columns - n_columns % 4
    for d in range(0, fours, 4):
        z0, z1, z2, z3 = Zt[d, i], Zt[d + 1, i], Zt[d + 2, i], Zt[d + 3, i]
        y0, y1, y2, y3 = Yt[d], Yt[d + 1], Yt[d + 2], Yt[d + 3]
        for j in range(first, n):
            a, b, c, e = z0 - y0[j], z1 - y1[j], z2 - y2[j], z3 - y3[j]
            out[j] += (a * a + b * b) + (c * c + e * e)
    for d in range(fours, n_columns):
        z, other = Zt[d, i], Yt[d]
        for j in range(first, n):
            gap = z - other[j]
            out[j] += gap * gap


@njit(nogil=True, cache=True, inline="always")
def exponential(x):
    """exp(x) for x ≤ 0 to about 3 ulp, without a branch, so that loops over it become vector instructions.

    x = k ln 2 + t with |t| ≤ ½ ln 2, exp(t) by its Taylor series to t¹³, and 2ᵏ put together from its bits.
    """
    x = max(x, -708.0)
    k = math.floor(x * 1.4426950408889634 + 0.5)
    # ln 2 in two parts, so that k ln 2 is taken off exactly (Cody & Waite 1980).
    t = (x - k * 0.693145751953125) - k * 1.4286068203094172e-06
    p = 1.6059043836821613e-10
    p = p * t + 2.08767569878681e-09
    p = p * t + 2.505210838544172e-08
    p = p * t + 2.755731922398589e-07
    p = p * t + 2.7557319223985893e-06
    p = p * t + 2.48015873015873e-05
    p = p * t + 0.0001984126984126984
    p = p * t + 0.001388888888888889
    p = p * t + 0.008333333333333333
    p = p * t + 0.041666666666666664
    p = p * t + 0.16666666666666666
    p = p * t + 0.5
    p = p * t + 1.0
    p = p * t + 1.0
    return p * int64((int64(k) + 1023) << 52).view(float64)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _values(family, shape, r, first):
    """k at the squared distances r, in place."""
    n = len(r)
    if family == RBF:
        for j in range(first, n):
            r[j] = exponential(-0.5 * r[j])
    elif family == EXPONENTIAL:
        for j in range(first, n):
            r[j] = exponential(-math.sqrt(r[j]))
    elif family == MATERN32:
        for j in range(first, n):
            u = math.sqrt(3.0 * r[j])
            r[j] = (1.0 + u) * exponential(-u)
    elif family == MATERN52:
        for j in range(first, n):
            u = math.sqrt(5.0 * r[j])
            r[j] = (1.0 + u + u * u / 3.0) * exponential(-u)
    else:
        for j in range(first, n):
            r[j] = exponential(-shape * math.log1p(r[j] / (2.0 * shape)))


@njit(nogil=True, cache=True, fastmath=_FAST)
def _slopes(family, shape, r, first, k, slope):
    """k and dk/dr² at the squared distances r."""
    n = len(r)
    if family == RBF:
        for j in range(first, n):
            k[j] = exponential(-0.5 * r[j])
            slope[j] = -0.5 * k[j]
    elif family == EXPONENTIAL:
        for j in range(first, n):
            u = math.sqrt(r[j])
            k[j] = exponential(-u)
            # dk/dr² = −k/2r has no limit at r = 0, but what it multiplies there is zero.
            slope[j] = -0.5 * k[j] / u if u > 0.0 else 0.0
    elif family == MATERN32:
        for j in range(first, n):
            u = math.sqrt(3.0 * r[j])
            e = exponential(-u)
            k[j] = (1.0 + u) * e
            slope[j] = -1.5 * e
    elif family == MATERN52:
        for j in range(first, n):
            u = math.sqrt(5.0 * r[j])
            e = exponential(-u)
            k[j] = (1.0 + u + u * u / 3.0) * e
            slope[j] = -(5.0 / 6.0) * (1.0 + u) * e
    else:
        for j in range(first, n):
            u = r[j] / (2.0 * shape)
            k[j] = exponential(-shape * math.log1p(u))
            slope[j] = -0.5 * k[j] / (1.0 + u)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _combine(mode, factor, r, first, row):
    n = len(r)
    if mode == SET:
        for j in range(first, n):
            row[j] = factor * r[j]
    elif mode == ADD:
        for j in range(first, n):
            row[j] += factor * r[j]
    else:
        for j in range(first, n):
            row[j] *= factor * r[j]


@njit(nogil=True, cache=True)
def stationary_triangle(start, step, Zt, family, shape, variance, mode, K):
    """variance·k(‖zᵢ − zⱼ‖²) into the triangle of K."""
    n = Zt.shape[1]
    r = empty(n)
    for i in range(start, n, step):
        _distances(Zt, i, i, Zt, r)
        _values(family, shape, r, i)
        _combine(mode, variance, r, i, K[i])


@njit(nogil=True, cache=True)
def stationary_rectangle(start, step, Zt, Yt, family, shape, variance, K):
    """variance·k(‖zᵢ − yⱼ‖²) into K."""
    r = empty(Yt.shape[1])
    for i in range(start, Zt.shape[1], step):
        _distances(Zt, i, 0, Yt, r)
        _values(family, shape, r, 0)
        _combine(SET, variance, r, 0, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_pull(start, step, Zt, family, shape, W):
    """Σ W∘k, Σ W∘∂k/∂shape, and Σ W∘(dk/dr²)∘(zᵢ − zⱼ)² for each column, W symmetric and given by its triangle."""
    n_columns, n = Zt.shape
    r, k, slope = empty(n), empty(n), empty(n)
    sums = zeros(n_columns + 2)
    for i in range(start, n, step):
        w = W[i]
        sums[0] += w[i]
        _distances(Zt, i, i + 1, Zt, r)
        _slopes(family, shape, r, i + 1, k, slope)
        total = 0.0
        for j in range(i + 1, n):
            total += w[j] * k[j]
            slope[j] *= w[j]
        sums[0] += 2.0 * total
        if family == RATIONAL_QUADRATIC:
            bend = 0.0
            for j in range(i + 1, n):
                u = r[j] / (2.0 * shape)
                bend += w[j] * k[j] * (u / (1.0 + u) - math.log1p(u))
            sums[1] += 2.0 * bend
        _weigh_gaps(Zt, i, slope, sums)
    return sums


@njit(nogil=True, cache=True, fastmath=_FAST)
def _weigh_gaps(Zt, i, slope, sums):
    """Add 2 Σ_j slope_j (z_i − z_j)² to the sum of each column, four columns at a time."""
    n_columns, n = Zt.shape
    fours = n_columns - n_columns % 4
    for d in range(0, fours, 4):
        z0, z1, z2, z3 = Zt[d, i], Zt[d + 1, i], Zt[d + 2, i], Zt[d + 3, i]
        y0, y1, y2, y3 = Zt[d], Zt[d + 1], Zt[d + 2], Zt[d + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i + 1, n):
            w = slope[j]
            a, b, c, e = z0 - y0[j], z1 - y1[j], z2 - y2[j], z3 - y3[j]
            s0 += w * a * a
            s1 += w * b * b
            s2 += w * c * c
            s3 += w * e * e
        sums[2 + d] += 2.0 * s0
        sums[3 + d] += 2.0 * s1
        sums[4 + d] += 2.0 * s2
        sums[5 + d] += 2.0 * s3
    for d in range(fours, n_columns):
        z, other, total = Zt[d, i], Zt[d], 0.0
        for j in range(i + 1, n):
            gap = z - other[j]
            total += slope[j] * gap * gap
        sums[2 + d] += 2.0 * total


@njit(nogil=True, cache=True, fastmath=_FAST)
def stationary_input_pull(start, step, Zt, family, shape, W, out):
    """Σⱼ 2 Wᵢⱼ ∂k(zᵢ, zⱼ)/∂zᵢ for each row i, W symmetric and given whole."""
    n_columns, n = Zt.shape
    r, k, slope = empty(n), empty(n), empty(n)
    for i in range(start, n, step):
        _distances(Zt, i, 0, Zt, r)
        _slopes(family, shape, r, 0, k, slope)
        for j in range(n):
            slope[j] *= W[i, j]
        for d in range(n_columns):
            z, other, total = Zt[d, i], Zt[d], 0.0
            for j in range(n):
                total += slope[j] * (z - other[j])
            out[d, i] = 4.0 * total


@njit(nogil=True, cache=True, fastmath=_FAST)
def periodic_triangle(start, step, Xt, lengthscale, period, variance, mode, K):
    """variance·exp(−2 Σ sin²(π(xᵢ − xⱼ)/p)/ℓ²) into the triangle of K."""
    n = Xt.shape[1]
    r = empty(n)
    for i in range(start, n, step):
        _sines(Xt, i, i, Xt, lengthscale, period, r)
        for j in range(i, n):
            r[j] = exponential(-2.0 * r[j])
        _combine(mode, variance, r, i, K[i])


@njit(nogil=True, cache=True, fastmath=_FAST)
def periodic_rectangle(start, step, Xt, Yt, lengthscale, period, variance, K):
    """The periodic kernel between the rows of X and Y."""
    r = empty(Yt.shape[1])
    for i in range(start, Xt.shape[1], step):
        _sines(Xt, i, 0, Yt, lengthscale, period, r)
        for j in range(len(r)):
            r[j] = exponential(-2.0 * r[j])
        _combine(SET, variance, r, 0, K[i])


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
def periodic_pull(start, step, Xt, lengthscale, period, W):
    """Σ W∘k, then Σ W∘∂k/∂ℓ and Σ W∘∂k/∂p for each column (all at unit variance)."""
    n_columns, n = Xt.shape
    r = empty(n)
    sums = zeros(1 + 2 * n_columns)
    for i in range(start, n, step):
        w = W[i]
        sums[0] += w[i]
        _sines(Xt, i, i + 1, Xt, lengthscale, period, r)
        total = 0.0
        for j in range(i + 1, n):
            r[j] = w[j] * exponential(-2.0 * r[j])
            total += r[j]
        sums[0] += 2.0 * total
        for d in range(n_columns):
            x, other, by_scale, by_period = Xt[d, i], Xt[d], 0.0, 0.0
            for j in range(i + 1, n):
                angle = math.pi * (x - other[j]) / period[d]
                s, c = math.sin(angle), math.cos(angle)
                by_scale += r[j] * s * s
                by_period += r[j] * s * c * angle
            sums[1 + d] += 2.0 * by_scale * 4.0 / lengthscale[d] ** 3
            sums[1 + n_columns + d] += 2.0 * by_period * 4.0 / (lengthscale[d] ** 2 * period[d])
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
def outer_minus_triangle(start, step, columns, count, V):
    """½(ccᵀ − count·V) in place of the triangle of V: what the evidence hands to a kernel's pullback."""
    n, n_columns = columns.shape
    for i in range(start, n, step):
        row = V[i]
        for j in range(i, n):
            row[j] *= -0.5 * count
        for t in range(n_columns):
            c = 0.5 * columns[i, t]
            for j in range(i, n):
                row[j] += c * columns[j, t]


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
