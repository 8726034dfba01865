"""The compiled loop of dense inference, restated in plain NumPy."""

import numpy as np
from tests.reference.twins import Twin

from credo.core.inference import dense_jit


def outer_minus_triangle(columns, count, V):
    V[...] = np.tril(V, -1) + np.triu(0.5 * (columns @ columns.T - count * V))


RNG = np.random.default_rng(8)
V = RNG.normal(size=(150, 150))
CALLS = [(RNG.normal(size=(150, n_targets)), float(n_targets), V) for n_targets in (1, 3)]
TWINS = [Twin(dense_jit.outer_minus_triangle, outer_minus_triangle, CALLS, parts=True, atol=1e-14)]
