"""Limited distributions against Tobit formulas, sums over the lattice, draws and their base."""

import numpy as np
import pytest
from scipy import stats

from credo.distributions import Limited, Mixture, Normal, PoissonLogNormal, StudentT, Support

COUNTS, AMOUNTS, SHARES = Support(low=0.0, step=1.0), Support(low=0.0), Support(0.0, 1.0)


def test_the_mean_of_a_censored_normal_is_tobits():
    mu, sigma = np.array([-2.0, 0.0, 0.7, 30.0]), np.array([1.0, 0.3, 2.0, 5.0])
    z = stats.norm(0, 1)
    mean = mu * z.cdf(mu / sigma) + sigma * z.pdf(mu / sigma)
    square = (mu**2 + sigma**2) * z.cdf(mu / sigma) + mu * sigma * z.pdf(mu / sigma)
    dist = Limited(Normal(mu, sigma), AMOUNTS)
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(dist.std, np.sqrt(square - mean**2), rtol=1e-5)
    np.testing.assert_allclose(np.exp(dist.log_prob(0.0)), z.cdf(-mu / sigma), rtol=1e-9)
    assert dist.log_prob(-0.1)[0] == -np.inf and dist.log_prob(0.5) == pytest.approx(Normal(mu, sigma).log_prob(0.5))


@pytest.mark.parametrize(
    "base",
    [Normal([-0.3, 3.0, 500.0], [1.0, 2.0, 90.0]), StudentT([1.5, 5.0, 3.0], [0.0, 3.0, 40.0], [1.0, 0.05, 9.0])],
)
def test_counts_have_probabilities_that_sum_to_one(base):
    k = np.arange(-3.0, 200_000.0)
    for row in range(len(base)):
        dist = Limited(base, COUNTS)[row]
        probs = np.exp(dist.log_prob(k[k >= 0]))
        assert probs.sum() == pytest.approx(1.0, abs=1e-7) and dist.cdf(-1.0) == 0.0
        if base._tail_index()[row] > 2:
            assert dist.mean == pytest.approx(probs @ k[3:], rel=2e-4)
            assert dist.std == pytest.approx(np.sqrt(probs @ (k[3:] - dist.mean) ** 2), rel=2e-3)
        y = 2.0
        steps = (np.cumsum(probs) - (k[3:] >= y)) ** 2
        assert dist.crps(y) == pytest.approx(steps.sum(), rel=5e-4)


@pytest.mark.parametrize("support", [COUNTS, AMOUNTS, SHARES, Support(-1.0, 4.0, 1.0)])
@pytest.mark.parametrize(
    "base",
    [
        Normal([0.2, 5.0, -3.0], [1.0, 2.0, 0.7]),
        Mixture([Normal([0.2, 5.0, -3.0], 1.0), StudentT(5.0, [3.0, 300.0, 0.0], [0.2, 40.0, 3.0])], [0.6, 0.4]),
    ],
)
def test_scores_and_moments_are_those_of_the_draws(base, support):
    dist = Limited(base, support)
    draws, other = dist.sample(200_000, random_state=0), dist.sample(200_000, random_state=1)
    y = support.nearest([0.0, 3.0, 0.4])
    by_draws = np.abs(draws - y).mean(axis=0) - 0.5 * np.abs(draws - other).mean(axis=0)
    error = 4 * draws.std(axis=0) / np.sqrt(len(draws)) + 1e-3
    assert (np.abs(dist.crps(y) - by_draws) < 2 * error).all() and (
        np.abs(dist.mean - draws.mean(axis=0)) < error
    ).all()
    lower, upper = dist.interval(0.9)
    inside = ((lower <= draws) & (draws <= upper)).mean(axis=0)
    assert (
        (inside > 0.897).all() and (support.nearest(lower) == lower).all() and (support.nearest(upper) == upper).all()
    )


