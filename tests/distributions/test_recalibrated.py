"""Recalibrated distributions against order statistics, quadrature, and their base."""

import numpy as np
import pytest
from scipy import integrate, stats

from credo.distributions import GivenGroup, Mixture, Normal, Recalibrated, StudentT
from credo.likelihoods import Gamma, NegativeBinomial
from credo.likelihoods.marginal import Marginal


@pytest.mark.parametrize("base", [Normal([0.0, 3.0], [1.0, 2.0]), StudentT(4.0, [0.0, 3.0], 1.0)], ids=["normal", "t"])
def test_one_and_one_is_the_base(base):
    same, y, q = Recalibrated(base, 1.0, 1.0), np.array([[-3.0, 0.2], [0.7, 9.0]]), [1e-9, 0.1, 0.5, 0.99]
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(same, name)(y), getattr(base, name)(y), rtol=1e-9)
    np.testing.assert_allclose(same.quantile(q), base.quantile(q), rtol=1e-12)
    np.testing.assert_allclose([same.mean, same.std], [base.mean, base.std], rtol=1e-9)


def test_a_normal_gives_its_order_statistics():
    """The k-th of n draws has a cdf B(F) with a = k, b = n + 1 − k."""
    largest, middle = Recalibrated(Normal(5.0, 2.0), 3.0, 1.0), Recalibrated(Normal(5.0, 2.0), 2.0, 2.0)
    # Of three: the mean of the largest is 3/(2√π), the variance of the median 1 − √3/π.
    np.testing.assert_allclose(largest.mean, 5.0 + 2.0 * 1.5 / np.sqrt(np.pi), rtol=1e-9)
    np.testing.assert_allclose([middle.mean, middle.var], [5.0, 4.0 * (1 - np.sqrt(3) / np.pi)], rtol=1e-9)
    np.testing.assert_allclose(largest.cdf(6.0), stats.norm.cdf(0.5) ** 3, rtol=1e-12)
    np.testing.assert_allclose(largest.log_prob(6.0), np.log(3 * stats.norm.cdf(0.5) ** 2 * stats.norm.pdf(0.5) / 2))


@pytest.mark.parametrize(("a", "b"), [(0.6, 0.6), (0.8, 1.7), (3.0, 2.0)])
def test_moments_are_those_of_the_density(a, b):
    base = Mixture([Normal(-2.0, 0.5), Normal(1.0, 2.0)], [0.4, 0.6])
    dist = Recalibrated(base, a, b)

    def moment(power):
        return integrate.quad(
            lambda y: y**power * np.exp(float(dist.log_prob(y))), -25, 25, points=[-2, 0, 1], limit=300
        )[0]

    np.testing.assert_allclose([moment(0), moment(1), moment(2)], [1.0, dist.mean, dist.var + dist.mean**2], rtol=1e-6)


def test_tails_that_are_too_heavy_have_no_moments():
    dist = Recalibrated(StudentT([1.5, 3.0, 30.0], 0.0, 1.0), 0.5, 1.0)
    # Tails of index 0.75, 1.5 and 15.
    assert np.isnan(dist.mean).tolist() == [True, False, False]
    assert np.isinf(dist.std).tolist() == [True, True, False]
    assert np.isfinite(dist.crps([0.0, 0.0, 0.0])).all()
    assert np.isinf(Recalibrated(StudentT(1.0, 0.0, 1.0), 0.4, 1.0).crps(0.0))


def test_far_tails_keep_their_digits():
    dist = Recalibrated(Normal(0.0, 1.0), 2.0, 0.5)
    assert np.isfinite(dist.log_prob([-30.0, 30.0])).all()
    lower, upper = dist.interval(1 - 1e-14)
    np.testing.assert_allclose(dist.cdf(lower), 5e-15, rtol=1e-2)
    # 1 − B(F) = 1 − (1 − t)^(1/2) … with t = 1 − F: the survival function of a Beta(0.5, 2) in t.
    np.testing.assert_allclose(stats.beta.cdf(stats.norm.sf(upper), 0.5, 2.0), 5e-15, rtol=1e-2)


def test_bad_arguments():
    with pytest.raises(TypeError, match="base must be a distribution of numbers"):
        Recalibrated(0.3, 1.0, 1.0)
    for a, b, name in ((0.0, 1.0, "a"), (1.0, np.inf, "b"), (np.nan, 1.0, "a")):
        with pytest.raises(ValueError, match=f"{name} must be a positive number"):
            Recalibrated(Normal(0.0, 1.0), a, b)


MAPS = [lambda base: Recalibrated(base, 2.0, 1.3), lambda base: GivenGroup(base, 0.7, 0.6)]


@pytest.mark.parametrize("mapped", MAPS, ids=["beta", "group"])
def test_densities_beside_a_point_mass_are_mapped_too(mapped):
    """Amounts that are often zero: the density above zero integrates to 1 − F(0)."""
    amounts = Marginal(Gamma(4.0), np.log([2.0]), [0.3], [0.4])
    for base in (amounts, Mixture([amounts, Normal([2.0], [1.5])], [0.5, 0.5])):
        dist = mapped(base)
        total = integrate.quad(lambda y, d=dist: np.exp(d.log_prob(y)[0]), 0, 60, points=[1, 4], limit=300)[0]
        assert total == pytest.approx(1.0 - dist.cdf(0.0)[0], rel=1e-7)
    assert np.exp(mapped(amounts).log_prob(0.0)) == pytest.approx(mapped(amounts).cdf(0.0))


@pytest.mark.parametrize("mapped", MAPS, ids=["beta", "group"])
def test_probabilities_of_counts_are_differences_of_the_cdf(mapped):
    base = Marginal(NegativeBinomial(2.0), np.log([3.0]), [0.3])
    dist, k = mapped(base), np.arange(300.0)
    probs = np.exp(dist.log_prob(k))
    np.testing.assert_allclose(np.cumsum(probs), dist.cdf(k[:, None]).ravel(), atol=1e-12)
    # Far out, where F has no digits left.
    assert np.isfinite(GivenGroup(base, -2.0, 0.3).log_prob(k)).all() and np.isneginf(dist.log_prob(2.5)).all()


@pytest.mark.parametrize("mapped", MAPS, ids=["beta", "group"])
def test_draws_have_the_distribution(mapped):
    amounts = Marginal(Gamma(4.0), np.log([2.0]), [0.3], [0.4])
    counts = Marginal(NegativeBinomial(2.0), np.log([3.0]), [0.3])
    for base in (Normal([1.0, 5.0], 2.0), Mixture([amounts, Normal([2.0], [1.5])], [0.5, 0.5]), counts):
        dist = mapped(base)
        draws = dist.sample(1000, random_state=0)
        for q in (0.1, 0.5, 0.9):
            at = dist.quantile(q)
            assert (dist.cdf(at) >= q - 1e-12).all() and (dist.cdf(at - 1.0) < q).all()
            np.testing.assert_allclose((draws <= at).mean(axis=0), dist.cdf(at), atol=0.05)


def test_tabulated_tails_of_counts_keep_their_digits():
    dist = Marginal(NegativeBinomial(5.0), np.log([3.0, 0.5]), [0.3, 0.1])
    k = np.repeat(np.arange(-1.0, 120.0)[:, None], 2, axis=1)
    for upper in (True, False):
        signs = np.full(k.shape, upper)
        np.testing.assert_allclose(dist._tail(k, signs), dist._exact_tail(k, signs), rtol=1e-9)
    assert dist._tail(k, np.ones(k.shape, dtype=bool)).min() < 1e-30
