"""The inner loop of the kernel perceptron, compiled; `tests/reference/perceptron.py` says the same in plain NumPy."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# A heavy row whose rivals take turns is put right in at most this many strides a visit.
MOST_STRIDES = 1000
# Where the entries of `track` stand: observations so far, weight of the rows that are wrong now and in the pocket.
TIME, WRONG, POCKET = 0, 1, 2


@njit(nogil=True, cache=True)
def perceptron_pass(
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

    A row is mistaken where f of its own class isn't above that of every other: its copies, `weight` many, then add
    one k(xᵢ, ·) each to its own class and take one from the rival until it is right (Kesler's construction: Duda,
    Hart & Stork 2001, §5.12). F holds f at all rows, and is all that a visit reads; `late` gathers what averaging
    needs, the mean over time being dual − late/t; `pocket` keeps the dual that had the fewest mistakes (Gallant 1990).

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
            pocket[:] = dual
            if track[WRONG] == 0.0:
                return -1
    return len(order)


@njit(nogil=True, cache=True)
def _strides(i, y, weight, square, F, step, late, t):  # type: ignore[no-untyped-def]
    """How far f of each class moves along k(xᵢ, ·) in one visit of the row's copies."""
    n_classes = len(step)
    own = F[:, i].copy()
    step[:] = 0.0
    left = weight
    for _ in range(MOST_STRIDES):
        rival, second = -1, -np.inf
        for c in range(n_classes):
            if c != y and (rival < 0 or own[c] > own[rival]):
                second = second if rival < 0 else own[rival]
                rival = c
            elif c != y and own[c] > second:
                second = own[c]
        if own[y] > own[rival] or left <= 0.0:
            return
        count = left
        if square > 0.0:
            # The fewest whole copies that put y above its rival, or another rival in its place.
            enough = np.floor((own[rival] - own[y]) / (2.0 * square)) + 1.0
            other = np.ceil((own[rival] - second) / square)
            count = min(left, max(1.0, min(enough, other)))
        step[y] += count
        step[rival] -= count
        own[y] += count * square
        own[rival] -= count * square
        # The j-th copy moves f at time t + j, and so is missing from the mean over time for that long.
        missing = count * t + max(0.0, 0.5 * count * (count - 1.0))
        late[y, i] += missing
        late[rival, i] -= missing
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
