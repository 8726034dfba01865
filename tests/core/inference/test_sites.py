"""Laplace, EP and VI: published numbers, brute force, hard cases; their contract is in tests/contracts."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from credo.core.inference import Dense, Inducing, StateSpace, ep, laplace, softmax_laplace, vi
from credo.kernels import RBF, Linear, Matern32
from credo.likelihoods import Bernoulli, Poisson

RULES = {"laplace": laplace, "ep": ep, "vi": vi}
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)

FIVE = np.array(
    [(-1.07932, -1.83544), (1.15768, 2.91702), (3.26631, -3.85663), (1.79009, 0.11949), (-3.66051, 1.75159)]
)
LABELS = np.array([-1.0, 1.0, 1.0, 1.0, -1.0])


def table(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def prior_of(kernel, X):
    return Dense(X).prior(kernel)


def prior_with(K):
    """A prior of covariance K: a linear kernel on the rows of its Cholesky factor."""
    return prior_of(Linear(1.0), np.linalg.cholesky(K))


def test_published_evidences():
    prior = prior_of(RBF(2.0, variance=1.5**2), FIVE)
    assert -ep(prior, LABELS, Bernoulli("probit"), weight=np.ones(5)).log_evidence == pytest.approx(
        3.38359489, abs=2e-6
    )
    found = laplace(prior_of(RBF(1.0), FIVE), LABELS, Bernoulli("probit"), weight=np.ones(5))
    assert -found.log_evidence == pytest.approx(3.499024, abs=2e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_laplace_by_a_general_optimiser(link):
    K, likelihood = RBF(1.0).gram(FIVE), Bernoulli(link)
    inverse = np.linalg.inv(K)
    mode = optimize.minimize(
        lambda f: 0.5 * f @ inverse @ f - likelihood.log_prob(LABELS, f).sum(), np.zeros(5), tol=1e-12
    )
    curvature = -likelihood.derivatives(LABELS, mode.x)[1]
    truth = -mode.fun - 0.5 * np.linalg.slogdet(np.eye(5) + K * curvature)[1]
    found = laplace(prior_of(RBF(1.0), FIVE), LABELS, likelihood, weight=np.ones(5))
    assert found.log_evidence == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_two_rows_by_brute_force(link):
    """EP's marginals and evidence are nearly exact, the bound lies below, and Laplace is the furthest off."""
    K, y = np.array([[9.0, 6.0], [6.0, 8.0]]), np.array([1.0, 1.0])
    likelihood, one = Bernoulli(link), np.ones(2)
    axis = np.linspace(-15, 18, 700)
    f = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    logs = likelihood.log_prob(1.0, f).sum(axis=-1) + stats.multivariate_normal(cov=K).logpdf(f)
    cell = (axis[1] - axis[0]) ** 2
    truth = np.log(np.exp(logs).sum() * cell)
    mean = (np.exp(logs - truth)[..., None] * f).sum(axis=(0, 1)) * cell
    found = {name: rule(prior_with(K), y, likelihood, weight=one) for name, rule in RULES.items()}
    assert found["ep"].log_evidence == pytest.approx(truth, abs=6e-3)
    assert found["vi"].log_evidence < truth
    errors = {name: np.abs(part.posterior.mean - mean).max() for name, part in found.items()}
    assert errors["ep"] < errors["vi"] < errors["laplace"]


def test_counts_by_brute_force():
    """As above, for one small and one large count."""
    K, y, likelihood = np.array([[1.5, 0.9], [0.9, 2.0]]), np.array([0.0, 6.0]), Poisson()
    axis = np.linspace(-9, 6, 400)
    f = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    logs = likelihood.log_prob(y, f).sum(axis=-1) + stats.multivariate_normal(cov=K).logpdf(f)
    cell = (axis[1] - axis[0]) ** 2
    truth = np.log(np.exp(logs).sum() * cell)
    mean = (np.exp(logs - truth)[..., None] * f).sum(axis=(0, 1)) * cell
    found = {name: rule(prior_with(K), y, likelihood, weight=np.ones(2)) for name, rule in RULES.items()}
    assert found["ep"].log_evidence == pytest.approx(truth, abs=5e-3)
    assert truth - 0.1 < found["vi"].log_evidence < truth
    errors = {name: np.abs(part.posterior.mean - mean).max() for name, part in found.items()}
    assert errors["ep"] < errors["vi"] < errors["laplace"] < 0.3


