"""Steps over logistic models, compiled; `tests/reference/logistic_models.py` says the same in plain NumPy.

A model is known by a number of 64 bits: the exclusive or of the numbers `keys` of its columns (Zobrist 1970), so that
flipping a column costs one operation, and what was computed for a model is found again in a table by its number.
"""

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit
from credo.subsets.logistic_models._jit import STEEPEST, laplace, odds

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
Keys = NDArray[np.uint64]
# Columns, labels, weights, the precisions of level and weights, and log priors by size.
Task = tuple[Array, Array, Array, float, float, Array]
# What is known of models: their numbers, where each stands, log evidences, and odds of flips.
Book = tuple[Keys, Places, Array, Array]

# An empty place of the table of models.
NOBODY = -1
# A step looks at the present model and up to two others.
MOST = 3


@njit(cache=True, nogil=True)
def stroll(
    ZT: Array, y: Array, weight: Array, level_precision: float, precision: float, log_prior: Array, keys: Keys,
    inside: Flags, near: Array, table: Keys, slots: Places, heights: Array, chances: Array, count: int, blind: float,
    swaps: float, uniforms: Array, included: Array, moved: Places, trace: Array,
) -> int:  # fmt: skip
    """Walk as many steps as there are rows of uniform numbers; the number of models that are known then.

    A step proposes to flip a column or, with probability `swaps`, to exchange one (`_flip`, `_swap`); Metropolis and
    Hastings decide by Laplace's evidence. `moved` gets the columns that flip, −1 for none, and `trace` the log evidence
    before. `included` gathers p(γ_j = 1 | the others, y): as `odds` has it, and where a flip was proposed, its error,
    over the chance of being proposed, so that the mean of the sum is without error.

    `inside` is the model, `near` (level and weights of all columns) where modes are looked for. What is known of models
    is in `table` and `slots` (places by numbers), `heights` (log evidences) and `chances` (odds of flips), which must
    have room for `MOST` more a step.
    """
    d = len(ZT)
    task = (ZT, y, weight, level_precision, precision, log_prior)
    book = (table, slots, heights, chances)
    key = np.uint64(0)
    for j in range(d):
        if inside[j]:
            key ^= keys[j]
    for t in range(len(uniforms)):
        k = 0
        for j in range(d):
            k += inside[j]
        here, count = _look(task, book, inside, near, key, count)
        trace[t] = heights[here]
        moved[t, 0] = moved[t, 1] = -1
        for j in range(d):
            share = 1.0 / (1.0 + chances[here, j])
            included[j] += share if inside[j] else 1.0 - share
        u = uniforms[t]
        if u[0] < swaps:
            if 0 < k < d:
                out, entering, count = _swap(task, book, inside, near, key, keys, k, here, count, blind, u)
                moved[t, 0], moved[t, 1] = out, entering
        else:
            moved[t, 0], count = _flip(
                task, book, inside, near, key, keys, k, here, count, blind, 1.0 - swaps, u, included
            )
        for j in moved[t]:
            if j >= 0:
                inside[j] = not inside[j]
                key ^= keys[j]
    return count


@njit(cache=True, nogil=True)
def _draw(chances: Array, total: float, blind: float, first: float, second: float) -> int:
    """A column: any, with probability `blind`, else in proportion to the probability of its flip."""
    d = len(chances)
    if first < blind:
        return int(second * d)
    left, j = second * total, 0
    for j in range(d):
        left -= chances[j] / (1.0 + chances[j])
        if left < 0.0:
            break
    return j


@njit(cache=True, nogil=True)
def _error(ratio: float, gain: float, was_inside: bool) -> float:
    """p(a column is in | the others, y) by Laplace less the same by `odds`; `gain` is what its flip adds to ln p."""
    true, guess = 1.0 / (1.0 + np.exp(min(-gain, STEEPEST))), ratio / (1.0 + ratio)
    return guess - true if was_inside else true - guess


