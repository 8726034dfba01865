"""Compiled passes of coordinate descent and sums over sparse matrices.

Each coordinate is set to its own optimum, w_j = S(x_jᵀr + ‖x_j‖² w_j, l1) / (‖x_j‖² + l2), with S the soft threshold
(Friedman, Hastie & Tibshirani 2010, eq. 5). Every few passes the iterates are extrapolated (Bertrand & Massias 2021),
and the result is kept if it lowers the objective. `tests/reference/coordinate.py` has the same in plain NumPy.
"""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
# A sparse matrix by columns: entries, their rows, and the start of each column.
Matrix = tuple[Array, NDArray[np.uint32], NDArray[np.uint32]]

# Passes between two extrapolations.
EXTRAPOLATION_PASSES = 5
# Allows sums in any order, so that the compiler can use vector instructions.
_ORDER_FREE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def gram_descent(
    K: Array,
    m: int,
    c: Array,
    w: Array,
    g: Array,
    l1: float,
    l2: float,
    yy: float,
    target: float,
    max_passes: int,
) -> tuple[int, float]:
    """Passes over the first m coordinates, in place, until the duality gap among them is at most `target`.

    K = XᵀX and c = Xᵀy; g = c − Kw is updated with w, so that a coordinate that doesn't change costs O(1), others O(m).
    Returns the number of passes and the gap.
    """
    weights, gradients = np.empty((EXTRAPOLATION_PASSES + 1, m)), np.empty((EXTRAPOLATION_PASSES + 1, m))
    kept, passes = 0, 0
    gap = gram_gap(m, c, w, g, l1, l2, yy)
    while gap > target and passes < max_passes:
        if kept == 0:
            _copy(w, weights[0])
            _copy(g, gradients[0])
            kept = 1
        _gram_pass(K, m, w, g, l1, l2)
        passes += 1
        _copy(w, weights[kept])
        _copy(g, gradients[kept])
        kept += 1
        if kept > EXTRAPOLATION_PASSES:
            kept = 0
            a = extrapolation_weights(weights)
            new_w, new_g = _combined(a, weights), _combined(a, gradients)
            if _gram_value(m, c, new_w, new_g, l1, l2) < _gram_value(m, c, w, g, l1, l2):
                _copy(new_w, w[:m])
                _copy(new_g, g[:m])
        gap = gram_gap(m, c, w, g, l1, l2, yy)
    return passes, gap


@njit(cache=True, nogil=True)
def gram_gap(m: int, c: Array, w: Array, g: Array, l1: float, l2: float, yy: float) -> float:
    """Primal minus dual objective of the first m coordinates."""
    fit, square, size, ridge, largest = 0.0, yy, 0.0, 0.0, 0.0
    for j in range(m):
        fit += w[j] * c[j]
        square -= w[j] * (c[j] + g[j])
        size += abs(w[j])
        ridge += (l2 * w[j]) * w[j]
        largest = max(largest, abs(g[j] - l2 * w[j]))
    return duality_gap(max(square, 0.0) + ridge, yy - fit, size, largest, l1)


@njit(cache=True, nogil=True)
def duality_gap(square: float, inner: float, size: float, largest: float, l1: float) -> float:
    """Primal minus dual from ‖r‖² + l2‖w‖², rᵀy, ‖w‖₁ and max_j |x_jᵀr − l2 w_j|; the dual point is the residual,
    rescaled to be feasible (Ndiaye et al. 2017, eq. 7)."""
    scale = min(1.0, l1 / largest) if largest > 0.0 else 1.0
    return 0.5 * (1.0 + scale * scale) * square + l1 * size - scale * inner


