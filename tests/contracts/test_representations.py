"""Every representation that `method=` can name equals dense formulas where it is exact, and keeps the contract.

A representation is found in the look-up. One that approximates is to be given a table on which it is exact (as many
inducing points as rows, as many neighbours as rows): `full_rank` is the place for that.
"""

import numpy as np
import pytest
from tests.reference.latent_gaussian import ObservedOracle, SitesOracle

from credo.core.inference import REPRESENTATIONS, ep, laplace, no_basis, vi
from credo.kernels import (
    RBF,
    Constant,
    Cosine,
    Exponential,
    Harmonic,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    ZeroMeanPeriodic,
)
from credo.likelihoods import Bernoulli, Gaussian

RNG = np.random.default_rng(1)
N = 18
X = np.sort(RNG.uniform(-2, 2, size=(N, 1)), axis=0)
Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(X[:, 0])]) + 0.2 * RNG.normal(size=(N, 2))
NOISE = RNG.uniform(0.1, 0.4, size=N)
NEW = np.array([[-3.0], [-0.4], [0.3], [X[4, 0]], [2.5]])
LABELS = np.where(Y[:, 0] > 0, 1.0, -1.0)
PRECISION, LOCATION = RNG.uniform(0.0, 3.0, N), RNG.normal(size=N)


def constant(rows):
    return np.ones((len(rows), 1))


def linear(rows):
    return np.column_stack([np.ones(len(rows)), rows])


BASES = {"zero": no_basis, "constant": constant, "linear": linear}
KERNELS = [Matern52(0.8, variance=1.4), Matern32(1.1) + Linear(0.3), RBF(0.4)]
# Representations whose prior has no square root at the training rows.
WITHOUT_ROOT = {"inducing"}
# Representations of some kernels only, and which they are instead of those above.
SPECIAL = {
    "state_space": [
        *KERNELS[:2],
        Matern32(1.1),
        (2.0 * Exponential(0.6)).on(0),
        Matern32(0.9) * Exponential([1.5]) + Linear(0.3, center=0.4) * Matern52(2.0) + Constant(0.5),
        Periodic(0.9, period=1.5) * Matern32(3.0),
        ZeroMeanPeriodic(1.2, period=2.0) + Exponential(1.0),
        Harmonic(1.7, quality=2.5, variance=1.3),
        Harmonic(1.7, quality=0.2) + Cosine(2.0, variance=0.6),
        Harmonic(2.0, quality=0.45) * Matern32(3.0) + Harmonic(0.8, quality=0.9) * Linear(0.3),
    ],
}
RULES = {"laplace": laplace, "ep": ep, "vi": vi}


def full_rank(name, rows):
    """A representation of these rows that is exact."""
    return REPRESENTATIONS[name](rows)


# Representations of targets with normal noise only.
WITHOUT_SITES = {"vecchia", "committee"}

every = pytest.mark.parametrize("name", REPRESENTATIONS)


def pairs(names):
    found = [(name, kernel) for name in names for kernel in SPECIAL.get(name, KERNELS)]
    return pytest.mark.parametrize(("name", "kernel"), found, ids=[f"{name}-{kernel!r}" for name, kernel in found])


WITH_SITES = [name for name in REPRESENTATIONS if name not in WITHOUT_SITES]
every_with_sites = pytest.mark.parametrize("name", WITH_SITES)
every_kernel, every_kernel_with_sites = pairs(REPRESENTATIONS), pairs(WITH_SITES)
every_basis = pytest.mark.parametrize("basis", BASES.values(), ids=BASES)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def moved(kernel, entry, step):
    """The kernel with one entry of its parameters changed, in natural units."""
    values = {}
    for path, value in kernel.params.items():
        size = np.size(value)
        if 0 <= entry < size:
            values[path.replace(".", "__")] = value + step if not np.ndim(value) else value + step * np.eye(size)[entry]
        entry -= size
    return kernel.with_params(**values)


def differences(kernel, value):
    """∂ value(kernel)/∂θ for every entry, by central differences."""
    n = sum(np.size(entry) for entry in kernel.params.values())
    return [(value(moved(kernel, i, 1e-5)) - value(moved(kernel, i, -1e-5))) / 2e-5 for i in range(n)]


@every_kernel
@every_basis
def test_observations_by_dense_formulas(name, kernel, basis):
    posterior = full_rank(name, X).prior(kernel).observe(Y, NOISE, basis)
    oracle = ObservedOracle(kernel, X, Y, NOISE, basis)
    close(posterior.log_evidence, oracle.log_evidence)
    for rows, mean, variance in [(X, posterior.mean, posterior.variance), (NEW, *posterior.latent(NEW))]:
        close(mean, oracle.mean(rows))
        close(variance, np.diag(oracle.covariance(rows, rows)))
    close(posterior.expected(NEW), oracle.mean(NEW))
    close(posterior.covariance(NEW), oracle.covariance(NEW, NEW))
    close(posterior.covariance(NEW, X[:3]), oracle.covariance(NEW, X[:3]))


