"""Transformed targets against scipy's transformations and lognormal, and against integrals of their definitions."""

import numpy as np
import pytest
from scipy import stats

from credo.distributions import (
    Bernoulli,
    BoxCox,
    Identity,
    LinearTails,
    Log,
    Mixture,
    Normal,
    StudentT,
    Transform,
    Transformed,
    YeoJohnson,
)
from credo.metrics import point

TRANSFORMS = [
    Identity(),
    Log(),
    *(BoxCox(power, unit) for power in (-1.5, -0.4, 0.0, 0.3, 1.0, 1.7) for unit in (1.0, 250.0)),
    *(YeoJohnson(power, unit) for power in (-0.5, 0.0, 0.4, 1.0, 1.6, 2.0, 2.5) for unit in (1.0, 250.0)),
    LinearTails(Log(), upper=2.0),
    LinearTails(BoxCox(0.3, 250.0), upper=35.0),
    LinearTails(YeoJohnson(1.6), lower=-0.5, upper=7.0),
]
each = pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
Y = np.array([1e-3, 0.2, 1.0, 3.0, 40.0, 1e4])


def grid(transform: Transform) -> np.ndarray:
    return Y if transform.domain[0] == 0 else np.concatenate([-Y[::-1], [0.0], Y])


@each
def test_the_inverse_leads_back_and_the_map_increases(transform: Transform) -> None:
    y = grid(transform)
    z = transform.forward(y)
    np.testing.assert_allclose(transform.inverse(z), y, rtol=1e-7, atol=1e-12)
    assert (np.diff(z) > 0).all()
    lower, upper = transform.image
    assert (z > lower).all() and (z < upper).all()


@each
def test_the_log_derivative_is_that_of_the_map(transform: Transform) -> None:
    y = grid(transform)
    y = y[y != 0]
    step = 1e-6 * np.abs(y)
    slope = (transform.forward(y + step) - transform.forward(y - step)) / (2 * step)
    keeps_digits = slope * np.abs(y) > 1e-6 * np.abs(transform.forward(y))
    np.testing.assert_allclose(np.exp(transform.log_derivative(y))[keeps_digits], slope[keeps_digits], rtol=1e-4)


@pytest.mark.parametrize("power", [-1.5, -0.4, 0.0, 0.3, 1.0, 1.7])
def test_maps_are_those_of_scipy(power: float) -> None:
    np.testing.assert_allclose(BoxCox(power).forward(Y), stats.boxcox(Y, lmbda=power), rtol=1e-12)
    both = np.concatenate([-Y, Y])
    np.testing.assert_allclose(YeoJohnson(power).forward(both), stats.yeojohnson(both, lmbda=power), rtol=1e-10)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.4])
def test_log_derivatives_are_those_of_scipy_s_likelihoods(power: float) -> None:
    """scipy's profile likelihood is Σ ln g'(y) − n/2 ln of the variance of g(y)."""
    y = np.random.default_rng(0).lognormal(size=50)
    for transform, likelihood in [(BoxCox(power), stats.boxcox_llf), (YeoJohnson(power), stats.yeojohnson_llf)]:
        ours = transform.log_derivative(y).sum() - len(y) / 2 * np.log(transform.forward(y).var())
        np.testing.assert_allclose(ours, likelihood(power, y), rtol=1e-10)


