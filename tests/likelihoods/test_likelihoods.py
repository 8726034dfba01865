"""Likelihoods far out, with powers and with Student-t noise; what all of them keep is in tests/contracts."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from credo import GPClassifier
from credo.likelihoods import Bernoulli, StudentT, Tempered


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_far_out_there_are_still_digits(link):
    likelihood = Bernoulli(link)
    f, one = np.array([-1e4, -300.0, 300.0, 1e4]), np.ones(4)
    assert np.isfinite(likelihood.log_prob(one, f)).all()
    for part in likelihood.derivatives(one, f):
        assert np.isfinite(part).all()
    log_z, slope, curvature = likelihood.tilted(one, f, np.full(4, 2.0))
    assert np.isfinite(log_z).all() and np.isfinite(slope).all() and (curvature <= 0).all()


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_probability_is_the_average_of_the_link(link):
    likelihood = Bernoulli(link)
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    for mean, var in [(-3.0, 0.2), (0.5, 2.0), (4.0, 9.0)]:
        average = weights @ np.exp(likelihood.log_prob(np.ones(150), mean + np.sqrt(var) * nodes)) / weights.sum()
        found = likelihood.probability(np.array([mean]), np.array([var]))[0]
        assert found == pytest.approx(average, abs=2e-6)
        mirrored = likelihood.probability(np.array([-mean]), np.array([var]))[0]
        assert found + mirrored == pytest.approx(1.0, abs=1e-12)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match='"logit" or "probit"'):
        Bernoulli("cauchit")


def test_powers_of_one_among_others_are_the_likelihood_itself():
    y, mean, var = np.array([1.0, -1.0, 1.0]), np.array([0.3, 1.0, -2.0]), np.array([0.5, 2.0, 1.0])
    probit = Bernoulli("probit")
    mixed = np.stack(Tempered(probit, np.array([1.0, 2.0, 1.0])).tilted(y, mean, var))
    np.testing.assert_array_equal(mixed[:, [0, 2]], np.stack(probit.tilted(y, mean, var))[:, [0, 2]])
    alone = Tempered(probit, np.full(1, 2.0)).tilted(y[1:2], mean[1:2], var[1:2])
    np.testing.assert_allclose(mixed[:, 1], np.concatenate(alone), rtol=1e-12)


def _tilted_by_trapezoids(likelihood, mean, var):
    """ln Z, the mean's shift and the variance's ratio, from the mode found by bisection and a fine grid around it."""

    def slope(f):
        return likelihood.derivatives(np.ones(1), np.array([f]))[0][0] - (f - mean) / var

    low, high = mean, mean + var * slope(mean)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    width = 1 / np.sqrt(1 / var - likelihood.derivatives(np.ones(1), np.array([low]))[1][0])
    grids = [np.linspace(-reach, reach, 40001) for reach in (40 * width, 12 * np.sqrt(var))]
    t = np.sort(np.concatenate(grids))
    logs = likelihood.log_prob(np.ones_like(t), low + t) - 0.5 * (low - mean + t) ** 2 / var
    p = np.exp(logs - logs.max())
    total = trapezoid(p, t)
    center = trapezoid(p * t, t) / total
    ratio = trapezoid(p * (t - center) ** 2, t) / total / var
    return logs.max() + np.log(total / np.sqrt(2 * np.pi * var)), (low - mean + center) / var, ratio


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("power", [1e-3, 30.0, 5e4])
@pytest.mark.parametrize(("mean", "var"), [(-300.0, 1.0), (-20.0, 1e-3), (-3.0, 1e3), (0.0, 1.0), (3.0, 30.0)])
def test_tilted_moments_of_light_and_heavy_rows(link, power, mean, var):
    """Far from the label, where the mode is hundreds of standard deviations away, and where little is left to know."""
    likelihood = Tempered(Bernoulli(link), np.array([power]))
    log_z, slope, ratio = _tilted_by_trapezoids(likelihood, mean, var)
    found = likelihood.tilted(np.ones(1), np.array([mean]), np.array([var]))
    assert found[0][0] == pytest.approx(log_z, rel=1e-5, abs=1e-8)
    assert found[1][0] == pytest.approx(slope, rel=1e-5)
    assert 1 + found[2][0] * var == pytest.approx(ratio, rel=1e-5)


def test_moments_are_finite_for_any_mean():
    mean = np.array([-1e24, -1e12, 1e12, 1e24])
    likelihood = Tempered(Bernoulli("probit"), np.full(4, 180.0))
    arguments = np.sign(mean), mean, np.ones(4)
    for found in (*likelihood.tilted(*arguments), *likelihood.expected(*arguments)):
        np.testing.assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::credo.core.estimator.ConvergenceWarning")
def test_a_classifier_with_weights_of_thirteen_orders_of_magnitude():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
    model = GPClassifier(n_restarts=0, max_evaluations=4).fit(X, y, sample_weight=10 ** rng.uniform(-8, 4.7, 40))
    assert np.isfinite(model.log_evidence_) and np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("df", [2.05, 3.0, 8.0, 100.0, 1e6])
def test_the_components_of_student_noise_are_those_of_its_distribution(df):
    weights, variances = StudentT(0.7, df).components()
    law, std = stats.t(df, scale=0.7), np.sqrt(variances)
    assert weights @ variances == pytest.approx(law.var(), rel=1e-9)
    assert len(weights) < 50
    for y in 0.7 * np.array([0.0, 1.0, 4.0]):
        assert np.log(weights @ stats.norm(0, std).pdf(y)) == pytest.approx(law.logpdf(y), abs=1e-4)
        assert weights @ stats.norm(0, std).sf(y) == pytest.approx(law.sf(y), rel=1e-3)
    if df < 5:
        # The tail falls like a power, not like that of a normal distribution.
        assert np.log(weights @ stats.norm(0, std).pdf(1e3)) == pytest.approx(law.logpdf(1e3), abs=0.5)


@pytest.mark.parametrize(("df", "y", "var"), [(2.1, 1e4, 25.0), (4.0, 30.0, 1e-6), (1e4, 3.0, 0.3), (200.0, 30.0, 0.3)])
def test_tilted_moments_of_student_noise_far_from_the_target(df, y, var):
    """By a grid around both peaks of the integrand, and between them."""
    log_z, slope, curvature = (part[0] for part in StudentT(0.7, df).tilted(*(np.array([v]) for v in (y, -0.5, var))))
    a, std = np.linspace(-12, 12, 20_001), np.sqrt(var)
    f = np.unique(np.concatenate([-0.5 + std * a, y + 2 * a, np.linspace(-1.5, y + 1, 20_001)]))
    logs = stats.t(df, scale=0.7).logpdf(y - f) + stats.norm(-0.5, std).logpdf(f)
    p = np.exp(logs - logs.max())
    total = trapezoid(p, f)
    mean = trapezoid(p * (f + 0.5), f) / total
    ratio = trapezoid(p * (f + 0.5 - mean) ** 2, f) / total / var
    assert log_z == pytest.approx(logs.max() + np.log(total), rel=1e-6)
    assert slope == pytest.approx(mean / var, rel=1e-4)
    assert 1 + curvature * var == pytest.approx(ratio, rel=1e-4)


def test_student_noise_s_derivatives_by_its_parameters():
    squares, h = np.array([0.0, 0.3, 50.0]), 1e-5
    by_variance, by_df = StudentT(0.7, 5.0).at_squares_by_parameters(squares)
    scales = [np.sqrt(0.49 + s * h) for s in (1, -1)]
    ahead, behind = (StudentT(scale, 5.0).at_squares(squares) for scale in scales)
    np.testing.assert_allclose(by_variance, (ahead - behind) / (2 * h), rtol=1e-6)
    ahead, behind = (StudentT(0.7, 5.0 + s * h).at_squares(squares) for s in (1, -1))
    np.testing.assert_allclose(by_df, (ahead - behind) / (2 * h), rtol=1e-6)