@njit(cache=True, nogil=True)
def screen(
    w: Array, columns: Array, square: float, inner: float, squares: Array, l1: float, l2: float, screened: Flags
) -> float:
    """The duality gap over all columns, from x_jᵀr (`columns`), ‖r‖² (`square`) and rᵀy (`inner`).

    `columns` becomes |x_jᵀr − l2 w_j|, zero for constant columns, and `screened` whether the gap proves w_j = 0.
    """
    largest, size = 0.0, 0.0
    for j in range(len(w)):
        columns[j] = abs(columns[j] - l2 * w[j]) if squares[j] > 0.0 else 0.0
        largest = max(largest, columns[j])
        if w[j] != 0.0:
            size += abs(w[j])
            square += (l2 * w[j]) * w[j]
    gap = duality_gap(square, inner, size, largest, l1)
    # Not `max`, to keep NaN.
    if gap < 0.0:
        gap = 0.0
    scale, radius = min(1.0, l1 / largest) if largest > 0.0 else 1.0, np.sqrt(2.0 * gap)
    for j in range(len(w)):
        screened[j] = scale * columns[j] + radius * np.sqrt(squares[j] + l2) < l1
    return gap


@njit(cache=True, nogil=True)
def column_descent(
    matrix: Matrix,
    moments: tuple[Array, Array, Array],
    y: Array,
    root: Array,
    members: Indices,
    w: Array,
    r: Array,
    shift: Array,
    l1: float,
    l2: float,
    target: float,
    max_passes: int,
) -> tuple[int, float]:
    """The same for the columns `members` of a sparse matrix, by the residual; centered, but never made dense.

    `moments` are the squared lengths of the centered columns, totals = Xᵀroot, and means. Residuals are r + shift·root,
    and x_jᵀ(r + shift·root) = x_jᵀr + shift·totals_j. A step δ of w_j changes r by −δx_j and shift by δ·mean_j. As the
    residual is centered, the columns needn't be. Returns the number of passes and the gap.
    """
    n, m = len(r), len(members)
    # The shift is kept behind the residual.
    weights, residuals = np.empty((EXTRAPOLATION_PASSES + 1, m)), np.empty((EXTRAPOLATION_PASSES + 1, n + 1))
    kept, passes, last = 0, 0, 0
    gap, seen = np.inf, np.inf
    while passes < max_passes:
        if kept == 0:
            _keep(w, members, r, shift[0], weights[0], residuals[0])
            kept = 1
        decrease = _column_pass(matrix, moments, members, w, r, shift, l1, l2)
        passes += 1
        # A gap costs as much as a pass: it is computed if the last pass gained little, or after some passes.
        if decrease <= min(0.3 * target, 0.5 * seen) or passes - last >= 2 * EXTRAPOLATION_PASSES:
            last, seen = passes, decrease
            gap = _column_gap(matrix, moments[1], y, root, members, w, r, shift[0], l1, l2)
            if gap <= target:
                break
        _keep(w, members, r, shift[0], weights[kept], residuals[kept])
        kept += 1
        if kept > EXTRAPOLATION_PASSES:
            kept = 0
            a = extrapolation_weights(weights)
            new_w, new_r = _combined(a, weights), _combined(a, residuals)
            now = _column_value(weights[EXTRAPOLATION_PASSES], residuals[EXTRAPOLATION_PASSES], root, l1, l2)
            if _column_value(new_w, new_r, root, l1, l2) < now:
                for j in range(m):
                    w[members[j]] = new_w[j]
                _copy(new_r, r)
                shift[0] = new_r[n]
    return passes, gap


@njit(cache=True, nogil=True)
def log_loss(scores: Array, Y: Array, weight: Array, p: Array) -> float:
    """Σ ω (−ln p of each label); the probabilities, expit of a single score or softmax of several, are written to p.

    The sum is compensated (Kahan 1965), because line searches compare losses to their last digits.
    """
    n, n_scores = scores.shape
    loss, lost = 0.0, 0.0
    for i in range(n):
        if n_scores == 1:
            s = scores[i, 0]
            small = np.exp(-abs(s))
            p[i, 0] = (1.0 if s > 0.0 else small) / (1.0 + small)
            wrong = (s > 0.0) != (Y[i, 0] > 0.5)
            term = np.log1p(small) + (abs(s) if wrong else 0.0)
        else:
            top = 0
            for k in range(1, n_scores):
                top = k if scores[i, k] > scores[i, top] else top
            others, behind = 0.0, 0.0
            for k in range(n_scores):
                back = scores[i, k] - scores[i, top]
                behind += Y[i, k] * back
                p[i, k] = np.exp(back)
                others += p[i, k] if k != top else 0.0
            for k in range(n_scores):
                p[i, k] /= 1.0 + others
            term = np.log1p(others) - behind
        term = weight[i] * term - lost
        total = loss + term
        lost = (total - loss) - term
        loss = total
    return loss


