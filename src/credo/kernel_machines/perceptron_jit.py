"""The compiled inner loop of the kernel perceptron; `tests/reference/dual_perceptron.py` has it in plain NumPy."""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# A heavy row whose rivals take turns is put right in at most this many strides a visit.
MOST_STRIDES = 1000
# Where the entries of `track` stand: observations so far, weight of the rows that are wrong now and in the pocket.
TIME, WRONG, POCKET = 0, 1, 2


@njit(nogil=True, cache=True)
def dual_perceptron_pass(
    order: Index,
    start: int,
    code: Index,
    weight: Array,
    diagonal: Array,
    K: Array,
    slot: Index,
    F: Array,
    dual: Array,
    late: Array,
    pocket: Array,
    mistakes: NDArray[np.int64],
    track: Array,
) -> int:
    """Visit the rows of `order` from place `start` on, and correct f_c = Σᵢ dual_ci k(xᵢ, ·) at each mistake, in place.

    A row is misclassified if f of its own class isn't above that of every other: its copies, `weight` many, then add
    one k(xᵢ, ·) each to its own class and take one from the strongest rival, in equal parts where several are, until
    it is right (Kesler's construction: Duda, Hart & Stork 2001, §5.12). F holds f at all rows, and is all that a visit
    reads; `late` gathers what averaging needs, the mean over time being dual − late/t; `pocket` keeps the dual that
    had the fewest mistakes (Gallant 1990).

    Returns the place whose row of K is missing (slot −1), −1 when no row is mistaken, or else len(order).
    """
    n_classes, n = F.shape
    step = np.empty(n_classes)
    for place in range(start, len(order)):
        i = order[place]
        rival = _rival(F, i, code[i])
        if F[code[i], i] > F[rival, i]:
            track[TIME] += weight[i]
            continue
        if slot[i] < 0:
            return place
        mistakes[i] += 1
        _strides(i, code[i], weight[i], diagonal[i], F, step, late, track[TIME])
        track[TIME] += weight[i]
        k = K[slot[i]]
        for c in range(n_classes):
            if step[c] != 0.0:
                dual[c, i] += step[c]
                for j in range(n):
                    F[c, j] += step[c] * k[j]
        track[WRONG] = _wrong(F, code, weight)
        if track[WRONG] < track[POCKET]:
            track[POCKET] = track[WRONG]
            for c in range(n_classes):
                for j in range(n):
                    pocket[c, j] = dual[c, j]
            if track[WRONG] == 0.0:
                return -1
    return len(order)


@njit(nogil=True, cache=True)
def _strides(i, y, weight, square, F, step, late, t):  # type: ignore[no-untyped-def]
    """How far f of each class moves along k(xᵢ, ·) in one visit of the row's copies."""
    own = F[:, i].copy()
    step[:] = 0.0
    left = weight
    for _ in range(MOST_STRIDES):
        top, second, n_rivals = -np.inf, -np.inf, 0
        for c in range(len(own)):
            if c == y:
                continue
            if own[c] > top:
                top, second, n_rivals = own[c], top, 1
            elif own[c] == top:
                n_rivals += 1
            elif own[c] > second:
                second = own[c]
        if own[y] > top or left <= 0.0:
            return
        count = left
        if square > 0.0:
            # The fewest whole copies that put y above its rivals, or other rivals in their place.
            enough = np.floor((top - own[y]) / (square * (1.0 + 1.0 / n_rivals))) + 1.0
            other = np.ceil((top - second) * n_rivals / square)
            count = min(left, max(1.0, min(enough, other)))
        # The j-th copy moves f at time t + j, and so is missing from the mean over time for that long.
        missing = count * t + max(0.0, 0.5 * count * (count - 1.0))
        for c in range(len(own)):
            share = 1.0 if c == y else (-1.0 / n_rivals if own[c] == top else 0.0)
            step[c] += share * count
            own[c] += share * count * square
            late[c, i] += share * missing
        t += count
        left -= count


@njit(nogil=True, cache=True)
def _rival(F, i, y):  # type: ignore[no-untyped-def]
    """The strongest other class; the first of equals."""
    rival = 1 if y == 0 else 0
    for c in range(F.shape[0]):
        if c != y and F[c, i] > F[rival, i]:
            rival = c
    return rival


@njit(nogil=True, cache=True)
def _wrong(F, code, weight):  # type: ignore[no-untyped-def]
    """The weight of the rows that are mistaken."""
    total = 0.0
    for j in range(F.shape[1]):
        if not F[code[j], j] > F[_rival(F, j, code[j]), j]:
            total += weight[j]
    return total
