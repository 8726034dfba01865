"""Random features: exact where they are finite, evenly spread where they are not, refused where there are none."""

import numpy as np
import pytest
from scipy import stats

from credo.kernels import (
    RBF,
    Categorical,
    Constant,
    Exponential,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    White,
    from_function,
)
from credo.kernels.spectra import gamma_mixture, harmonics, normal, sobol_points, student

RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(40, 3)) + 2.0


def errors(kernel, X, n=2048, seed=0):
    """ΦΦᵀ − K in units of the standard deviations."""
    Phi = kernel.features(X.mean(axis=0), n, np.random.default_rng(seed))(X)
    K = kernel.gram(X)
    return (Phi @ Phi.T - K) / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def rms(kernel, X, n=2048):
    return np.mean([np.sqrt(np.mean(errors(kernel, X, n, seed) ** 2)) for seed in range(5)])


@pytest.mark.parametrize(
    "kernel",
    [
        Constant(2.0),
        Linear([0.5, 1.0, 2.0]),
        Polynomial(4, offset=0.3, variance=2.0),
        Periodic(0.6, period=1.7, variance=3.0).on(1),
        Periodic([0.9, 1.5], period=[1.7, 2.0]).on([0, 2]),
        Linear() * Polynomial(2) * 3.0,
        Linear() * Periodic(1.0, period=2.0).on(0) + Constant(0.5),
        (Linear().on(0) + 1.0) * (Periodic(1.0).on(1) + 2.0),
    ],
    ids=repr,
)
def test_what_is_finite_is_exact(kernel):
    assert np.abs(errors(kernel, ROWS)).max() < 1e-10


@pytest.mark.parametrize(
    ("kernel", "bound"),
    [
        # Independent features would be off by about 1/√2048 = 0.02.
        (RBF(0.7).on(0), 0.001),
        (Matern52(0.7).on(0), 0.002),
        (Exponential(0.7).on(0), 0.005),
        (RBF(0.7).on([0, 1]), 0.003),
        (Matern32(0.7).on([0, 1]), 0.005),
        (RBF([0.7, 1.0, 2.0]), 0.005),
        (Matern52([0.7, 1.0, 2.0]), 0.009),
        (RationalQuadratic(1.0, shape=0.8), 0.009),
        (RBF(2.0) * Periodic(1.0, period=2.0).on(0), 0.01),
        (RBF(1.5) * Matern32(2.0), 0.012),
        (Matern32(0.7).on(0) * Categorical(0.3).on(1), 0.02),
    ],
    ids=repr,
)
def test_waves_are_closer_than_independent_ones(kernel, bound):
    rows = ROWS.copy()
    rows[:, 1] = np.rint(rows[:, 1]) if "Categorical" in repr(kernel) else rows[:, 1]
    assert rms(kernel, rows) < bound
    # Pairs of cosine and sine have exactly the variance of the kernel.
    assert np.abs(np.diag(errors(kernel, rows))).max() < 1e-12


def test_errors_vanish_as_features_grow():
    few, many = (rms(Exponential(1.0), ROWS, n) for n in (256, 8192))
    assert many < few / 5


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(3).on(slice(0, 20)),
        RBF(4.0) * Polynomial(3),
        Linear() * Linear() * Linear(),
    ],
    ids=repr,
)
def test_too_many_columns_are_projected(kernel):
    """Twenty columns to the third power: random signs, right on average."""
    X = RNG.normal(size=(8, 20)) / 3
    assert kernel.features(X.mean(axis=0), 2048, RNG).size <= 8 * 2048
    found = np.array([errors(kernel, X, 512, seed) for seed in range(60)])
    assert (np.abs(found.mean(axis=0)) < 6 * found.std(axis=0) / np.sqrt(60) + 1e-12).all()
    assert np.abs(errors(kernel, X, 4096)).max() < 0.3


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        (normal(1), stats.halfnorm.cdf),
        (student(1, 1.0), stats.halfcauchy.cdf),
        (student(1, 3.0), lambda r: stats.f.cdf(r**2, 1, 3)),
        (student(2, 3.0), lambda r: stats.f.cdf(r**2 / 2, 2, 3)),
        (student(3, 5.0), lambda r: stats.f.cdf(r**2 / 3, 3, 5)),
        (student(3, 1.0), lambda r: stats.f.cdf(r**2 / 3, 3, 1)),
    ],
)
def test_frequencies_follow_their_law(law, cdf):
    """The largest gap between the distribution functions of the lengths, of 4096 evenly spread frequencies."""
    frequencies = law.frequencies(sobol_points(4096, law.n_uniforms, np.random.default_rng(0)))
    assert stats.kstest(np.linalg.norm(frequencies, axis=1), cdf).statistic < 0.01
    # No direction is preferred: the mean of cos 2φ and of sin 2φ of any two coordinates is zero.
    if frequencies.shape[1] > 1:
        angle = 2 * np.arctan2(frequencies[:, 1], frequencies[:, 0])
        assert abs(np.cos(angle).mean()) < 0.02 and abs(np.sin(angle).mean()) < 0.02


