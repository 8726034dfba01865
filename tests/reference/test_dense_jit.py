"""The compiled loops of dense inference, restated in plain NumPy."""

import numpy as np
import pytest

from credo.inference import dense_jit

RNG = np.random.default_rng(8)
N = 150
W = RNG.normal(size=(N, N))
W = W + W.T
UPPER = np.triu_indices(N)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_outer_minus_triangle(n_targets):
    alpha, V = RNG.normal(size=(N, n_targets)), W.copy()
    for start in (0, 1):
        dense_jit.outer_minus_triangle(start, 2, alpha, float(n_targets), V)
    np.testing.assert_allclose(V[UPPER], 0.5 * (alpha @ alpha.T - n_targets * W)[UPPER], rtol=1e-12, atol=1e-12)
