"""Inner loops of the walk over models, compiled; `tests/reference/model_walk.py` says the same in plain NumPy.

With A = X_γᵀX_γ + ridge·I = RᵀR (R upper triangular, columns in the order in which they entered), a walk holds

    V = R⁻ᵀX_γᵀX  (k × d),   u = R⁻ᵀX_γᵀy,   s_i = x_iᵀx_i + ridge − Σ_m V²_mi,   r_i = x_iᵀy − Σ_m V_mi u_m:

s_i is what is left of column i given the model, and r_i what it has in common with what is left of y. Adding column i
changes bᵀA⁻¹b by r²_i/s_i and multiplies |A| by s_i. A column of which nothing is left can't enter: models of dependent
columns have no evidence.
"""

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
# e^600 is still a number, and so is the sum of as many as there are columns.
_STEEPEST = 600.0
# 1 − q/yᵀy has lost the digits below this.
FLOOR = 2e-14


@njit(cache=True, nogil=True)
def insert(V: Array, R: Array, u: Array, s: Array, r: Array, k: int, j: int, row: Array) -> None:
    """Append column j to a model of k, in place; `row` is x_jᵀX."""
    d = len(s)
    pivot = np.sqrt(s[j])
    for m in range(k):
        R[m, k] = V[m, j]
        R[k, m] = 0.0
    R[k, k] = pivot
    u[k] = r[j] / pivot
    for start in range(0, d, _BLOCK):
        stop = min(start + _BLOCK, d)
        fresh = V[k, start:stop]
        fresh[:] = row[start:stop]
        for m in range(k):
            load, old = R[m, k], V[m, start:stop]
            for i in range(stop - start):
                fresh[i] -= load * old[i]
        for i in range(stop - start):
            fresh[i] /= pivot
            s[start + i] -= fresh[i] * fresh[i]
            r[start + i] -= fresh[i] * u[k]


@njit(cache=True, nogil=True)
def remove(V: Array, R: Array, u: Array, s: Array, r: Array, k: int, place: int) -> None:
    """Take the column at `place` out of a model of k, in place, by Givens rotations.

    Without that column R is Hessenberg; the rotations that make it triangular leave VᵀV and Vᵀu as they are and
    gather what the column explained in the last row (Golub & Van Loan 6.5.2).
    """
    d = len(s)
    cosines, sines = np.empty(k), np.empty(k)
    for column in range(place, k - 1):
        for m in range(k):
            R[m, column] = R[m, column + 1]
        # Rows above were turned with the columns before: turn this one as well, then clear its subdiagonal.
        for m in range(place, column):
            a, b = R[m, column], R[m + 1, column]
            R[m, column] = cosines[m] * a + sines[m] * b
            R[m + 1, column] = cosines[m] * b - sines[m] * a
        a, b = R[column, column], R[column + 1, column]
        length = np.hypot(a, b)
        cosines[column], sines[column] = a / length, b / length
        R[column, column], R[column + 1, column] = length, 0.0
    for m in range(place, k - 1):
        a, b = u[m], u[m + 1]
        u[m], u[m + 1] = cosines[m] * a + sines[m] * b, cosines[m] * b - sines[m] * a
    for start in range(0, d, _BLOCK):
        stop = min(start + _BLOCK, d)
        for m in range(place, k - 1):
            upper, lower = V[m, start:stop], V[m + 1, start:stop]
            c, z = cosines[m], sines[m]
            for i in range(stop - start):
                a, b = upper[i], lower[i]
                upper[i] = c * a + z * b
                lower[i] = c * b - z * a
        last = V[k - 1, start:stop]
        for i in range(stop - start):
            s[start + i] += last[i] * last[i]
            r[start + i] += last[i] * u[k - 1]


@njit(cache=True, nogil=True)
def flips(R: Array, u: Array, s: Array, r: Array, members: Places, least: Array, gain: Array, scale: Array) -> None:
    """What flipping each column does, in place: `gain`, the change of bᵀA⁻¹b, and `scale`, the factor of |A|.

    A column that enters brings r²/s and s; its scale is 0 where no more than `least` is left of it. One that leaves
    takes w²/(A⁻¹)_mm with w = A⁻¹b, and multiplies |A| by (A⁻¹)_mm.
    """
    k = len(members)
    for i in range(len(s)):
        free = s[i] > least[i]
        gain[i] = r[i] * r[i] / s[i] if free else 0.0
        scale[i] = s[i] if free else 0.0
    inverse = np.zeros(k)
    # Row m of R⁻¹ by forward substitution: (A⁻¹)_mm is its squared length, w_m its product with u.
    for m in range(k):
        square, weight = 0.0, 0.0
        for column in range(m, k):
            total = 1.0 if column == m else 0.0
            for t in range(m, column):
                total -= inverse[t] * R[t, column]
            inverse[column] = total / R[column, column]
            square += inverse[column] * inverse[column]
            weight += inverse[column] * u[column]
        gain[members[m]], scale[members[m]] = -weight * weight / square, square


