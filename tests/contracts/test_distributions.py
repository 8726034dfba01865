"""One suite for every exported distribution that is vectorised over rows, found by itself."""

import copy
import inspect

import numpy as np
import pytest
from tests.distributions import oracles

import credo.distributions as room
from credo.distributions import (
    Affine,
    Bernoulli,
    BoxCox,
    Categorical,
    Distribution,
    Empirical,
    GivenGroup,
    Identity,
    Limited,
    LinearTails,
    Log,
    Mixture,
    Normal,
    PoissonLogNormal,
    Recalibrated,
    RightCensored,
    StudentT,
    Support,
    Tabulated,
    TabulatedScale,
    Transformed,
    YeoJohnson,
)

CLASSES = {
    name: member
    for name, member in vars(room).items()
    if name in room.__all__ and inspect.isclass(member)
    if issubclass(member, Distribution) and not inspect.isabstract(member)
}
DRAWS = np.random.default_rng(5).normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1], size=(12, 3))
# Three rows each. A new distribution needs an entry here, and `test_every_distribution_is_examined` says so.
TABLE = Tabulated([-2.0, -0.5, 0.0, 1.0, 3.0], [0.03, 0.3, 0.5, 0.9, 0.99])
EXAMPLES: dict[str, list[Distribution]] = {
    "Affine": [
        Affine(Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), [5.0, 0.0, -1.0], [0.1, 1.0, 20.0]),
        Affine(Mixture([Normal([0.0, 1.0, 2.0], 1.0), StudentT(6.0, -3.0, 0.5)], [0.3, 0.7]), 1.0, [2.0, 3.0, 4.0]),
    ],
    "RightCensored": [
        RightCensored(Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), [0.5, np.inf, -2.0]),
        RightCensored(Transformed(Normal([0.0, 3.0, -1.0], [0.5, 0.8, 0.1]), Log()), [1.0, 90.0, np.inf]),
    ],
    "Normal": [Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), Normal([0.0, 1e3, -4.0], [0.0, 1e2, 1e-3])],
    "StudentT": [StudentT([3.5, 8.0, 60.0], [0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), StudentT(5.0, [1.0, 2.0, 3.0], 0.0)],
    "Bernoulli": [Bernoulli([0.2, 0.5, 0.9]), Bernoulli([0.0, 1.0, 1e-9])],
    "Categorical": [
        Categorical([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]], classes=[3.0, -1.0, 10.0]),
        Categorical(np.full((3, 4), 0.25)),
    ],
    "Empirical": [Empirical(DRAWS), Empirical(np.round(DRAWS))],
    "GivenGroup": [
        GivenGroup(Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), [0.5, -1.0, 0.0], [0.5, 0.8, 1.0]),
        GivenGroup(Mixture([Normal([0.0, 1.0, 2.0], 1.0), StudentT(6.0, -3.0, 0.5)], [0.3, 0.7]), 0.3, [0.9, 0.7, 0.8]),
        GivenGroup(Transformed(Normal([0.0, 3.0, -1.0], [0.5, 0.8, 0.1]), Log()), [0.5, -1.0, 0.0], 0.6),
    ],
    "Limited": [
        Limited(Normal([0.2, 3.0, -1.0], [1.0, 2.0, 0.1]), Support(low=0.0, step=1.0)),
        Limited(Normal([0.2, 3.0, -1.0], [1.0, 2.0, 0.1]), Support(low=0.0)),
        Limited(StudentT([3.5, 8.0, 60.0], [0.4, 0.9, 0.0], [1.0, 0.2, 0.1]), Support(0.0, 1.0)),
        Limited(Mixture([Normal([0.0, 1.0, 2.0], 1.0), Normal(4.0, 3.0)], [0.3, 0.7]), Support(0.0, step=1.0)),
        Limited(PoissonLogNormal([-2.0, 0.0, 1.5], [0.3, 0.5, 0.1]), Support(0.0, 5.0, 1.0)),
    ],
    "Mixture": [
        Mixture([Normal([0.0, 1.0, 2.0], 1.0), Normal(6.0, [0.5, 1.0, 3.0])], [0.3, 0.7]),
        Mixture([Normal([0.0, 1.0, 2.0], 1.0), StudentT(4.0, -3.0, 0.5)], [[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]]),
        Mixture([Normal(1.0, 0.0), Normal([0.0, 1.0, 2.0], 2.0)], [0.4, 0.6]),
        Mixture([Transformed(Normal([0.0, 1.0, 0.5], 0.6), Log()), Normal(2.0, [0.5, 1.0, 0.2])], [0.5, 0.5]),
    ],
    "PoissonLogNormal": [PoissonLogNormal([-2.0, 0.0, 1.5], [0.3, 0.5, 0.1]), PoissonLogNormal([-3.0, 0.0, 2.0])],
    "Recalibrated": [
        Recalibrated(Normal([0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), 0.7, 1.4),
        Recalibrated(Normal([0.0, 1e3, -4.0], [0.0, 1e2, 1e-3]), 2.5, 2.0),
        Recalibrated(Mixture([Normal([0.0, 1.0, 2.0], 1.0), StudentT(6.0, -3.0, 0.5)], [0.3, 0.7]), 0.8, 0.9),
        Recalibrated(Transformed(Normal([0.0, 3.0, -1.0], [0.5, 0.8, 0.1]), Log()), 1.3, 0.8),
    ],
    "TabulatedScale": [
        TabulatedScale([0.0, 3.0, -1.0], [1.0, 2.0, 0.1], TABLE),
        TabulatedScale([0.0, 1e3, -4.0], [0.0, 1e2, 1e-3], Tabulated([-1.0, 1.0], [0.1, 0.9])),
    ],
    "Transformed": [
        Transformed(Normal([0.0, 3.0, -1.0], [0.5, 0.8, 0.1]), Log()),
        Transformed(Normal([0.0, 1.0, 8.0], [1.0, 0.3, 3.0]), BoxCox(0.3, 2.0)),
        Transformed(Normal([0.0, -2.5, -6.0], [1.0, 2.0, 2.0]), BoxCox(0.5)),
        Transformed(StudentT([12.0, 30.0, 60.0], [0.0, 3.0, -1.0], [1.0, 2.0, 0.1]), YeoJohnson(0.6, 3.0)),
        Transformed(Normal([0.0, 3.0, -1.0], [1.0, 0.5, 0.0]), YeoJohnson(0.2)),
        Transformed(Mixture([Normal([0.0, 1.0, 2.0], 0.5), Normal(2.0, [0.5, 1.0, 0.1])], [0.3, 0.7]), Log()),
        Transformed(Mixture([Normal(1.0, 0.0), Normal([0.0, 1.0, 2.0], 1.0)], [0.4, 0.6]), BoxCox(0.4)),
        Transformed(Empirical(DRAWS), Log()),
        Transformed(Normal(1.0, [0.5, 0.8, 0.1]), LinearTails(Log(), upper=np.e)),
        Transformed(StudentT(5.0, [1.0, 2.0, 3.0], [1.0, 0.5, 0.0]), Identity()),
    ],
}  # fmt: skip
DISTS = [pytest.param(dist, id=f"{name}-{i}") for name, dists in EXAMPLES.items() for i, dist in enumerate(dists)]
LEVELS = np.array([0.0, 1e-6, 0.025, 0.1, 0.3, 0.5, 0.7, 0.975, 1 - 1e-6, 1.0])
every = pytest.mark.parametrize("dist", DISTS)