@every_kernel
@every_basis
def test_gradient_is_that_of_the_evidence(name, kernel, basis):
    representation = full_rank(name, X)

    def value(kernel=kernel, noise=NOISE):
        return representation.prior(kernel).observe(Y, noise, basis).log_evidence

    posterior = representation.prior(kernel).observe(Y, NOISE, basis)
    before, gradient = posterior.latent(NEW), posterior.gradient()
    np.testing.assert_allclose(gradient.by_kernel, differences(kernel, value), rtol=1e-5, atol=1e-5)
    for i in (0, 7, N - 1):
        step = 1e-5 * np.eye(N)[i]
        difference = (value(noise=NOISE + step) - value(noise=NOISE - step)) / 2e-5
        assert gradient.by_noise[i] == pytest.approx(difference, rel=1e-5, abs=1e-5)
    alone = representation.prior(kernel).observe(Y, NOISE, basis)
    np.testing.assert_allclose(alone.by_noise(), gradient.by_noise, rtol=1e-7, atol=1e-9)
    # A gradient may use up the factor; what is asked afterwards is the same.
    for earlier, later in zip(before, posterior.latent(NEW), strict=True):
        np.testing.assert_allclose(later, earlier, rtol=1e-9, atol=1e-12)
    close(posterior.gradient().by_kernel, gradient.by_kernel)


@every
@every_basis
def test_left_out_targets_are_refits(name, basis):
    kernel = KERNELS[0]
    mean, variance = full_rank(name, X).prior(kernel).observe(Y, NOISE, basis).left_out()
    for i in range(0, N, 5):
        rest = np.delete(np.arange(N), i)
        oracle = ObservedOracle(kernel, X[rest], Y[rest], NOISE[rest], basis)
        close(mean[i], oracle.mean(X[i : i + 1])[0])
        close(variance[i], oracle.covariance(X[i : i + 1], X[i : i + 1])[0, 0] + NOISE[i])


@every
@every_basis
def test_an_extended_posterior_is_a_refit(name, basis):
    kernel = KERNELS[0]
    part = full_rank(name, X[:12]).prior(kernel).observe(Y[:12], NOISE[:12], basis)
    grown = part.extended(X[12:15], Y[12:15], NOISE[12:15]).extended(X[15:], Y[15:], NOISE[15:])
    whole = full_rank(name, X).prior(kernel).observe(Y, NOISE, basis)
    close(grown.log_evidence, whole.log_evidence)
    close(grown.covariance(NEW), whole.covariance(NEW))
    close(grown.expected(NEW), whole.expected(NEW))
    close(grown.gradient().by_kernel, whole.gradient().by_kernel)


@every_kernel
def test_a_subset_is_those_rows(name, kernel):
    rows = np.array([0, 3, 4, 9, 15])
    subset = full_rank(name, X).subset(rows).prior(kernel).observe(Y[rows], NOISE[rows], constant)
    close(subset.log_evidence, ObservedOracle(kernel, X[rows], Y[rows], NOISE[rows], constant).log_evidence)


@every
@every_basis
def test_differences_between_two_points(name, basis):
    kernel, origin = KERNELS[0], X[4]
    posterior = full_rank(name, X).prior(kernel).observe(Y, NOISE, basis)
    mean, variance = posterior.difference(NEW, origin)
    both = np.vstack([NEW, origin])
    oracle = ObservedOracle(kernel, X, Y, NOISE, basis)
    cov = oracle.covariance(both, both)
    close(mean, oracle.mean(NEW)[:, 0] - oracle.mean(origin[None])[0, 0])
    close(variance, np.diag(cov)[:-1] + cov[-1, -1] - 2 * cov[:-1, -1])
    row, step = np.array([0.37]), 1e-5

    def combined(x):
        mean, variance = posterior.difference(np.array([[x]]), origin)
        return 0.7 * mean[0] - 1.3 * variance[0]

    slope = posterior.difference_gradient(row, origin, by_mean=0.7, by_variance=-1.3)
    expected = (combined(row[0] + step) - combined(row[0] - step)) / (2 * step)
    np.testing.assert_allclose(slope, [expected], rtol=1e-5, atol=1e-6)


@every
def test_paths_have_the_posterior_s_moments(name):
    """2000 paths: five standard errors, and the error of the random features."""
    posterior = full_rank(name, X).prior(KERNELS[0]).observe(Y[:, :1], NOISE, constant)
    values = posterior.paths(2000, np.random.default_rng(0))(NEW)
    mean, variance = posterior.latent(NEW)
    assert (np.abs(values.mean(axis=0) - mean[:, 0]) < 5 * np.sqrt(variance / 2000)).all()
    np.testing.assert_allclose(np.cov(values.T), posterior.covariance(NEW), atol=0.15)


