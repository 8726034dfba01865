"""The prior over subsets: normalised, and what its parameters say."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from credo.sparse._models import ModelPrior


@pytest.mark.parametrize("inclusion", [0.5, 0.07, "beta-binomial", (2.0, 5.0), (1, 30)])
@pytest.mark.parametrize("d", [0, 1, 2, 17, 400])
def test_probabilities_of_all_subsets_sum_to_one(inclusion, d):
    prior = ModelPrior.of(inclusion, d)
    k = np.arange(d + 1)
    logs = prior.log_prob(k) + np.array([float(stats.binom.logpmf(j, d, 0.5)) + d * np.log(2) for j in k])
    assert_allclose(np.exp(logs).sum(), 1.0, rtol=1e-9)
    mean = (k * np.exp(logs)).sum()
    assert_allclose(mean, d * prior.mean, rtol=1e-9, atol=1e-12)


def test_a_column_costs_the_log_odds():
    steps = np.diff(ModelPrior.of(0.1, 8).log_prob(np.arange(9)))
    assert_allclose(steps, -np.log(0.9 / 0.1))


def test_beta_binomial_is_the_average_over_the_probability():
    prior = ModelPrior.of((2.0, 3.5), 6)
    for k in range(7):
        value = quad(lambda p, k=k: p**k * (1 - p) ** (6 - k) * stats.beta(2.0, 3.5).pdf(p), 0, 1)[0]
        assert_allclose(np.exp(prior.log_prob(k)), value, rtol=1e-8)
    uniform = ModelPrior.of("beta-binomial", 6)
    assert_allclose([np.exp(uniform.log_prob(k)) * comb(6, k) for k in range(7)], 1 / 7)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, True, "uniform", (0, 1), (1, 2, 3), None, np.nan])
def test_bad_priors_are_refused(bad):
    with pytest.raises(ValueError, match="prior_inclusion must be a probability strictly between 0 and 1"):
        ModelPrior.of(bad, 5)
