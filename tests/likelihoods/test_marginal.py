"""The distribution of y if its latent value is normal."""

import numpy as np
from scipy import stats

from credo.likelihoods import Gamma, Marginal, NegativeBinomial


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
