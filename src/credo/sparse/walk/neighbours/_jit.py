"""Inner loops of the walk over models, compiled; `tests/reference/model_walk.py` says the same in plain NumPy.

Columns x_i have unit length, and below them √ridge_i, each in a row of its own. With X_γ = QR, the q_m orthonormal and
in the order in which columns entered, a replica holds

    V = QᵀX  (k × d),   u = Qᵀy,   s_i = x_iᵀx_i − Σ_m V²_mi,   r_i = x_iᵀy − Σ_m V_mi u_m,   e = y − Qu:

s_i is what is left of column i given the model, and r_i what it has in common with what is left of y. Adding column i
takes r²_i/s_i from eᵀe and multiplies |A|, A = RᵀR, by s_i. Both are differences of squares: where little remains of
them they are made anew from the vectors. A column that depends on the model's can't enter: that has no evidence. With
T = R⁻ᵀ, kept up in O(k²), one that leaves is looked up.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from credo.sparse._jit import score

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Called for every column at every step: inlined it takes a third of the time.
_score = njit(inline="always")(score.py_func)

# Columns that are worked on together, so that their share of V stays in the cache.
_BLOCK = 512
# Differences of squares are good for nine digits above this share of what they are taken from.
_GOOD = 1e-6


class Columns(NamedTuple):
    """What all replicas share: centred (and weighted) columns and target, of unit length.

    `scale` is ln of the squared length that a column had, `square` that which it has now (one, or none) with the
    `ridge` that the slab adds; `least` is the length that must be left beside others, zero where there is a ridge.
    `slack` of the target's square is out of the reach of all columns. `gram` holds rows x_jᵀX as far as they are kept:
    that of column j is row `row[j]`, or −1; `owner` is its inverse, and `turn` the row that makes way next.
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


class Heights(NamedTuple):
    """ln p(γ) for each size, and the slab's formula; `bottom` is what is left of both at power zero, by size alone."""

    log_prior: Array
    bottom: Array
    form: int
    base: Array
    numbers: Array
    table: Array


class Replicas(NamedTuple):
    """Models with their factors, one in each row; or a single one.

    `still` and `fit` are the parts of a neighbour's log posterior that don't and do change with the power; `here` holds
    both for the model itself, its log evidence, the share of the target that it leaves, and how many columns can enter.
    `size` is k.
    """

    V: Array
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
    still: Array
    fit: Array
    here: Array


