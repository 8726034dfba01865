"""Tempered weighted Gibbs sampling over models, compiled; plain twins: `tests/reference/sampler.py`.

A replica at inverse temperature β samples p_β(γ) by weighted tempered Gibbs steps (Zanella & Roberts 2019). Replicas at
neighboring temperatures swap (parallel tempering, Geyer 1991), even and odd pairs in turn (Okabe et al. 2001; Syed,
Bouchard-Côté, Deligiannidis & Doucet 2022).

Before each step the log posteriors of all models that differ by one column are computed.

Regression: adding column i takes r²_i/s_i from eᵀe, e = y − Qu, and multiplies |A|, A = RᵀR, by s_i. If these
differences of squares have lost digits, they are recomputed from the vectors. A column that is linearly dependent on
the model's can't enter. Removing a column is read off T = R⁻ᵀ.

Classes: the evidence of the model itself is Laplace's, that of its neighbors is approximated by score tests at its
mode. So a flip is only proposed (Metropolis–Hastings): the steps have the density p(γ)Z(γ), Z the sum of the
approximate rates, and a flip of column j is accepted with the odds p(γ')r_j(γ')/p(γ)r_j(γ), which are one if the rates
are exact. Evaluated models are cached by a key of 64 bits, the exclusive or of the keys of their columns (Zobrist
1970).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit
from credo.sparse._factors_jit import MIN_RATIO, Columns, Replicas, build, dot, insert, remainder, remove, replica
from credo.sparse._laplace_jit import laplace, log_flip_odds
from credo.sparse._slabs_jit import Formula, log_evidence

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Keys = NDArray[np.uint64]

# An empty place of the hash table.
EMPTY = -1


class Labels(NamedTuple):
    """Standardized columns, labels 0 and 1, weights, the prior precisions of level and weights; and evaluated models.

    The models are found by the sum of the `keys` of their columns in a hash table: `slots` are their places in
    `log_evidence` and `log_odds`, of which `used` are taken.
    """

    ZT: Array
    y: Array
    weight: Array
    level_precision: float
    precision: float
    keys: Keys
    table: Keys
    slots: Places
    log_evidence: Array
    log_odds: Array
    used: Places


class Target(NamedTuple):
    """The posterior: ln p(γ) by size and the slab's evidence; and by size ln p₀(γ), the density at β = 0.

    ln p_β(γ) = (1 − β) ln p₀(γ) + β ln p(γ)p(y | γ)
    """

    log_prior: Array
    log_reference: Array
    formula: Formula


class Problem(NamedTuple):
    """The data of the models: columns for regression or labels for classification; the other is empty."""

    columns: Columns
    labels: Labels
    target: Target


@njit(inline="always")
def _start(p: Problem, m: Replicas) -> None:
    """Prepare a replica at the model of its members."""
    if len(p.labels.y) > 0:
        for t in range(m.size[0]):
            m.inside[m.members[t]] = True
        _look_up(p.labels, p.target.log_prior, m)
    else:
        build(p.columns, m)
        neighbours(p.columns, p.target, m)


@njit(cache=True, nogil=True)
def _look_up(a: Labels, log_prior: Array, m: Replicas) -> None:
    """Fill `log_joint` and `here` of a model of classes, from the cache if possible."""
    k, key, mask = m.size[0], np.uint64(0), np.uint64(len(a.table) - 1)
    for t in range(k):
        key ^= a.keys[m.members[t]]
    at = key & mask
    while a.slots[at] != EMPTY and a.table[at] != key:
        at = (at + np.uint64(1)) & mask
    if a.slots[at] == EMPTY:
        if a.used[0] == len(a.log_evidence):
            a.slots[:], a.used[0], at = EMPTY, 0, key & mask
        slot = a.used[0]
        a.table[at], a.slots[at], a.used[0] = key, slot, slot + 1
        members, theta, L = np.sort(m.members[:k]), np.empty(k + 1), np.zeros((k + 1, k + 1))
        theta[0] = m.near[0]
        for t in range(k):
            theta[t + 1] = m.near[members[t] + 1]
        a.log_evidence[slot], _ = laplace(a.ZT, members, a.y, a.weight, a.level_precision, a.precision, theta, L)
        log_flip_odds(a.ZT, members, a.y, a.weight, a.precision, theta, L, log_prior, a.log_odds[slot])
        m.near[:], m.near[0] = 0.0, theta[0]
        for t in range(k):
            m.near[members[t] + 1] = theta[t + 1]
    slot = a.slots[at]
    m.here[1] = a.log_evidence[slot]
    m.here[0] = m.here[1] + log_prior[k]
    for j in range(len(m.log_joint)):
        m.log_joint[j] = m.here[0] + a.log_odds[slot, j]


@njit(cache=True, nogil=True)
def _propose(
    a: Labels, log_prior: Array, m: Replicas, j: int, exploration: float, uniform: float, included: Array
) -> None:  # fmt: skip
    """Flip column j of a model of classes, or leave it.

    Adds the error of the conditional probability p̃_j of the score test, divided by the probability of this proposal:
    E[p̃_j + 1{J = j} (p_j − p̃_j)/q_j] = p_j, and q_j is the weight of the step times the rate of column j.
    """
    here, entering = m.here[0], not m.inside[j]
    guess = np.exp(m.log_joint[j] - here)
    forth = (guess if entering else 1.0) + exploration * (1.0 + guess)
    _toggle(m, j)
    _look_up(a, log_prior, m)
    gain, back = m.here[0] - here, np.exp(m.log_joint[j] - m.here[0])
    back = (1.0 if entering else back) + exploration * (1.0 + back)
    error = 0.5 * (1.0 + np.tanh(0.5 * gain)) - guess / (1.0 + guess)
    included[j] += (error if entering else -error) / forth
    if not np.log(uniform) < gain + np.log(back / forth):
        _toggle(m, j)
        _look_up(a, log_prior, m)


@njit(cache=True, nogil=True)
def _toggle(m: Replicas, j: int) -> None:
    k = m.size[0]
    if m.inside[j]:
        place = 0
        while m.members[place] != j:
            place += 1
        m.members[place], m.size[0] = m.members[k - 1], k - 1
    else:
        m.members[k], m.size[0] = j, k + 1
    m.inside[j] = not m.inside[j]


@njit(cache=True, nogil=True)
def neighbours(c: Columns, target: Target, m: Replicas) -> None:
    """Fill `log_joint` of all models that differ by one column, and `here` of the model itself."""
    n, k, e = len(c.X), m.size[0], m.e
    logdet, extent, inverse = 0.0, n + k, np.empty(k)
    for i in range(extent):
        e[i] = c.y[i] if i < n else 0.0
    for t in range(k):
        logdet += 2.0 * np.log(m.R[t, t]) + c.scale[m.members[t]]
        for i in range(extent):
            e[i] -= m.u[t] * m.Q[t, i]
    one_minus_r2 = dot(e, e, extent) + c.slack
    m.here[1], m.here[2] = log_evidence(target.formula, k, one_minus_r2, logdet), one_minus_r2
    m.here[0] = m.here[1] + target.log_prior[k]
    _leaving(c, target, m, one_minus_r2, logdet, inverse)
    if k + 1 < len(target.log_prior):
        _entering(c, target, m, one_minus_r2, logdet, inverse)
    else:
        for i in range(len(m.s)):
            m.log_joint[i] = m.log_joint[i] if m.inside[i] else -np.inf


@njit(cache=True, nogil=True)
def _leaving(c: Columns, target: Target, m: Replicas, one_minus_r2: float, logdet: float, inverse: Array) -> None:
    """Models with one column less; fills `inverse` with the diagonal of A⁻¹.

    Without column t, eᵀe grows by w²/(A⁻¹)_tt, w = (A⁻¹b)_t, and |A| is multiplied by (A⁻¹)_tt. (A⁻¹)_tt is the
    squared length of column t of R⁻ᵀ, and w its product with u.
    """
    k, weight = m.size[0], np.zeros(m.size[0])
    for t in range(k):
        inverse[t] = 0.0
    for b in range(k):
        row, load = m.T[b], m.u[b]
        for t in range(b + 1):
            inverse[t] += row[t] * row[t]
            weight[t] += row[t] * load
    for t in range(k):
        i = m.members[t]
        volume = logdet + np.log(inverse[t]) - c.scale[i]
        value = log_evidence(target.formula, k - 1, one_minus_r2 + weight[t] * weight[t] / inverse[t], volume)
        m.log_joint[i] = target.log_prior[k - 1] + value


@njit(cache=True, nogil=True)
def _entering(c: Columns, target: Target, m: Replicas, one_minus_r2: float, logdet: float, inverse: Array) -> None:
    """Models with one column more."""
    k, floor, weakest, formula = m.size[0] + 1, 0.0, 1.0, target.formula
    for t in range(k - 1):
        floor, weakest = max(floor, c.least[m.members[t]]), min(weakest, 1.0 / inverse[t])
    for i in range(len(m.s)):
        if m.inside[i]:
            continue
        least, square = max(floor, c.least[i]), m.s[i]
        left = one_minus_r2 - m.r[i] * m.r[i] / square if square > MIN_RATIO else 0.0
        # A member with squared residual w keeps at least w·s/2 once column i is in.
        if not (left > MIN_RATIO * one_minus_r2 and square * weakest > 2.0 * least * least):
            square, left = _recomputed(c, m, i, inverse, least)
        if square > 0.0:
            volume = np.log(square) + logdet + c.scale[i] if formula.volume != 0.0 else 0.0
            m.log_joint[i] = target.log_prior[k] + log_evidence(formula, k, left, volume)
        else:
            m.log_joint[i] = -np.inf


@njit(cache=True, nogil=True)
def _recomputed(c: Columns, m: Replicas, i: int, inverse: Array, least: float) -> tuple[float, float]:
    """The squared residuals of column i and of y given column i, from the vectors; (0, 0) if it is dependent."""
    extent, out, loads = len(c.X) + m.size[0], np.empty(m.Q.shape[1]), np.empty(m.size[0])
    square = remainder(c, m, i, out, loads)
    if not square > least * least or _makes_dependent(m, square, loads, inverse, least):
        return 0.0, 0.0
    slope = dot(out, m.e, extent) / square
    left = c.slack + slope * slope * c.ridge[i]
    for t in range(extent):
        left += (m.e[t] - slope * out[t]) ** 2
    return square, left


@njit(cache=True, nogil=True)
def _makes_dependent(m: Replicas, s: float, loads: Array, inverse: Array, least: float) -> bool:
    """Whether a column of squared residual s leaves no more than `least` of a member's length.

    (A⁻¹)_tt grows by w²_t/s with w = R⁻¹Qᵀx, the weights of the members in the column. `loads`, Qᵀx, becomes w.
    """
    for t in range(m.size[0] - 1, -1, -1):
        for b in range(t + 1, m.size[0]):
            loads[t] -= m.R[t, b] * loads[b]
        loads[t] /= m.R[t, t]
        if (inverse[t] + loads[t] * loads[t] / s) * least * least >= 1.0:
            return True
    return False


# Sums and maxima in any order, so that the compiler can vectorize them; none of them is NaN.
_ANY_ORDER = {"reassoc", "contract", "nnan", "nsz"}


class Ladder(NamedTuple):
    """Inverse temperatures from one down to zero, the steps of a round at each, and the replica that is there.

    `exploration` is the rate at which every column is tried regardless of its probability. `rejected` (n_levels − 1, 2)
    sums the rejection probabilities of swaps, and counts them.
    """

    betas: Array
    strides: Places
    holder: Places
    exploration: float
    rejected: Array


class Record(NamedTuple):
    """The record of the steps at β = 1.

    `trace` has the log evidence and the weight; `models` the columns, padded with −1; `included` the sums of weight ×
    conditional inclusion probabilities.
    """

    trace: Array
    models: Places
    included: Array


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
    for i in range(len(odds)):
        odds[i] = np.exp(odds[i] - top) if log_joint[i] > -np.inf else -1.0
        rate = (one if inside[i] else odds[i]) + exploration * (one + odds[i])
        total += rate if odds[i] >= 0.0 else 0.0
    return total, top


@njit(cache=True, nogil=True)
def draw_column(m: Replicas, odds: Array, one: float, exploration: float, target: float) -> int:
    """The column at which the cumulative rate passes `target`; −1 if none can flip."""
    found = -1
    for i in range(len(odds)):
        if odds[i] >= 0.0:
            # Because of rounding, the target may lie beyond the last column that can flip.
            found = i
            target -= (one if m.inside[i] else odds[i]) + exploration * (one + odds[i])
            if target < 0.0:
                break
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
    p: Problem, every: Replicas, ladder: Ladder, record: Record, uniforms: Array, parity: int
) -> tuple[int, int]:  # fmt: skip
    """Rounds of steps at each temperature, β = 1 first, and of swaps; a row of uniform numbers for each, two a step.

    Starts with fresh factors. Stops early if a model may outgrow the allocated arrays. Returns the number of rounds
    and of steps at β = 1.
    """
    done, room, odds = 0, every.members.shape[1], np.empty(len(record.included))
    for i in range(len(every.size)):
        _start(p, replica(every, i))
    for number in range(len(uniforms)):
        if every.size.max() + ladder.strides.max() > room and room < len(p.target.log_prior) - 1:
            return number, done
        used = 0
        for level in range(len(ladder.betas)):
            m = replica(every, ladder.holder[level])
            first, used = used, used + ladder.strides[level]
            for step in range(first, used):
                if level == 0 and done == len(record.trace):
                    break
                total, top = flip_rates(p.target, m, ladder.betas[level], ladder.exploration, odds)
                one = np.exp(-top)
                if level == 0:
                    weight = one / total if total > 0.0 else 1.0
                    add_inclusions(m, odds, one, weight, record.included)
                    _store(m, record, done, weight)
                    done += 1
                j = draw_column(m, odds, one, ladder.exploration, uniforms[number, 2 * step] * total)
                if j >= 0:
                    _flip(p, m, j, ladder.exploration, uniforms[number, 2 * step + 1], record.included)
        _swap(p.target, every, ladder, uniforms[number, 2 * used :], (parity + number) % 2, odds)
    return len(uniforms), done


@njit(inline="always")
def _flip(p: Problem, m: Replicas, j: int, exploration: float, uniform: float, included: Array) -> None:
    if len(p.labels.y) > 0:
        _propose(p.labels, p.target.log_prior, m, j, exploration, uniform, included)
    else:
        if m.inside[j]:
            remove(p.columns, m, j)
        else:
            insert(p.columns, m, j)
        neighbours(p.columns, p.target, m)


@njit(inline="always")
def _store(m: Replicas, record: Record, done: int, weight: float) -> None:
    record.trace[done, 0], record.trace[done, 1] = m.here[1], weight
    for t in range(record.models.shape[1]):
        record.models[done, t] = m.members[t] if t < m.size[0] else -1


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