def outcomes(dist: Distribution) -> np.ndarray:
    """Values that the distribution may take, of shape (5, n_rows)."""
    return np.asarray(dist.sample(5, random_state=3), dtype=float)


def test_every_distribution_is_examined() -> None:
    assert set(CLASSES) == set(EXAMPLES)
    for name, dists in EXAMPLES.items():
        assert all(type(dist) is CLASSES[name] and len(dist) == 3 for dist in dists)


@every
def test_shapes(dist: Distribution) -> None:
    y = outcomes(dist)
    for values in (dist.mean, dist.std, dist.var, dist.quantile(0.3), *dist.interval(), dist.cdf(0.0)):
        assert values.shape == (3,)
    assert dist.quantile([0.1, 0.2]).shape == (3, 2)
    assert dist.quantile([]).shape == (3, 0)
    assert dist.cdf(y).shape == dist.crps(y).shape == (5, 3)
    assert dist.crps(y[0]).shape == (3,)
    assert dist.sample(4, random_state=0).shape == (4, 3)
    assert dist.sample(random_state=0).shape == (1, 3)


@every
def test_cdf_is_a_distribution_function(dist: Distribution) -> None:
    grid = np.sort(np.concatenate([np.linspace(-20, 20, 401)[:, None] + dist.mean, outcomes(dist)]), axis=0)
    values = dist.cdf(grid)
    assert (np.diff(values, axis=0) >= -1e-15).all()
    np.testing.assert_array_equal(dist.cdf(-np.inf), 0.0)
    np.testing.assert_array_equal(dist.cdf(np.inf), 1.0)