@njit(cache=True, nogil=True)
def choose(
    logs: Array, here: float, inside: Flags, floor: float, uniform: float, rates: Array, included: Array
) -> tuple[int, float]:  # fmt: skip
    """The column to flip, and the weight of the present model; adds weight × inclusion probabilities to `included`.

    `logs` are log posteriors of the one-flip neighbours, `here` that of the model. With p_i the conditional probability
    that column i is in, a column flips at the rate (p_i + floor) over the conditional probability of its present
    value, and the model counts with one over the sum of all rates (Zanella & Roberts 2019, section 4). On return
    `logs` holds p_i. Without any neighbour the column is −1.
    """
    d, total = len(logs), 0.0
    for i in range(d):
        odds = np.exp(min(max(logs[i] - here, -_STEEPEST), _STEEPEST))
        if logs[i] == -np.inf:
            rates[i], logs[i] = 0.0, 1.0 if inside[i] else 0.0
        elif inside[i]:
            rates[i], logs[i] = 1.0 + floor * (1.0 + odds), 1.0 / (1.0 + odds)
        else:
            rates[i], logs[i] = odds + floor * (1.0 + odds), odds / (1.0 + odds)
        total += rates[i]
    weight = 1.0 / total if total > 0.0 else 1.0
    for i in range(d):
        included[i] += weight * logs[i]
    left, flipped = uniform * total, -1
    for i in range(d):
        if rates[i] > 0.0:
            left -= rates[i]
            flipped = i
            if left < 0.0:
                break
    return flipped, weight


@njit(cache=True, nogil=True)
def flip(
    X: Array, gram: Array, V: Array, R: Array, u: Array, s: Array, r: Array, inside: Flags, members: Places, k: int,
    j: int,
) -> int:  # fmt: skip
    """Take column j into a model of k, or out of it, in place; the model's size then. `gram` is XᵀX, or empty."""
    if not inside[j]:
        row = gram[j] if len(gram) else np.dot(X[:, j].copy(), X)
        insert(V, R, u, s, r, k, j, row)
        members[k], inside[j] = j, True
        return k + 1
    place = 0
    while members[place] != j:
        place += 1
    remove(V, R, u, s, r, k, place)
    inside[j] = False
    for m in range(place, k - 1):
        members[m] = members[m + 1]
    return k - 1


@njit(cache=True, nogil=True)
def stroll(
    X: Array, gram: Array, V: Array, R: Array, u: Array, s: Array, r: Array, inside: Flags, members: Places, k: int,
    least: Array, yy: float, log_prior: Array, form: int, base: Array, numbers: Array, table: Array, with_volume: bool,
    floor: float, uniforms: Array, included: Array, flipped: Places, trace: Array,
) -> tuple[int, int]:  # fmt: skip
    """Walk until the uniform numbers or the room for columns are used up; the number of steps, and the model's size.

    Each step writes the column that it flips, and to `trace` the log evidence of the model before, the share of the
    target that it leaves, and its weight. The evidence is `credo.sparse._jit.score`, with `form` to `table` its
    arguments; |A| is looked at only `with_volume`. Models have at most as many columns as `log_prior` knows.
    """
    d = len(s)
    gain, scale, logs, rates = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for t in range(len(uniforms)):
        if k == len(V):
            return t, k
        flips(R, u, s, r, members[:k], least, gain, scale)
        explained, logdet = 0.0, 0.0
        for m in range(k):
            explained += u[m] * u[m]
            logdet += 2.0 * np.log(R[m, m])
        rest = max(1.0 - explained / yy, FLOOR)
        evidence = _score(k, rest, logdet, form, base, numbers, table)
        for i in range(d):
            size = k - 1 if inside[i] else k + 1
            if size == len(log_prior) or scale[i] == 0.0:
                logs[i] = -np.inf
                continue
            volume = logdet + np.log(scale[i]) if with_volume else 0.0
            left = max(1.0 - (explained + gain[i]) / yy, FLOOR)
            logs[i] = log_prior[size] + _score(size, left, volume, form, base, numbers, table)
        here = log_prior[k] + evidence
        flipped[t], weight = choose(logs, here, inside, floor, uniforms[t], rates, included)
        trace[t, 0], trace[t, 1], trace[t, 2] = evidence, rest, weight
        if flipped[t] >= 0:
            k = flip(X, gram, V, R, u, s, r, inside, members, k, flipped[t])
    return len(uniforms), k
