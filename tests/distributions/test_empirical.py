"""Stored draws: the exact CRPS, and quantiles that are draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from credo.distributions import Empirical, Normal

draws_of_a_row = hnp.arrays(float, st.integers(1, 12), elements=st.floats(-1e3, 1e3))


@given(draws_of_a_row, st.floats(-2e3, 2e3))
@settings(max_examples=30, deadline=None)
def test_crps_is_the_energy_form(draws: np.ndarray, y: float) -> None:
    """E|X − y| − E|X − X'|/2, over all pairs (Gneiting & Raftery 2007, eq. 21)."""
    expected = np.abs(draws - y).mean() - np.abs(draws[:, None] - draws).mean() / 2
    np.testing.assert_allclose(Empirical(draws).crps(y), expected, rtol=1e-9, atol=1e-9)


@given(draws_of_a_row, st.floats(-2e3, 2e3))
@settings(max_examples=30, deadline=None)
def test_cdf_counts(draws: np.ndarray, y: float) -> None:
    assert Empirical(draws).cdf(y) == (draws <= y).mean()
    for draw in draws:
        assert Empirical(draws).cdf(draw) == pytest.approx((draws <= draw).mean(), rel=1e-15)


@given(draws_of_a_row, st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_quantile_and_cdf_are_inverse_to_each_other(draws: np.ndarray, q: float) -> None:
    """Q(q) ≤ x exactly where q ≤ F(x), for every draw x (Galois); Q(F(x)) = x; the ends are the extremes."""
    dist = Empirical(draws)
    for draw in draws:
        if q > 0:
            assert (dist.quantile(q) <= draw) == (q <= dist.cdf(draw))
        assert dist.quantile(dist.cdf(draw)) == draw
    np.testing.assert_array_equal(dist.quantile([0.0, 1.0]), [draws.min(), draws.max()])


def test_quantile_is_numpy_s_inverted_cdf() -> None:
    draws = np.random.default_rng(0).normal(size=(37, 3))
    q = np.linspace(0.013, 0.987, 17)
    expected = np.quantile(draws, q, axis=0, method="inverted_cdf").T
    np.testing.assert_array_equal(Empirical(draws).quantile(q), expected)


def test_crps_keeps_its_digits_far_from_zero() -> None:
    """Shifting by 2⁴⁰ loses no digit of these draws, and must lose none of the score."""
    draws, y = np.array([0.25, 0.5, 0.75, 3.0]), 1.0
    np.testing.assert_allclose(Empirical(draws + 2.0**40).crps(y + 2.0**40), Empirical(draws).crps(y), rtol=1e-14)


def test_many_draws_score_as_the_distribution_they_came_from() -> None:
    """To 1e-3, the size of the quantisation of a normal into 2000 midpoints of probability."""
    draws = Normal(1.0, 2.0).quantile((np.arange(2000) + 0.5) / 2000)
    y = np.array([-3.0, 1.0, 2.5])
    np.testing.assert_allclose(Empirical(draws).crps(y), Normal(1.0, 2.0).crps(y), atol=1e-3)


def test_moments_are_those_of_equal_weights() -> None:
    dist = Empirical([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(dist.mean, [2.0, 5.0])
    np.testing.assert_array_equal(dist.std, [1.0, 0.0])


def test_samples_are_whole_draws() -> None:
    draws = np.arange(20.0)[:, None] + np.array([0.0, 100.0])
    sample = Empirical(draws).sample(50, random_state=0)
    np.testing.assert_array_equal(sample[:, 1] - sample[:, 0], 100.0)
    np.testing.assert_array_equal(Empirical(draws).draws, draws)


def test_has_no_density() -> None:
    with pytest.raises(TypeError, match=r"no density, so no log_prob; use crps, or a Mixture"):
        Empirical([1.0, 2.0]).log_prob(1.0)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="at least one draw"):
        Empirical(np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"draws must have the shape \(n_draws, n_rows\); got \(1, 1, 1\)"):
        Empirical([[[1.0]]])
    with pytest.raises(ValueError, match=r"draws must not contain NaN; got nan at index \(1, 0\)"):
        Empirical([[1.0], [np.nan]])
    with pytest.raises(ValueError, match=r"draws must be finite; got inf at index \(1, 0\)"):
        Empirical([1.0, np.inf])


def test_repr_counts() -> None:
    assert repr(Empirical(np.zeros((5, 2)))) == "Empirical(<5 draws of 2 rows>)"
