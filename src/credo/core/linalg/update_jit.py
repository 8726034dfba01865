"""Rank-k changes of a Cholesky factor, compiled.

Arrays are C-ordered transposes: row j of `U` is column j of L, so that every inner loop is contiguous.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit


@njit(cache=True)
def update(U: NDArray[np.float64], W: NDArray[np.float64]) -> None:
    """Turn U with A = UᵀU into that of A + WᵀW, in place, by Givens rotations; W is spent."""
    k, n = W.shape
    for j in range(n):
        for c in range(k):
            x = W[c, j]
            if x == 0.0:
                continue
            r = math.hypot(U[j, j], x)
            cosine, sine = U[j, j] / r, x / r
            U[j, j] = r
            for i in range(j + 1, n):
                u, w = U[j, i], W[c, i]
                U[j, i] = cosine * u + sine * w
                W[c, i] = cosine * w - sine * u


@njit(cache=True)
def downdate(U: NDArray[np.float64], W: NDArray[np.float64]) -> int:
    """Turn U with A = UᵀU into that of A − WᵀW, in place; W is spent.

    Hyperbolic rotations in the mixed form, where the new row of W is made from the new row of U: unlike the
    plain form its errors stay those of a perturbed A and W (Bojanczyk, Brent, Van Dooren & de Hoog 1987).

    Returns -1, or the row where nothing positive is left.
    """
    k, n = W.shape
    for j in range(n):
        for c in range(k):
            x = W[c, j]
            if x == 0.0:
                continue
            old = U[j, j]
            if not abs(x) < old:
                return j
            # (1 − s)(1 + s) keeps the digits that 1 − s² loses when s is near 1.
            sine = x / old
            cosine = math.sqrt((1.0 - sine) * (1.0 + sine))
            U[j, j] = cosine * old
            for i in range(j + 1, n):
                u = (U[j, i] - sine * W[c, i]) / cosine
                U[j, i] = u
                W[c, i] = cosine * W[c, i] - sine * u
    return -1
