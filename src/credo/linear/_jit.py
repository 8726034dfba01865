"""Compiled loops of LMS and the perceptron; tests compare them with `tests/reference/lms.py` and `perceptron.py`."""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]

# A weight of k is k updates in a row; above this many, several are made at once.
MOST_REPEATS = 4096.0
# Iterates and squared errors are averaged with weights that grow as t², which soon forget the start:
# polynomial-decay averaging (Shamir & Zhang 2013) with η = 2.
FORGETTING = 2.0


@njit(cache=True)
def lms_pass(
    Z: Array,
    y: Array,
    weight: Array,
    order: NDArray[np.intp],
    w: Array,
    average: Array,
    track: Array,
    step: float,
    period: float,
    decay: float,
    capped: bool,
    bias: float,
    limit: float,
) -> int:
    """One pass of w ← w + η (y − wᵀφ) φ over the rows in `order` (Bishop 3.23), in place.

    φ = (z, bias), the last entry of `w` and `average` being the level; η = step (1 + t/period)^−decay, at most
    1/‖φ‖² when `capped`. `track` holds t, the observations so far, and the running mean square of the one-step-ahead
    errors (nan before the second observation). Returns −1, or the row whose error is beyond `limit`.

    Repeated updates with one row change w along φ only: w + aφ, with error e − a‖φ‖², so each costs O(1).
    """
    p = Z.shape[1]
    t, mean_square = track[0], track[1]
    for i in order:
        error, square = y[i] - bias * w[p], bias * bias
        for j in range(p):
            error -= w[j] * Z[i, j]
            square += Z[i, j] * Z[i, j]
        if not abs(error) <= limit:
            return i
        stride = max(1.0, np.ceil(weight[i] / MOST_REPEATS))
        left, along = weight[i], 0.0
        keep, current, shift = 1.0, 0.0, 0.0
        while left > 0.0:
            share = min(stride, left)
            eta = step if decay == 0.0 else step * (1.0 + t / period) ** -decay
            if capped and eta * square > 1.0:
                eta = 1.0 / square
            ahead = error - along * square
            if t > 0.0:
                rate = min(1.0, share * (FORGETTING + 1.0) / (t + FORGETTING))
                mean_square = ahead * ahead if np.isnan(mean_square) else (
                    mean_square + rate * (ahead * ahead - mean_square)
                )  # fmt: skip
            if share > 1.0 and square > 0.0:
                along += ahead * (1.0 - (1.0 - eta * square) ** share) / square
            else:
                along += share * eta * ahead
            rate = 1.0 if t == 0.0 else min(1.0, share * (FORGETTING + 1.0) / (t + share + FORGETTING))
            keep, current, shift = (
                keep * (1.0 - rate),
                current * (1.0 - rate) + rate,
                shift * (1.0 - rate) + rate * along,
            )
            t += share
            left -= share
        for j in range(p):
            average[j] = keep * average[j] + current * w[j] + shift * Z[i, j]
            w[j] += along * Z[i, j]
        average[p] = keep * average[p] + current * w[p] + shift * bias
        w[p] += along * bias
    track[0], track[1] = t, mean_square
    return -1


@njit(cache=True)
def correction_pass(
    Z: Array, weight: Array, order: NDArray[np.intp], gradient: Array, step: float, bias: float, delta: Array
) -> None:
    """One pass of δ ← δ + η ω (g − (δᵀφ) φ) over the rows in `order`, in place.

    The rule of `lms_pass` for w + δ, with the gradient at w of a single row, r φ, replaced by its mean g over all rows
    (SVRG: Johnson & Zhang 2013). φ = (z, bias).
    """
    p = Z.shape[1]
    for i in order:
        inner = delta[p] * bias
        for j in range(p):
            inner += delta[j] * Z[i, j]
        eta = step * weight[i]
        for j in range(p):
            delta[j] += eta * (gradient[j] - inner * Z[i, j])
        delta[p] += eta * (gradient[p] - inner * bias)


