"""Compiled transitions of the Matérn family as linear stochastic differential equations.

With unit rate and variance, and the state (f, f′, f″) up to the order, dx = Fx dt + noise of spectral density s in the
last component (Särkkä & Solin 2019, 12.3). Over a time t,

    A = exp(Ft),    Q = s ∫₀ᵗ a(u) a(u)ᵀ du,    a the last column of A.

Q is computed from positive terms, so that it keeps all digits for any t; P − APAᵀ would lose all of them for short t.
"""

import math

import numpy as np

from credo.core.numba import njit, tuple_setitem

_FAST = {"contract", "nsz"}
# Beyond this many units of time, A is zero.
_MAX_TIME = 700.0
# Up to this many units of time, series of eight terms are exact.
_SERIES_TIME = 0.05
_INVERSE = np.array([0.0, *(1.0 / j for j in range(1, 32))])


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
def matern_transitions(matrix, rate, variance, gaps, A, Q):
    """A and Q for each gap in time, flat; `matrix` is a tuple of d² zeros for the order d."""
    for i in range(len(gaps)):
        move, noise = matern_step(matrix, rate * gaps[i], variance)
        for p in range(len(matrix)):
            A[i, p], Q[i, p] = move[p], noise[p]


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def matern_step(matrix, time, variance):
    """A and Q, as tuples in C order, after a time in units of the rate: order 1 is the exponential, 2 and 3 Matérn."""
    A, Q = matrix, matrix
    t = min(time, _MAX_TIME)
    e = _decay(t) if time < _MAX_TIME else 0.0
    end = e * e
    if len(matrix) == 1:
        A = tuple_setitem(A, 0, e)
        Q = tuple_setitem(Q, 0, -variance * math.expm1(-2.0 * t))
    elif len(matrix) == 4:
        last = e * t
        A = tuple_setitem(A, 0, e + last)
        A = tuple_setitem(A, 1, last)
        A = tuple_setitem(A, 2, -last)
        A = tuple_setitem(A, 3, e - last)
        s = 4.0 * variance
        g2, cross = s * _power_integral(2, t, end), 0.5 * s * last * last
        Q = tuple_setitem(Q, 0, g2)
        Q = tuple_setitem(Q, 1, cross)
        Q = tuple_setitem(Q, 2, cross)
        # s ∫(1 − u)²e^(−2u) = s ∫u²e^(−2u) + s ∫(1 − 2u)e^(−2u)
        Q = tuple_setitem(Q, 3, g2 + s * t * end)
    else:
        h = 0.5 * t * t
        a, b = e * h, e * (t - h)
        A = tuple_setitem(A, 0, e * (1.0 + t + h))
        A = tuple_setitem(A, 1, e * (t + 2.0 * h))
        A = tuple_setitem(A, 2, a)
        A = tuple_setitem(A, 3, -a)
        A = tuple_setitem(A, 4, e * (1.0 + t - 2.0 * h))
        A = tuple_setitem(A, 5, b)
        A = tuple_setitem(A, 6, -b)
        A = tuple_setitem(A, 7, e * (2.0 * h - 3.0 * t))
        A = tuple_setitem(A, 8, e * (1.0 - 2.0 * t + h))
        # s ∫uᵏe^(−2u), by parts from k = 4 downwards.
        s = 16.0 / 3.0 * variance
        g4 = s * _power_integral(4, t, end)
        g3 = 0.5 * g4 + s * h * h * end
        g2 = (2.0 * g3 + 2.0 * s * t * h * end) / 3.0
        g1 = g2 + s * h * end
        middle = g2 - g3 + 0.25 * g4
        Q = tuple_setitem(Q, 0, 0.25 * g4)
        Q = tuple_setitem(Q, 1, 0.5 * s * a * a)
        Q = tuple_setitem(Q, 2, s * a * b - middle)
        Q = tuple_setitem(Q, 3, 0.5 * s * a * a)
        Q = tuple_setitem(Q, 4, middle)
        Q = tuple_setitem(Q, 5, 0.5 * s * b * b)
        Q = tuple_setitem(Q, 6, s * a * b - middle)
        Q = tuple_setitem(Q, 7, 0.5 * s * b * b)
        # s ∫(1 − 2u + u²/2)²e^(−2u)
        Q = tuple_setitem(Q, 8, s * t * end - 2.0 * g1 + 5.0 * g2 - 2.0 * g3 + 0.25 * g4)
    return A, Q


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def _decay(t):
    """e^(−t); for short times by a series, which takes less time than the library's."""
    if t > _SERIES_TIME:
        return math.exp(-t)
    x = 1.0 - t * (1.0 / 8.0)
    x = 1.0 - t * (1.0 / 7.0) * x
    x = 1.0 - t * (1.0 / 6.0) * x
    x = 1.0 - t * (1.0 / 5.0) * x
    x = 1.0 - t * (1.0 / 4.0) * x
    x = 1.0 - t * (1.0 / 3.0) * x
    return 1.0 - t * (1.0 - t * 0.5 * x)


@njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy", forceinline=True)
def _power_integral(k, t, end):
    """∫₀ᵗ uᵏe^(−2u) du for k = 2 or 4, with end = e^(−2t)."""
    x, power = 2.0 * t, t * t * t if k == 2 else t * t * t * t * t
    if t <= _SERIES_TIME:
        # tᵏ⁺¹ Σ (−x)ʲ/(j! (k + 1 + j))
        total = 1.0 / (40320.0 * (k + 9.0))
        total = 1.0 / (5040.0 * (k + 8.0)) - x * total
        total = 1.0 / (720.0 * (k + 7.0)) - x * total
        total = 1.0 / (120.0 * (k + 6.0)) - x * total
        total = 1.0 / (24.0 * (k + 5.0)) - x * total
        total = 1.0 / (6.0 * (k + 4.0)) - x * total
        total = 0.5 / (k + 3.0) - x * total
        total = 1.0 / (k + 2.0) - x * total
        return power * (1.0 / (k + 1.0) - x * total)
    if x < 0.5 * k:
        # The same as e^(−2t) tᵏ⁺¹/(k+1) · Σ xʲ/((k+2)⋯(k+1+j)), all of whose terms are positive.
        total = 1.0
        for j in range(k + 21, k + 1, -1):
            total = 1.0 + x * _INVERSE[j] * total
        return end * power * _INVERSE[k + 1] * total
    if k == 2:
        return 0.25 * (1.0 - end * (1.0 + x + 0.5 * x * x))
    return 0.75 * (1.0 - end * (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))))