@every
def test_quantile_inverts_the_cdf(dist: Distribution) -> None:
    """The smallest x with F(x) ≥ q: F reaches q there and not a little before."""
    inner = LEVELS[1:-1]
    x = dist.quantile(inner).T
    scale = np.maximum(dist.std, 1e-3)
    assert (dist.cdf(x + 1e-9 * scale) >= inner[:, None] - 1e-12).all()
    assert (dist.cdf(x - 1e-9 * scale) <= inner[:, None] + 1e-12).all()


@every
def test_quantiles_are_ordered_and_bound_the_draws(dist: Distribution) -> None:
    x = dist.quantile(LEVELS)
    assert not np.isnan(x).any()
    assert (x[:, 1:] >= x[:, :-1]).all()
    y = outcomes(dist)
    assert (y >= x[:, 0]).all() and (y <= x[:, -1]).all()
    np.testing.assert_array_equal(dist.quantile(LEVELS[::-1]), x[:, ::-1])


@every
def test_intervals_nest_and_never_cross(dist: Distribution) -> None:
    narrow, wide = dist.interval(0.5), dist.interval(0.999)
    assert (narrow[0] <= narrow[1]).all()
    assert (wide[0] <= narrow[0]).all() and (narrow[1] <= wide[1]).all()
    lower, upper = dist.interval(1e-12)
    assert (lower <= upper).all()


@every
def test_crps_is_the_integral_of_its_definition(dist: Distribution) -> None:
    y = outcomes(dist)[0]
    points = np.concatenate([dist.quantile(LEVELS[1:-1]).T, dist._knots()])
    for row, one in enumerate(dist):
        expected = oracles.crps(lambda x, one=one: float(one.cdf(x)), y[row], points=points[:, row])
        np.testing.assert_allclose(dist.crps(y)[row], expected, rtol=1e-7, atol=1e-9)


@every
def test_probabilities_sum_to_one(dist: Distribution) -> None:
    """Σ exp(log_prob) over the outcomes, or ∫ exp(log_prob) over the bulk of a density without atoms."""
    if dist._discrete:
        values = np.unique(dist._knots())
        np.testing.assert_allclose(np.exp(dist.log_prob(values[:, None])).sum(axis=0), 1.0, rtol=1e-12)
    elif not isinstance(dist, Empirical) and not dist._atoms().any():
        levels = np.array([1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 0.99, 1 - 1e-4])
        edges = dist.quantile(levels).T
        nodes, weights = np.polynomial.legendre.leggauss(60)
        x = edges[:-1] + np.diff(edges, axis=0) / 2 * (1 + nodes[:, None, None])
        mass = np.einsum("g,gkn,kn->kn", weights, np.exp(dist.log_prob(x)), np.diff(edges, axis=0) / 2)
        np.testing.assert_allclose(mass, np.broadcast_to(np.diff(levels)[:, None], mass.shape), rtol=1e-6)


@every
def test_crps_of_infinity_is_infinite(dist: Distribution) -> None:
    if not dist._discrete:
        np.testing.assert_array_equal(dist.crps([[np.inf], [-np.inf]]), np.inf)


