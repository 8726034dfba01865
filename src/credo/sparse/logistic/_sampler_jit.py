"""Metropolis–Hastings steps over logistic models, compiled; plain twins: `tests/reference/logistic_models.py`.

A model has a key of 64 bits, the exclusive or of the keys of its columns (Zobrist 1970): flipping a column costs one
operation, and what was computed for a model is looked up in a hash table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit
from credo.sparse.logistic._laplace_jit import STEEPEST, flip_odds, laplace

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
Keys = NDArray[np.uint64]

# An empty place of the hash table.
EMPTY = -1
# A step evaluates the present model and up to two others.
MOST = 3


class Posterior(NamedTuple):
    """Columns, labels, weights, the prior precisions of level and weights, and ln p(γ) by size."""

    ZT: Array
    y: Array
    weight: Array
    level_precision: float
    precision: float
    log_prior: Array


class Cache(NamedTuple):
    """Models by key: `slots` are the places of their `log_evidence` and of the `odds` of all flips."""

    keys: Keys
    slots: Places
    log_evidence: Array
    odds: Array


class State(NamedTuple):
    """The model, and the level and weights from which modes are searched; `keys` of the columns."""

    inside: Flags
    near: Array
    keys: Keys


@njit(cache=True, nogil=True)
def run_steps(
    data: Posterior, cache: Cache, state: State, count: int, blind: float, swaps: float, uniforms: Array,
    included: Array, moved: Places, trace: Array,
) -> int:  # fmt: skip
    """As many steps as there are rows of uniform numbers; returns the number of cached models.

    A step proposes to flip a column or, with probability `swaps`, to exchange two. `moved` gets the columns that flip,
    −1 for none, and `trace` the log evidence before. `included` sums estimates of p(γ_j = 1 | the others, y): those of
    `flip_odds` and, for a proposed flip, their error over the probability of the proposal, which makes it unbiased. The
    cache must have room for `MOST` models a step.
    """
    inside, keys, key = state.inside, state.keys, np.uint64(0)
    d = len(inside)
    for j in range(d):
        if inside[j]:
            key ^= keys[j]
    for t in range(len(uniforms)):
        k = inside.sum()
        here, count = _evaluate(data, cache, state, key, count)
        trace[t] = cache.log_evidence[here]
        moved[t, 0] = moved[t, 1] = -1
        nearest = state.near.copy()
        for j in range(d):
            share = 1.0 / (1.0 + cache.odds[here, j])
            included[j] += share if inside[j] else 1.0 - share
        u = uniforms[t]
        if u[0] < swaps:
            if 0 < k < d:
                moved[t, 0], moved[t, 1], count = _swap(data, cache, state, key, k, here, count, blind, u)
        else:
            moved[t, 0], count = _flip(data, cache, state, key, k, here, count, blind, 1.0 - swaps, u, included)
        if moved[t, 0] < 0:
            # The next search starts from the mode of this model, not from that of the rejected one.
            state.near[:] = nearest
        for j in moved[t]:
            if j >= 0:
                inside[j] = not inside[j]
                key ^= keys[j]
    return count


@njit(inline="always")
def _flip(
    data: Posterior, cache: Cache, state: State, key: np.uint64, k: int, here: int, count: int, blind: float,
    often: float, u: Array, included: Array,
) -> tuple[int, int]:  # fmt: skip
    """Propose to flip a column in proportion to p(flipped | the others), or any with probability `blind`.

    Returns the column, or −1, and the number of cached models. `often` is the probability of such a proposal.
    """
    inside, log_prior, odds = state.inside, data.log_prior, cache.odds
    d, total = len(inside), _total(odds[here])
    j, left = int(u[2] * d), u[2] * total
    if u[1] >= blind:
        for j in range(d):
            left -= odds[here, j] / (1.0 + odds[here, j])
            if left < 0.0:
                break
    was_inside = inside[j]
    inside[j] = not was_inside
    there, count = _evaluate(data, cache, state, key ^ state.keys[j], count)
    inside[j] = was_inside
    size = k - 1 if was_inside else k + 1
    gain = cache.log_evidence[there] + log_prior[size] - cache.log_evidence[here] - log_prior[k]
    guess = odds[here, j] / (1.0 + odds[here, j])
    chance = (1.0 - blind) * guess / total + blind / d
    error = 1.0 / (1.0 + np.exp(min(-gain, STEEPEST))) - guess
    included[j] += (-error if was_inside else error) / (chance * often)
    back = (1.0 - blind) * odds[there, j] / (1.0 + odds[there, j]) / _total(odds[there]) + blind / d
    return (j if np.log(u[3]) < gain + np.log(back / chance) else -1), count


@njit(inline="always")
def _swap(
    data: Posterior, cache: Cache, state: State, key: np.uint64, k: int, here: int, count: int, blind: float, u: Array
) -> tuple[int, int, int]:  # fmt: skip
    """Propose that any member leaves and another column enters, in proportion to its odds without the member.

    Returns the two columns, or −1 twice, and the number of cached models.
    """
    inside, keys = state.inside, state.keys
    d = len(inside)
    out = np.flatnonzero(inside)[int(u[1] * k)]
    inside[out] = False
    between, count = _evaluate(data, cache, state, key ^ keys[out], count)
    odds = cache.odds[between]
    scale, even = (1.0 - blind) / odds[~inside].sum(), blind / (d - k + 1)
    # The probability of each column is this over one less that of the leaving one.
    own = scale * odds[out] + even
    left, entering = u[2] * (1.0 - own), -1
    for j in range(d):
        if not inside[j] and j != out:
            left -= scale * odds[j] + even
            entering = j
            if left < 0.0:
                break
    other = scale * odds[entering] + even
    inside[entering] = True
    there, count = _evaluate(data, cache, state, key ^ keys[out] ^ keys[entering], count)
    inside[entering], inside[out] = False, True
    ratio = own * (1.0 - own) / (other * (1.0 - other))
    taken = np.log(u[3]) < cache.log_evidence[there] - cache.log_evidence[here] + np.log(ratio)
    return (out if taken else -1), (entering if taken else -1), count


@njit(cache=True, nogil=True)
def _evaluate(data: Posterior, cache: Cache, state: State, key: np.uint64, count: int) -> tuple[int, int]:
    """The slot of a model, and the number of cached models; computes evidence and odds if they aren't cached."""
    inside, near = state.inside, state.near
    mask = np.uint64(len(cache.keys) - 1)
    at = key & mask
    while cache.slots[at] != EMPTY:
        if cache.keys[at] == key:
            return cache.slots[at], count
        at = (at + np.uint64(1)) & mask
    cache.keys[at], cache.slots[at] = key, count
    members = np.flatnonzero(inside)
    theta = np.empty(len(members) + 1)
    theta[0] = near[0]
    for m in range(len(members)):
        theta[m + 1] = near[members[m] + 1]
    L = np.zeros((len(theta), len(theta)))
    cache.log_evidence[count], _ = laplace(
        data.ZT, members, data.y, data.weight, data.level_precision, data.precision, theta, L
    )
    flip_odds(data.ZT, members, data.y, data.weight, data.precision, theta, L, data.log_prior, cache.odds[count])
    near[:] = 0.0
    near[0] = theta[0]
    for m in range(len(members)):
        near[members[m] + 1] = theta[m + 1]
    return count, count + 1


@njit(cache=True, nogil=True)
def _total(odds: Array) -> float:
    """The sum of the probabilities of flips."""
    return float((odds / (1.0 + odds)).sum())
