"""Compiled: the mode of a logistic model, what flipping a column would change, and Metropolis–Hastings steps.

Plain twins: `tests/reference/logistic_models.py`.

A model has a key of 64 bits, the exclusive or of the keys of its columns (Zobrist 1970): flipping a column costs one
operation, and what was computed for a model is looked up in a hash table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Newton steps to a mode, and the step length at which it is found: the last step leaves the square of this.
_NEWTON, _NEAR = 100, 1e-8
# Relative differences of log posteriors that are rounding errors.
_ROUNDING = 1e-12
# e^600 is still a finite number, and so is the sum of one for each column.
STEEPEST = 600.0
# Allows sums in any order, so that the compiler can use vector instructions.
_ORDER_FREE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def laplace(
    ZT: Array, members: Places, y: Array, weight: Array, level_precision: float, precision: float, theta: Array,
    L: Array,
) -> tuple[float, float]:  # fmt: skip
    """ln p(y | γ) by Laplace's approximation, and the length of the last Newton step in standard deviations.

    Labels y are 0 and 1, log odds are θ₀ + Σ θ_m z_m over the member rows of `ZT`, with independent normal priors.
    `theta` is the start, and the mode on return; `L` becomes the factor of the curvature H = LLᵀ there (Bishop 4.132,
    4.137).
    """
    phi, prior = _rows(ZT, members), np.empty(len(theta))
    prior[0], prior[1:] = level_precision, precision
    gap, (height, slope, bend) = np.inf, _log_posterior(phi, y, weight, prior, theta)
    for _ in range(_NEWTON):
        gradient = np.dot(phi, slope) - prior * theta
        np.dot(phi * bend, phi.T, L)
        for a in range(len(prior)):
            L[a, a] += prior[a]
        _factor(L)
        step = np.linalg.solve(L.T, np.linalg.solve(L, gradient))
        square = max(np.dot(gradient, step), 0.0)
        gap = np.sqrt(square)
        if gap < _NEAR:
            # The last step adds half its squared length to ln p, and nothing to speak of to the curvature.
            theta += step
            height += 0.5 * square
            break
        # ln p is concave: a short enough step increases it, up to rounding.
        share, floor = 1.0, height - _ROUNDING * (1.0 + abs(height))
        while True:
            trial = theta + share * step
            height, slope, bend = _log_posterior(phi, y, weight, prior, trial)
            if height >= floor or share < 1e-9:
                break
            share *= 0.5
        for a in range(len(theta)):
            theta[a] = trial[a]
    return height + 0.5 * np.log(prior).sum() - np.log(np.diag(L)).sum(), gap


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def flip_odds(
    ZT: Array, members: Places, y: Array, weight: Array, precision: float, theta: Array, L: Array, log_prior: Array,
    out: Array,
) -> None:  # fmt: skip
    """Approximate p(γ with column j flipped | y) / p(γ | y) for all columns, from the mode `theta` of γ alone.

    A column that enters takes one Newton step, in which the others follow: a score test with a prior. With g its slope
    and c its curvature it adds ½g²/(c + 1/v) − ½ ln(1 + vc) to the log evidence. One that leaves adds
    ½ ln(v/s²) − ½θ²/s², with s² the variance of its weight: the Savage–Dickey ratio under the Gaussian.
    """
    k, phi = len(theta), _rows(ZT, members)
    _, slope, bend = _log_posterior(phi, y, weight, np.zeros(k), theta)
    inverse = np.linalg.inv(L)
    # L⁻¹ΦWZ: the others' share of a column's curvature is a sum of its squares.
    shared, gradient = np.dot(inverse, np.dot(phi * bend, ZT.T)), np.dot(ZT, slope)
    enters = log_prior[k] - log_prior[k - 1] if k < len(log_prior) else -np.inf
    for j in range(len(ZT)):
        curvature = 0.0
        for i in range(len(bend)):
            curvature += bend[i] * ZT[j, i] * ZT[j, i]
        for a in range(k):
            curvature -= shared[a, j] * shared[a, j]
        curvature = max(curvature, 0.0)
        out[j] = enters + 0.5 * gradient[j] ** 2 / (curvature + precision) - 0.5 * np.log1p(curvature / precision)
    for m in range(1, k):
        variance = np.square(inverse[:, m]).sum()
        gain = log_prior[k - 2] - log_prior[k - 1] - 0.5 * np.log(precision * variance)
        out[members[m - 1]] = gain - 0.5 * theta[m] * theta[m] / variance
    for j in range(len(out)):
        out[j] = np.exp(min(max(out[j], -STEEPEST), STEEPEST))


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _factor(H: Array) -> None:
    """L with LLᵀ = H, in place; H contains the precision of a proper prior, so that it is regular."""
    for a in range(len(H)):
        for b in range(a + 1):
            total = H[a, b]
            for i in range(b):
                total -= H[a, i] * H[b, i]
            H[a, b] = np.sqrt(total) if a == b else total / H[b, b]
        H[a, a + 1 :] = 0.0


@njit(cache=True, nogil=True)
def _rows(ZT: Array, members: Places) -> Array:
    """A row of ones and the columns of a model, shape (k + 1, n)."""
    phi = np.empty((len(members) + 1, ZT.shape[1]))
    phi[0] = 1.0
    for m in range(len(members)):
        for i in range(ZT.shape[1]):
            phi[m + 1, i] = ZT[members[m], i]
    return phi


@njit(cache=True, nogil=True)
def _log_posterior(phi: Array, y: Array, weight: Array, prior: Array, theta: Array) -> tuple[float, Array, Array]:
    """ln p(y | θ)p(θ) up to a constant; slopes and negative curvatures by the log odds of each row."""
    total, eta = -0.5 * np.dot(prior * theta, theta), np.dot(theta, phi)
    slope, bend = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        # With e = exp(−|η|): ln σ(±η) = min(±η, 0) − ln(1 + e), σ(|η|) = 1/(1 + e), σ(η)σ(−η) = e/(1 + e)².
        e = np.exp(-abs(eta[i]))
        share = 1.0 / (1.0 + e)
        side = eta[i] if y[i] > 0.5 else -eta[i]
        total += weight[i] * (min(side, 0.0) - np.log1p(e))
        slope[i] = weight[i] * (y[i] - (share if eta[i] >= 0.0 else e * share))
        bend[i] = weight[i] * e * share * share
    return total, slope, bend


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
