"""The compiled cosines and sines of random features, restated in plain NumPy."""

import numpy as np

from credo.kernels.spectra import waves_jit as _jit

RNG = np.random.default_rng(4)


def test_cosines_and_sines():
    turns = np.vstack([RNG.normal(size=(5, 37)) * 10.0 ** RNG.integers(-8, 4, size=(5, 37)), np.linspace(-1, 1, 37)])
    amplitudes = RNG.uniform(0.5, 2.0, size=37)
    found = np.empty((6, 74))
    for start in range(2):
        _jit.cosines_and_sines(start, 2, turns, amplitudes, found)
    # Whole turns are taken off first: radians of many turns would have lost digits before the cosine is taken.
    angles = 2 * np.pi * np.remainder(turns, 1.0)
    expected = np.hstack([amplitudes * np.cos(angles), amplitudes * np.sin(angles)])
    np.testing.assert_allclose(found, expected, atol=1e-14)
