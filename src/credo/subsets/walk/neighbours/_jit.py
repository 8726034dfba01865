"""Log posteriors of all neighbours of a model, compiled; `tests/reference/model_walk.py` says the same in plain NumPy.

Adding column i takes r²_i/s_i from eᵀe, e = y − Qu, and multiplies |A|, A = RᵀR, by s_i. Both are differences of
squares: where little remains of them they are made anew from the vectors. A column that depends on the model's can't
enter: that has no evidence. One that leaves is looked up in T = R⁻ᵀ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit
from credo.subsets._jit import LOG, score
from credo.subsets._slabs import FLOOR
from credo.subsets.walk.elementary._jit import logs
from credo.subsets.walk.factors._jit import Columns, Replicas, dot, remainder

Array = NDArray[np.float64]

# Called for every column at every step: inlined it takes a third of the time.
_score = njit(inline="always")(score.py_func)

# Columns that are worked on together.
_BLOCK = 512
# Differences of squares are good for nine digits above this share of what they are taken from.
_GOOD = 1e-6


class Heights(NamedTuple):
    """ln p(γ) for each size, and the slab's formula; `bottom` is what is left of both at power zero, by size alone."""

    log_prior: Array
    bottom: Array
    form: int
    base: Array
    numbers: Array
    table: Array


@njit(cache=True, nogil=True)
def neighbours(c: Columns, h: Heights, m: Replicas) -> None:
    """The log posteriors, in their two parts, of a model and of all that differ from it by one column."""
    n, k, e = len(c.X), m.size[0], m.e
    logdet, extent, inverse = 0.0, n + k, np.empty(k)
    for i in range(extent):
        e[i] = c.y[i] if i < n else 0.0
    for t in range(k):
        logdet += 2.0 * np.log(m.R[t, t]) + c.scale[m.members[t]]
        for i in range(extent):
            e[i] -= m.u[t] * m.Q[t, i]
    rest = dot(e, e, extent) + c.slack
    m.here[0], m.here[1] = _parts(h, k, rest, logdet)
    m.here[2], m.here[3] = m.here[0] + m.here[1] - h.log_prior[k], rest
    for i in range(len(m.still)):
        m.still[i] = -np.inf
    _leaving(c, h, m, rest, logdet, inverse)
    m.here[4] = 0.0
    if k + 1 < len(h.log_prior):
        floor, weakest = 0.0, 1.0
        for t in range(k):
            floor, weakest = max(floor, c.least[m.members[t]]), min(weakest, 1.0 / inverse[t])
        left, square = np.empty(_BLOCK), np.empty(_BLOCK)
        for start in range(0, len(m.s), _BLOCK):
            size = min(_BLOCK, len(m.s) - start)
            m.here[4] += _able(c, m, rest, floor, weakest, inverse, start, left[:size], square)
            _entering(c, h, m, logdet, start, left[:size], square)


