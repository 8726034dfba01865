"""QR factors of models, updated as columns enter and leave; compiled. Plain twins: `tests/reference/sampler.py`.

Columns x_i have unit length, with √ridge_i below them, each in a row of its own. With X_γ = QR, the rows q_m in the
order in which columns entered, a replica holds Q, R, T = R⁻ᵀ, u = Qᵀy and, for all columns,

    s_i = x_iᵀx_i − Σ_m (q_mᵀx_i)²,   r_i = x_iᵀy − Σ_m (q_mᵀx_i) u_m,

the squared residual of column i given the model, and its product with the residual of y. An update changes both by
one direction, qᵀX with q = Σ_m T_km x_m: a sum of k rows of XᵀX, O(dk).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Columns processed together, so that their sums stay in the cache.
_BLOCK_COLUMNS = 512
# Above this ratio, a difference of squares keeps nine digits.
MIN_RATIO = 1e-6


class Columns(NamedTuple):
    """Centered (and weighted) columns and target of unit length, shared by all replicas.

    `scale` is ln of the original squared length; `square` the present one (one or zero) plus the slab's `ridge`;
    `least` the length that must be left given other columns, zero with a ridge. `slack` is the part of yᵀy that no
    column explains. `gram` stores rows x_jᵀX: that of column j is row `row[j]`, or −1; `owner` is the inverse, and
    `turn` the row to be replaced next.
    """

    X: Array
    y: Array
    scale: Array
    square: Array
    ridge: Array
    least: Array
    slack: float
    gram: Array
    row: Places
    owner: Places
    turn: Places


class Replicas(NamedTuple):
    """Models with their factors, one in each row; or a single one.

    `log_joint` is ln p(γ)p(y | γ) of the model with one column flipped, −∞ if that has no evidence. `here` has the
    same for the model itself, its log evidence, and its share of unexplained variation. `e` is the residual of y. For
    classes there are no factors, but `near`, the level and weights from which modes are searched.
    """

    Q: Array
    R: Array
    T: Array
    u: Array
    e: Array
    s: Array
    r: Array
    inside: Flags
    members: Places
    size: Places
    log_joint: Array
    here: Array
    near: Array


@njit(cache=True, nogil=True)
def replica(all_: Replicas, i: int) -> Replicas:
    """One replica, as views."""
    return Replicas(
        all_.Q[i], all_.R[i], all_.T[i], all_.u[i], all_.e[i], all_.s[i], all_.r[i], all_.inside[i],
        all_.members[i], all_.size[i : i + 1], all_.log_joint[i], all_.here[i], all_.near[i],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def remainder(c: Columns, m: Replicas, j: int, out: Array, loads: Array) -> float:
    """The squared residual of column j given the model, with its ridge; fills `out` (the residual) and `loads` (Qᵀx_j).

    Projecting twice is enough (Giraud, Langou, Rozložník & van den Eshof 2005).
    """
    n, k = len(c.X), m.size[0]
    for i in range(len(out)):
        out[i] = c.X[i, j] if i < n else 0.0
    for t in range(k):
        loads[t] = 0.0
    for _ in range(2):
        for t in range(k):
            load = dot(m.Q[t], out, n + k)
            loads[t] += load
            for i in range(n + k):
                out[i] -= load * m.Q[t, i]
    return dot(out, out, n + k) + c.ridge[j]


@njit(cache=True, nogil=True)
def insert(c: Columns, m: Replicas, j: int) -> None:
    """Add column j to a model, in place."""
    n, k, loads = len(c.X), m.size[0], np.empty(m.size[0])
    q, R, u = m.Q[k], m.R, m.u
    pivot = np.sqrt(remainder(c, m, j, q, loads))
    q[n + k] = np.sqrt(c.ridge[j])
    for i in range(n + k + 1):
        q[i] /= pivot
    for t in range(k):
        R[t, k], R[k, t] = loads[t], 0.0
    R[k, k], u[k] = pivot, dot(q, c.y, n)
    _border(m.T, loads, pivot, k)
    m.members[k], m.inside[j], m.size[0] = j, True, k + 1
    _shift(c, m, q, m.T[k], u[k], -1.0)


@njit(cache=True, nogil=True)
def _border(T: Array, loads: Array, pivot: float, k: int) -> None:
    """Append a row to T = R⁻ᵀ: −(R⁻¹ loads)ᵀ/pivot and 1/pivot."""
    row = T[k]
    for t in range(len(row)):
        row[t] = 0.0
    for b in range(k):
        load, above = loads[b] / pivot, T[b]
        for t in range(b + 1):
            row[t] -= load * above[t]
    row[k] = 1.0 / pivot


@njit(cache=True, nogil=True)
def _shift(c: Columns, m: Replicas, q: Array, weights: Array, u: float, sign: float) -> None:
    """Add ± (qᵀx_i)² to all s_i and ± (qᵀx_i)u to all r_i; q combines the members with `weights`."""
    k, n, d, product = m.size[0], len(c.X), len(m.s), np.empty(_BLOCK_COLUMNS)
    if _known(c, m, weights):
        rows, places, weights = c.gram, np.empty(k, dtype=np.int64), weights[:k]
        for t in range(k):
            places[t] = c.row[m.members[t]]
    else:
        rows, places, weights = c.X, np.arange(n), q[:n]
    for start in range(0, d, _BLOCK_COLUMNS):
        size = min(_BLOCK_COLUMNS, d - start)
        _sum(rows, places, weights, start, product[:size])
        s, r = m.s[start : start + size], m.r[start : start + size]
        for i in range(size):
            s[i] += sign * product[i] * product[i]
            r[i] += sign * product[i] * u


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sum(rows: Array, places: Places, weights: Array, start: int, out: Array) -> None:
    """Σ_t weights_t · rows[places_t], from column `start` on; four rows at a time."""
    size, last = len(out), len(places) - len(places) % 4
    for i in range(size):
        out[i] = 0.0
    for t in range(0, last, 4):
        a, b, c, e = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        first, second = rows[places[t], start : start + size], rows[places[t + 1], start : start + size]
        third, fourth = rows[places[t + 2], start : start + size], rows[places[t + 3], start : start + size]
        for i in range(size):
            out[i] += (a * first[i] + b * second[i]) + (c * third[i] + e * fourth[i])
    for t in range(last, len(places)):
        row = rows[places[t], start : start + size]
        for i in range(size):
            out[i] += weights[t] * row[i]


@njit(cache=True, nogil=True)
def _known(c: Columns, m: Replicas, weights: Array) -> bool:
    """Whether the Gram rows of all members are stored and accurate enough for these weights.

    A missing row is computed; if several are missing, only one, for later use.
    """
    total, missing = 0.0, -1
    for t in range(m.size[0]):
        total += abs(weights[t])
        missing = t if c.row[m.members[t]] < 0 else missing
    # With weights of a smaller sum, a combination of inner products keeps twelve digits.
    if not total < 1e3:
        return False
    if missing >= 0:
        _keep(c, m.members[missing])
        for t in range(m.size[0]):
            if c.row[m.members[t]] < 0:
                return False
    return True


@njit(cache=True, nogil=True)
def _keep(c: Columns, j: int) -> None:
    """Store x_jᵀX in place of the oldest row."""
    n, d, place, column = len(c.X), c.X.shape[1], c.turn[0], np.empty(len(c.X))
    if c.owner[place] >= 0:
        c.row[c.owner[place]] = -1
    for i in range(n):
        column[i] = c.X[i, j]
    for start in range(0, d, _BLOCK_COLUMNS):
        _sum(c.X, np.arange(n), column, start, c.gram[place, start : min(start + _BLOCK_COLUMNS, d)])
    c.row[j], c.owner[place], c.turn[0] = place, j, (place + 1) % len(c.gram)


@njit(cache=True, nogil=True)
def remove(c: Columns, m: Replicas, j: int) -> None:
    """Remove column j from a model, in place, by Givens rotations (Golub & Van Loan 6.5.2).

    Without the column, R is Hessenberg. Rotations make it triangular again, and move the part of y that the column
    explained into the last row.
    """
    n, k, R, u = len(c.X), m.size[0], m.R, m.u
    place = 0
    while m.members[place] != j:
        place += 1
    cosines, sines, loads = np.empty(k), np.empty(k), np.empty(k)
    for column in range(place, k - 1):
        for t in range(k):
            R[t, column] = R[t, column + 1]
        # Apply the rotations of the columns before, then clear the subdiagonal.
        for t in range(place, column):
            a, b = R[t, column], R[t + 1, column]
            R[t, column] = cosines[t] * a + sines[t] * b
            R[t + 1, column] = cosines[t] * b - sines[t] * a
        a, b = R[column, column], R[column + 1, column]
        length = np.hypot(a, b)
        cosines[column], sines[column] = a / length, b / length
        R[column, column], R[column + 1, column] = length, 0.0
    for t in range(place, k - 1):
        a, b = u[t], u[t + 1]
        u[t], u[t + 1] = cosines[t] * a + sines[t] * b, cosines[t] * b - sines[t] * a
    # The members' weights in the direction that is removed: the last row of T, rotated.
    weights = m.T[place].copy()
    for t in range(place, k - 1):
        upper, lower = m.Q[t], m.Q[t + 1]
        for i in range(len(upper)):
            a, b = upper[i], lower[i]
            upper[i] = cosines[t] * a + sines[t] * b
            lower[i] = cosines[t] * b - sines[t] * a
        for i in range(k):
            weights[i] = cosines[t] * m.T[t + 1, i] - sines[t] * weights[i]
    _shift(c, m, m.Q[k - 1], weights, u[k - 1], 1.0)
    for column in range(place, k - 1):
        for t in range(column):
            loads[t] = R[t, column]
        _border(m.T, loads, R[column, column], column)
    for t in range(place, k - 1):
        m.members[t] = m.members[t + 1]
    # The rows of the ridge are in the order of the columns.
    for t in range(k - 1):
        for i in range(n + place, n + k - 1):
            m.Q[t, i] = m.Q[t, i + 1]
        m.Q[t, n + k - 1] = 0.0
    m.inside[j], m.size[0] = False, k - 1


@njit(cache=True, nogil=True)
def build(c: Columns, m: Replicas) -> None:
    """Factor the members from scratch, which removes accumulated rounding errors; drops linearly dependent members."""
    members, out, loads = m.members.copy(), np.empty(m.Q.shape[1]), np.empty(len(m.R))
    n_members = m.size[0]
    for start in range(0, len(m.r), _BLOCK_COLUMNS):
        _sum(c.X, np.arange(len(c.X)), c.y, start, m.r[start : min(start + _BLOCK_COLUMNS, len(m.r))])
    for i in range(len(m.s)):
        m.s[i], m.inside[i] = c.square[i], False
    m.size[0] = 0
    for t in range(n_members):
        j = members[t]
        if remainder(c, m, j, out, loads) > c.least[j] * c.least[j]:
            insert(c, m, j)


# Sums in any order, so that the compiler can vectorize them.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(a: Array, b: Array, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
