"""The least-mean-squares rule in plain NumPy, update by update, as the books write it."""

from itertools import product

import numpy as np
from tests.reference.twins import Twin

from credo.linear import _jit


def lms_pass(Z, y, repeats, order, w, average, track, step, period, decay, capped, bias, limit):
    """Bishop 3.23 over the rows in order, row i taken repeats[i] (whole) times in a row, from the first observation on.

    `average` becomes that of the iterates with weights t(t+1), t counting from one; `track` the number of updates and
    the average of the squared one-step-ahead errors with the same weights, the first observation left out.
    """
    phi, iterates, squares = np.insert(Z, Z.shape[1], bias, axis=1), [], []
    for t, i in enumerate(np.repeat(order, repeats[order].astype(int))):
        error = y[i] - w @ phi[i]
        eta = step * (1 + t / period) ** -decay
        w += (min(eta, 1 / (phi[i] @ phi[i])) if capped else eta) * error * phi[i]
        iterates.append(w.copy())
        squares.append(error**2)
    average[:] = late_average(iterates)
    track[:] = len(iterates), late_average(squares[1:])
    return -1


def late_average(values):
    t = np.arange(1, len(values) + 1)
    return np.average(values, axis=0, weights=t * (t + 1))


def correction_pass(Z, weight, order, gradient, step, bias, delta):
    """δ ← δ + η ω (g − (δᵀφ) φ) (Johnson & Zhang 2013, the update of SVRG for a quadratic)."""
    phi = np.insert(Z, Z.shape[1], bias, axis=1)
    for i in order:
        delta += step * weight[i] * (gradient - (delta @ phi[i]) * phi[i])


RNG = np.random.default_rng(0)
Z = RNG.normal(size=(60, 4)) + 1
Y = Z @ np.linspace(-2, 3, 4) + 4 + RNG.normal(size=60)
COUNTS, ORDER = RNG.integers(1, 5, size=60).astype(float), RNG.permutation(60)

TWINS = [
    Twin(
        _jit.lms_pass,
        lms_pass,
        [
            (Z, Y, counts, ORDER, *np.zeros((2, 5)), np.array([0.0, np.nan]), 0.05, 20.0, *rule, 1.0, np.inf)
            for counts, rule in product((np.ones(60), COUNTS), ((0.0, False), (2 / 3, True)))
        ],
        rtol=1e-10,
    ),
    Twin(
        _jit.correction_pass,
        correction_pass,
        [(Z, RNG.uniform(size=60), RNG.integers(0, 60, size=100), RNG.normal(size=5), 0.1, 1.0, np.zeros(5))],
        rtol=1e-10,
    ),
]
