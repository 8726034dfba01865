"""Inducing points beside plain formulas with fewer points than rows; the contract suite has them with as many."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.contracts.test_representations import differences
from tests.reference.latent_gaussian import ObservedOracle, SitesOracle

from credo.core.inference import Dense, Inducing, choose, ep, no_basis
from credo.core.inference import inducing_sums as inducing_features
from credo.core.inference.inducing import SummaryPosterior
from credo.core.inference.inducing_sums import InducingFeatures
from credo.kernels import RBF, Matern52
from credo.likelihoods import Bernoulli

RNG = np.random.default_rng(3)
N = 90
X = RNG.uniform(-2, 2, size=(N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.2 * RNG.normal(size=(N, 2))
NOISE = RNG.uniform(0.1, 0.4, size=N)
POINTS = np.vstack([X[:9], RNG.uniform(-2, 2, size=(3, 2))])
NEW = RNG.uniform(-2.5, 2.5, size=(7, 2))
KERNEL = Matern52([0.9, 1.4], variance=1.3)


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch):
    monkeypatch.setattr(inducing_features, "_CHUNK_ENTRIES", 200)
    monkeypatch.setattr(inducing_features, "_MIN_CHUNK_ROWS", 16)


def constant(rows):
    return np.ones((len(rows), 1))


@dataclass
class LowRank:
    """Q = K_xu K_uu⁻¹ K_ux, with the diagonal of K at the training rows on request."""

    kernel: object
    points: np.ndarray
    fitc: bool = False

    def cross(self, rows, others):
        inverse = np.linalg.inv(self.kernel.gram(self.points))
        return self.kernel.cross(rows, self.points) @ inverse @ self.kernel.cross(self.points, others)

    def gram(self, rows):
        Q = self.cross(rows, rows)
        return Q + np.diag(self.left(rows)) if self.fitc else Q

    def left(self, rows):
        return self.kernel.diagonal(rows) - np.diag(self.cross(rows, rows))


def bound(kernel, noise, basis, Y=Y, points=POINTS):
    """Titsias (2009), equation 9, for each target."""
    low = LowRank(kernel, points)
    collapsed = ObservedOracle(low, X, Y, noise, basis).log_evidence
    return collapsed - 0.5 * Y.shape[1] * float((low.left(X) / noise).sum())


@pytest.mark.parametrize("basis", [no_basis, constant])
def test_the_bound_and_the_posterior_by_plain_formulas(basis):
    posterior = Inducing(X, POINTS).prior(KERNEL).observe(Y, NOISE, basis)
    low = LowRank(KERNEL, POINTS)
    oracle = ObservedOracle(low, X, Y, NOISE, basis)
    assert posterior.log_evidence == pytest.approx(bound(KERNEL, NOISE, basis), abs=1e-8)
    assert posterior.log_evidence < Dense(X).prior(KERNEL).observe(Y, NOISE, basis).log_evidence
    expected = oracle.covariance(NEW, NEW) + KERNEL.gram(NEW) - low.gram(NEW)
    np.testing.assert_allclose(posterior.covariance(NEW), expected, atol=1e-9)
    mean, variance = posterior.latent(NEW)
    np.testing.assert_allclose(mean, oracle.mean(NEW), atol=1e-9)
    np.testing.assert_allclose(posterior.expected(NEW), mean, atol=1e-12)
    np.testing.assert_allclose(variance, np.diag(expected), atol=1e-9)
    both = oracle.covariance(NEW, X[:4]) + KERNEL.cross(NEW, X[:4]) - low.cross(NEW, X[:4])
    np.testing.assert_allclose(posterior.covariance(NEW, X[:4]), both, atol=1e-9)


@pytest.mark.parametrize("basis", [no_basis, constant])
def test_the_gradient_of_the_bound(basis):
    found = Inducing(X, POINTS).prior(KERNEL).observe(Y, NOISE, basis).gradient()
    np.testing.assert_allclose(found.by_kernel, differences(KERNEL, lambda k: bound(k, NOISE, basis)), rtol=1e-6)
    for i in (0, 40, N - 1):
        step = 1e-5 * np.eye(N)[i]
        by_noise = (bound(KERNEL, NOISE + step, basis) - bound(KERNEL, NOISE - step, basis)) / 2e-5
        assert found.by_noise[i] == pytest.approx(by_noise, rel=1e-5, abs=1e-6)


def test_a_left_out_target_is_a_refit_with_the_same_points():
    mean, variance = Inducing(X, POINTS).prior(KERNEL).observe(Y, NOISE, constant).left_out()
    for i in (2, 50):
        rest = np.delete(np.arange(N), i)
        posterior = Inducing(X[rest], POINTS).prior(KERNEL).observe(Y[rest], NOISE[rest], constant)
        own_mean, own_variance = posterior.latent(X[i : i + 1])
        np.testing.assert_allclose(mean[i], own_mean[0], atol=1e-9)
        assert variance[i] == pytest.approx(own_variance[0] + NOISE[i], abs=1e-9)


def test_further_rows_become_points_while_there_is_room():
    part = Inducing(X[:70], POINTS, n_points=13).prior(KERNEL).observe(Y[:70], NOISE[:70], constant)
    grown = part.extended(X[70:], Y[70:], NOISE[70:])
    whole = Inducing(X, np.vstack([POINTS, X[70:71]])).prior(KERNEL).observe(Y, NOISE, constant)
    assert grown.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)


@pytest.mark.parametrize("nearly", [0.0, 1e-9])
def test_repeated_points_change_nothing(nearly):
    """K_uu is singular, or as good as."""
    repeated = np.vstack([POINTS, POINTS[:5] + nearly, POINTS[2:3]])
    once, twice = (Inducing(X, points).prior(KERNEL).observe(Y, NOISE, constant) for points in (POINTS, repeated))
    assert twice.log_evidence == pytest.approx(once.log_evidence, abs=1e-6)
    np.testing.assert_allclose(twice.gradient().by_kernel, once.gradient().by_kernel, rtol=1e-5)
    np.testing.assert_allclose(twice.latent(NEW)[1], once.latent(NEW)[1], atol=1e-7)
    prior = Inducing(X, repeated).prior(KERNEL)
    sites = ep(prior, np.sign(Y[:, 0]), Bernoulli("probit"), weight=np.ones(N))
    plain = ep(Inducing(X, POINTS).prior(KERNEL), np.sign(Y[:, 0]), Bernoulli("probit"), weight=np.ones(N))
    assert sites.log_evidence == pytest.approx(plain.log_evidence, abs=1e-6)


def test_a_smooth_kernel_with_more_points_than_its_rank():
    """K_uu of an RBF with 60 points in [−2, 2] has about 15 eigenvalues above rounding."""
    x, kernel = np.sort(X[:, :1], axis=0), RBF(1.5)
    posterior = Inducing(x, x[RNG.permutation(N)[:60]]).prior(kernel).observe(Y[:, :1], 0.1)
    exact = Dense(x).prior(kernel).observe(Y[:, :1], 0.1)
    assert posterior.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    np.testing.assert_allclose(posterior.gradient().by_kernel, exact.gradient().by_kernel, rtol=1e-4, atol=1e-4)


def test_the_points_chosen_explain_more_than_random_ones():
    """By the trace of what they leave; 16 of 90 rows are in a distant group, which a few random rows often miss."""
    rows = np.where(np.arange(N)[:, None] % 6 == 0, X + 20.0, X)
    chosen = Inducing(rows, n_points=20).adapted(KERNEL).points
    assert len(np.unique(chosen, axis=0)) == 20
    random = [LowRank(KERNEL, rows[RNG.choice(N, 20, replace=False)]).left(rows).sum() for _ in range(20)]
    assert LowRank(KERNEL, chosen).left(rows).sum() < np.median(random)


def test_adapted_points_stay_and_subsets_of_few_rows_are_exact():
    rows = Inducing(X, n_points=10).adapted(KERNEL)
    assert rows.prior(Matern52([2.0, 0.3])).features.size == 10
    np.testing.assert_array_equal(np.unique(rows.prior(KERNEL).features.points, axis=0), np.unique(rows.points, axis=0))
    methods = [each.evidence_method for each in (rows.subset(np.arange(20)), rows.subset(np.arange(21)), rows)]
    assert methods == ["exact", "elbo", "elbo"]


def test_summaries_of_parts_make_the_same_posterior():
    """In any parts and order, and without the rows themselves."""
    features = InducingFeatures.of(KERNEL, POINTS)
    parts = np.array_split(RNG.permutation(N), 5)
    posterior = SummaryPosterior.of_chunks(features, ((X[part], Y[part], NOISE[part]) for part in parts), constant)
    whole = Inducing(X, POINTS).prior(KERNEL).observe(Y, NOISE, constant)
    assert posterior.log_evidence == pytest.approx(whole.log_evidence, rel=1e-10)
    for found, expected in zip(posterior.latent(NEW), whole.latent(NEW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    with pytest.raises(ValueError, match="different inducing points"):
        features.summarize(X, Y, NOISE).merge(InducingFeatures.of(KERNEL, POINTS[:4]).summarize(X, Y, NOISE))
    with pytest.raises(ValueError, match="no chunks"):
        SummaryPosterior.of_chunks(features, [], constant)


def test_paths_have_the_posterior_s_moments():
    """2000 paths: five standard errors, and the error of the random features."""
    posterior = Inducing(X, POINTS).prior(KERNEL).observe(Y[:, :1], NOISE, constant)
    values = posterior.paths(2000, np.random.default_rng(0))(NEW)
    mean, variance = posterior.latent(NEW)
    assert (np.abs(values.mean(axis=0) - mean[:, 0]) < 5 * np.sqrt(variance / 2000)).all()
    np.testing.assert_allclose(np.cov(values.T), posterior.covariance(NEW), atol=0.15)


def test_sites_by_plain_formulas():
    precision, location = RNG.uniform(0.0, 3.0, N), RNG.normal(size=N)
    precision[3] = 0.0
    fitc = LowRank(KERNEL, POINTS, fitc=True)

    def oracle(kernel):
        return SitesOracle(LowRank(kernel, POINTS, fitc=True), X, precision, location)

    # The rows of points are known given the points, so that K itself is regular only without them.
    prior = Inducing(X, POINTS[9:]).prior(KERNEL)
    fitc.points = POINTS[9:]
    expected = SitesOracle(fitc, X, precision, location)
    posterior = prior.sites(precision, location)
    np.testing.assert_allclose(posterior.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance, np.diag(expected.cov), atol=1e-9)
    assert posterior.log_evidence == pytest.approx(expected.log_evidence, abs=1e-9)
    assert posterior.divergence == pytest.approx(expected.divergence, abs=1e-7)
    np.testing.assert_allclose(prior.multiply(location), fitc.gram(X) @ location, atol=1e-9)
    cross = fitc.cross(NEW, X)
    np.testing.assert_allclose(posterior.latent(NEW)[0], cross @ np.linalg.solve(expected.K, expected.mean), atol=1e-9)
    inverse = np.linalg.inv(expected.K + np.diag(1 / np.maximum(precision, 1e-12)))
    np.testing.assert_allclose(posterior.covariance(NEW), KERNEL.gram(NEW) - cross @ inverse @ cross.T, atol=1e-7)
    np.testing.assert_allclose(posterior.latent(NEW)[1], np.diag(posterior.covariance(NEW)), atol=1e-9)
    # And the derivatives with points among the rows.
    found = Inducing(X, POINTS).prior(KERNEL).sites(precision, location)
    slopes = differences(KERNEL, lambda k: oracle(k).log_evidence)
    np.testing.assert_allclose(found.gradient().by_kernel, slopes, rtol=1e-5)


def test_the_derivative_of_a_mean_of_sites():
    precision, location, s = RNG.uniform(0.1, 3.0, N), RNG.normal(size=N), RNG.normal(size=N)

    def value(kernel):
        posterior = Inducing(X, POINTS).prior(kernel).sites(precision, location)
        return posterior.log_evidence + s @ posterior.mean

    found = Inducing(X, POINTS).prior(KERNEL).sites(precision, location).gradient(s)
    np.testing.assert_allclose(found.by_kernel, differences(KERNEL, value), rtol=1e-5)


def test_draws_of_sites():
    """8000 draws: a covariance has a standard error of about 1/90 of the variances."""
    precision, location = RNG.uniform(0.1, 3.0, N), RNG.normal(size=N)
    posterior = Inducing(X, POINTS[9:]).prior(KERNEL).sites(precision, location)
    cov = SitesOracle(LowRank(KERNEL, POINTS[9:], fitc=True), X, precision, location).cov[:6, :6]
    rng = np.random.default_rng(0)
    draws = np.stack([posterior.draw(rng)[:6] for _ in range(8000)])
    spread = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert (np.abs(np.cov(draws.T) - cov) < 0.08 * spread).all()


def test_targets_without_noise_raise_an_error():
    with pytest.raises(ValueError, match="need a noise variance above zero"):
        Inducing(X, POINTS).prior(KERNEL).observe(Y, 0.0).latent(NEW)


def test_the_method_that_auto_chooses():
    few, many = np.zeros((5000, 5)), np.zeros((5001, 5))
    assert choose("auto", few, KERNEL) == ("exact", "")
    assert choose("auto", many, KERNEL) == ("inducing", "5001 rows are more than 5000")
    assert choose("auto", many[:, :2], KERNEL)[0] == "vecchia"
    assert choose("auto", many[:, :2], KERNEL, allowed=("exact", "inducing"))[0] == "inducing"
    assert choose("auto", many, KERNEL, allowed=("exact",))[0] == "exact"
    with pytest.raises(ValueError, match='this needs method="exact"; got method="inducing"'):
        choose("inducing", few, KERNEL, allowed=("exact",), purpose="this")


def test_the_digits_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(4)
    rows = rng.uniform(-2, 2, size=(3000, 2))
    y = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(3000, 1))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("credo.core.linalg.threads.n_threads", lambda threads=threads: threads)
        posterior = Inducing(rows, rows[:40]).prior(RBF([1.0, 1.5])).observe(y, 0.1)
        gradient = posterior.gradient()
        found.append([posterior.log_evidence, *gradient.by_kernel, *gradient.by_noise])
    np.testing.assert_array_equal(*found)
