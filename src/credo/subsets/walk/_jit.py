"""The steps of a walk over models, compiled; `tests/reference/model_walk.py` says the same in plain NumPy.

A replica at power β walks over p_β(γ) ∝ e^(still + β·fit) by weighted tempered Gibbs sampling (Zanella & Roberts 2019);
neighbours on the ladder of powers exchange their places (Geyer 1991), even pairs and odd pairs by turns (Okabe et al.
2001; Syed, Bouchard-Côté, Deligiannidis & Doucet 2022).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit
from credo.subsets.walk.elementary._jit import exps
from credo.subsets.walk.factors._jit import Columns, Replicas, build, insert, remove, replica
from credo.subsets.walk.neighbours._jit import Heights, neighbours

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Columns whose rates are summed together.
_BLOCK = 512
# Sums and maxima may be taken in any order, which lets the compiler take several terms at once; none of them is NaN.
_ANY_ORDER = {"reassoc", "contract", "nnan", "nsz"}


class Ladder(NamedTuple):
    """Powers from one down, how many steps a round takes at each, and which replica is there.

    `tries` is the rate at which any column is tried; `rejected` (n_levels − 1, 2) sums the chances of exchanges that
    were refused, and the number of exchanges. `lift` (n_levels, n_sizes) is added to the log density of a model, by its
    size; where something is averaged, weights take it off again.
    """

    powers: Array
    strides: Places
    holder: Places
    tries: float
    rejected: Array
    lift: Array


class Record(NamedTuple):
    """What is written down at the whole power, step by step, and the best of all models that were looked at.

    `trace` has log evidence, share of the target that is left, and weight; `models` the columns, filled up with −1;
    `included` sums weight × conditional inclusion probabilities; `peak` is the best log posterior, of `summit`. Of each
    step at any power, in the order of the uniform numbers, `heat` has the fit, the logarithm of the weight, the size,
    and the number of columns that could enter.
    """

    trace: Array
    models: Places
    included: Array
    heat: Array
    peak: Array
    summit: Flags


@njit(cache=True, nogil=True)
def beside(lift: Array, k: int) -> tuple[float, float]:
    """What models of one column more, and of one less, are lifted by above those of k."""
    return lift[min(k + 1, len(lift) - 1)] - lift[k], lift[max(k - 1, 0)] - lift[k]


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def pace(m: Replicas, power: float, lift: Array, tries: float, odds: Array) -> tuple[float, float]:
    """The sum of the rates at which columns flip, in units of e^top, and top; fills `odds`, in the same units.

    With p the conditional probability that a column is in, it flips at the rate (p + tries) over the conditional
    probability of its present value (Zanella & Roberts 2019, section 4): with o the odds of the other value, that is
    o + tries(1 + o) for a column that enters and 1 + tries(1 + o) for one that leaves. One that can't flip has o = −1.
    """
    top, total, (enter, leave) = 0.0, 0.0, beside(lift, m.size[0])
    still, fit, inside, here, height = m.still, m.fit, m.inside, m.here[0], m.here[1]
    for i in range(len(odds)):
        odds[i] = (still[i] - here) + power * (fit[i] - height) + (leave if inside[i] else enter)
        top = odds[i] if odds[i] > top else top
    for i in range(len(odds)):
        odds[i] -= top
    exps(odds)
    one = np.exp(-top)
    for i in range(len(odds)):
        odds[i] = odds[i] if still[i] > -np.inf else -1.0
    for start in range(0, len(odds), _BLOCK):
        total += _rate(m, odds, one, tries, start)
    return total, top


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _rate(m: Replicas, odds: Array, one: float, tries: float, start: int) -> float:
    """The sum of the rates of a block of columns."""
    total, inside, each = 0.0, m.inside[start : start + _BLOCK], odds[start : start + _BLOCK]
    for i in range(len(each)):
        rate = (one if inside[i] else each[i]) + tries * (one + each[i])
        total += rate if each[i] >= 0.0 else 0.0
    return total


@njit(cache=True, nogil=True)
def chosen(m: Replicas, odds: Array, one: float, tries: float, target: float) -> int:
    """The column at which the sum of the rates passes the target; −1 where none can flip."""
    found, start = -1, 0
    while start + _BLOCK < len(odds):
        block = _rate(m, odds, one, tries, start)
        if target < block:
            break
        start, target = start + _BLOCK, target - block
    for i in range(start, len(odds)):
        if odds[i] >= 0.0:
            found = i
            target -= (one if m.inside[i] else odds[i]) + tries * (one + odds[i])
            if target < 0.0:
                return i
    # Rounding may leave something of the target beyond the last that can flip.
    for i in range(start - 1 if found < 0 else -1, -1, -1):
        if odds[i] >= 0.0:
            return i
    return found


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def count(m: Replicas, lift: Array, odds: Array, one: float, weight: float, included: Array) -> None:
    """Add weight × conditional inclusion probabilities, as they are without the lift."""
    if weight == 0.0:
        return
    inside, (enter, leave) = m.inside, beside(lift, m.size[0])
    outer, inner = one * np.exp(enter), one * np.exp(leave)
    for i in range(len(odds)):
        own, other = inner if inside[i] else odds[i], odds[i] if inside[i] else outer
        share = own / (own + other) if own > 0.0 else 0.0
        included[i] += weight * (share if odds[i] >= 0.0 else (1.0 if inside[i] else 0.0))


@njit(cache=True, nogil=True)
def exchange(a: Replicas, b: Replicas, ladder: Ladder, level: int, odds: Array) -> float:
    """The log of the odds at which replicas a, at a level, and b, at the next, change places.

    A chain whose steps are weighted has the density p_β(γ)Z_β(γ) over its steps, Z the sum of its rates.
    """
    ratio = (ladder.powers[level] - ladder.powers[level + 1]) * (b.here[1] - a.here[1])
    for place, sign in ((level, 1.0), (level + 1, -1.0)):
        lift = ladder.lift[place]
        for m, side in ((b, sign), (a, -sign)):
            total, top = pace(m, ladder.powers[place], lift, ladder.tries, odds)
            ratio += side * (lift[m.size[0]] + (top + np.log(total) if total > 0.0 else 0.0))
    return ratio


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _look_around(m: Replicas, record: Record) -> None:
    """Remember the best of all neighbours, visited or not."""
    still, fit, peak = m.still, m.fit, record.peak[0]
    for i in range(len(still)):
        peak = still[i] + fit[i] if still[i] + fit[i] > peak else peak
    if peak > record.peak[0]:
        record.peak[0], best = peak, 0
        while best < len(still) - 1 and still[best] + fit[best] < peak:
            best += 1
        for i in range(len(still)):
            record.summit[i] = m.inside[i] != (i == best)


@njit(cache=True, nogil=True)
def _write(m: Replicas, record: Record, done: int, weight: float) -> None:
    """Note the model and its weight."""
    record.trace[done, 0], record.trace[done, 1], record.trace[done, 2] = m.here[2], m.here[3], weight
    for t in range(record.models.shape[1]):
        record.models[done, t] = m.members[t] if t < m.size[0] else -1


@njit(cache=True, nogil=True)
def _feel(m: Replicas, log_weight: float, heat: Array) -> None:
    """Note what the mass of all models is estimated from."""
    heat[0], heat[1], heat[2], heat[3] = m.here[1], log_weight, m.size[0], m.here[4]


@njit(cache=True, nogil=True)
def tour(
    c: Columns, h: Heights, every: Replicas, ladder: Ladder, record: Record, uniforms: Array, parity: int
) -> tuple[int, int]:  # fmt: skip
    """Rounds of steps at each power, the whole one first, and of exchanges; a row of uniform numbers for each.

    Factors are made anew at first. Ends early where a model may need more room. Rounds, and steps at the whole power,
    that were done.
    """
    done, room, odds = 0, every.R.shape[1], np.empty(len(record.included))
    for i in range(len(every.size)):
        m = replica(every, i)
        build(c, m)
        neighbours(c, h, m)
    for number in range(len(uniforms)):
        if _largest(every.size) + _largest(ladder.strides) > room and room < len(h.log_prior) - 1:
            return number, done
        used = 0
        for level in range(len(ladder.powers)):
            m = replica(every, ladder.holder[level])
            first, used = used, used + ladder.strides[level]
            for step in range(first, used):
                if level == 0 and done == len(record.trace):
                    break
                lift = ladder.lift[level]
                total, top = pace(m, ladder.powers[level], lift, ladder.tries, odds)
                one = np.exp(-top)
                _feel(m, (-top - np.log(total) if total > 0.0 else 0.0) - lift[m.size[0]], record.heat[number, step])
                if level == 0:
                    weight = (one / total if total > 0.0 else 1.0) * np.exp(-lift[m.size[0]])
                    count(m, lift, odds, one, weight, record.included)
                    _write(m, record, done, weight)
                    done += 1
                j = chosen(m, odds, one, ladder.tries, uniforms[number, step] * total)
                if j < 0:
                    continue
                if m.inside[j]:
                    remove(c, m, j)
                else:
                    insert(c, m, j)
                neighbours(c, h, m)
                _look_around(m, record)
        _exchanges(every, ladder, uniforms[number, used:], (parity + number) % 2, odds)
    return len(uniforms), done


@njit(cache=True, nogil=True)
def _largest(counts: Places) -> int:
    most = 0
    for value in counts:
        most = max(most, value)
    return most


@njit(cache=True, nogil=True)
def _exchanges(every: Replicas, ladder: Ladder, uniforms: Array, first: int, odds: Array) -> None:
    powers, holder = ladder.powers, ladder.holder
    for level in range(first, len(powers) - 1, 2):
        a, b = replica(every, holder[level]), replica(every, holder[level + 1])
        chance = np.exp(min(exchange(a, b, ladder, level, odds), 0.0))
        ladder.rejected[level, 0] += 1.0 - chance
        ladder.rejected[level, 1] += 1.0
        if uniforms[level] < chance:
            holder[level], holder[level + 1] = holder[level + 1], holder[level]