@njit(cache=True, nogil=True)
def extrapolation_weights(iterates: Array) -> Array:
    """Anderson extrapolation: argmin ‖Σ a_k (x_k − x_{k−1})‖ over weights a with sum one."""
    depth = len(iterates) - 1
    M, last, a, trace = np.zeros((depth, depth)), np.zeros(depth), np.zeros(depth), 0.0
    last[depth - 1] = 1.0
    for k in range(depth):
        for i in range(k + 1):
            for j in range(iterates.shape[1]):
                step = iterates[k + 1, j] - iterates[k, j]
                M[k, i] += step * (iterates[i + 1, j] - iterates[i, j])
            M[i, k] = M[k, i]
        trace += M[k, k]
    if not 0.0 < trace < np.inf:
        return last
    # Gaussian elimination of M a = 1, with a ridge for steps that are parallel to rounding error.
    for k in range(depth):
        a[k] = 1.0
        M[k, k] += 1e-13 * trace
    for k in range(depth):
        for i in range(k + 1, depth):
            factor = M[i, k] / M[k, k]
            for j in range(k, depth):
                M[i, j] -= factor * M[k, j]
            a[i] -= factor * a[k]
    for k in range(depth - 1, -1, -1):
        for j in range(k + 1, depth):
            a[k] -= M[k, j] * a[j]
        a[k] /= M[k, k]
    total = 0.0
    for k in range(depth):
        total += a[k]
    # Loops instead of `a / total` and `a.sum()`, which take seconds to compile.
    if not 0.0 < abs(total) < np.inf:
        return last
    for k in range(depth):
        a[k] /= total
    return a


@njit(cache=True, nogil=True)
def _copy(source: Array, out: Array) -> None:
    """out[:] = source[: len(out)], which takes seconds to compile."""
    for j in range(len(out)):
        out[j] = source[j]


@njit(cache=True, nogil=True)
def _keep(w: Array, members: Indices, r: Array, shift: float, weights: Array, residual: Array) -> None:
    for j in range(len(members)):
        weights[j] = w[members[j]]
    for i in range(len(r)):
        residual[i] = r[i]
    residual[len(r)] = shift


@njit(cache=True, nogil=True)
def _combined(a: Array, iterates: Array) -> Array:
    """Σ a_k x_{k+1}; without BLAS, which takes seconds to compile."""
    total = np.zeros(iterates.shape[1])
    for k in range(len(a)):
        for j in range(len(total)):
            total[j] += a[k] * iterates[k + 1, j]
    return total


@njit(cache=True, nogil=True)
def _gram_pass(K: Array, m: int, w: Array, g: Array, l1: float, l2: float) -> None:
    for j in range(m):
        square = K[j, j]
        if square <= 0.0:
            continue
        old = w[j]
        new = _soft_threshold(g[j] + square * old, l1) / (square + l2)
        if new != old:
            w[j] = new
            step = old - new
            for i in range(m):
                g[i] += step * K[j, i]


