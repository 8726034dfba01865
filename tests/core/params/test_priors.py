"""Priors against scipy.stats, quadrature and finite differences."""

import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from credo.core.params import Gamma, HalfNormal, InverseGamma, LogNormal, Normal, Uniform

PAIRS = [
    (Normal(), stats.norm()),
    (Normal(-1.0, 2.5), stats.norm(-1.0, 2.5)),
    (HalfNormal(0.7), stats.halfnorm(scale=0.7)),
    (LogNormal(2.0, 0.5), stats.lognorm(0.5, scale=2.0)),
    (Gamma(3.0, 2.0), stats.gamma(3.0, scale=0.5)),
    (Gamma(0.5), stats.gamma(0.5)),
    (InverseGamma(4.0, 1.5), stats.invgamma(4.0, scale=1.5)),
    (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
]
each = pytest.mark.parametrize(("prior", "oracle"), PAIRS, ids=[repr(prior) for prior, _ in PAIRS])


@each
def test_log_density_equals_scipys(prior, oracle):
    x = np.concatenate([oracle.ppf([0.001, 0.1, 0.5, 0.9, 0.999]), [-7.0, 1e-8, 20.0]])
    assert_allclose(prior.log_prob(x), oracle.logpdf(x), rtol=1e-12, atol=1e-12)


@each
def test_density_integrates_to_one(prior, oracle):
    lower, upper = oracle.support()
    middle = oracle.median()
    pieces = (quad(lambda x: np.exp(prior.log_prob(x)), *ends)[0] for ends in ((lower, middle), (middle, upper)))
    assert_allclose(sum(pieces), 1.0, rtol=1e-6)


@each
def test_gradient_equals_finite_differences(prior, oracle):
    x = oracle.ppf([0.01, 0.3, 0.5, 0.8, 0.99])
    h = 1e-6 * (np.abs(x) + 1e-3)
    slope = (prior.log_prob(x + h) - prior.log_prob(x - h)) / (2 * h)
    assert_allclose(prior.gradient(x), slope, rtol=1e-6, atol=1e-7)


@each
def test_shapes_are_kept_and_nan_is_passed_on(prior, oracle):
    assert prior.log_prob(np.ones((2, 3))).shape == prior.gradient(np.ones((2, 3))).shape == (2, 3)
    assert np.isnan(prior.log_prob(np.nan))
    assert np.isnan(prior.gradient(np.nan))


@pytest.mark.parametrize("prior", [HalfNormal(), LogNormal(), Gamma(2.0), InverseGamma(2.0)], ids=repr)
def test_outside_the_support_nothing_is_possible(prior):
    assert_array_equal(prior.log_prob([-1.0, -1e-9]), -np.inf)
    assert_array_equal(prior.gradient([-1.0, -1e-9]), 0.0)


def test_ends_of_a_support():
    assert_allclose(Uniform(0.0, 2.0).log_prob([0.0, 2.0, 2.1]), [-np.log(2), -np.log(2), -np.inf])
    assert_allclose(HalfNormal().log_prob(0.0), stats.halfnorm.logpdf(0.0))
    assert LogNormal().log_prob(0.0) == -np.inf


@pytest.mark.parametrize("prior", [prior for prior, _ in PAIRS], ids=repr)
@pytest.mark.parametrize("x", [1e-290, 1e290])
def test_far_values_give_no_nan_and_no_warning(prior, x):
    with np.errstate(invalid="raise", divide="raise", over="raise"):
        assert not np.isnan(prior.log_prob(x))
        assert not np.isnan(prior.gradient(x))


def test_refusals():
    with pytest.raises(ValueError, match=r"std of a prior must be positive and finite; got 0.0"):
        Normal(0.0, 0.0)
    with pytest.raises(ValueError, match=r"mean of a prior must be finite; got nan"):
        Normal(np.nan, 1.0)
    with pytest.raises(ValueError, match=r"median of a prior must be positive and finite; got -1.0"):
        LogNormal(-1.0)
    with pytest.raises(ValueError, match=r"shape of a prior must be positive and finite; got inf"):
        Gamma(np.inf)
    with pytest.raises(ValueError, match=r"Uniform needs finite lower < upper; got 1.0 and 0.0"):
        Uniform(1.0, 0.0)