@njit(cache=True)
def perceptron_pass(
    Z: Array,
    codes: NDArray[np.intp],
    weight: Array,
    order: NDArray[np.intp],
    W: Array,
    bias: float,
    best: Array,
    track: Array,
    counts: NDArray[np.int64],
) -> int:
    """One pass of the perceptron rule over the rows in `order` (Rosenblatt 1958), in place; returns the mistakes made.

    φ = (z, bias). A single row of `W` gives the score of code 1 against code 0; a score of the wrong sign is a mistake,
    w ← w ± φ. Several rows give a score for each code, and the label's must exceed all others: w_label ← w_label + φ,
    w_rival ← w_rival − φ. A row of weight k is visited as k copies in a row, as long as they are mistakes.

    `best` holds the weights of smallest error over all rows so far (the pocket: Gallant 1990). It is compared with `W`
    after each pass and after the longest run without mistakes so far. `track` holds its weighted error, the longest
    run, and the current run.
    """
    p, mistakes = Z.shape[1], 0
    scores = np.empty(len(W))
    for i in order:
        square = bias * bias
        for j in range(p):
            square += Z[i, j] * Z[i, j]
        left, wrong = weight[i], False
        # A limit, because updates below the rounding error of W change nothing.
        for _ in range(int(MOST_REPEATS)):
            if not left > 0.0:
                break
            rival, gap = _rival(Z[i], codes[i], W, bias, scores)
            if gap > 0.0:
                break
            if not wrong:
                wrong = True
                if track[2] > track[1]:
                    track[1] = track[2]
                    _pocket(Z, codes, weight, W, bias, best, track, scores)
            if square == 0.0:
                mistakes += 1
                counts[i] += 1
                break
            # An update increases the gap by ‖φ‖², or twice that if two rows of W change.
            lift = square if len(W) == 1 else 2.0 * square
            share = min(left, np.floor(-gap / lift) + 1.0)
            _move(Z[i], codes[i], rival, share, bias, W)
            left -= share
            mistakes += int(np.ceil(share))
            counts[i] += int(np.ceil(share))
        track[2] = 0.0 if wrong else track[2] + weight[i]
    _pocket(Z, codes, weight, W, bias, best, track, scores)
    return mistakes


# Sums in any order, so that the compiler can vectorize them.
@njit(cache=True, fastmath={"reassoc", "contract"})
def _rival(z: Array, code: int, W: Array, bias: float, scores: Array) -> tuple[int, float]:
    """The class with the highest score among the others, and by how much the row's own class exceeds it."""
    p = len(z)
    for k in range(len(W)):
        s = W[k, p] * bias
        for j in range(p):
            s += W[k, j] * z[j]
        scores[k] = s
    if len(W) == 1:
        return 1 - code, scores[0] if code == 1 else -scores[0]
    rival, gap = -1, np.inf
    for k in range(len(W)):
        if k != code and scores[code] - scores[k] < gap:
            rival, gap = k, scores[code] - scores[k]
    return rival, gap


@njit(cache=True)
def _move(z: Array, code: int, rival: int, share: float, bias: float, W: Array) -> None:
    p = len(z)
    if len(W) == 1:
        sign = share if code == 1 else -share
        for j in range(p):
            W[0, j] += sign * z[j]
        W[0, p] += sign * bias
        return
    for j in range(p):
        W[code, j] += share * z[j]
        W[rival, j] -= share * z[j]
    W[code, p] += share * bias
    W[rival, p] -= share * bias


@njit(cache=True)
def _pocket(
    Z: Array,
    codes: NDArray[np.intp],
    weight: Array,
    W: Array,
    bias: float,
    best: Array,
    track: Array,
    scores: Array,
) -> None:
    """Replace the weights in the pocket if the current ones have a smaller error."""
    error = 0.0
    for i in range(len(Z)):
        if weight[i] > 0.0 and _rival(Z[i], codes[i], W, bias, scores)[1] <= 0.0:
            error += weight[i]
            if error >= track[0]:
                return
    if error < track[0]:
        track[0] = error
        for k in range(len(W)):
            for j in range(W.shape[1]):
                best[k, j] = W[k, j]
