"""Log posteriors of all models that differ by one column, compiled; plain twins: `tests/reference/sampler.py`.

Adding column i takes r²_i/s_i from eᵀe, e = y − Qu, and multiplies |A|, A = RᵀR, by s_i. Where these differences of
squares have lost digits, they are recomputed from the vectors. A column that is linearly dependent on the model's
can't enter. Removing a column is read off T = R⁻ᵀ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit
from credo.sparse._slabs_jit import Formula, equal_sizes, log_evidence, logs
from credo.sparse.sampler._factors_jit import GOOD, Columns, Replicas, dot, remainder

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Columns processed together, so that their numbers stay in the cache.
BLOCK = 512


class Target(NamedTuple):
    """The posterior: ln p(γ) by size and the slab's evidence; and by size ln p₀(γ), the density at β = 0.

    ln p_β(γ) = (1 − β) ln p₀(γ) + β ln p(γ)p(y | γ)
    """

    log_prior: Array
    log_reference: Array
    formula: Formula


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
    rest = dot(e, e, extent) + c.slack
    m.here[1], m.here[2] = log_evidence(target.formula, k, rest, logdet), rest
    m.here[0] = m.here[1] + target.log_prior[k]
    _leaving(c, target, m, rest, logdet, inverse)
    if k + 1 < len(target.log_prior):
        _entering(c, target, m, rest, logdet, inverse)
    else:
        for i in range(len(m.s)):
            m.log_joint[i] = m.log_joint[i] if m.inside[i] else -np.inf


@njit(cache=True, nogil=True)
def _leaving(c: Columns, target: Target, m: Replicas, rest: float, logdet: float, inverse: Array) -> None:
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
        value = log_evidence(target.formula, k - 1, rest + weight[t] * weight[t] / inverse[t], volume)
        m.log_joint[i] = target.log_prior[k - 1] + value


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _entering(c: Columns, target: Target, m: Replicas, rest: float, logdet: float, inverse: Array) -> None:
    """Models with one column more, block by block."""
    k, floor, weakest = m.size[0] + 1, 0.0, 1.0
    for t in range(k - 1):
        floor, weakest = max(floor, c.least[m.members[t]]), min(weakest, 1.0 / inverse[t])
    lefts, squares = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, len(m.s), BLOCK):
        size = min(BLOCK, len(m.s) - start)
        left, square, able = lefts[:size], squares[:size], np.empty(size, dtype=np.bool_)
        _residuals(c, m, rest, floor, weakest, inverse, start, left, square, able)
        if target.formula.volume != 0.0:
            logs(square)
            for i in range(size):
                square[i] += logdet + c.scale[start + i]
        equal_sizes(target.formula, k, left, square)
        out, inside, prior = m.log_joint[start : start + size], m.inside[start : start + size], target.log_prior[k]
        for i in range(size):
            out[i] = out[i] if inside[i] else prior + left[i] if able[i] else -np.inf


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _residuals(
    c: Columns, m: Replicas, rest: float, floor: float, weakest: float, inverse: Array, start: int, left: Array,
    square: Array, able: Flags,
) -> None:  # fmt: skip
    """The squared residuals of y given the model and one more column of a block, and of this column given the model.

    Fills which columns are `able` to enter; one for the residuals of the others.
    """
    size, unclear = len(left), 0
    limits, inside = c.least[start : start + size], m.inside[start : start + size]
    s, r = m.s[start : start + size], m.r[start : start + size]
    for i in range(size):
        least = floor if floor > limits[i] else limits[i]
        share = rest - r[i] * r[i] / s[i]
        # A member with squared residual w keeps at least w·s/2 beside column i.
        able[i] = (s[i] > GOOD) & (share > GOOD * rest) & (s[i] * weakest > 2.0 * least * least) & ~inside[i]
        left[i], square[i] = share if able[i] else 1.0, s[i] if able[i] else 1.0
        unclear += 0 if able[i] | inside[i] else 1
    for i in range(size if unclear else 0):
        if not (able[i] or inside[i]):
            here, share = _recomputed(c, m, start + i, inverse, max(floor, limits[i]))
            if here > 0.0:
                left[i], square[i], able[i] = share, here, True


@njit(cache=True, nogil=True)
def _recomputed(c: Columns, m: Replicas, i: int, inverse: Array, least: float) -> tuple[float, float]:
    """The squared residuals of column i, and of y given it too, from the vectors; (0, 0) if it is dependent."""
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