@njit(cache=True, nogil=True)
def _flip(
    task: Task, book: Book, inside: Flags, near: Array, key: np.uint64, keys: Keys, k: int, here: int, count: int,
    blind: float, often: float, u: Array, included: Array,
) -> tuple[int, int]:  # fmt: skip
    """Propose to flip a column, in proportion to p(flipped | the others): the column, or −1, and the models known.

    Where proposals come as often as `often`, the error of p(γ_j = 1 | the others) over `often` and over the chance of
    j is without error in the mean.
    """
    log_prior, heights, chances = task[5], book[2], book[3]
    d = len(inside)
    total = _total(chances[here])
    j = _draw(chances[here], total, blind, u[1], u[2])
    was_inside = inside[j]
    inside[j] = not was_inside
    there, count = _look(task, book, inside, near, key ^ keys[j], count)
    inside[j] = was_inside
    size = k - 1 if was_inside else k + 1
    gain = heights[there] + log_prior[size] - heights[here] - log_prior[k]
    chance = (1.0 - blind) * chances[here, j] / (1.0 + chances[here, j]) / total + blind / d
    included[j] += _error(chances[here, j], gain, was_inside) / (chance * often)
    back = (1.0 - blind) * chances[there, j] / (1.0 + chances[there, j]) / _total(chances[there]) + blind / d
    return (j if np.log(u[3]) < gain + np.log(back / chance) else -1), count


@njit(cache=True, nogil=True)
def _swap(
    task: Task, book: Book, inside: Flags, near: Array, key: np.uint64, keys: Keys, k: int, here: int, count: int,
    blind: float, u: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Propose that a member, any, leaves and another column enters, in proportion to its odds without the member.

    The two columns, or −1 twice, and the number of models that are known.
    """
    heights, chances = book[2], book[3]
    d = len(inside)
    place, out = int(u[1] * k), -1
    for j in range(d):
        if inside[j]:
            if place == 0:
                out = j
                break
            place -= 1
    inside[out] = False
    between, count = _look(task, book, inside, near, key ^ keys[out], count)
    total, n_outside = 0.0, d - k + 1
    for j in range(d):
        if not inside[j]:
            total += chances[between, j]
    scale, even = (1.0 - blind) / total, blind / n_outside
    # The chance of each column is this, over what the leaving one leaves.
    own = scale * chances[between, out] + even
    left, entering = u[2] * (1.0 - own), -1
    for j in range(d):
        if not inside[j] and j != out:
            left -= scale * chances[between, j] + even
            entering = j
            if left < 0.0:
                break
    other = scale * chances[between, entering] + even
    inside[entering] = True
    there, count = _look(task, book, inside, near, key ^ keys[out] ^ keys[entering], count)
    inside[entering], inside[out] = False, True
    ratio = own * (1.0 - own) / (other * (1.0 - other))
    taken = np.log(u[3]) < heights[there] - heights[here] + np.log(ratio)
    return (out if taken else -1), (entering if taken else -1), count


@njit(cache=True, nogil=True)
def _look(task: Task, book: Book, inside: Flags, near: Array, key: np.uint64, count: int) -> tuple[int, int]:
    """Where a model's evidence and odds are, and the number of models that are known; looks at it if need be."""
    ZT, y, weight, level_precision, precision, log_prior = task
    table, slots, heights, chances = book
    mask = np.uint64(len(table) - 1)
    at = key & mask
    while slots[at] != NOBODY:
        if table[at] == key:
            return slots[at], count
        at = (at + np.uint64(1)) & mask
    table[at], slots[at] = key, count
    k = 0
    for j in range(len(inside)):
        k += inside[j]
    members, theta, place = np.empty(k, dtype=np.int64), np.empty(k + 1), 0
    theta[0] = near[0]
    for j in range(len(inside)):
        if inside[j]:
            members[place], theta[place + 1] = j, near[j + 1]
            place += 1
    L = np.zeros((len(theta), len(theta)))
    heights[count], _ = laplace(ZT, members, y, weight, level_precision, precision, theta, L)
    odds(ZT, members, y, weight, precision, theta, L, log_prior, chances[count])
    near[0] = theta[0]
    for j in range(len(inside)):
        near[j + 1] = 0.0
    for m in range(k):
        near[members[m] + 1] = theta[m + 1]
    return count, count + 1


@njit(cache=True, nogil=True)
def _total(chances: Array) -> float:
    """The sum of the probabilities of flips, from their odds."""
    total = 0.0
    for j in range(len(chances)):
        total += chances[j] / (1.0 + chances[j])
    return total
