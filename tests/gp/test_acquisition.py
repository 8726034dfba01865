"""Expected improvement against quadrature, exact arithmetic, joint predictions and finite differences."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy import integrate, stats

from credo.distributions import Mixture, Normal, StudentT
from credo.gp import GPRegressor
from credo.gp.acquisition import (
    LogImprovement,
    LogSuccess,
    _ratios,
    ascend,
    expected_improvement,
    incumbent,
    log_expected_improvement,
    log_h,
)
from credo.kernels import RBF, Exponential, Linear, Matern32, Matern52, Periodic, RationalQuadratic, from_function
from credo.linear import LinearRegression

FIXED = {"hyperparameters": "fixed", "standardize": False}


class Told:
    """A model that predicts what it was told to."""

    def __init__(self, dist):
        self.dist = dist

    def predict_dist(self, X, *, latent):
        assert latent
        return self.dist


def fitted(kernel=None, n=25, noise=0.01, mean="constant"):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = 3.0 + np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + np.sqrt(noise) * rng.normal(size=n)
    return GPRegressor(kernel or Matern52([0.4, 0.6]), noise=noise, mean=mean, **FIXED).fit(X, y)


@pytest.mark.parametrize("best", [None, 2.0, 3.5])
def test_ei_is_the_mean_improvement(best):
    model = fitted()
    rows = np.random.default_rng(1).uniform(size=(6, 2))
    dist = model.predict_dist(rows, latent=True)
    target = model.predict(model.X_train_).min() if best is None else best
    for ei, m, s in zip(expected_improvement(model, rows, best=best), dist.mean, dist.std, strict=True):
        density = stats.norm(m, s).pdf
        low = min(m, target) - 12 * s
        oracle, _ = integrate.quad(
            lambda f, density=density: (target - f) * density(f), low, target, points=[m], epsabs=1e-14
        )
        assert ei == pytest.approx(oracle, rel=1e-7, abs=1e-13)


def exact_log_h(z):
    """ln(φ(z) + zΦ(z)) for z < 0 in 120 digits: Mills' ratio by Laplace's continued fraction."""
    getcontext().prec = 120
    x, tail = Decimal(-z), Decimal(0)
    for k in range(4000, 0, -1):
        tail = Decimal(k) / (x + tail)
    ratio = 1 - x / (x + tail)
    two_pi = Decimal("6.28318530717958647692528676655900576839433879875021")
    return float(-x * x / 2 - two_pi.ln() / 2 + ratio.ln())


@pytest.mark.parametrize("z", [-0.9, -1.0, -1.5, -5, -29.9, -30.1, -40, -1e3, -1e6])
def test_log_ei_has_its_digits_in_the_tail(z):
    exact = exact_log_h(z)
    assert log_h(np.array(float(z))) == pytest.approx(exact, rel=1e-13)
    # What is left after the square, where a difference of logarithms would have lost everything.
    assert log_h(np.array(float(z))) + 0.5 * z**2 == pytest.approx(exact + 0.5 * z**2, abs=1e-12 * (1 + z**2))
    model = Told(Normal([-2.0 * z], [2.0]))
    assert log_expected_improvement(model, [[0.0]], best=0.0)[0] == pytest.approx(exact + np.log(2), rel=1e-13)


@pytest.mark.parametrize("z", [3.0, 0.0, -0.99, -1.01, -5.0, -29.9, -30.1, -1e3, -1e8])
def test_the_derivatives_of_log_ei(z):
    by_gap, by_std = _ratios(z)
    if z > -100:
        step = 1e-6
        ahead, behind = (float(log_h(np.array(z + d))) for d in (step, -step))
        assert by_gap == pytest.approx((ahead - behind) / (2 * step), rel=1e-7)
    # EI = s h is φ + zΦ at s = 1: Φ/h·z + φ/h = 1.
    assert z * by_gap + by_std == pytest.approx(1.0, rel=1e-9, abs=4e-16 * z**2)
    if z < -1e3:
        assert by_gap == pytest.approx(-z, rel=1e-5)


def test_certain_values():
    model = Told(Normal([1.0, 2.0, 3.0, 0.5], [0.0, 0.0, 0.0, 1e-300]))
    np.testing.assert_array_equal(expected_improvement(model, np.zeros((4, 1)), best=2.0), [1.0, 0.0, 0.0, 1.5])
    np.testing.assert_array_equal(log_expected_improvement(model, np.zeros((4, 1)), best=2.0)[1:3], -np.inf)


def test_ei_grows_with_the_value_to_beat_and_with_doubt():
    model, row = fitted(), [[0.31, 0.27]]
    by_best = [log_expected_improvement(model, row, best=b)[0] for b in np.linspace(-80, 10, 100)]
    assert (np.diff(by_best) > 0).all() and np.isfinite(by_best).all()
    std = np.geomspace(1e-3, 1e3, 200)
    for gap in (-2.0, 0.0, 2.0):
        ei = expected_improvement(Told(Normal(np.full(200, -gap), std)), np.zeros((200, 1)), best=0.0)
        assert (np.diff(ei) >= -1e-14 * ei[1:]).all()
        assert (ei >= max(gap, 0.0) * (1 - 1e-15)).all()


def test_the_value_to_beat_is_no_lucky_observation():
    X = np.linspace(0, 1, 21)[:, None]
    y = np.zeros(21)
    y[10] = -3.0
    model = GPRegressor(RBF(0.5), noise=1.0, **FIXED).fit(X, y)
    assert incumbent(model) == pytest.approx(model.predict(X).min())
    assert incumbent(model) > -1.0


def test_a_mixture_improves_by_its_components():
    parts = [Normal([0.0, 1.0], [1.0, 2.0]), Normal([3.0, -1.0], [0.5, 1.0])]
    weights = [0.3, 0.7]
    each = [expected_improvement(Told(part), np.zeros((2, 1)), best=0.5) for part in parts]
    mixed = expected_improvement(Told(Mixture(parts, weights)), np.zeros((2, 1)), best=0.5)
    np.testing.assert_allclose(mixed, 0.3 * each[0] + 0.7 * each[1], rtol=1e-14)


def test_what_cannot_be_improved_on_is_refused_in_words():
    model = LinearRegression().fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="LinearRegression doesn't keep its training rows: pass best="):
        expected_improvement(model, [[0.0]])
    with pytest.raises(TypeError, match="needs normal predictions of one target; got StudentT"):
        expected_improvement(Told(StudentT([3.0], [0.0], [1.0])), [[0.0]], best=0.0)


def test_without_noise_the_surface_is_log_ei():
    model = fitted(noise=0.0, n=12)
    rows = np.random.default_rng(2).uniform(size=(20, 2))
    np.testing.assert_allclose(LogImprovement(model).values(rows), log_expected_improvement(model, rows), rtol=1e-6)


def test_with_noise_the_surface_knows_the_covariance_with_the_incumbent():
    model = fitted(noise=0.2, mean="linear")
    best = model.X_train_[np.argmin(model.predict(model.X_train_))]
    surface = LogImprovement(model)
    for row in np.random.default_rng(2).uniform(size=(8, 2)):
        joint = model.predict_dist(np.stack([best, row]), latent=True, joint=True)
        gap, v = joint.mean[0] - joint.mean[1], np.array([1, -1]) @ joint.cov @ np.array([1, -1])
        shown = Told(Normal([-gap], [v / np.sqrt(v + 0.2)]))
        oracle = log_expected_improvement(shown, [[0.0]], best=0.0)
        np.testing.assert_allclose(surface.values(row[None]), oracle, rtol=1e-8)
    assert surface.values(best[None])[0] < -15


KERNELS = [
    RBF([0.3, 0.5]),
    Exponential([0.3, 0.5]),
    Matern32([0.3, 0.5]),
    Matern52(0.4, variance=2.0),
    RationalQuadratic([0.3, 0.5], shape=0.7),
    Periodic(1.0, period=0.8),
    RBF(0.4) + Linear(0.5),
    RBF(0.4) * Matern32(0.7),
    (RBF(0.4) + Matern52([0.5, 0.2])) * Linear([1.0, 2.0]),
]


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_slopes_are_those_of_finite_differences(kernel, mean):
    """On more training rows than share one Gram matrix, so that the parts are put together as well."""
    surface = LogImprovement(fitted(kernel, n=90, mean=mean))
    for row in np.random.default_rng(3).uniform(size=(3, 2)):
        value, slope = surface.slope(row)
        assert value == pytest.approx(surface.values(row[None])[0], rel=1e-10)
        assert slope == pytest.approx(surface.by_differences(row), rel=2e-5, abs=2e-5)


def test_a_kernel_without_slopes_is_climbed_by_differences():
    smooth = fitted(RBF(0.5), n=12, noise=1e-6)
    plain = fitted(from_function(lambda x, z: float(np.exp(-2 * (x - z) @ (x - z)))), n=12, noise=1e-6)
    row = np.array([0.9, 0.4])
    assert LogImprovement(plain).slope(row)[1] == pytest.approx(LogImprovement(smooth).slope(row)[1], rel=1e-2)


def test_the_chance_of_success():
    rng = np.random.default_rng(4)
    good, bad = rng.uniform(size=(6, 2)), rng.uniform(size=(4, 2))
    surface = LogSuccess(good, bad)
    np.testing.assert_allclose(surface.values(good), 0.0, atol=1e-12)
    assert (surface.values(bad) == -np.inf).all()
    rows = rng.uniform(size=(20, 2))
    chances = np.exp(surface.values(rows))
    weights = 1 / np.linalg.norm(rows[:, None] - np.vstack([good, bad])[None], axis=2) ** 4
    np.testing.assert_allclose(chances, weights[:, :6].sum(axis=1) / weights.sum(axis=1), rtol=1e-12)
    for row in rows[:5]:
        steps = 1e-6 * np.eye(2)
        differences = (surface.values(row + steps) - surface.values(row - steps)) / 2e-6
        assert surface.slope(row)[1] == pytest.approx(differences, rel=1e-5, abs=1e-6)


class Bowl:
    def __init__(self, top):
        self.top = np.asarray(top)

    def slope(self, row):
        return -float(((row - self.top) ** 2).sum()), -2 * (row - self.top)


@pytest.mark.parametrize("top", [[0.3, 0.8], [-0.5, 0.2], [2.0, 2.0]])
def test_climbing_ends_at_the_summit_or_on_the_border(top):
    end = ascend([Bowl(top)], np.array([0.5, 0.6]))
    np.testing.assert_allclose(end, np.clip(top, 0, 1), atol=1e-4)
    assert ((end >= 0) & (end <= 1)).all()