def test_the_log_of_a_normal_is_lognormal() -> None:
    mu, sigma = np.array([0.0, 1.5, -3.0, 8.0]), np.array([0.5, 1.2, 0.01, 2.5])
    dist, oracle = Transformed(Normal(mu, sigma), Log()), stats.lognorm(sigma, scale=np.exp(mu))
    y = oracle.rvs(size=(20, 4), random_state=np.random.default_rng(1))
    for q in (1e-9, 0.025, 0.5, 0.975):
        np.testing.assert_allclose(dist.quantile(q), oracle.ppf(q), rtol=1e-10)
    np.testing.assert_allclose(dist.cdf(y), oracle.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(dist.log_prob(y), oracle.logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(dist.mean, oracle.mean(), rtol=1e-12)
    np.testing.assert_allclose(dist.std, oracle.std(), rtol=1e-10)
    np.testing.assert_array_equal(dist.log_prob(0.0), -np.inf)
    np.testing.assert_array_equal(dist.log_prob(-1.0), -np.inf)
    np.testing.assert_array_equal(dist.cdf(-1.0), 0.0)
    np.testing.assert_array_equal(dist.quantile(0.0), 0.0)


def test_quadrature_agrees_with_the_closed_forms_of_the_lognormal() -> None:
    """Box–Cox with λ = 0 is the log, and a mixture of a single component is that component."""
    base = Normal([0.0, 1.5, -3.0, 1.0], [0.5, 1.2, 0.01, 2.0])
    closed = Transformed(base, Log())
    y = np.array([[0.3, 1.0, 0.06, 1e3], [1.0, 30.0, 0.04, 0.01], [-1.0, 0.0, 1.0, 5.0]])
    for numeric in (Transformed(base, BoxCox(0.0)), Transformed(Mixture([base], [1.0]), Log())):
        np.testing.assert_allclose(numeric.mean, closed.mean, rtol=1e-9)
        np.testing.assert_allclose(numeric.std, closed.std, rtol=1e-7)
        np.testing.assert_allclose(numeric.crps(y), closed.crps(y), rtol=1e-8)


CASES = {
    "far from the bound": (Normal(5.0, 1.0), BoxCox(0.3)),
    "at the bound": (Normal(-1.0, 1.0), BoxCox(0.7)),
    "beyond the bound": (Normal(-8.0, 1.5), BoxCox(0.5)),
    "a steep bound": (Normal(0.0, 1.0), BoxCox(1.6)),
    "bounded above": (Normal(0.3, 0.4), BoxCox(-2.5)),
    "t": (StudentT(9.0, 4.0, 1.0), BoxCox(0.5)),
    "both signs": (Normal(0.4, 1.5), YeoJohnson(0.3, 2.0)),
    "both signs, t": (StudentT(12.0, -2.0, 1.0), YeoJohnson(1.5)),
    "nearly the log": (Normal(1.0, 0.8), YeoJohnson(0.02)),
    "mixture": (Mixture([Normal(1.0, 0.2), StudentT(40.0, 3.0, 0.5)], [0.4, 0.6]), BoxCox(0.4)),
}


@pytest.mark.parametrize("name", CASES)
def test_densities_integrate_to_one_and_moments_are_their_integrals(name: str) -> None:
    """By quantiles, where the density is a fraction of dq: ∫ h(y) p(y) dy over the pieces between them."""
    base, transform = CASES[name]
    dist = Transformed(base, transform)
    tails = 10.0 ** -np.arange(12, 0, -1)
    levels = np.concatenate([tails, [0.2, 0.35, 0.5, 0.65, 0.8]])
    lower, upper = dist.quantile(levels), dist._isf(tails[::-1])[0]
    edges = np.unique(np.concatenate([lower, upper, dist.quantile([0.0]), [0.0]]))
    edges = edges[np.isfinite(edges)]

    # Squared nodes crowd at the lower end of each piece, where the density of a bounded y may be infinite.
    nodes, weights = np.polynomial.legendre.leggauss(100)
    nodes, weights = ((1 + nodes) / 2) ** 2, (1 + nodes) / 2 * weights
    y = edges[:-1] + np.diff(edges) * nodes[:, None]
    mass = weights[:, None] * np.diff(edges) * np.exp(dist.log_prob(y.reshape(-1, 1))).reshape(y.shape)

    def integral(h) -> float:
        return float((h(y) * mass).sum())

    assert integral(np.ones_like) == pytest.approx(1.0, abs=1e-7)
    if np.isfinite(dist.mean):
        mean = integral(lambda y: y)
        assert dist.mean == pytest.approx(mean, rel=1e-6)
    # Squares in heavy tails converge too slowly for this oracle.
    if np.isfinite(dist.std) and name not in {"t", "both signs, t", "bounded above"}:
        assert dist.std == pytest.approx(np.sqrt(integral(lambda y: (y - mean) ** 2)), rel=1e-5)


def test_a_base_beyond_the_image_is_the_end_of_the_domain() -> None:
    dist = Transformed(Normal([-100.0, 2.0], [1.0, 0.5]), BoxCox(0.5))
    np.testing.assert_array_equal(dist.interval(0.95)[0][:1], 0.0)
    np.testing.assert_array_equal(dist.interval(0.95)[1][:1], 0.0)
    assert dist.mean[0] == dist.std[0] == 0.0
    np.testing.assert_allclose(dist.crps([3.0, 3.0])[0], 3.0)
    assert dist.log_prob([1.0, 1.0])[0] == -np.inf and dist.cdf([1.0, 1.0])[0] == 1.0


def test_moments_that_do_not_exist_are_said_so_and_the_median_stands_in() -> None:
    dist = Transformed(StudentT(200.0, [0.0, 1.0], [1.0, 0.0]), Log())
    np.testing.assert_array_equal(dist.mean, [np.inf, np.e])
    np.testing.assert_array_equal(dist.std, [np.inf, 0.0])
    np.testing.assert_allclose(dist.crps(1.0), [np.inf, np.e - 1])
    np.testing.assert_allclose(point(dist), [1.0, np.e])
    # y ~ z^(1/λ): with λ = ½ a mean needs more than two degrees of freedom, a variance more than four.
    for df, finite in [(1.9, (False, False)), (2.1, (True, False)), (4.1, (True, True))]:
        dist = Transformed(StudentT(df, 3.0, 0.5), BoxCox(0.5))
        assert (np.isfinite(dist.mean), np.isfinite(dist.std)) == finite
    # Both tails of exp: neither end has a mean.
    assert np.isnan(Transformed(StudentT(1.0), YeoJohnson(1.0)).mean)
    # Box–Cox with −1 ≤ λ < 0 has a tail like t^λ.
    assert Transformed(Normal(0.0, 0.2), BoxCox(-0.5)).mean == np.inf


def test_intervals_are_images_of_the_base_s() -> None:
    base = StudentT(5.0, [1.0, 3.0], [0.3, 2.0])
    lower, upper = Transformed(base, Log()).interval(0.9)
    np.testing.assert_allclose(np.log([lower, upper]), base.interval(0.9), rtol=1e-12)
    assert (lower > 0).all()


def test_what_it_is_made_of_is_checked() -> None:
    with pytest.raises(TypeError, match=r"base must be a distribution with a density; got Bernoulli"):
        Transformed(Bernoulli(0.5), Log())
    with pytest.raises(TypeError, match=r"transform must be a Transform, such as Log\(\); got 'log'"):
        Transformed(Normal(0.0), "log")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"unit must be positive and finite; got -1"):
        BoxCox(0.5, -1)
    with pytest.raises(ValueError, match=r"power must be finite; got nan"):
        YeoJohnson(np.nan)
    assert (Log().name, BoxCox(0.3).name, YeoJohnson(1.25).name) == ("log", "Box–Cox λ=0.3", "Yeo–Johnson λ=1.25")


def test_extremes_stay_numbers() -> None:
    dist = Transformed(Normal([1e6, -1e6, 1.0], [1.0, 1.0, 1e3]), Log())
    assert not np.isnan(dist.mean).any() and not np.isnan(dist.std).any()
    for transform in (BoxCox(0.3), YeoJohnson(0.3), YeoJohnson(0.0)):
        far = Transformed(Normal([1e6, -1e6, 1.0], [1.0, 1.0, 1e3]), transform)
        assert (far.var >= 0).all() and not np.isnan(far.mean).any()
        assert not np.isnan(far.quantile([0.0, 0.1, 0.9, 1.0])).any()


@pytest.mark.parametrize("power", [0.999, 1.0, 1.001])
def test_a_power_of_one_is_the_base_in_other_units(power):
    # y = unit (1 + z), whose image ends at z = −1, twelve standard deviations below the mean.
    dist = Transformed(Normal([-0.22], [0.0628]), BoxCox(power, unit=17.0))
    assert dist.mean[0] == pytest.approx(17 * (1 - 0.22), rel=1e-3)
    assert dist.std[0] == pytest.approx(17 * 0.0628, rel=1e-2)
    assert dist.crps([10.0])[0] == pytest.approx(Normal([17 * 0.78], [17 * 0.0628]).crps([10.0])[0], rel=1e-3)


def test_linear_tails_give_the_log_of_students_t_a_mean() -> None:
    base, most = StudentT([4.0, 30.0], [0.0, 2.0], [0.5, 2.0]), 5.0
    dist = Transformed(base, LinearTails(Log(), upper=most))
    z = np.linspace(-200.0, 200.0, 4_000_001)
    for row in range(2):
        y = np.where(z < np.log(most), np.exp(np.minimum(z, 5.0)), most * (1.0 + z - np.log(most)))
        density = np.exp(stats.t(*(getattr(base, name)[row] for name in ("df", "loc", "scale"))).logpdf(z))
        assert dist.mean[row] == pytest.approx(np.trapezoid(y * density, z), rel=1e-6)
    assert not np.isfinite(Transformed(base, Log()).mean).any()
    np.testing.assert_allclose(dist.quantile(0.3), Transformed(base, Log()).quantile(0.3))


def test_tangents_continue_where_the_inverse_gets_steeper() -> None:
    y = np.array([-3.0, 1.0, 8.0])
    assert LinearTails.beyond(y, YeoJohnson(0.4)) == LinearTails(YeoJohnson(0.4), upper=8.0)
    assert LinearTails.beyond(y, YeoJohnson(1.6)) == LinearTails(YeoJohnson(1.6), lower=-3.0)
    assert LinearTails.beyond(y, Identity()) == Identity()
    assert LinearTails.beyond(y[1:], BoxCox(1.7)) == LinearTails(BoxCox(1.7), lower=1.0)
    with pytest.raises(ValueError, match="upper must be between 0 and inf; got -1"):
        LinearTails(Log(), upper=-1.0)