@every_kernel_with_sites
def test_sites_by_dense_formulas(name, kernel):
    """With precisions down to zero; the oracle inverts K, hence the coarser grid of rows."""
    rows = X[::3]
    precision, location = PRECISION[::3].copy(), LOCATION[::3]
    precision[2] = 0.0
    posterior = full_rank(name, rows).prior(kernel).sites(precision, location)
    oracle = SitesOracle(kernel, rows, precision, location)
    close(posterior.mean, oracle.mean)
    close(posterior.variance, np.diag(oracle.cov))
    close(posterior.log_evidence, oracle.log_evidence)
    close(posterior.divergence, oracle.divergence)
    close(posterior.alpha, location - precision * posterior.mean)
    close(posterior.alpha, posterior.weights(location))
    mean, cov = oracle.latent(NEW)
    close(posterior.latent(NEW)[0], mean)
    close(posterior.latent(NEW)[1], np.diag(cov))
    close(posterior.covariance(NEW), cov)
    close(posterior.covariance(NEW, NEW[:2]), cov[:, :2])


@every_kernel_with_sites
def test_the_gradient_of_sites_is_a_difference(name, kernel):
    representation, by_mean = full_rank(name, X), RNG.normal(size=N)

    def value(kernel):
        posterior = representation.prior(kernel).sites(PRECISION, LOCATION)
        return np.array([posterior.log_evidence, by_mean @ posterior.mean])

    posterior = representation.prior(kernel).sites(PRECISION, LOCATION)
    plain, more = np.array(differences(kernel, value)).T
    np.testing.assert_allclose(posterior.gradient().by_kernel, plain, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(posterior.gradient(by_mean).by_kernel, plain + more, rtol=1e-5, atol=1e-5)


@every_kernel_with_sites
def test_sites_of_a_gaussian_likelihood_are_observations(name, kernel):
    prior, y = full_rank(name, X).prior(kernel), Y[:, :1]
    sites, observed = prior.sites(1 / NOISE, y[:, 0] / NOISE), prior.observe(y, NOISE)
    constant = -0.5 * float((np.log(2 * np.pi * NOISE) + y[:, 0] ** 2 / NOISE).sum())
    close(sites.log_evidence + constant, observed.log_evidence)
    close(sites.latent(NEW)[0], observed.latent(NEW)[0][:, 0])
    close(sites.latent(NEW)[1], observed.latent(NEW)[1])
    close(sites.gradient().by_kernel, observed.gradient().by_kernel)


@every_with_sites
def test_draws_at_the_training_rows(name):
    """8000 draws: a covariance has a standard error of about 1/90 of the variances."""
    prior, rng = full_rank(name, X).prior(KERNELS[0]), np.random.default_rng(0)
    posterior = prior.sites(PRECISION, LOCATION)
    draws = np.stack([posterior.draw(rng) for _ in range(8000)])
    cov = posterior.covariance(X)
    spread = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert (np.abs(draws.mean(axis=0)) < 5 * np.sqrt(np.diag(cov) / 8000)).all()
    assert (np.abs(np.cov(draws.T) - cov) < 0.08 * spread).all()


@every_with_sites
def test_a_root_of_the_prior_covariance(name):
    prior = full_rank(name, X).prior(KERNELS[0])
    K = KERNELS[0].gram(X)
    close(prior.multiply(LOCATION), K @ LOCATION)
    if name in WITHOUT_ROOT:
        with pytest.raises(ValueError, match='method="exact"'):
            prior.color(LOCATION)
        with pytest.raises(ValueError, match='method="exact"'):
            prior.whiten(LOCATION)
        return
    L = np.column_stack([prior.color(z) for z in np.eye(N)])
    close(L @ L.T, K)
    close(prior.whiten(prior.color(LOCATION)), LOCATION)


@every_with_sites
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_with_gaussian_noise_every_rule_is_exact(name, rule):
    kernel, y, weight = KERNELS[0], Y[:, 0], np.arange(N) % 3 + 1.0
    prior = full_rank(name, X).prior(kernel)
    found = rule(prior, y, Gaussian(0.3), weight=weight)
    exact = prior.observe(y[:, None], 0.3 / weight)
    close(found.posterior.mean, exact.mean[:, 0])
    close(found.posterior.variance, exact.variance)
    close(found.gradient().by_kernel, exact.gradient().by_kernel)
    # k copies of an observation, beside their mean of variance σ²/k.
    copies = -0.5 * float(((weight - 1) * np.log(2 * np.pi * 0.3) + np.log(weight)).sum())
    assert found.converged and found.log_evidence == pytest.approx(exact.log_evidence + copies, abs=1e-7)


@every_with_sites
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_every_rule_has_the_gradient_of_its_evidence(name, rule, link):
    kernel, representation = Matern52(0.7, variance=4.0), full_rank(name, X)
    weight = np.arange(N) % 3 + 0.5

    def value(kernel):
        return rule(representation.prior(kernel), LABELS, Bernoulli(link), weight=weight).log_evidence

    gradient = rule(representation.prior(kernel), LABELS, Bernoulli(link), weight=weight).gradient()
    np.testing.assert_allclose(gradient.by_kernel, differences(kernel, value), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(WITHOUT_SITES))
def test_what_has_no_sites_says_so(name):
    prior = full_rank(name, X).prior(KERNELS[0])
    for use in (lambda: prior.sites(PRECISION, LOCATION), lambda: prior.multiply(LOCATION), lambda: prior.color(X)):
        with pytest.raises(ValueError, match='use method="inducing" or "exact"'):
            use()
