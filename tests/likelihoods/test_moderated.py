"""Probabilities averaged over uncertain logits: against brute-force integrals, and the laws they obey."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, ndtr, softmax

from credo.likelihoods import Bernoulli
from credo.likelihoods import bernoulli as moderated
from credo.linear._softmax import contrasts

VARIANCES = [1e-12, 1e-8, 1e-3, 0.1, 0.9, 1.9, 2.1, 4.0, 30.0, 1e3, 1e4]
MEANS = [0.0, -0.1, -1.0, -3.0, -8.0, -20.0, -60.0, -300.0]


def integral(mean, var):
    """E σ(a) by a trapezoidal rule of 200 001 nodes around both peaks of the integrand."""
    z, step = np.linspace(-12.0, 12.0 + np.sqrt(var), 200_001, retstep=True)
    return np.exp(log_expit(mean + np.sqrt(var) * z) - 0.5 * z**2).sum() * step / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("var", VARIANCES)
def test_quadrature_is_exact_for_every_mean_and_variance(var):
    found = moderated.expected_sigmoid(np.array(MEANS), np.full(len(MEANS), var))
    oracle = np.array([integral(mean, var) for mean in MEANS])
    np.testing.assert_allclose(found[:, 1], oracle, atol=1e-12, rtol=0)
    if var <= 10:
        np.testing.assert_allclose(found[:, 1], oracle, rtol=1e-10)


def test_known_logits_and_unknown_ones_are_the_limits():
    mean = np.array([-800.0, -30.0, -1.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(moderated.expected_sigmoid(mean, np.zeros(6))[:, 1], expit(mean), rtol=1e-12)
    # A logistic law of variance π²/3 is lost beside a normal one of 10¹².
    wide = moderated.expected_sigmoid(1e6 * mean, np.full(6, 1e12))[:, 1]
    np.testing.assert_allclose(wide, ndtr(mean), atol=1e-12)
    np.testing.assert_allclose(
        moderated.expected_sigmoid(np.array([-50.0]), np.ones(1))[:, 1], np.exp(-49.5), rtol=1e-12
    )


RULES = {
    "averaged": moderated.expected_sigmoid,
    "probit": moderated.probit,
    "draws": lambda mean, var: moderated.expected_sigmoid_over(moderated.normal_points(1)[:, 0], mean, np.sqrt(var)),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("var", [0.01, 1.0, 2.5, 100.0])
def test_laws_of_moderation(rule, var):
    mean = np.linspace(-12, 12, 97)
    probs = rule(mean, np.full(97, var))
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(probs[:, 1], rule(-mean, np.full(97, var))[:, 0], atol=1e-12)
    assert (np.diff(probs[:, 1]) >= 0).all()
    assert (np.abs(probs - 0.5) <= np.abs(moderated.plugin(mean) - 0.5) + 1e-12).all()
    wider = rule(mean, np.full(97, 1.5 * var))
    assert (np.abs(wider - 0.5) <= np.abs(probs - 0.5) + 1e-12).all()


def test_mackay_s_formula_is_near_the_integral_but_not_it():
    mean, var = np.meshgrid(np.linspace(-10, 10, 41), np.geomspace(0.01, 1e3, 30))
    gap = np.abs(moderated.probit(mean.ravel(), var.ravel()) - moderated.expected_sigmoid(mean.ravel(), var.ravel()))
    assert 0.005 < gap.max() < 0.02


def test_draws_tend_to_the_integral():
    mean, var = np.array([-2.0, 0.3, 5.0]), np.array([1.0, 4.0, 9.0])
    nodes = np.random.default_rng(0).standard_normal(200_000)
    found = moderated.expected_sigmoid_over(nodes, mean, np.sqrt(var))
    np.testing.assert_allclose(found, moderated.expected_sigmoid(mean, var), atol=4 / np.sqrt(200_000))


def test_intervals_are_quantiles_of_the_probability():
    mean, std = np.array([-3.0, 0.0, 1.0]), np.array([0.5, 2.0, 10.0])
    half = 1.6448536269514722 * std
    lower, upper = moderated.interval(mean - half, mean + half)
    for place, tail in ((lower, 0.05), (upper, 0.95)):
        np.testing.assert_allclose(ndtr((np.log(place[:, 1] / (1 - place[:, 1])) - mean) / std), tail, rtol=1e-9)
    np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1], atol=1e-15)
    np.testing.assert_allclose(upper[:, 0], 1 - lower[:, 1], atol=1e-15)


def gauss_hermite(mean, root, C, n=80):
    """E softmax of two latent values by a product rule."""
    z, w = np.polynomial.hermite_e.hermegauss(n)
    nodes = np.stack(np.meshgrid(z, z), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / (2 * np.pi)
    return np.array([weights @ softmax((m + nodes @ L.T) @ C.T, axis=1) for m, L in zip(mean, root, strict=True)])


def test_softmax_points_against_a_product_rule():
    rng = np.random.default_rng(3)
    mean, root = 2 * rng.normal(size=(40, 2)), np.tril(rng.normal(size=(40, 2, 2)))
    C, nodes = contrasts(3), moderated.normal_points(2)
    oracle = gauss_hermite(mean, root, C)
    np.testing.assert_allclose(moderated.expected_softmax(nodes, mean, root, C), oracle, atol=1e-4)
    np.testing.assert_allclose(
        moderated.expected_softmax(nodes, mean, 4 * root, C), gauss_hermite(mean, 4 * root, C, n=200), atol=1e-3
    )


def test_softmax_points_in_many_dimensions_against_monte_carlo():
    rng = np.random.default_rng(4)
    mean, root = 2 * rng.normal(size=(5, 9)), np.tril(rng.normal(size=(5, 9, 9)))
    C = contrasts(10)
    draws = rng.standard_normal((200_000, 9))
    oracle = moderated.expected_softmax(draws, mean, root, C)
    found = moderated.expected_softmax(moderated.normal_points(9), mean, root, C)
    # The draws' own error is 0.4/√200000 ≈ 0.001 at most.
    np.testing.assert_allclose(found, oracle, atol=3e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_two_classes_are_a_softmax_too():
    mean, var = np.array([-2.0, 0.3, 5.0]), np.array([0.5, 4.0, 9.0])
    C = contrasts(2)
    found = moderated.expected_softmax(moderated.normal_points(1), mean[:, None], np.sqrt(var)[:, None, None], C)
    np.testing.assert_allclose(found, moderated.expected_sigmoid(mean, var), atol=1e-4)
    logits = np.column_stack([np.zeros(3), mean])
    cov = np.zeros((3, 2, 2))
    cov[:, 1, 1] = var
    np.testing.assert_allclose(moderated.softmax_probit(logits, cov), moderated.probit(mean, var), rtol=1e-12)


def test_pairwise_probit_is_blind_to_what_classes_share():
    rng = np.random.default_rng(5)
    mean, half = rng.normal(size=(6, 4)), rng.normal(size=(6, 4, 4))
    cov = half @ half.swapaxes(1, 2)
    found = moderated.softmax_probit(mean, cov)
    np.testing.assert_allclose(moderated.softmax_probit(mean + 7.0, cov + 3.0), found, rtol=1e-10)
    np.testing.assert_allclose(moderated.softmax_probit(mean, 0 * cov), softmax(mean, axis=1), rtol=1e-12)


def test_softmax_intervals_of_two_classes_are_the_exact_ones():
    mean, std = np.array([-1.0, 0.5]), np.array([1.0, 3.0])
    half = 1.2815515655446004 * std
    exact = moderated.interval(mean - half, mean + half)
    nodes = moderated.normal_points(1)
    found = moderated.softmax_interval([nodes], mean[None, :, None], std[None, :, None, None], contrasts(2), 0.8)
    np.testing.assert_allclose(found, exact, atol=2e-3)


def test_points_of_a_normal_law():
    nodes = moderated.normal_points(3)
    np.testing.assert_allclose(nodes.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.cov(nodes.T), np.eye(3), atol=5e-3)
    np.testing.assert_array_equal(nodes, moderated.normal_points(3))


def test_three_routes_to_one_average():
    """By trapezes on the line, by panels around the mode, and by eight probits."""
    mean, std = (grid.ravel() for grid in np.meshgrid(np.linspace(-15, 15, 31), [0.1, 1.0, 4.0, 30.0]))
    found = moderated.expected_sigmoid(mean, std**2)[:, 1]
    np.testing.assert_allclose(expit(Bernoulli("logit").log_odds(mean, std**2)), found, rtol=1e-9)
    np.testing.assert_allclose(moderated.expected_sigmoid_fast(mean, std**2), found, atol=1e-8)
    np.testing.assert_allclose(moderated.expected_sigmoid_fast(mean, np.zeros_like(mean)), expit(mean), atol=1e-8)