@njit(cache=True, nogil=True)
def _gram_value(m: int, c: Array, w: Array, g: Array, l1: float, l2: float) -> float:
    """The objective without ½‖y‖²."""
    value = 0.0
    for j in range(m):
        value += w[j] * (l2 * w[j] - c[j] - g[j]) / 2.0 + l1 * abs(w[j])
    return value


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _column_pass(
    matrix: Matrix,
    moments: tuple[Array, Array, Array],
    members: Indices,
    w: Array,
    r: Array,
    shift: Array,
    l1: float,
    l2: float,
) -> float:
    """One pass; returns approximately by how much it lowers the objective."""
    (data, indices, indptr), (squares, totals, mean) = matrix, moments
    decrease, level = 0.0, shift[0]
    for j in members:
        square, old = squares[j], w[j]
        if square <= 0.0:
            continue
        start, stop = indptr[j], indptr[j + 1]
        slope = level * totals[j]
        for k in range(start, stop):
            slope += data[k] * r[indices[k]]
        new = _soft_threshold(slope + square * old, l1) / (square + l2)
        if new != old:
            step = old - new
            w[j] = new
            level -= step * mean[j]
            for k in range(start, stop):
                r[indices[k]] += step * data[k]
            decrease += 0.5 * (square + l2) * step * step
    shift[0] = level
    return decrease


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _column_gap(
    matrix: Matrix,
    totals: Array,
    y: Array,
    root: Array,
    members: Indices,
    w: Array,
    r: Array,
    shift: float,
    l1: float,
    l2: float,
) -> float:
    data, indices, indptr = matrix
    largest, size, ridge, square, inner = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        value = r[i] + shift * root[i]
        square += value * value
        inner += value * y[i]
    for j in members:
        slope = shift * totals[j] - l2 * w[j]
        for k in range(indptr[j], indptr[j + 1]):
            slope += data[k] * r[indices[k]]
        largest = max(largest, abs(slope))
        size += abs(w[j])
        ridge += (l2 * w[j]) * w[j]
    return duality_gap(square + ridge, inner, size, largest, l1)


@njit(cache=True, nogil=True)
def _column_value(w: Array, r: Array, root: Array, l1: float, l2: float) -> float:
    """The objective, by the residual with the shift behind it."""
    value, shift = 0.0, r[len(root)]
    for i in range(len(root)):
        rest = r[i] + shift * root[i]
        value += 0.5 * rest * rest
    for j in range(len(w)):
        value += l1 * abs(w[j]) + 0.5 * l2 * w[j] * w[j]
    return value


@njit(cache=True, nogil=True)
def _soft_threshold(a: float, delta: float) -> float:
    if a > delta:
        return a - delta
    if a < -delta:
        return a + delta
    return 0.0


@njit(cache=True, nogil=True)
def column_moments(
    data: Array,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int32],
    omega: Array,
    center: bool,
) -> tuple[Array, Array]:
    """The mean Σωx/Σω (or 0) and Σω(x − mean)² of each sparse column; what isn't stored is zero."""
    p, total = len(indptr) - 1, omega.sum()
    mean, squares = np.zeros(p), np.zeros(p)
    for j in range(p):
        start, stop = indptr[j], indptr[j + 1]
        stored = 0.0
        for k in range(start, stop):
            weight = omega[indices[k]]
            stored += weight
            mean[j] += weight * data[k]
        mean[j] = mean[j] / total if center else 0.0
        for k in range(start, stop):
            squares[j] += omega[indices[k]] * (data[k] - mean[j]) ** 2
        if stop - start < len(omega):
            squares[j] += max(total - stored, 0.0) * mean[j] * mean[j]
    return mean, squares


@njit(cache=True, nogil=True)
def row_gram(data: Array, indices: NDArray[np.int32], indptr: NDArray[np.int32], p: int) -> Array:
    """XᵀX of the rows of a sparse matrix with p columns: every pair of entries in a row once."""
    K = np.zeros((p, p))
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], a + 1):
                K[indices[a], indices[b]] += data[a] * data[b]
    for i in range(p):
        for j in range(i):
            # If the entries of a row aren't sorted by column, part of the sum is in the upper triangle.
            K[i, j] += K[j, i]
            K[j, i] = K[i, j]
    return K
