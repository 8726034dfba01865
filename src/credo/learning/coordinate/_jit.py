"""Passes of coordinate descent, compiled; `tests/reference/test_coordinate_jit.py` has the same in plain NumPy.

Each coordinate is set to its own optimum, w_j = S(x_jᵀr + ‖x_j‖² w_j, l1) / (‖x_j‖² + l2), with S the soft threshold
(Friedman, Hastie & Tibshirani 2010, eq. 5). Every few passes the iterates are extrapolated (Bertrand & Massias 2021),
and the result is kept where it lowers the objective.
"""

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# Passes between two extrapolations.
DEPTH = 5
# Sums may be taken in any order, which lets the compiler take several terms at once.
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

    K = XᵀX and c = Xᵀy; g = c − Kw moves along with w, so that a coordinate that stays costs O(1) and one that moves
    O(m). Returns the number of passes and the gap.
    """
    weights, slopes = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    kept, passes = 0, 0
    gap = gram_gap(m, c, w, g, l1, l2, yy)
    while gap > target and passes < max_passes:
        if kept == 0:
            weights[0], slopes[0], kept = w[:m], g[:m], 1
        _gram_pass(K, m, w, g, l1, l2)
        passes += 1
        weights[kept], slopes[kept] = w[:m], g[:m]
        kept += 1
        if kept > DEPTH:
            kept = 0
            mix = mixture(weights)
            mixed_w, mixed_g = mix @ weights[1:], mix @ slopes[1:]
            if _gram_value(m, c, mixed_w, mixed_g, l1, l2) < _gram_value(m, c, w, g, l1, l2):
                w[:m], g[:m] = mixed_w, mixed_g
        gap = gram_gap(m, c, w, g, l1, l2, yy)
    return passes, gap


@njit(cache=True, nogil=True)
def gram_gap(m: int, c: Array, w: Array, g: Array, l1: float, l2: float, yy: float) -> float:
    """Primal minus dual objective of the first m coordinates."""
    fit, square, size, ridge, steepest = 0.0, yy, 0.0, 0.0, 0.0
    for j in range(m):
        fit += w[j] * c[j]
        square -= w[j] * (c[j] + g[j])
        size += abs(w[j])
        ridge += (l2 * w[j]) * w[j]
        steepest = max(steepest, abs(g[j] - l2 * w[j]))
    return shrunken_gap(max(square, 0.0) + ridge, yy - fit, size, steepest, l1)


@njit(cache=True, nogil=True)
def shrunken_gap(square: float, inner: float, size: float, steepest: float, l1: float) -> float:
    """Primal minus dual by ‖r‖² + l2‖w‖², rᵀy, ‖w‖₁ and max_j |x_jᵀr − l2 w_j|; the dual point is the residual, shrunk
    to be feasible (Ndiaye et al. 2017, eq. 7)."""
    share = min(1.0, l1 / steepest) if steepest > 0.0 else 1.0
    return 0.5 * (1.0 + share * share) * square + l1 * size - share * inner


@njit(cache=True, nogil=True)
def column_descent(
    data: Array,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint32],
    squares: Array,
    lever: Array,
    mean: Array,
    root: Array,
    members: Order,
    w: Array,
    r: Array,
    shift: Array,
    target_vector: Array,
    l1: float,
    l2: float,
    target: float,
    max_passes: int,
) -> tuple[int, float]:
    """The same for the columns `members` of a sparse matrix, by the residual; centred, yet never made dense.

    The residual is r + shift·root, and lever = Xᵀroot, so that x_jᵀ(r + shift·root) = x_jᵀr + shift·lever_j; a step
    δ of w_j moves r by −δx_j and shift by δ·mean_j. Against a residual that is centred, columns needn't be. Returns the
    number of passes and the gap.
    """
    n, m = len(r), len(members)
    weights, residuals, shifts = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, n)), np.empty((DEPTH + 1, 1))
    kept, passes, last = 0, 0, 0
    gap, seen = np.inf, np.inf
    while passes < max_passes:
        if kept == 0:
            weights[0], residuals[0], shifts[0, 0], kept = w[members], r, shift[0], 1
        fall = _column_pass(data, indices, indptr, squares, lever, mean, members, w, r, shift, l1, l2)
        passes += 1
        # A gap costs a pass: it is looked at when the last pass has won little, or after some time.
        if fall <= min(0.3 * target, 0.5 * seen) or passes - last >= 2 * DEPTH:
            last, seen = passes, fall
            gap = _column_gap(data, indices, indptr, lever, root, members, w, r, shift[0], target_vector, l1, l2)
            if gap <= target:
                break
        weights[kept], residuals[kept], shifts[kept, 0] = w[members], r, shift[0]
        kept += 1
        if kept > DEPTH:
            kept = 0
            mix = mixture(weights)
            mixed_w, mixed_r, mixed_shift = mix @ weights[1:], mix @ residuals[1:], (mix @ shifts[1:])[0]
            if _column_value(mixed_w, mixed_r, mixed_shift, root, l1, l2) < _column_value(
                w[members], r, shift[0], root, l1, l2
            ):
                w[members], shift[0] = mixed_w, mixed_shift
                r[:] = mixed_r
    return passes, gap


@njit(cache=True, nogil=True)
def column_moments(
    data: Array,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int32],
    omega: Array,
    center: bool,
) -> tuple[Array, Array, Array]:
    """Of each sparse column the mean Σωx/Σω (or 0), Σωx² and Σω(x − mean)²; what isn't stored is zero."""
    p, total = len(indptr) - 1, omega.sum()
    mean, raw, squares = np.zeros(p), np.zeros(p), np.zeros(p)
    for j in range(p):
        start, stop = indptr[j], indptr[j + 1]
        stored = 0.0
        for k in range(start, stop):
            weight = omega[indices[k]]
            stored += weight
            mean[j] += weight * data[k]
            raw[j] += weight * data[k] * data[k]
        mean[j] = mean[j] / total if center else 0.0
        for k in range(start, stop):
            squares[j] += omega[indices[k]] * (data[k] - mean[j]) ** 2
        if stop - start < len(omega):
            squares[j] += max(total - stored, 0.0) * mean[j] * mean[j]
    return mean, raw, squares


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
            # Of entries that aren't in the order of their columns, one half may be on the other side.
            K[i, j] += K[j, i]
            K[j, i] = K[i, j]
    return K


