"""Compiled transitions of the Matérn family as linear stochastic differential equations.

With unit rate and variance, and the state (f, f′, f″) up to the order, dx = Fx dt + noise of spectral density s in the
last component (Särkkä & Solin 2019, 12.3). Over a time t,

    A = exp(Ft),    Q = s ∫₀ᵗ a(u) a(u)ᵀ du,    a the last column of A.

Q is computed from positive terms, so that it keeps all digits for any t: as P − APAᵀ it would have none left for short
ones.
"""

import math

import numpy as np

from credo._jit import njit

# Beyond this many units of time, A is zero.
_LONGEST = 700.0
_INVERSE = np.array([0.0, *(1.0 / j for j in range(1, 40))])


@njit(nogil=True, cache=True)
def matern_transitions(order, rate, gaps, A, Q):
    """A and Q for each gap in time, for order 1 (exponential), 2 (Matérn 3/2) or 3 (Matérn 5/2); flat, in C order."""
    for i in range(len(gaps)):
        t = min(rate * gaps[i], _LONGEST)
        e = math.exp(-t)
        if order == 1:
            A[i, 0] = e
            Q[i, 0] = -math.expm1(-2.0 * t)
        elif order == 2:
            A[i, 0], A[i, 1] = e * (1.0 + t), e * t
            A[i, 2], A[i, 3] = -e * t, e * (1.0 - t)
            c = 4.0 * _power_integral(2, t, e * e)
            cross = 2.0 * A[i, 1] * A[i, 1]
            Q[i, 0], Q[i, 1], Q[i, 2] = c, cross, cross
            # 4∫(1 − u)²e^(−2u) = Q₁₁ + 4∫(1 − 2u)e^(−2u)
            Q[i, 3] = c + 4.0 * t * e * e
        else:
            h = 0.5 * t * t
            A[i, 0], A[i, 1], A[i, 2] = e * (1.0 + t + h), e * (t + t * t), e * h
            A[i, 3], A[i, 4], A[i, 5] = -e * h, e * (1.0 + t - t * t), e * (t - h)
            A[i, 6], A[i, 7], A[i, 8] = e * (h - t), e * (t * t - 3.0 * t), e * (1.0 - 2.0 * t + h)
            # s ∫uᵏe^(−2u), by parts from k = 4 downwards.
            s, end = 16.0 / 3.0, e * e
            g4 = s * _power_integral(4, t, end)
            g3 = 0.25 * (2.0 * g4 + s * t * t * t * t * end)
            g2 = (2.0 * g3 + s * t * t * t * end) / 3.0
            a, b = A[i, 2], A[i, 5]
            Q[i, 0] = 0.25 * g4
            Q[i, 1] = Q[i, 3] = 0.5 * s * a * a
            Q[i, 4] = g2 - g3 + 0.25 * g4
            Q[i, 2] = Q[i, 6] = s * a * b - Q[i, 4]
            Q[i, 5] = Q[i, 7] = 0.5 * s * b * b
            # s ∫(1 − 2u + u²/2)²e^(−2u)
            g1 = 0.5 * (2.0 * g2 + s * t * t * end)
            Q[i, 8] = s * t * end - 2.0 * g1 + 5.0 * g2 - 2.0 * g3 + 0.25 * g4


@njit(nogil=True, cache=True)
def _power_integral(k, t, end):
    """∫₀ᵗ uᵏe^(−2u) du for k = 2 or 4, with end = e^(−2t)."""
    x = 2.0 * t
    if x < 3.0:
        # e^(−2t) tᵏ⁺¹/(k+1) · Σ xʲ/((k+2)⋯(k+1+j)), with so many terms that the rest is below rounding errors.
        total = 1.0
        for j in range(k + 1 + (8 if x < 0.1 else 26), k + 1, -1):
            total = 1.0 + x * _INVERSE[j] * total
        power = t * t * t if k == 2 else t * t * t * t * t
        return end * power / (k + 1) * total
    if k == 2:
        return 0.25 * (1.0 - end * (1.0 + x + 0.5 * x * x))
    return 0.75 * (1.0 - end * (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))))