@every
def test_sample_follows_the_distribution(dist: Distribution) -> None:
    """Within five Monte-Carlo standard errors: the mean, and the cdf at the quartiles; and roughly the spread."""
    n = 8000
    draws = np.asarray(dist.sample(n, random_state=11), dtype=float)
    assert (np.abs(draws.mean(axis=0) - dist.mean) <= 5 * dist.std / np.sqrt(n) + 1e-12).all()
    for q in (0.25, 0.5, 0.75):
        x = dist.quantile(q) + 1e-9 * dist.std
        assert (np.abs((draws <= x).mean(axis=0) - dist.cdf(x)) <= 5 * 0.5 / np.sqrt(n)).all()
    np.testing.assert_allclose(draws.std(axis=0), dist.std, rtol=0.1, atol=1e-4)
    np.testing.assert_allclose(dist.var, dist.std**2, rtol=1e-12)


@every
def test_random_states(dist: Distribution) -> None:
    np.testing.assert_array_equal(dist.sample(3, random_state=7), dist.sample(3, random_state=7))
    np.testing.assert_array_equal(dist.sample(3, random_state=np.random.default_rng(7)), dist.sample(3, random_state=7))
    legacy = [dist.sample(3, random_state=np.random.RandomState(7)) for _ in range(2)]
    np.testing.assert_array_equal(*legacy)
    assert dist.sample(3).shape == (3, 3)
    assert dist.sample(0, random_state=0).shape == (0, 3)
    with pytest.raises(ValueError, match=r"random_state must be .*'seed'"):
        dist.sample(random_state="seed")
    with pytest.raises(ValueError, match=r"n must be a whole number .* got 2\.5"):
        dist.sample(2.5)


@every
def test_rows_are_chosen_as_in_numpy(dist: Distribution) -> None:
    for index in (1, -1, slice(0, 2), [2, 0, 2], np.array([True, False, True]), slice(0, 0)):
        part = dist[index]
        assert type(part) is type(dist)
        for mine, whole in ((part.mean, dist.mean), (part.std, dist.std), (part.quantile(0.3), dist.quantile(0.3))):
            np.testing.assert_allclose(mine, whole[index], rtol=1e-15, strict=True)
        np.testing.assert_array_equal(part.quantile([0.1, 0.9]), dist.quantile([0.1, 0.9])[index], strict=True)
        assert part.sample(4, random_state=0).shape == (4, *dist.mean[index].shape)
        y = outcomes(dist)[0]
        np.testing.assert_allclose(part.crps(y[index]), dist.crps(y)[index], rtol=1e-12, strict=True)
    assert [len(row) for row in dist] == [1, 1, 1]
    with pytest.raises(IndexError):
        dist[3]


@every
def test_one_row_takes_a_grid(dist: Distribution) -> None:
    y = outcomes(dist)
    np.testing.assert_allclose(dist[1].crps(y[:, 1]), dist.crps(y)[:, 1], rtol=1e-12)
    np.testing.assert_array_equal(dist[1].cdf(y[:, 1]), dist.cdf(y)[:, 1])


@every
def test_a_scalar_distribution_returns_numbers(dist: Distribution) -> None:
    one = dist[1]
    values = [one.mean, one.std, one.var, one.quantile(0.5), *one.interval(), one.cdf(0.0), one.crps(1.0)]
    assert all(isinstance(value, np.float64) for value in values)
    assert one.cdf(np.zeros((4, 2))).shape == (4, 2) and one.quantile([0.1, 0.2]).shape == (2,)
    assert len(one.to_frame()) == len(one) == 1
    assert len(one[:]) == 1 and one[:].mean.shape == (1,)


