"""Log posteriors of all models that differ by one column, compiled; plain twins: `tests/reference/sampler.py`.

Adding column i takes r²_i/s_i from eᵀe, e = y − Qu, and multiplies |A|, A = RᵀR, by s_i. Where these differences of
squares have lost digits, they are recomputed from the vectors. A column that is linearly dependent on the model's
can't enter. Removing a column is read off T = R⁻ᵀ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit
from credo.subsets._slabs_jit import Formula, log_evidence
from credo.subsets.sampler._factors_jit import GOOD, Columns, Replicas, dot, remainder

Array = NDArray[np.float64]

# Called for every column at every step: inlining saves a third of the time.
_log_evidence = njit(inline="always")(log_evidence.py_func)


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
    m.here[1], m.here[2] = _log_evidence(target.formula, k, rest, logdet), rest
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
        value = _log_evidence(target.formula, k - 1, rest + weight[t] * weight[t] / inverse[t], volume)
        m.log_joint[i] = target.log_prior[k - 1] + value


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _entering(c: Columns, target: Target, m: Replicas, rest: float, logdet: float, inverse: Array) -> None:
    """Models with one column more."""
    k, prior, volume = m.size[0] + 1, target.log_prior[m.size[0] + 1], target.formula.volume != 0.0
    floor, weakest = 0.0, 1.0
    for t in range(k - 1):
        floor, weakest = max(floor, c.least[m.members[t]]), min(weakest, 1.0 / inverse[t])
    for i in range(len(m.s)):
        if m.inside[i]:
            continue
        square, left, least = m.s[i], rest - m.r[i] * m.r[i] / m.s[i], max(floor, c.least[i])
        # A member with squared residual w keeps at least w·s/2 beside column i.
        if not (square > GOOD and left > GOOD * rest and square * weakest > 2.0 * least * least):
            square, left = _recomputed(c, m, i, inverse, least)
            if not square > 0.0:
                m.log_joint[i] = -np.inf
                continue
        grown = logdet + np.log(square) + c.scale[i] if volume else 0.0
        m.log_joint[i] = prior + _log_evidence(target.formula, k, left, grown)


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