def test_a_gamma_mixture_has_gamma_variances():
    """E ω² of a mixture of normals is the mean of the gamma law, one, and E ω⁴ three times its second moment."""
    law = gamma_mixture(1, 4.0)
    square = law.frequencies(sobol_points(1 << 15, law.n_uniforms, np.random.default_rng(0))) ** 2
    assert square.mean() == pytest.approx(1.0, rel=0.01)
    assert (square**2).mean() == pytest.approx(3 * (1 + 1 / 4), rel=0.03)


@pytest.mark.parametrize("concentration", [1e-6, 0.5, 40.0, 1e7])
def test_overtones_are_a_symmetric_law_of_the_right_variance(concentration):
    """The second derivative of exp(κ(cos t − 1)) at zero is −κ."""
    orders, weights = harmonics(concentration).atoms
    np.testing.assert_array_equal(orders, -orders[::-1])
    assert weights.sum() == pytest.approx(1.0) and (orders**2) @ weights == pytest.approx(concentration, rel=1e-6)


@pytest.mark.parametrize("n_uniforms", [1, 2, 7, 21202])
def test_points_are_evenly_spread(n_uniforms):
    """One point in each of n intervals of each coordinate, for as many coordinates as Sobol's sequence has."""
    points = sobol_points(64, n_uniforms, np.random.default_rng(0))
    assert points.shape == (64, n_uniforms) and (points > 0).all() and (points < 1).all()
    if n_uniforms < 21202:
        cells = np.sort((points * 64).astype(int), axis=0)
        np.testing.assert_array_equal(cells, np.broadcast_to(np.arange(64)[:, None], cells.shape))


def test_categories_may_have_any_code():
    """Codes that aren't whole numbers, never seen ones, and zeros of either sign."""
    X = np.array([[0.0], [-0.0], [0.5], [0.5], [1.25e-7], [7.0], [1e6], [-3.0]])
    kernel = Categorical(0.3, variance=2.0)
    found = errors(kernel, X)
    assert np.abs(found).max() < 0.1
    np.testing.assert_allclose(found[:2, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[2:4, 2:4], 0.0, atol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.7), Matern32([0.5, 1.0, 2.0]), Periodic(1.0, period=3.0)], ids=repr)
def test_offsets_cost_no_digits(kernel):
    near, far = (kernel.features(X.mean(axis=0), 256, np.random.default_rng(0))(X) for X in (ROWS, ROWS + 2.0**30))
    np.testing.assert_allclose(far, near, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "size"),
    [
        (RBF(), 2048),
        (RBF() + 1.0 + Linear(), 2048 + 4),
        (RBF() + Matern32() + Exponential(), 2048),
        (RBF() * (Matern32() + Exponential()), 2048),
    ],
    ids=repr,
)
def test_terms_share_the_features(kernel, size):
    assert kernel.features(np.zeros(3), 2048, RNG).size == size


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (White(0.1), r"kernel with White\(0.1\) .* noise belongs to observations"),
        (RBF() + White(0.1), r"use the model's noise instead, or draw values at given points with sample\(X\)"),
        (RBF() * White(0.1).on(0), r"kernel with White\(0.1\)"),
        (RBF().exp() + 1.0, r"RBF\(lengthscale=1\).exp\(\) has no random features.*sample\(X\)"),
        (2.0 * from_function(np.dot), r"2 \* from_function\(dot\) has no random features.*sample\(X\)"),
        (RBF([1.0, 2.0]), "2 length scales, but X has 3 columns"),
        (Periodic([1.0, 2.0]), "2 values of lengthscale, but X has 3 columns"),
        (RBF().on(7), r"columns \[7\], but X has only 3"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_has_no_features_says_what_to_do(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.features(np.zeros(3), 64, RNG)(ROWS)