@njit(cache=True, nogil=True)
def replica(all_: Replicas, i: int) -> Replicas:
    """One of them, as views."""
    return Replicas(
        all_.V[i], all_.Q[i], all_.R[i], all_.T[i], all_.u[i], all_.e[i], all_.s[i], all_.r[i], all_.inside[i],
        all_.members[i], all_.size[i : i + 1], all_.still[i], all_.fit[i], all_.here[i],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def remainder(c: Columns, m: Replicas, j: int, out: Array, loads: Array) -> float:
    """What is left of column j beside the model: fills `out` (but for the ridge) and, with Qᵀx_j, `loads`.

    Projecting twice is enough (Giraud, Langou, Rozložník & van den Eshof 2005). Its squared length, with the ridge.
    """
    n, k = len(c.X), m.size[0]
    for i in range(len(out)):
        out[i] = c.X[i, j] if i < n else 0.0
    for t in range(k):
        loads[t] = 0.0
    for _ in range(2):
        for t in range(k):
            load = _dot(m.Q[t], out, n + k)
            loads[t] += load
            for i in range(n + k):
                out[i] -= load * m.Q[t, i]
    return _dot(out, out, n + k) + c.ridge[j]


@njit(cache=True, nogil=True)
def insert(c: Columns, m: Replicas, j: int) -> None:
    """Append column j to a model, in place."""
    n, k, loads = len(c.X), m.size[0], np.empty(m.size[0])
    q, V, R, u = m.Q[k], m.V, m.R, m.u
    pivot = np.sqrt(remainder(c, m, j, q, loads))
    q[n + k] = np.sqrt(c.ridge[j])
    for i in range(n + k + 1):
        q[i] /= pivot
    for t in range(k):
        R[t, k], R[k, t] = loads[t], 0.0
    R[k, k], u[k] = pivot, _dot(q, c.y, n)
    _border(m.T, loads, pivot, k)
    if m.s[j] > _GOOD:
        row = _products(c, j)
        for start in range(0, len(row), _BLOCK):
            stop = min(start + _BLOCK, len(row))
            for i in range(start, stop):
                V[k, i] = row[i] / pivot
            for t in range(k):
                load = loads[t] / pivot
                for i in range(start, stop):
                    V[k, i] -= load * V[t, i]
    else:
        _combine(c.X, q, V[k])
    for i in range(len(m.s)):
        m.s[i] -= V[k, i] * V[k, i]
        m.r[i] -= V[k, i] * u[k]
    m.members[k], m.inside[j], m.size[0] = j, True, k + 1


@njit(cache=True, nogil=True)
def _border(T: Array, loads: Array, pivot: float, k: int) -> None:
    """R⁻ᵀ with a column more in R: its row k is −(R⁻¹ loads)ᵀ/pivot and 1/pivot."""
    row = T[k]
    for t in range(len(row)):
        row[t] = 0.0
    for b in range(k):
        load, above = loads[b] / pivot, T[b]
        for t in range(b + 1):
            row[t] -= load * above[t]
    row[k] = 1.0 / pivot


@njit(cache=True, nogil=True)
def _products(c: Columns, j: int) -> Array:
    """x_jᵀX, kept for when the column comes back: most that enter have been there before."""
    if c.row[j] < 0:
        place, column = c.turn[0], np.empty(len(c.X))
        if c.owner[place] >= 0:
            c.row[c.owner[place]] = -1
        for i in range(len(c.X)):
            column[i] = c.X[i, j]
        _combine(c.X, column, c.gram[place])
        c.row[j], c.owner[place], c.turn[0] = place, j, (place + 1) % len(c.gram)
    return c.gram[c.row[j]]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _combine(X: Array, q: Array, out: Array) -> None:
    """qᵀX, four rows at a time."""
    n, d = X.shape
    for start in range(0, d, _BLOCK):
        stop = min(start + _BLOCK, d)
        for i in range(start, stop):
            out[i] = 0.0
        for t in range(0, n - n % 4, 4):
            a, b, c, e = q[t], q[t + 1], q[t + 2], q[t + 3]
            for i in range(start, stop):
                out[i] += (a * X[t, i] + b * X[t + 1, i]) + (c * X[t + 2, i] + e * X[t + 3, i])
        for t in range(n - n % 4, n):
            for i in range(start, stop):
                out[i] += q[t] * X[t, i]


@njit(cache=True, nogil=True)
def remove(c: Columns, m: Replicas, j: int) -> None:
    """Take column j out of a model, in place, by Givens rotations.

    Without that column R is Hessenberg; the rotations that make it triangular leave VᵀV and Vᵀu as they are and
    gather what the column explained in the last row (Golub & Van Loan 6.5.2).
    """
    d, n, k, R, u = len(m.s), len(c.X), m.size[0], m.R, m.u
    place = 0
    while m.members[place] != j:
        place += 1
    cosines, sines = np.empty(k), np.empty(k)
    for column in range(place, k - 1):
        for t in range(k):
            R[t, column] = R[t, column + 1]
        # Rows above were turned with the columns before: turn this one as well, then clear its subdiagonal.
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
    _turn(m.V, cosines, sines, place, k)
    _turn(m.Q, cosines, sines, place, k)
    _unborder(m, cosines, sines, place)
    for i in range(d):
        m.s[i] += m.V[k - 1, i] * m.V[k - 1, i]
        m.r[i] += m.V[k - 1, i] * u[k - 1]
    for t in range(place, k - 1):
        m.members[t] = m.members[t + 1]
    # The ridge's rows are in the order of the columns.
    for t in range(k - 1):
        for i in range(n + place, n + k - 1):
            m.Q[t, i] = m.Q[t, i + 1]
        m.Q[t, n + k - 1] = 0.0
    m.inside[j], m.size[0] = False, k - 1


@njit(cache=True, nogil=True)
def _unborder(m: Replicas, cosines: Array, sines: Array, place: int) -> None:
    """R⁻ᵀ with a column less in R, by the same rotations; anew where large numbers would leave small ones."""
    k, R, T, length = m.size[0], m.R, m.T, 0.0
    for b in range(place, k):
        length += T[b, place] * T[b, place]
    if length * _GOOD > 1.0:
        loads = np.empty(k)
        for column in range(k - 1):
            for t in range(column):
                loads[t] = R[t, column]
            _border(T, loads, R[column, column], column)
    else:
        _turn(T, cosines, sines, place, k)
        for b in range(place, k - 1):
            for t in range(place, b + 1):
                T[b, t] = T[b, t + 1]
            T[b, b + 1] = 0.0


@njit(cache=True, nogil=True)
def _turn(rows: Array, cosines: Array, sines: Array, place: int, k: int) -> None:
    d = rows.shape[1]
    for start in range(0, d, _BLOCK):
        stop = min(start + _BLOCK, d)
        for t in range(place, k - 1):
            upper, lower = rows[t, start:stop], rows[t + 1, start:stop]
            c, z = cosines[t], sines[t]
            for i in range(stop - start):
                a, b = upper[i], lower[i]
                upper[i] = c * a + z * b
                lower[i] = c * b - z * a


@njit(cache=True, nogil=True)
def build(c: Columns, m: Replicas) -> None:
    """Make a factor of the members anew, against the drift of rounding errors; any that depend on others leave."""
    members, out, loads = m.members.copy(), np.empty(m.Q.shape[1]), np.empty(len(m.R))
    n_members = m.size[0]
    _combine(c.X, c.y, m.r)
    for i in range(len(m.s)):
        m.s[i], m.inside[i] = c.square[i], False
    m.size[0] = 0
    for t in range(n_members):
        j = members[t]
        if remainder(c, m, j, out, loads) > c.least[j] * c.least[j]:
            insert(c, m, j)


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
    rest = _dot(e, e, extent) + c.slack
    m.here[0], m.here[1] = _parts(h, k, rest, logdet)
    m.here[2], m.here[3] = m.here[0] + m.here[1] - h.log_prior[k], rest
    for i in range(len(m.still)):
        m.still[i] = -np.inf
    _leaving(c, h, m, rest, logdet, inverse)
    m.here[4] = _entering(c, h, m, rest, logdet, inverse) if k + 1 < len(h.log_prior) else 0.0


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


@njit(cache=True, nogil=True)
def _entering(c: Columns, h: Heights, m: Replicas, rest: float, logdet: float, inverse: Array) -> float:
    """Models with one column more, and how many they are."""
    k, able = m.size[0], 0.0
    floor, weakest = 0.0, 1.0
    for t in range(k):
        floor, weakest = max(floor, c.least[m.members[t]]), min(weakest, 1.0 / inverse[t])
    ahead, above, volume = h.bottom[k + 1], h.log_prior[k + 1] - h.bottom[k + 1], h.numbers[3]
    s, r, inside, still, fit, limit, scale = m.s, m.r, m.inside, m.still, m.fit, c.least, c.scale
    for i in range(len(s)):
        if inside[i]:
            continue
        square, least = s[i], max(floor, limit[i])
        left = rest - r[i] * r[i] / square if square > _GOOD else 0.0
        # What is left of a member beside column i is at least left²·s/2.
        if not (left > _GOOD * rest and square * weakest > 2.0 * least * least):
            square, left = _closely(c, m, i, inverse, least)
            if square == 0.0:
                continue
        whole = logdet + np.log(square) + scale[i] if volume != 0.0 else 0.0
        still[i], able = ahead, able + 1.0
        fit[i] = _score(k + 1, left, whole, h.form, h.base, h.numbers, h.table) + above
    return able


@njit(cache=True, nogil=True)
def _closely(c: Columns, m: Replicas, i: int, inverse: Array, least: float) -> tuple[float, float]:
    """What is left of column i, squared, and of the target beside it, from the vectors; (0, 0) if it depends."""
    extent, out, loads = len(c.X) + m.size[0], np.empty(m.Q.shape[1]), np.empty(m.size[0])
    square = remainder(c, m, i, out, loads)
    if not square > least * least or _entangled(m, square, loads, inverse, least):
        return 0.0, 0.0
    slope = _dot(out, m.e, extent) / square
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


# Sums may be taken in any order, which lets the compiler take several terms at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a: Array, b: Array, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