def test_corrections_beyond_the_ends_are_integrals():
    rng = np.random.default_rng(0)
    base = Mixture([Normal(3 * rng.normal(size=40), 2.0), StudentT(5.0, rng.normal(size=40), 2.0)], [0.5, 0.5])
    dist, y = Limited(base, AMOUNTS), np.abs(rng.normal(size=40))
    for one, other in zip(dist._corrected(y), dist._integrals(y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_far_from_the_ends_it_is_the_base():
    base = Normal([50.0, 80.0], 1.0)
    dist = Limited(base, AMOUNTS)
    for name in ("mean", "std"):
        np.testing.assert_array_equal(getattr(dist, name), getattr(base, name))
    np.testing.assert_array_equal(dist.crps(51.0), base.crps(51.0))
    fine = Limited(Normal([500.0, 800.0], 90.0), COUNTS)
    np.testing.assert_allclose(fine.log_prob(510.0), Normal([500.0, 800.0], 90.0).log_prob(510.0), atol=1e-4)


def test_a_distribution_of_counts_is_left_as_it_is():
    base = PoissonLogNormal([0.0, 2.0], [0.3, 0.1])
    dist, y = Limited(base, COUNTS), np.array([2.0, 5.0])
    np.testing.assert_allclose(dist.log_prob(y), base.log_prob(y), rtol=1e-9)
    np.testing.assert_allclose(dist.crps(y), base.crps(y), rtol=1e-6)
    np.testing.assert_array_equal(dist.quantile([0.1, 0.9]), base.quantile([0.1, 0.9]))


def test_a_density_and_a_probability_mix_under_a_lattice():
    mixed = Limited(Mixture([PoissonLogNormal([0.0], [0.3]), Normal([1.0], 1.0)], [0.5, 0.5]), COUNTS)
    parts = [Limited(PoissonLogNormal([0.0], [0.3]), COUNTS), Limited(Normal([1.0], 1.0), COUNTS)]
    y = np.arange(6.0)[:, None]
    np.testing.assert_allclose(np.exp(mixed.log_prob(y)), sum(0.5 * np.exp(part.log_prob(y)) for part in parts))
    with pytest.raises(TypeError, match="a density and a probability can't be mixed"):
        mixed.base.log_prob(1.0)


def test_what_is_no_support_is_refused():
    for given, message in (
        ((1.0, 0.0), "low must be below high"),
        ((0.0, 1.0, -1.0), "step must be 0 or a positive"),
        ((0.5, 3.0, 1.0), "low must be a multiple of the step 1; got 0.5"),
    ):
        with pytest.raises(ValueError, match=message):
            Support(*given)
    with pytest.raises(TypeError, match="support must be a Support"):
        Limited(Normal(0.0, 1.0), (0.0, 1.0))
    base = Normal(0.0, 1.0)
    assert Support().limit(base) is base


def test_probabilities_far_from_the_mean_are_those_of_the_tail():
    """Where differences of the cdf underflow: ln P from the logarithms of the normal cdf at the ends."""
    for mean, sigma in ((3.0, 2.0), (3.0, 0.05), (900.0, 11.0)):
        for y in (0.0, 400.0, 1000.0):
            low, high = (-np.inf if y == 0 else y - 0.5), y + 0.5
            # Of the mirror image, whose tail is the lower one.
            ends = (low, high) if high < mean else (2 * mean - high, 2 * mean - low)
            a, b = (stats.norm.logcdf(end, mean, sigma) for end in ends)
            expected = b + np.log1p(-np.exp(a - b))
            for base in (Normal([mean], sigma), Mixture([Normal([mean], sigma), Normal([mean], sigma)], [0.5, 0.5])):
                assert Limited(base, COUNTS).log_prob(y) == pytest.approx(expected, rel=1e-4)
    # Counts in a mixture with a density, one of which is possible.
    mixed = Mixture([Normal([3.0], 1.0), PoissonLogNormal([1.0], [0.0])], [0.5, 0.5])
    expected = np.log(0.5) + PoissonLogNormal([1.0], [0.0]).log_prob(900.0)
    assert Limited(mixed, COUNTS).log_prob(900.0) == pytest.approx(expected, rel=1e-6)
    assert Limited(Normal([900.0], 2.0), AMOUNTS).log_prob(0.0) == pytest.approx(stats.norm.logcdf(-450.0), rel=1e-4)


def test_decimal_steps():
    tenths, y = Support(low=0.0, step=0.1), np.arange(40) / 10
    assert tenths.nearest(y).tolist() == y.tolist()
    dist, base = Limited(Normal([2.0], 0.1), tenths), stats.norm(2.0, 0.1)
    np.testing.assert_allclose(dist.cdf(y[:, None]).ravel(), base.cdf(y + 0.05), rtol=1e-9)
    np.testing.assert_allclose(dist.cdf(np.nextafter(y, -1)[1:, None]).ravel(), base.cdf(y[1:] - 0.05), rtol=1e-9)
    np.testing.assert_allclose(np.exp(dist.log_prob(y[:, None])).sum(), 1.0, rtol=1e-9)
    assert set(dist.sample(50, random_state=0).ravel()) <= set(y)
    levels = np.linspace(0.001, 0.999, 97)
    found = dist.quantile(levels)[0]
    assert set(found) <= set(y) and (dist.cdf(found[:, None]).ravel() >= levels).all()
    assert (dist.cdf(found[:, None] - 0.1).ravel() < levels).all()
    assert dist.mean == pytest.approx(2.0, abs=1e-9) and dist.std == pytest.approx(np.sqrt(0.01 + 0.01 / 12), rel=1e-3)


def test_outcomes_beyond_the_ends_are_impossible():
    dist = Limited(Normal([2.0], 1.0), COUNTS)
    assert dist.log_prob(-5.0)[0] == dist.log_prob(-0.51)[0] == -np.inf
    assert dist.log_prob(-0.4)[0] == dist.log_prob(0.0)[0] and dist.log_prob(1.8)[0] == dist.log_prob(2.0)[0]
