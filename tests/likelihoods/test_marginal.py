"""Distributions of y whose latent value is uncertain."""

import numpy as np
from scipy import stats

from credo.likelihoods import Gamma, Marginal, NegativeBinomial


def test_quantiles_of_large_counts_are_those_of_scipy_and_of_huge_ones_end():
    q = np.array([1e-6, 0.025, 0.5, 0.975, 1 - 1e-9])
    for mean in (3.0, 2e4, 1e7):
        dist = Marginal(NegativeBinomial(2.0), np.log([mean]), [0.0])
        np.testing.assert_array_equal(dist._searched(q)[0], stats.nbinom(2.0, 2.0 / (2.0 + mean)).ppf(q))
    # A log mean about which nothing is known.
    wild = Marginal(NegativeBinomial(2.0), [5.0, 700.0], [40.0, 3.0])
    lower, upper = wild.interval(0.95)
    assert (np.diff([lower, wild.quantile(0.5), upper], axis=0) >= 0).all()


def test_quantiles_of_counts_beyond_the_integers_among_floats():
    """A negative binomial distribution with a large mean is a gamma distribution; above 2⁵³ floats are 2 apart."""
    levels = np.array([0.01, 0.5, 0.999])
    found = Marginal(NegativeBinomial(2.0), [40.0], [0.0]).quantile(levels)[0]
    np.testing.assert_allclose(found, stats.gamma(2.0, scale=np.exp(40.0) / 2.0).ppf(levels), rtol=1e-7)


def test_amounts_that_are_surely_zero():
    dist = Marginal(Gamma(2.0), [1.0, 1.0], [0.5, 0.5], [1.0, 0.0])
    np.testing.assert_array_equal(dist.quantile([0.1, 0.9])[0], 0.0)
    np.testing.assert_array_equal(dist.interval(0.95)[1][0], 0.0)
    np.testing.assert_array_equal(dist.quantile(0.9)[1], Marginal(Gamma(2.0), [1.0], [0.5]).quantile(0.9)[0])