@each_rule
@pytest.mark.parametrize("other", [StateSpace, Inducing], ids=["state space", "inducing points"])
def test_counts_in_other_representations(rule, other):
    """Rates from 0.05 to 150, and counts of weight two."""
    rng = np.random.default_rng(2)
    X = np.sort(rng.uniform(0, 6, size=(40, 1)), axis=0)
    y = rng.poisson(np.exp(1 + 4 * np.sin(X[:, 0]))).astype(float)
    kernel, weight = Matern32(1.5, variance=6.0), np.where(np.arange(40) % 7, 1.0, 2.0)
    new = np.array([[-1.0], [2.2], [X[5, 0]]])
    dense, found = (rule(make(X).prior(kernel), y, Poisson(), weight=weight) for make in (Dense, other))
    assert dense.converged and found.converged
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    np.testing.assert_allclose(found.gradient().by_kernel, dense.gradient().by_kernel, rtol=1e-5, atol=1e-5)
    for one, own in zip(found.posterior.latent(new), dense.posterior.latent(new), strict=True):
        np.testing.assert_allclose(one, own, rtol=1e-5, atol=1e-6)
    step = 1e-5
    ends = [
        rule(other(X).prior(kernel.with_params(variance=6.0 + s)), y, Poisson(), weight=weight).log_evidence
        for s in (step, -step)
    ]
    place = kernel.names.index("variance")
    assert found.gradient().by_kernel[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("rule", [laplace, vi])
def test_weights_are_copies(rule):
    X, y = table(12)
    kernel = RBF(1.0, variance=3.0)
    weight = np.arange(12) % 3 + 1
    copies = np.repeat(np.arange(12), weight)
    weighted = rule(prior_of(kernel, X), y, Bernoulli("logit"), weight=weight.astype(float))
    copied = rule(prior_of(kernel, X[copies]), y[copies], Bernoulli("logit"), weight=np.ones(len(copies)))
    assert weighted.log_evidence == pytest.approx(copied.log_evidence, abs=1e-6)
    np.testing.assert_allclose(
        weighted.posterior.mean[np.arange(12)], copied.posterior.mean[np.cumsum(weight) - 1], atol=1e-5
    )


@pytest.mark.parametrize("weight", [0.3, 4.0, 100.0])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_one_site_for_a_power_of_the_likelihood_is_exact_for_one_row(weight, link):
    """With a single row EP's tilted distribution is the posterior: its evidence is the integral."""
    variance = 50.0
    found = ep(prior_with(np.array([[variance]])), np.ones(1), Bernoulli(link), weight=np.array([weight]))

    def mass(f):
        return np.exp(weight * Bernoulli(link).log_prob(np.ones(1), np.array([f]))[0]) * stats.norm.pdf(f, 0, 50**0.5)

    truth = np.log(integrate.quad(mass, -60, 80, points=[-1, 0, 1, 3, 8], limit=500)[0])
    assert found.converged and found.log_evidence == pytest.approx(truth, abs=2e-6)


def test_ep_settles_where_rows_repeat_a_hundred_times():
    X, y = table(40)
    for kernel in (RBF(0.3, variance=100.0), RBF(1e-4, variance=100.0)):
        assert ep(prior_of(kernel, X), y, Bernoulli("probit"), weight=np.full(40, 100.0)).converged


@pytest.mark.parametrize("variance", [1e2, 1e6, 1e10])
@pytest.mark.parametrize("weight", [1.0, 1e2, 1e6])
def test_a_mode_that_is_reported_is_one(variance, weight):
    """At a mode a = w∇ ln p(y|f); where the digits don't suffice for that, it is said."""
    X, y = table(40)
    prior, weights = prior_of(RBF(3.0, variance=variance), X), np.full(40, weight)
    found = laplace(prior, y, Bernoulli("logit"), weight=weights)
    f = prior.multiply(found.start)
    gap = np.abs(weights * Bernoulli("logit").derivatives(y, f)[0] - found.start).max() / weight
    assert not found.converged or gap < 1e-3
    codes = np.arange(40) % 3
    several = softmax_laplace(prior, codes, 3, weight=weights)
    f = prior.multiply(several.start.T).T
    pi = np.exp(f - f.max(axis=0)) / np.exp(f - f.max(axis=0)).sum(axis=0)
    gap = np.abs(weights * ((codes == np.arange(3)[:, None]) - pi) - several.start).max() / weight
    assert not several.converged or gap < 1e-3


@each_rule
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e4, 1e8])
def test_no_prior_is_too_wide_or_too_narrow(rule, link, variance):
    X, y = table(30)
    found = rule(prior_of(RBF(0.5, variance=variance), X), y, Bernoulli(link), weight=np.ones(30))
    assert np.isfinite(found.log_evidence) and np.isfinite(found.posterior.mean).all()
    assert (found.posterior.variance > 0).all()
    assert found.log_evidence < 0
    if variance == 1e-8:
        assert found.log_evidence == pytest.approx(-30 * np.log(2), abs=1e-2)


@each_rule
def test_symmetry(rule):
    X, y = table(15)
    prior = prior_of(RBF(1.0, variance=2.0), X)
    one, other = (rule(prior, s * y, Bernoulli("logit"), weight=np.ones(15)) for s in (1, -1))
    np.testing.assert_allclose(one.posterior.mean, -other.posterior.mean, atol=1e-6)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-7)
