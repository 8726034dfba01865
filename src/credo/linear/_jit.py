"""Inner loops of sequential learning, compiled; `tests/reference/lms.py` says the same in plain NumPy."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A weight of k is k updates in a row; above this many, they are taken in equal strides.
MOST_REPEATS = 4096.0
# Iterates and squared errors are averaged with weights that grow as t², so that the start is soon forgotten:
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

    Repeats of a row move w along φ only: w + aφ, with error e − a‖φ‖², so that they cost O(1) each.
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

    The rule of `lms_pass` for w + δ, in which the noise of the single row at w, r φ, gives way to its mean g
    over all rows (SVRG: Johnson & Zhang 2013). φ = (z, bias).
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