@njit(cache=True, nogil=True)
def _leaving(c: Columns, h: Heights, m: Replicas, rest: float, logdet: float, inverse: Array) -> None:
    """Models with one column less; fills `inverse` with the diagonal of A⁻¹.

    A column that leaves takes w²/(A⁻¹)_tt with w = A⁻¹b, and multiplies |A| by (A⁻¹)_tt. Of column t of R⁻ᵀ, (A⁻¹)_tt
    is the squared length and w_t the product with u.
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
        m.still[i], m.fit[i] = _parts(h, k - 1, rest + weight[t] * weight[t] / inverse[t], volume)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _able(
    c: Columns, m: Replicas, rest: float, floor: float, weakest: float, inverse: Array, start: int, left: Array,
    square: Array
) -> float:  # fmt: skip
    """How many columns of a block can enter.

    Fills what would be left of the target then, −1 for those that can't, and what is left of each column, squared.
    """
    able, unclear, limits = 0.0, 0, c.least[start : start + len(left)]
    s, r, inside = m.s[start : start + len(left)], m.r[start : start + len(left)], m.inside[start : start + len(left)]
    for i in range(len(left)):
        least = floor if floor > limits[i] else limits[i]
        share = rest - r[i] * r[i] / s[i]
        # Of a member of which a square w is left, at least w·s/2 is left beside column i.
        clear = (s[i] > _GOOD) & (share > _GOOD * rest) & (s[i] * weakest > 2.0 * least * least) & ~inside[i]
        left[i], square[i] = share if clear else -1.0, s[i] if clear else 1.0
        able += 1.0 if clear else 0.0
        unclear += 0 if clear | inside[i] else 1
    for i in range(len(left) if unclear else 0):
        if left[i] < 0.0 and not inside[i]:
            here, share = _closely(c, m, start + i, inverse, max(floor, limits[i]))
            if here > 0.0:
                left[i], square[i], able = share, here, able + 1.0
    return able


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _entering(c: Columns, h: Heights, m: Replicas, logdet: float, start: int, left: Array, square: Array) -> None:
    """Models with one column more, of a block, by what they leave of the target."""
    k, size = m.size[0] + 1, len(left)
    ahead, above = h.bottom[k], h.log_prior[k] - h.bottom[k]
    slope, shift, factor, volume = h.numbers[0], h.numbers[1], h.numbers[2], h.numbers[3]
    inside, scale = m.inside[start : start + size], c.scale[start : start + size]
    still, fit, value = m.still[start : start + size], m.fit[start : start + size], np.empty(size)
    if volume != 0.0:
        logs(square[:size])
    if h.form == LOG:
        for i in range(size):
            share = left[i] if left[i] > FLOOR else FLOOR
            value[i] = shift + factor * (share if share < 1.0 else 1.0)
        logs(value)
        for i in range(size):
            value[i] = h.base[k] + slope * value[i] + volume * (logdet + square[i] + scale[i])
    else:
        for i in range(size):
            value[i] = _score(k, left[i], logdet + square[i] + scale[i], h.form, h.base, h.numbers, h.table)
    for i in range(size):
        fit[i] = fit[i] if inside[i] else value[i] + above
        still[i] = ahead if left[i] >= 0.0 else still[i]


@njit(cache=True, nogil=True)
def _closely(c: Columns, m: Replicas, i: int, inverse: Array, least: float) -> tuple[float, float]:
    """What is left of column i, squared, and of the target beside it, from the vectors; (0, 0) if it depends."""
    extent, out, loads = len(c.X) + m.size[0], np.empty(m.Q.shape[1]), np.empty(m.size[0])
    square = remainder(c, m, i, out, loads)
    if not square > least * least or _entangled(m, square, loads, inverse, least):
        return 0.0, 0.0
    slope = dot(out, m.e, extent) / square
    left = c.slack + slope * slope * c.ridge[i]
    for t in range(extent):
        left += (m.e[t] - slope * out[t]) ** 2
    return square, left


@njit(cache=True, nogil=True)
def _entangled(m: Replicas, s: float, loads: Array, inverse: Array, least: float) -> bool:
    """Whether beside a column of which s is left, no more than `least` is left of a member's length.

    (A⁻¹)_tt grows by w²_t/s with w = R⁻¹Qᵀx, the weights of the members in the column. `loads`, Qᵀx, becomes w.
    """
    for t in range(m.size[0] - 1, -1, -1):
        for b in range(t + 1, m.size[0]):
            loads[t] -= m.R[t, b] * loads[b]
        loads[t] /= m.R[t, t]
        if (inverse[t] + loads[t] * loads[t] / s) * least * least >= 1.0:
            return True
    return False


@njit(cache=True, nogil=True)
def _parts(h: Heights, k: int, rest: float, logdet: float) -> tuple[float, float]:
    """The parts of a log posterior that don't and do change with the power."""
    return h.bottom[k], h.log_prior[k] - h.bottom[k] + _score(k, rest, logdet, h.form, h.base, h.numbers, h.table)
