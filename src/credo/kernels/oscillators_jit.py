"""Compiled loops of the damped oscillator and of the cosine, of one column.

In units of time of the natural frequency, an oscillator f″ + 2bf′ + f = noise has the covariance

    k(t) = c + bs,    k′(t) = −s,    c = e^(−bt) cos ηt,    s = e^(−bt) sin(ηt)/η,    η² = 1 − b²,

and above critical damping, b > 1, hyperbolic functions in place of cosine and sine.
"""

import math

from numpy import empty, zeros
from numpy.polynomial.legendre import leggauss

from credo.core.numba import njit
from credo.kernels._jit import _combine

# Gauss and Legendre's rule on (0, 1), for integrals over a time that is short for the oscillator.
_NODES, _WEIGHTS = (0.5 * (each + shift) for each, shift in zip(leggauss(8), (1.0, 0.0), strict=True))
# Up to this square of ηt, series are exact to all digits.
_SERIES_SQUARE = 0.25


@njit(nogil=True, cache=True, error_model="numpy")
def response(b, t):
    """c and s."""
    a, z = b * t, (1.0 - b) * (1.0 + b) * t * t
    if z > 0.0:
        y, decay = math.sqrt(z), math.exp(-a)
        return decay * math.cos(y), decay * t * (math.sin(y) / y)
    # bt − ηt = t²/(bt + ηt) loses no digits.
    y = math.sqrt(-z)
    slow = math.exp(-t * t / (a + y)) if t > 0.0 else 1.0
    return 0.5 * slow * (1.0 + math.exp(-2.0 * y)), slow * t * (-math.expm1(-2.0 * y) / (2.0 * y) if y > 0.0 else 1.0)


@njit(nogil=True, cache=True, error_model="numpy")
def _by_damping(b, t):
    """∂k/∂b = t³ e^(−bt) (sin y/y − cos y)/y² with y = ηt."""
    z = (1.0 - b) * (1.0 + b) * t * t
    if abs(z) > _SERIES_SQUARE:
        c, s = response(b, t)
        return t * t * t * (s / t - c) / z
    # Σ (−z)ᵏ⁻¹ 2k/(2k + 1)!
    total = 0.0
    for k in range(8, 0, -1):
        total = 1.0 - z * total * (k + 1.0) / (k * (2.0 * k + 2.0) * (2.0 * k + 3.0))
    return t * t * t * math.exp(-b * t) * total / 3.0


@njit(nogil=True, cache=True, error_model="numpy")
def oscillator_transitions(b, rate, gaps, A, Q):
    """A = exp(Ft) and Q = I − AAᵀ for the state (f, f′) after each gap, flat."""
    for i in range(len(gaps)):
        t = rate * gaps[i]
        c, s = response(b, t)
        lost = -math.expm1(-2.0 * b * t)
        A[i, 0], A[i, 1], A[i, 2], A[i, 3] = c + b * s, s, -s, c - b * s
        Q[i, 0] = lost - 2.0 * b * s * (c + b * s)
        if (1.0 + b) * t < 1.0:
            # 4b ∫ s², of positive terms: the formula above loses all digits for short times.
            total = 0.0
            for k in range(len(_NODES)):
                x = response(b, _NODES[k] * t)[1]
                total += _WEIGHTS[k] * x * x
            Q[i, 0] = 4.0 * b * t * total
        Q[i, 1] = Q[i, 2] = 2.0 * b * s * s
        Q[i, 3] = lost + 2.0 * b * s * (c - b * s)


@njit(nogil=True, cache=True, error_model="numpy")
def oscillator_fill(start, step, x, z, b, rate, variance, mode, triangle, K):
    """variance·k(ω|xᵢ − zⱼ|) into K, or into its triangle."""
    r = empty(len(z))
    for i in range(start, len(x), step):
        first = i if triangle else 0
        for j in range(first, len(z)):
            c, s = response(b, rate * abs(x[i] - z[j]))
            r[j] = c + b * s
        _combine(mode, variance, r, first, K[i])


@njit(nogil=True, cache=True, error_model="numpy")
def oscillator_pullback(start, step, x, z, b, rate, triangle, W):
    """Σ W∘k, Σ W∘∂k/∂ln ω and Σ W∘∂k/∂b at unit variance; a symmetric W may be its triangle."""
    sums = zeros(3)
    factor = 2.0 if triangle else 1.0
    for i in range(start, len(x), step):
        if triangle:
            sums[0] += W[i, i]
        for j in range(i + 1 if triangle else 0, len(z)):
            t, w = rate * abs(x[i] - z[j]), factor * W[i, j]
            c, s = response(b, t)
            sums[0] += w * (c + b * s)
            sums[1] -= w * t * s
            sums[2] += w * _by_damping(b, t)
    return sums


@njit(nogil=True, cache=True, error_model="numpy")
def oscillator_slopes(start, step, x, b, rate, W, out):
    """Σⱼ 2 Wᵢⱼ ∂k/∂xᵢ for each row i, of a symmetric W."""
    for i in range(start, len(x), step):
        for j in range(len(x)):
            gap = x[i] - x[j]
            out[i] -= 2.0 * W[i, j] * rate * response(b, rate * abs(gap))[1] * (1.0 if gap > 0.0 else -1.0)


@njit(nogil=True, cache=True, error_model="numpy")
def cosine_fill(start, step, x, z, rate, variance, mode, triangle, K):
    """variance·cos(ω(xᵢ − zⱼ)) into K, or into its triangle."""
    r = empty(len(z))
    for i in range(start, len(x), step):
        first = i if triangle else 0
        for j in range(first, len(z)):
            r[j] = math.cos(rate * (x[i] - z[j]))
        _combine(mode, variance, r, first, K[i])


@njit(nogil=True, cache=True, error_model="numpy")
def cosine_pullback(start, step, x, z, rate, triangle, W):
    """Σ W∘k and Σ W∘∂k/∂ln ω at unit variance; a symmetric W may be its triangle."""
    sums = zeros(2)
    factor = 2.0 if triangle else 1.0
    for i in range(start, len(x), step):
        if triangle:
            sums[0] += W[i, i]
        for j in range(i + 1 if triangle else 0, len(z)):
            angle, w = rate * (x[i] - z[j]), factor * W[i, j]
            sums[0] += w * math.cos(angle)
            sums[1] -= w * angle * math.sin(angle)
    return sums
