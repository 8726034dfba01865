"""Tempered weighted Gibbs sampling over models, compiled; plain twins: `tests/reference/sampler.py`.

A replica at inverse temperature β samples p_β(γ) by weighted tempered Gibbs steps (Zanella & Roberts 2019). Replicas at
neighbouring temperatures swap (parallel tempering, Geyer 1991), even and odd pairs in turn (Okabe et al. 2001; Syed,
Bouchard-Côté, Deligiannidis & Doucet 2022).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit
from credo.sparse._slabs_jit import exps
from credo.sparse.sampler._factors_jit import Columns, Replicas, build, insert, remove, replica
from credo.sparse.sampler._neighbours_jit import BLOCK, Target, neighbours

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Sums and maxima in any order, so that the compiler can vectorize them; none of them is NaN.
_ANY_ORDER = {"reassoc", "contract", "nnan", "nsz"}


class Ladder(NamedTuple):
    """Inverse temperatures from one down to zero, the steps of a round at each, and the replica that is there.

    `exploration` is the rate at which every column is tried, whatever its probability. `rejected` (n_levels − 1, 2)
    sums the rejection probabilities of swaps, and counts them.
    """

    betas: Array
    strides: Places
    holder: Places
    exploration: float
    rejected: Array


class Record(NamedTuple):
    """What is stored of the steps.

    At β = 1 `trace` has the log evidence, 1 − R² and the weight; `models` the columns, filled up with −1; `included`
    the sums of weight × conditional inclusion probabilities. At all temperatures `tempering` (n_rounds, n_steps, 2) has
    ln p(γ)p(y | γ)/p₀(γ) and the log weight; at β = 0 `entering` sums, by size, the weight and the weight × the number
    of columns that can enter.
    """

    trace: Array
    models: Places
    included: Array
    tempering: Array
    entering: Array


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def flip_rates(target: Target, m: Replicas, beta: float, exploration: float, odds: Array) -> tuple[float, float]:
    """The sum of the rates at which columns flip, in units of e^top, and top; fills `odds`, in the same units.

    With p the conditional inclusion probability, a column flips at the rate (p + exploration) over the conditional
    probability of its present value (Zanella & Roberts 2019, section 4). With o the odds of the other value that is
    o + exploration·(1 + o) to enter and 1 + exploration·(1 + o) to leave. Columns that can't flip have o = −1.
    """
    k, reference, log_joint, inside = m.size[0], target.log_reference, m.log_joint, m.inside
    here = (1.0 - beta) * reference[k] + beta * m.here[0]
    enter = (1.0 - beta) * reference[min(k + 1, len(reference) - 1)] - here
    leave = (1.0 - beta) * reference[max(k - 1, 0)] - here
    top, total = 0.0, 0.0
    for i in range(len(odds)):
        able = log_joint[i] > -np.inf
        odds[i] = beta * (log_joint[i] if able else 0.0) + (leave if inside[i] else enter)
        top = odds[i] if able and odds[i] > top else top
    one = np.exp(-top)
    for start in range(0, len(odds), BLOCK):
        block, joints = odds[start : start + BLOCK], log_joint[start : start + BLOCK]
        for i in range(len(block)):
            block[i] -= top
        exps(block)
        for i in range(len(block)):
            block[i] = block[i] if joints[i] > -np.inf else -1.0
        total += _block_rate(m, odds, one, exploration, start)
    return total, top


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _block_rate(m: Replicas, odds: Array, one: float, exploration: float, start: int) -> float:
    """The sum of the rates of a block of columns."""
    total, inside, each = 0.0, m.inside[start : start + BLOCK], odds[start : start + BLOCK]
    for i in range(len(each)):
        rate = (one if inside[i] else each[i]) + exploration * (one + each[i])
        total += rate if each[i] >= 0.0 else 0.0
    return total


@njit(cache=True, nogil=True)
def draw_column(m: Replicas, odds: Array, one: float, exploration: float, target: float) -> int:
    """The column at which the cumulative rate passes `target`; −1 if none can flip."""
    found, start = -1, 0
    while start + BLOCK < len(odds):
        block = _block_rate(m, odds, one, exploration, start)
        if target < block:
            break
        start, target = start + BLOCK, target - block
    for i in range(start, len(odds)):
        if odds[i] >= 0.0:
            found = i
            target -= (one if m.inside[i] else odds[i]) + exploration * (one + odds[i])
            if target < 0.0:
                return i
    # By rounding, the target may lie beyond the last column that can flip.
    for i in range(start - 1 if found < 0 else -1, -1, -1):
        if odds[i] >= 0.0:
            return i
    return found


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_inclusions(m: Replicas, odds: Array, one: float, weight: float, included: Array) -> None:
    """Add weight × conditional inclusion probabilities (Rao–Blackwell)."""
    inside = m.inside
    for i in range(len(odds)):
        own, other = one if inside[i] else odds[i], odds[i] if inside[i] else one
        share = own / (own + other) if own > 0.0 else 0.0
        included[i] += weight * (share if odds[i] >= 0.0 else (1.0 if inside[i] else 0.0))


@njit(cache=True, nogil=True)
def log_swap_odds(target: Target, a: Replicas, b: Replicas, ladder: Ladder, level: int, odds: Array) -> float:
    """The log acceptance odds of swapping replicas a, at a level, and b, at the next.

    The steps of a weighted chain have the density p_β(γ)Z_β(γ), with Z the sum of its rates.
    """
    ratio = ladder.betas[level] - ladder.betas[level + 1]
    ratio *= b.here[0] - target.log_reference[b.size[0]] - (a.here[0] - target.log_reference[a.size[0]])
    for place, sign in ((level, 1.0), (level + 1, -1.0)):
        for m, side in ((b, sign), (a, -sign)):
            total, top = flip_rates(target, m, ladder.betas[place], ladder.exploration, odds)
            ratio += side * (top + np.log(total) if total > 0.0 else 0.0)
    return ratio


@njit(cache=True, nogil=True)
def run_rounds(
    c: Columns, target: Target, every: Replicas, ladder: Ladder, record: Record, uniforms: Array, parity: int
) -> tuple[int, int]:  # fmt: skip
    """Rounds of steps at each temperature, β = 1 first, and of swaps; a row of uniform numbers for each.

    Starts with fresh factors. Stops early where a model may outgrow the allocated arrays. Returns the number of rounds
    and of steps at β = 1.
    """
    done, room, odds = 0, every.R.shape[1], np.empty(len(record.included))
    for i in range(len(every.size)):
        m = replica(every, i)
        build(c, m)
        neighbours(c, target, m)
    for number in range(len(uniforms)):
        if every.size.max() + ladder.strides.max() > room and room < len(target.log_prior) - 1:
            return number, done
        used = 0
        for level in range(len(ladder.betas)):
            m = replica(every, ladder.holder[level])
            first, used = used, used + ladder.strides[level]
            for step in range(first, used):
                if level == 0 and done == len(record.trace):
                    break
                total, top = flip_rates(target, m, ladder.betas[level], ladder.exploration, odds)
                one = np.exp(-top)
                log_weight = -top - np.log(total) if total > 0.0 else 0.0
                record.tempering[number, step, 0] = m.here[0] - target.log_reference[m.size[0]]
                record.tempering[number, step, 1] = log_weight
                if ladder.betas[level] == 0.0:
                    _count_entering(m, odds, np.exp(log_weight), record.entering)
                if level == 0:
                    weight = one / total if total > 0.0 else 1.0
                    add_inclusions(m, odds, one, weight, record.included)
                    _store(m, record, done, weight)
                    done += 1
                j = draw_column(m, odds, one, ladder.exploration, uniforms[number, step] * total)
                if j >= 0:
                    if m.inside[j]:
                        remove(c, m, j)
                    else:
                        insert(c, m, j)
                    neighbours(c, target, m)
        _swap(target, every, ladder, uniforms[number, used:], (parity + number) % 2, odds)
    return len(uniforms), done


@njit(inline="always")
def _store(m: Replicas, record: Record, done: int, weight: float) -> None:
    record.trace[done, 0], record.trace[done, 1], record.trace[done, 2] = m.here[1], m.here[2], weight
    for t in range(record.models.shape[1]):
        record.models[done, t] = m.members[t] if t < m.size[0] else -1


@njit(inline="always")
def _count_entering(m: Replicas, odds: Array, weight: float, entering: Array) -> None:
    able = 0
    for i in range(len(odds)):
        able += odds[i] >= 0.0 and not m.inside[i]
    entering[m.size[0], 0] += weight
    entering[m.size[0], 1] += weight * able


@njit(inline="always")
def _swap(target: Target, every: Replicas, ladder: Ladder, uniforms: Array, first: int, odds: Array) -> None:
    holder = ladder.holder
    for level in range(first, len(ladder.betas) - 1, 2):
        a, b = replica(every, holder[level]), replica(every, holder[level + 1])
        chance = np.exp(min(log_swap_odds(target, a, b, ladder, level, odds), 0.0))
        ladder.rejected[level, 0] += 1.0 - chance
        ladder.rejected[level, 1] += 1.0
        if uniforms[level] < chance:
            holder[level], holder[level + 1] = holder[level + 1], holder[level]
