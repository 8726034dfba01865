"""All subsets of the columns, one after the other, compiled; plain twins: `tests/reference/test_subsets_jit.py`.

`R` is the triangular factor of [X, y], with columns of unit length and y last. Columns are decided from first to last;
T[j] holds, in rows and columns j to d, the factor that remains after j decisions: its rows are coordinates in the
orthogonal complement of the columns that are in. Including a column drops the first row and column; excluding it
drops the column alone, and rotations restore the triangle. The last entry left is the length of the residual.
Subsets in binary order share their first decisions, so each costs two small steps on average; and each results from
at most d orthogonal transformations, so rounding errors don't accumulate.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit
from credo.sparse._slabs_jit import Formula, log_evidence, spread

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Called for every subset: inlining saves a quarter of the time.
_log_evidence, _spread = njit(inline="always")(log_evidence), njit(inline="always")(spread)


class Problem(NamedTuple):
    """The input: `least` is the length of each column that must be left given others, `log_scale` ln of its original
    squared length, `log_prior` ln p(γ) by size."""

    R: Array
    least: Array
    log_scale: Array
    formula: Formula
    log_prior: Array


class Sums(NamedTuple):
    """The output, in units of e^unit.

    `counts` is the mass with each column, and of each size; `masses[0, 0]`, `means[0, 0]` and `squares[0, 0]` are the
    sums of `merge`; `top` is a heap of the most probable subsets, `best` the smallest residual of each size, `scores`
    the log posteriors of all subsets, if it isn't empty.
    """

    counts: Array
    masses: Array
    means: Array
    squares: Array
    top: Array
    top_place: Places
    best: Array
    best_place: Places
    scores: Array


@njit(cache=True, nogil=True)
def drop(T: Array, j: int) -> None:
    """Exclude column j: rotations make the rest of T[j] triangular again, as T[j+1]."""
    size = T.shape[1]
    # Row j of T[j+1] is free: it holds the row that is rotated downwards.
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
    """Include column j: T[j+1] is T[j] without its first row and column."""
    for i in range(j + 1, T.shape[1]):
        for l in range(i, T.shape[1]):
            T[j + 1, i, l] = T[j, i, l]


@njit(cache=True, nogil=True)
def hold(j: int, masses: Array, means: Array, squares: Array) -> None:
    """Set aside the sums over subsets without column j, until those with it have been visited."""
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
    """Combine sums over subsets of the columns after j, held (without j) and new (with j), into sums from j on.

    `masses` are Σw, Σw E[s], Σw E[s²], Σw·factor and Σw·noise; `means` Σw E[s]β̂ and Σw E[s²]β̂; `squares`, on and
    below the diagonal, Σw (E[s²]β̂β̂ᵀ + factor·A⁻¹). With the row (p, uᵀ, c) of column j,

        β̂ⱼ = (c − uᵀβ̂)/p,    (A⁻¹)ⱼ = −uᵀA⁻¹/p,    (A⁻¹)ⱼⱼ = (1 + uᵀA⁻¹u)/p²,

    which is linear in the sums: no subset's coefficients are computed.
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
def sift(values: Array, places: Places, value: float, place: int) -> None:
    """Replace the smallest value of a heap, and restore the heap."""
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
def explore(prefix: int, depth: int, T: Array, problem: Problem, unit: float, sums: Sums) -> float:
    """Visit all subsets whose first `depth` decisions are the bits of `prefix`; the log of the unit of the sums.

    Column j of a subset is bit d−1−j of its number. Subsets are skipped if no more than `least` (the largest of
    the members') of a column's length is left given the others.
    """
    counts, masses, means, squares, top, top_place, best, best_place, scores = sums
    formula, d = problem.formula, T.shape[1] - 1
    sizes, logdets, dependent = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1), np.zeros(d + 1, dtype=np.bool_)
    floors, lower = np.zeros(d + 1), np.ones(d + 1)
    start, level = prefix << (d - depth), 0
    for place in range(start, start + (1 << (d - depth))):
        for j in range(level, d):
            taken = (place >> (d - 1 - j)) & 1
            _decide(j, taken, place, T, problem, sizes, logdets, dependent, floors, lower)
        if dependent[d]:
            # The sums of the previous subset are still here.
            masses[0, d] = 0.0
        else:
            k, one_minus_r2 = sizes[d], T[d, d, d] * T[d, d, d]
            if one_minus_r2 < best[k]:
                best[k], best_place[k] = one_minus_r2, place
            value = problem.log_prior[k] + _log_evidence(formula, k, one_minus_r2, logdets[d])
            if len(scores) > 0:
                scores[place] = value
            if value > top[0]:
                sift(top, top_place, value, place)
            # Weights may grow by e²⁰⁰ before the unit of the sums is changed.
            if value > unit + 200.0:
                factor = math.exp(unit - value)
                counts *= factor
                masses *= factor
                means *= factor
                squares *= factor
                unit = value
            weight = math.exp(value - unit)
            first, second, coefs, noise = _spread(formula, k, one_minus_r2)
            counts[1, k] += weight
            masses[0, d, 0], masses[0, d, 1], masses[0, d, 2] = weight, weight * first, weight * second
            masses[0, d, 3], masses[0, d, 4] = weight * coefs, weight * noise
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
    j: int, taken: int, place: int, T: Array, problem: Problem, sizes: Places, logdets: Array,
    dependent: NDArray[np.bool_], floors: Array, lower: Array
) -> None:  # fmt: skip
    """Include or exclude column j.

    `lower` is a bound for the length left of any member given the others. A pivot p shrinks it by p at most, because
    (A⁻¹)_ii grows by w_i²/p² with w = R⁻¹Qᵀx, and w_i² is at most (1 − p²)(A⁻¹)_ii. If the bound isn't above the
    floor, the largest `least` of the members, the length itself is computed.
    """
    sizes[j + 1], logdets[j + 1], dependent[j + 1] = sizes[j] + taken, logdets[j], dependent[j]
    floors[j + 1], lower[j + 1] = floors[j], lower[j]
    if dependent[j]:
        return
    if taken == 0:
        drop(T, j)
        return
    pivot = abs(T[j, j, j])
    floors[j + 1], lower[j + 1] = max(floors[j], problem.least[j]), lower[j] * pivot
    if not lower[j + 1] > floors[j + 1]:
        lower[j + 1] = left(T, _members(place, j, len(problem.least))) if pivot > floors[j + 1] else 0.0
        dependent[j + 1] = not lower[j + 1] > floors[j + 1]
    if dependent[j + 1]:
        return
    keep(T, j)
    if problem.formula.volume != 0.0:
        logdets[j + 1] += 2.0 * math.log(pivot) + problem.log_scale[j]


@njit(cache=True, nogil=True)
def _members(place: int, j: int, d: int) -> Places:
    """The columns of a subset up to column j."""
    found, k = np.empty(j + 1, dtype=np.int64), 0
    for i in range(j + 1):
        if (place >> (d - 1 - i)) & 1:
            found[k] = i
            k += 1
    return found[:k]


@njit(cache=True, nogil=True)
def left(T: Array, members: Places) -> float:
    """The smallest length left of a member given the others: one over the longest row of R⁻¹.

    Row m of R is that of member m: T[j, j] with j its column.
    """
    k = len(members)
    row, longest = np.zeros(k), 0.0
    for m in range(k):
        # Row m of R⁻¹: Σ_l row_l R_li = δ_mi.
        square = 0.0
        for i in range(m, k):
            total = 1.0 if i == m else 0.0
            for l in range(m, i):
                total -= row[l] * T[members[l], members[l], members[i]]
            row[i] = total / T[members[i], members[i], members[i]]
            square += row[i] * row[i]
        longest = max(longest, square)
    return 1.0 / math.sqrt(longest)
