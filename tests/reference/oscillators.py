"""The damped oscillator and the cosine, by matrix exponentials and central differences."""

from itertools import product

import numpy as np
from scipy.linalg import expm
from tests.reference.kernels import MODES, combined, symmetric
from tests.reference.twins import Twin

from credo.kernels import oscillators_jit as _jit

RNG = np.random.default_rng(11)
X, Z = RNG.uniform(0, 5, 23), RNG.uniform(0, 5, 14)
W = RNG.normal(size=(23, 23))
W = W + W.T
TABLES = (X, True, W), (Z, False, W[:, :14].copy())
DAMPINGS = 0.05, 1.0, 2.5
RATE, VARIANCE, H = 1.3, 1.7, 1e-5


def exponential(b, t):
    """exp(Ft), which moves (f, f′) by the time t."""
    return expm(t * np.array([[0.0, 1.0], [-1.0, -2.0 * b]]))


def covariance(b, t):
    """k(t), of an oscillator whose f and f′ have unit variances."""
    return np.vectorize(lambda time: exponential(b, abs(time))[0, 0])(t)


def by_difference(function):
    return (function(H) - function(-H)) / (2 * H)


def response(b, t):
    A = exponential(b, t)
    return (A[0, 0] + A[1, 1]) / 2, A[0, 1]


def oscillator_transitions(b, rate, gaps, A, Q):
    for i, gap in enumerate(gaps):
        move = exponential(b, rate * gap)
        A[i], Q[i] = move.ravel(), (np.eye(2) - move @ move.T).ravel()


def oscillator_fill(x, z, b, rate, variance, mode, triangle, K):
    combined(K, variance * covariance(b, rate * np.subtract.outer(x, z)), mode, triangle)


def oscillator_pullback(x, z, b, rate, triangle, W):
    t, W = rate * np.subtract.outer(x, z), symmetric(W, triangle)
    by_rate = by_difference(lambda h: covariance(b, t * np.exp(h)))
    by_damping = by_difference(lambda h: covariance(b + h, t))
    return np.array([(W * part).sum() for part in (covariance(b, t), by_rate, by_damping)])


def oscillator_slopes(x, b, rate, W, out):
    t = rate * np.subtract.outer(x, x)
    slopes = np.where(t == 0, 0.0, rate * by_difference(lambda h: covariance(b, t + h)))
    out += 2 * (W * slopes).sum(axis=1)


def cosine_fill(x, z, rate, variance, mode, triangle, K):
    combined(K, variance * np.cos(rate * np.subtract.outer(x, z)), mode, triangle)


def cosine_pullback(x, z, rate, triangle, W):
    t, W = rate * np.subtract.outer(x, z), symmetric(W, triangle)
    return np.array([(W * np.cos(t)).sum(), -(W * t * np.sin(t)).sum()])


GAPS = np.array([0.0, 0.01, 0.4, 3.0])
FILLED = list(product(MODES, TABLES))
TWINS = [
    Twin(_jit.response, response, list(product(DAMPINGS, (0.0, 0.3, 4.0))), rtol=1e-10, atol=1e-14),
    Twin(
        _jit.oscillator_transitions,
        oscillator_transitions,
        [(b, RATE, GAPS, np.zeros((4, 4)), np.zeros((4, 4))) for b in DAMPINGS],
        rtol=1e-8,
        atol=1e-13,
    ),
    Twin(
        _jit.oscillator_fill,
        oscillator_fill,
        [(X, z, b, RATE, VARIANCE, mode, triangle, K) for b in DAMPINGS for mode, (z, triangle, K) in FILLED],
        parts=True,
        atol=1e-12,
    ),
    Twin(
        _jit.oscillator_pullback,
        oscillator_pullback,
        [(X, z, b, RATE, triangle, K) for b in DAMPINGS for z, triangle, K in TABLES],
        parts=True,
        rtol=1e-6,
    ),
    Twin(
        _jit.oscillator_slopes,
        oscillator_slopes,
        [(X, b, RATE, W, np.zeros(23)) for b in DAMPINGS],
        parts=True,
        rtol=1e-6,
        atol=1e-8,
    ),
    Twin(
        _jit.cosine_fill,
        cosine_fill,
        [(X, z, RATE, VARIANCE, mode, triangle, K) for mode, (z, triangle, K) in FILLED],
        parts=True,
        atol=1e-13,
    ),
    Twin(_jit.cosine_pullback, cosine_pullback, [(X, z, RATE, triangle, K) for z, triangle, K in TABLES], parts=True),
]
