"""Cosines and sines of many angles, compiled."""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

_FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def cosines_and_sines(
    start: int, step: int, turns: NDArray[np.float64], amplitudes: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Amplitudes times cos and, beside them, sin of 2π·turns, to about 3e-15, for the rows start, start + step, ….

    With t the turns less the nearest whole number, |πt/2| ≤ π/4: Taylor's series there, then the angle doubled twice.
    There is no branch, so that the loop becomes vector instructions.
    """
    m = turns.shape[1]
    for i in range(start, turns.shape[0], step):
        turn, cosine, sine = turns[i], out[i, :m], out[i, m:]
        for j in range(m):
            x = (0.5 * np.pi) * (turn[j] - np.rint(turn[j]))
            y = x * x
            s = -1.0 / 1307674368000.0
            s = s * y + 1.0 / 6227020800.0
            s = s * y - 1.0 / 39916800.0
            s = s * y + 1.0 / 362880.0
            s = s * y - 1.0 / 5040.0
            s = s * y + 1.0 / 120.0
            s = s * y - 1.0 / 6.0
            s = s * y * x + x
            c = 1.0 / 20922789888000.0
            c = c * y - 1.0 / 87178291200.0
            c = c * y + 1.0 / 479001600.0
            c = c * y - 1.0 / 3628800.0
            c = c * y + 1.0 / 40320.0
            c = c * y - 1.0 / 720.0
            c = c * y + 1.0 / 24.0
            c = c * y - 0.5
            c = c * y + 1.0
            s2 = 2.0 * s * c
            c2 = 1.0 - 2.0 * s * s
            cosine[j] = amplitudes[j] * (1.0 - 2.0 * s2 * s2)
            sine[j] = amplitudes[j] * (2.0 * s2 * c2)