@njit(cache=True, nogil=True)
def log_loss(scores: Array, Y: Array, weight: Array, p: Array) -> float:
    """Σ ω (−ln p of each label), and the probabilities, by expit of a single score or softmax of several, into p.

    The sum is compensated (Kahan 1965): line searches compare losses down to their last digits.
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
def mixture(iterates: Array) -> Array:
    """The weights, of sum one, of the later iterates whose mixed step is shortest: argmin ‖Σ a_k (x_k − x_{k−1})‖."""
    depth = len(iterates) - 1
    steps = iterates[1:] - iterates[:-1]
    M = steps @ steps.T
    trace = 0.0
    for k in range(depth):
        trace += M[k, k]
    mix = np.zeros(depth)
    mix[depth - 1] = 1.0
    if not 0.0 < trace < np.inf:
        return mix
    # Gaussian elimination of M a = 1, with a ridge for steps that are parallel to rounding error.
    a = np.ones(depth)
    for k in range(depth):
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
    total = a.sum()
    return a / total if abs(total) > 0.0 and np.isfinite(total) else mix


@njit(cache=True, nogil=True)
def _gram_pass(K: Array, m: int, w: Array, g: Array, l1: float, l2: float) -> None:
    for j in range(m):
        square = K[j, j]
        if square <= 0.0:
            continue
        old = w[j]
        new = _soft(g[j] + square * old, l1) / (square + l2)
        if new != old:
            w[j] = new
            step = old - new
            for i in range(m):
                g[i] += step * K[j, i]


@njit(cache=True, nogil=True)
def _gram_value(m: int, c: Array, w: Array, g: Array, l1: float, l2: float) -> float:
    """The objective but for ½‖y‖²."""
    value = 0.0
    for j in range(m):
        value += w[j] * (l2 * w[j] - c[j] - g[j]) / 2.0 + l1 * abs(w[j])
    return value


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _column_pass(
    data: Array,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint32],
    squares: Array,
    lever: Array,
    mean: Array,
    members: Order,
    w: Array,
    r: Array,
    shift: Array,
    l1: float,
    l2: float,
) -> float:
    """One pass; about how much lower the objective is for it."""
    fall, level = 0.0, shift[0]
    for j in members:
        square, old = squares[j], w[j]
        if square <= 0.0:
            continue
        start, stop = indptr[j], indptr[j + 1]
        slope = level * lever[j]
        for k in range(start, stop):
            slope += data[k] * r[indices[k]]
        new = _soft(slope + square * old, l1) / (square + l2)
        if new != old:
            step = old - new
            w[j] = new
            level -= step * mean[j]
            for k in range(start, stop):
                r[indices[k]] += step * data[k]
            fall += 0.5 * (square + l2) * step * step
    shift[0] = level
    return fall


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _column_gap(
    data: Array,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint32],
    lever: Array,
    root: Array,
    members: Order,
    w: Array,
    r: Array,
    shift: float,
    target_vector: Array,
    l1: float,
    l2: float,
) -> float:
    steepest, size, ridge, square, inner = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        value = r[i] + shift * root[i]
        square += value * value
        inner += value * target_vector[i]
    for j in members:
        slope = shift * lever[j] - l2 * w[j]
        for k in range(indptr[j], indptr[j + 1]):
            slope += data[k] * r[indices[k]]
        steepest = max(steepest, abs(slope))
        size += abs(w[j])
        ridge += (l2 * w[j]) * w[j]
    return shrunken_gap(square + ridge, inner, size, steepest, l1)


@njit(cache=True, nogil=True)
def _column_value(w: Array, r: Array, shift: float, root: Array, l1: float, l2: float) -> float:
    value = 0.0
    for i in range(len(r)):
        rest = r[i] + shift * root[i]
        value += 0.5 * rest * rest
    for j in range(len(w)):
        value += l1 * abs(w[j]) + 0.5 * l2 * w[j] * w[j]
    return value


@njit(cache=True, nogil=True)
def _soft(a: float, delta: float) -> float:
    if a > delta:
        return a - delta
    if a < -delta:
        return a + delta
    return 0.0
