"""All subsets of the columns, one after the other, compiled.

`R` is the triangular factor of [X, y], its columns of unit length and y last. Columns are decided from the first to the
last; T[j] holds what is left of R, in rows and columns j to d, when j columns are decided: its rows are coordinates in
the complement of the columns that are in. A column that comes in takes the first row and column away; one that stays
out takes its column alone, and rotations make the rest triangular again. The last number left is the residual's
length. Subsets in binary order share their first decisions, so that one costs two small steps on the average; each is
made of at most d orthogonal ones, so that nothing drifts.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit
from credo.subsets._slabs import FLOOR

Array = NDArray[np.float64]

LOG, _LINEAR, _LOCAL = 0, 1, 2
_CELLS = 16.0
# Weights may grow to the exponential of this before the unit of the sums is changed.
_ROOM = 200.0


@njit(cache=True, nogil=True)
def score(
    k: int, rest: float, logdet: float, form: int, base: Array, numbers: Array, table: Array
) -> float:  # fmt: skip
    """ln p(y | γ) of a subset of k columns that leaves `rest` of the target; see `credo.subsets._slabs`."""
    slope, shift, factor, volume, n = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    rest = min(max(rest, FLOOR), 1.0)
    if base[k] == -math.inf:
        return -math.inf
    if form == LOG:
        return base[k] + slope * math.log(shift + factor * rest) + volume * logdet
    if form == _LINEAR:
        return base[k] + slope * rest + volume * logdet
    if k == 0:
        return base[k]
    if form == _LOCAL:
        g = max((1.0 - rest) * (n - 1 - k) / (k * rest) - 1.0, 0.0)
        return base[k] + 0.5 * (n - 1 - k) * math.log1p(g) - 0.5 * (n - 1) * math.log1p(g * rest)
    x = -math.log(rest)
    return base[k] + _polynomial(table[0, k], x) + 0.5 * (n - 1) * x


@njit(cache=True, nogil=True)
def spread(
    k: int, rest: float, form: int, width: Array, numbers: Array, table: Array
) -> tuple[float, float, float, float]:  # fmt: skip
    """E[s], E[s²], the factor of A⁻¹ in the coefficients' variance, and the noise's variance, given a subset."""
    n, shrink = numbers[4], numbers[5]
    rest = min(max(rest, FLOOR), 1.0)
    if form == _LINEAR:
        return 1.0, 1.0, width[k], width[k]
    if k == 0:
        return 1.0, 1.0, width[k], width[k] * rest
    first, second = shrink, shrink * shrink
    if form == _LOCAL:
        g = max((1.0 - rest) * (n - 1 - k) / (k * rest) - 1.0, 0.0)
        first = g / (1.0 + g)
        second = first * first
    elif form != LOG:
        x = -math.log(rest)
        first, second = _polynomial(table[1, k], x), _polynomial(table[2, k], x)
    coefs = width[k] * (first - second + second * rest)
    return first, second, coefs, width[k] * (1.0 - first + first * rest)


@njit(cache=True, nogil=True)
def _polynomial(coefs: Array, x: float) -> float:
    place = _CELLS * x
    cell = min(int(place), len(coefs) - 1)
    rest = place - cell
    value = coefs[cell, 5]
    for order in range(4, -1, -1):
        value = value * rest + coefs[cell, order]
    return value


@njit(cache=True, nogil=True)
def drop(T: Array, j: int) -> None:
    """Leave column j out: rotations make what is left of T[j] triangular again, as T[j+1]."""
    size = T.shape[1]
    # Row j of T[j+1] is free: it carries the row that is being rotated downwards.
    for l in range(j + 1, size):
        T[j + 1, j, l] = T[j, j, l]
    for i in range(j + 1, size):
        a, b = T[j + 1, j, i], T[j, i, i]
        r = math.sqrt(a * a + b * b)
        cosine, sine = 1.0, 0.0
        if r > 0.0:
            cosine, sine = a / r, b / r
        T[j + 1, i, i] = r
        for l in range(i + 1, size):
            a, b = T[j + 1, j, l], T[j, i, l]
            T[j + 1, i, l] = cosine * a + sine * b
            T[j + 1, j, l] = cosine * b - sine * a


@njit(cache=True, nogil=True)
def keep(T: Array, j: int) -> None:
    """Take column j in: T[j+1] is T[j] without its first row and column."""
    for i in range(j + 1, T.shape[1]):
        for l in range(i, T.shape[1]):
            T[j + 1, i, l] = T[j, i, l]


@njit(cache=True, nogil=True)
def hold(j: int, masses: Array, means: Array, squares: Array) -> None:
    """Set the sums aside that belong to subsets without column j, until those with it have been visited."""
    d = means.shape[3]
    for kind in range(5):
        masses[1, j, kind] = masses[0, j + 1, kind]
        masses[0, j + 1, kind] = 0.0
    for l in range(j + 1, d):
        for kind in range(2):
            means[1, j, kind, l] = means[0, j + 1, kind, l]
            means[0, j + 1, kind, l] = 0.0
        for i in range(l, d):
            squares[1, j, i, l] = squares[0, j + 1, i, l]
            squares[0, j + 1, i, l] = 0.0


@njit(cache=True, nogil=True)
def merge(T: Array, j: int, masses: Array, means: Array, squares: Array) -> None:
    """From sums over subsets of the columns after j, held (without j) and new (with j), to sums over columns from j on.

    `masses` are Σw, Σw E[s], Σw E[s²], Σw·factor and Σw·noise; `means` Σw E[s]β̂ and Σw E[s²]β̂; `squares`, on and below
    the diagonal, Σw (E[s²]β̂β̂ᵀ + factor·A⁻¹). With the row (p, uᵀ, c) that column j took,

        β̂ⱼ = (c − uᵀβ̂)/p,    (A⁻¹)ⱼ = −uᵀA⁻¹/p,    (A⁻¹)ⱼⱼ = (1 + uᵀA⁻¹u)/p²,

    which is linear in what is summed: no subset's coefficients are ever made.
    """
    d = means.shape[3]
    p, c = T[j, j, j], T[j, j, d]
    if masses[0, j + 1, 0] == 0.0:
        p, c = 1.0, 0.0
    total = c * c * masses[0, j + 1, 2] + masses[0, j + 1, 3]
    for kind in range(2):
        means[0, j, kind, j] = c * masses[0, j + 1, 1 + kind]
    for l in range(j + 1, d):
        product = 0.0
        for i in range(j + 1, l):
            product += T[j, j, i] * squares[0, j + 1, l, i]
        for i in range(l, d):
            product += T[j, j, i] * squares[0, j + 1, i, l]
            squares[0, j, i, l] = squares[1, j, i, l] + squares[0, j + 1, i, l]
        squares[0, j, l, j] = (c * means[0, j + 1, 1, l] - product) / p
        total += T[j, j, l] * (product - 2.0 * c * means[0, j + 1, 1, l])
        for kind in range(2):
            means[0, j, kind, j] -= T[j, j, l] * means[0, j + 1, kind, l]
            means[0, j, kind, l] = means[1, j, kind, l] + means[0, j + 1, kind, l]
    squares[0, j, j, j] = total / (p * p)
    for kind in range(2):
        means[0, j, kind, j] /= p
    for kind in range(5):
        masses[0, j, kind] = masses[1, j, kind] + masses[0, j + 1, kind]


@njit(cache=True, nogil=True)
def sift(values: Array, places: NDArray[np.int64], value: float, place: int) -> None:
    """Put a value in the place of the smallest one of a heap, and order the heap again."""
    size, i = len(values), 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[i], places[i] = values[child], places[child]
        i = child
    values[i], places[i] = value, place


@njit(cache=True, nogil=True)
def explore(
    prefix: int, depth: int, T: Array, least: Array, log_scale: Array, form: int, base: Array, width: Array,
    numbers: Array, table: Array, log_prior: Array, unit: float, counts: Array, masses: Array, means: Array,
    squares: Array, top: Array, top_place: NDArray[np.int64], best: Array, best_place: NDArray[np.int64], scores: Array
) -> float:  # fmt: skip
    """Visit all subsets whose first `depth` decisions are the bits of `prefix`; the log of the unit of the sums.

    Column j of a subset is bit d−1−j of its number. `counts` gathers the mass with each column and that of each size,
    `masses[0, 0]`, `means[0, 0]` and `squares[0, 0]` what `merge` sums, `top` is a heap of the likeliest subsets and
    `best` the smallest rest of each size. Subsets are passed over in which `least` of a column's length or less is left
    beside the others (the largest of their `least`).
    """
    d = T.shape[1] - 1
    sizes, logdets, dependent = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1), np.zeros(d + 1, dtype=np.bool_)
    floors, lower = np.zeros(d + 1), np.ones(d + 1)
    start, level = prefix << (d - depth), 0
    for place in range(start, start + (1 << (d - depth))):
        for j in range(level, d):
            taken = (place >> (d - 1 - j)) & 1
            _decide(j, taken, place, T, least, log_scale, numbers[3] != 0.0, sizes, logdets, dependent, floors, lower)
        if dependent[d]:
            # What the last leaf left here belongs to that one.
            masses[0, d] = 0.0
        else:
            k, rest = sizes[d], T[d, d, d] * T[d, d, d]
            if rest < best[k]:
                best[k], best_place[k] = rest, place
            value = log_prior[k] + score(k, rest, logdets[d], form, base, numbers, table)
            if len(scores) > 0:
                scores[place] = value
            if value > top[0]:
                sift(top, top_place, value, place)
            if value > unit + _ROOM:
                factor = math.exp(unit - value)
                counts *= factor
                masses *= factor
                means *= factor
                squares *= factor
                unit = value
            _weigh(math.exp(value - unit), k, rest, form, width, numbers, table, masses[0, d], counts)
        level = d - 1
        while level >= depth and (place >> (d - 1 - level)) & 1:
            counts[0, level] += masses[0, level + 1, 0]
            merge(T, level, masses, means, squares)
            level -= 1
        if level >= depth:
            hold(level, masses, means, squares)
    for level in range(depth - 1, -1, -1):
        if (start >> (d - 1 - level)) & 1:
            counts[0, level] += masses[0, level + 1, 0]
        else:
            hold(level, masses, means, squares)
        merge(T, level, masses, means, squares)
    return unit


@njit(cache=True, nogil=True)
def _decide(
    j: int, taken: int, place: int, T: Array, least: Array, log_scale: Array, volume: bool, sizes: NDArray[np.int64],
    logdets: Array, dependent: NDArray[np.bool_], floors: Array, lower: Array
) -> None:  # fmt: skip
    """Take column j in or leave it out.

    `lower` is a bound for what is left of any member beside the others, which a pivot p makes p times smaller at most:
    (A⁻¹)_ii grows by w_i²/p² with w = R⁻¹Qᵀx, and w_i² is at most (1 − p²)(A⁻¹)_ii. Where that isn't above the floor,
    the largest `least` of the members, the bound becomes the length itself.
    """
    sizes[j + 1], logdets[j + 1], dependent[j + 1] = sizes[j] + taken, logdets[j], dependent[j]
    floors[j + 1], lower[j + 1] = floors[j], lower[j]
    if dependent[j]:
        return
    if taken == 0:
        drop(T, j)
        return
    pivot = abs(T[j, j, j])
    floors[j + 1], lower[j + 1] = max(floors[j], least[j]), lower[j] * pivot
    if not lower[j + 1] > floors[j + 1]:
        lower[j + 1] = left(T, _members(place, j, len(least))) if pivot > floors[j + 1] else 0.0
        dependent[j + 1] = not lower[j + 1] > floors[j + 1]
    if dependent[j + 1]:
        return
    keep(T, j)
    if volume:
        logdets[j + 1] += 2.0 * math.log(pivot) + log_scale[j]


@njit(cache=True, nogil=True)
def _members(place: int, j: int, d: int) -> NDArray[np.int64]:
    """The columns of a subset up to column j."""
    found, k = np.empty(j + 1, dtype=np.int64), 0
    for i in range(j + 1):
        if (place >> (d - 1 - i)) & 1:
            found[k] = i
            k += 1
    return found[:k]


@njit(cache=True, nogil=True)
def left(T: Array, members: NDArray[np.int64]) -> float:
    """The smallest length that is left of a member beside the others: one over the longest row of R⁻¹.

    Row m of R is what member m took: T[j, j] with j its column.
    """
    k = len(members)
    row, longest = np.zeros(k), 0.0
    for m in range(k):
        # Row m of R⁻¹, from its own place on: Σ_l row_l R_li = δ_mi.
        square = 0.0
        for i in range(m, k):
            total = 1.0 if i == m else 0.0
            for l in range(m, i):
                total -= row[l] * T[members[l], members[l], members[i]]
            row[i] = total / T[members[i], members[i], members[i]]
            square += row[i] * row[i]
        longest = max(longest, square)
    return 1.0 / math.sqrt(longest)


@njit(cache=True, nogil=True)
def _weigh(
    weight: float, k: int, rest: float, form: int, width: Array, numbers: Array, table: Array, masses: Array,
    counts: Array
) -> None:  # fmt: skip
    """The sums over one subset."""
    first, second, factor, noise = spread(k, rest, form, width, numbers, table)
    counts[1, k] += weight
    masses[0], masses[1], masses[2] = weight, weight * first, weight * second
    masses[3], masses[4] = weight * factor, weight * noise
