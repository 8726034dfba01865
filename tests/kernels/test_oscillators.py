"""The damped oscillator against the formulas of its three regimes, and its state-space form near critical damping."""

import numpy as np
import pytest
from scipy.integrate import quad

from credo.core.inference import Dense, StateSpace
from credo.kernels import Cosine, Harmonic, Matern32

GAPS = np.linspace(0.0, 10.0, 41)


def celerite(tau, period, quality, variance):
    """Foreman-Mackey et al. (2017), equation 23; σ² = S₀ω₀Q."""
    w = 2 * np.pi / period
    eta = np.sqrt(abs(1 - 1 / (4 * quality**2)))
    x = eta * w * tau
    waves = (np.cosh(x), np.sinh(x)) if quality < 0.5 else (np.cos(x), np.sin(x))
    return variance * np.exp(-w * tau / (2 * quality)) * (waves[0] + waves[1] / (2 * eta * quality))


@pytest.mark.parametrize("quality", [0.05, 0.2, 0.49, 0.4999, 0.5001, 0.51, 1 / np.sqrt(2), 1.0, 5.0, 300.0])
def test_the_covariance_is_that_of_celerite_in_every_regime(quality):
    found = Harmonic(2.5, quality=quality, variance=1.7).cross([[0.0]], GAPS[:, None])[0]
    np.testing.assert_allclose(found, celerite(GAPS, 2.5, quality, 1.7), rtol=1e-9, atol=1e-11)


def test_critical_damping_is_a_matern_kernel():
    found = Harmonic(2 * np.pi, quality=0.5).gram(GAPS[:, None])
    np.testing.assert_allclose(found, Matern32(np.sqrt(3)).gram(GAPS[:, None]), rtol=1e-13)


@pytest.mark.parametrize("quality", [0.3, 2.0])
def test_the_covariance_is_the_transform_of_the_power_spectrum(quality):
    """S(ω) ∝ 1/((ω² − 1)² + ω²/Q²), in units of the natural frequency (equation 20)."""
    kernel = Harmonic(2 * np.pi, quality=quality)

    def power(w):
        return 1.0 / ((w * w - 1.0) ** 2 + (w / quality) ** 2)

    total = quad(power, 0, np.inf)[0]
    for tau in (0.5, 3.0):
        found = quad(power, 0, np.inf, weight="cos", wvar=tau)[0] / total
        assert kernel.cross([[0.0]], [[tau]])[0, 0] == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize("quality", [1e-3, 1e3])
def test_extreme_damping_gives_finite_positive_covariances(quality):
    """A strongly damped oscillator is an exponential process of the slow rate ω·quality, to first order."""
    x = np.concatenate([[0.0, 1e-9, 1e-5], np.geomspace(1e-3, 1e4, 30)])[:, None]
    kernel = Harmonic(2 * np.pi, quality=quality)
    K = kernel.gram(x)
    assert np.isfinite(K).all() and np.linalg.eigvalsh(K)[0] > -1e-12
    assert np.isfinite(kernel.pullback(x, np.ones_like(K))).all()
    if quality < 1:
        np.testing.assert_allclose(K[0], np.exp(-quality * x[:, 0]), atol=3e-6)
    Q = kernel.state_space().transitions(np.diff(x[:, 0]))[1].reshape(-1, 2, 2)
    assert (np.linalg.eigvalsh(Q) > -1e-15).all()


def test_transitions_of_short_gaps_keep_their_digits():
    """Var f over a short time t in which velocities gain 4bt is 4bt³/3 to first order."""
    t = np.array([1e-8, 1e-6, 1e-4])
    for quality in (0.1, 0.5, 3.0):
        b = 0.5 / quality
        _, Q = Harmonic(2 * np.pi, quality=quality).state_space().transitions(t)
        np.testing.assert_allclose(Q[:, 0], 4 * b * t**3 / 3, rtol=1e-2)


@pytest.mark.parametrize("quality", [0.1, 0.499, 0.5 - 1e-7, 0.5, 0.5 + 1e-7, 0.501, 0.8, 20.0])
def test_the_state_space_form_has_the_evidence_and_gradient_of_a_dense_matrix(quality):
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 30, 90))[:, None], rng.normal(size=(90, 1))
    for kernel in (Harmonic(3.0, quality=quality), Harmonic(3.0, quality=quality) * Cosine(1.3) + Matern32(2.0)):
        dense, states = (rows(x).prior(kernel).observe(y, 0.1) for rows in (Dense, StateSpace))
        assert states.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
        expected = dense.gradient().by_kernel
        np.testing.assert_allclose(states.gradient().by_kernel, expected, rtol=1e-5, atol=1e-5)


def test_several_columns_are_refused_in_words():
    with pytest.raises(ValueError, match=r"Harmonic kernel is one of a single column, as in \.on\(0\); got 2"):
        Harmonic().gram(np.zeros((3, 2)))