@pytest.mark.parametrize(
    "dist",
    [
        Normal(0.0, 1.0), StudentT(3.0, 1.0, 2.0), Bernoulli(0.3), PoissonLogNormal(0.0, 0.5),
        Categorical([0.2, 0.8]), Empirical([1.0, 2.0, 4.0]), TabulatedScale(1.0, 2.0, TABLE),
        Mixture([Normal(0.0, 1.0), StudentT(4.0, 1.0, 2.0)], [0.5, 0.5]), Transformed(Normal(0.0, 1.0), Log()),
    ],
    ids=lambda dist: type(dist).__name__,
)  # fmt: skip
def test_parameters_that_are_numbers_make_a_scalar_distribution(dist: Distribution) -> None:
    assert isinstance(float(dist.quantile(0.5)), float) and isinstance(dist.mean, np.float64)
    rows = dist[[0, 0]]
    np.testing.assert_array_equal(rows.quantile([0.2, 0.9]), [dist.quantile([0.2, 0.9])] * 2, strict=True)
    for name in dist._shown:
        assert np.shape(getattr(dist, name)) == np.shape(getattr(rows, name))[1:] or name == "classes"


@every
def test_no_rows_at_all(dist: Distribution) -> None:
    none = dist[:0]
    assert len(none) == 0 and none.mean.shape == none.crps([]).shape == none.quantile(0.5).shape == (0,)
    assert none.quantile([0.1, 0.9]).shape == (0, 2)
    assert none.sample(2, random_state=0).shape == (2, 0)


@every
def test_frame(dist: Distribution) -> None:
    table = dist.to_frame(0.8)
    assert list(table.columns) == ["mean", "std", "lower", "upper"]
    np.testing.assert_array_equal(table["upper"], dist.interval(0.8)[1])
    assert type(dist.to_frame(backend="polars")).__module__.startswith("polars")


@every
def test_immutable(dist: Distribution) -> None:
    with pytest.raises(AttributeError, match="is immutable"):
        dist.mean = np.zeros(3)  # type: ignore[misc]
    with pytest.raises(AttributeError, match="is immutable"):
        dist.extra = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="is immutable"):
        del dist._discrete
    np.testing.assert_array_equal(copy.deepcopy(dist).mean, dist.mean)
    assert type(dist).__name__ in repr(dist) and "\n" not in repr(dist)


@every
def test_is_no_array(dist: Distribution) -> None:
    with pytest.raises(TypeError, match="is not an array"):
        np.asarray(dist)


@every
def test_refuses_bad_outcomes_and_levels(dist: Distribution) -> None:
    for method in (dist.cdf, dist.crps):
        with pytest.raises(ValueError, match=r"y must not contain NaN; got nan at index 1"):
            method([0.0, np.nan, 0.0])
        with pytest.raises(ValueError, match=r"y of shape \(2,\) doesn't match 3 rows"):
            method([0.0, 1.0])
        with pytest.raises(TypeError, match="y must be real numbers; got 'high'"):
            method("high")
    for q in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"q must be between 0 and 1; got {q}"):
            dist.quantile(q)
    with pytest.raises(ValueError, match=r"q must be between 0 and 1; got 2.0 at index 1"):
        dist.quantile([0.5, 2.0])
    with pytest.raises(ValueError, match="one-dimensional"):
        dist.quantile([[0.5]])
    with pytest.raises(ValueError, match="NaN"):
        dist.quantile(np.nan)
    for level in (0.0, 1.0, 95, [0.9]):
        with pytest.raises(ValueError, match="level must be one number strictly between 0 and 1"):
            dist.interval(level)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [1 - 1e-12, 1 - 1e-15, 1 - 2.0**-53])
@pytest.mark.parametrize(
    "dist",
    [Normal(0.0, 2.0), StudentT(3.0), StudentT(0.4), Mixture([Normal(0.0, 1.0), StudentT(5.0, 0.0, 2.0)], [0.3, 0.7])],
    ids=["normal", "t", "heavy t", "mixture"],
)
def test_intervals_of_symmetric_distributions_are_symmetric_up_to_the_last_level(dist: Distribution, level) -> None:
    """1 − (1 − level)/2 has lost the digits of the tail, or is 1; the upper end must not be made from it."""
    lower, upper = dist.interval(level)
    assert np.isfinite(upper).all()
    np.testing.assert_allclose(upper, -lower, rtol=1e-12)
    np.testing.assert_allclose(dist.cdf(lower), (1 - level) / 2, rtol=1e-9)
