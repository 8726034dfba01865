"""Mixtures: quantiles that can't be fooled, and scores against their integrals."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp
from tests.distributions import oracles

from credo.distributions import Bernoulli, Categorical, Distribution, Empirical, Mixture, Normal, StudentT

LEVELS = np.array([1e-300, 1e-12, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.5, 0.7, 0.9, 0.99, 1 - 1e-12])


@pytest.mark.parametrize(
    "dist",
    [
        Mixture([Normal(0.0, 1e-8), Normal(3.0, 1e8), Normal(7.0, 2.0)], [0.2, 0.3, 0.5]),
        Mixture([Normal(-1e6, 1.0), Normal(1e6, 1e-3)], [0.27, 0.73]),
        Mixture([Normal(0.0, 1.0), Normal(0.0, 1e-12)], [0.5, 0.5]),
        Mixture([Normal(0.0, 1.0), StudentT(1.0, 50.0, 1e-4)], [1e-9, 1 - 1e-9]),
        Mixture([Normal(0.0, 1.0), Normal(1e300, 1.0)], [1.0, 0.0]),
        Mixture([StudentT(1.1, 0.0, 1e3), StudentT(200.0, 1.0, 1e-3)], [0.5, 0.5]),
        Mixture([Normal(k, 0.1) for k in range(20)], np.full(20, 0.05)),
    ],
)
def test_quantiles_solve_for_the_level(dist: Mixture) -> None:
    x = dist.quantile(LEVELS)
    assert (np.diff(x) >= 0).all()
    # Either F(x) is q to rounding, or q is between F's values a few floats away.
    slack, few = 1e-13 * LEVELS + 2e-16, 5 * np.spacing(np.abs(x))
    assert (dist.cdf(x + few) >= LEVELS - slack).all()
    assert (dist.cdf(x - few) <= LEVELS + slack).all()


def test_quantile_between_separated_components() -> None:
    """Any level in a component's share is that component's own quantile of the level that is left."""
    dist = Mixture([Normal(-100.0, 1.0), Normal(100.0, 2.0)], [0.25, 0.75])
    q = np.array([0.05, 0.2, 0.3, 0.9])
    expected = np.concatenate([-100 + stats.norm.ppf(q[:2] / 0.25), 100 + 2 * stats.norm.ppf((q[2:] - 0.25) / 0.75)])
    np.testing.assert_allclose(dist.quantile(q), expected, rtol=1e-13)


@pytest.mark.parametrize("together", [1, 2**15], ids=["one by one", "together"])
def test_a_mixture_of_mixtures_is_that_of_all_components(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cdf is Σ_j v_j Σ_k w_k F_jk, whatever is evaluated together; rows may leave components out."""
    monkeypatch.setattr("credo.distributions._mixture._MAX_JOINT_VALUES", together)
    rng = np.random.default_rng(0)
    v = np.array([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.1, 0.9, 0.0]])
    w, loc, scale = rng.dirichlet(np.ones(5), size=2), rng.normal(size=(2, 5, 4)), rng.uniform(0.1, 1.0, size=(2, 5, 4))
    inner = [Mixture([Normal(*one) for one in zip(loc[j], scale[j], strict=True)], w[j]) for j in range(2)]
    dist = Mixture([*inner, StudentT(3.0, 1.0, 0.5)], v)

    def cdf(x: np.ndarray) -> np.ndarray:
        normal = (w[..., None] * stats.norm.cdf(x, loc, scale)).sum(axis=1)
        return v[:, 0] * normal[0] + v[:, 1] * normal[1] + v[:, 2] * stats.t.cdf(x, 3.0, 1.0, 0.5)

    for x in (-0.5, 0.3, 2.0):
        np.testing.assert_allclose(dist.cdf(x), cdf(np.full(4, x)), rtol=1e-12)
    for q in (0.025, 0.5, 0.99):
        np.testing.assert_allclose(cdf(dist.quantile(q)), q, rtol=1e-12)
    np.testing.assert_allclose(dist[1].cdf(np.linspace(-2, 2, 7)), [dist.cdf(x)[1] for x in np.linspace(-2, 2, 7)])
    np.testing.assert_array_equal(dist[2:].quantile([0.1, 0.8]), dist.quantile([0.1, 0.8])[2:])
    assert dist[:0].quantile(0.5).shape == dist[:0].cdf(1.0).shape == (0,)


def test_ends_of_the_support_are_those_of_components_in_use() -> None:
    point, normal = Normal(3.0, 0.0), Normal(0.0, 1.0)
    np.testing.assert_array_equal(Mixture([point, normal], [1.0, 0.0]).quantile([0.0, 0.4, 1.0]), 3.0)
    np.testing.assert_array_equal(Mixture([point, normal], [0.9, 0.1]).quantile([0.0, 1.0]), [-np.inf, np.inf])
    bounded = Mixture([Empirical([1.0, 2.0]), Empirical([5.0, 9.0])], [0.5, 0.5])
    np.testing.assert_array_equal(bounded.quantile([0.0, 1.0]), [1.0, 9.0])


def test_quantiles_of_steps_are_points_of_the_support() -> None:
    points = Mixture([Normal(0.0, 0.0), Normal(1.0, 0.0)], [0.5, 0.5])
    np.testing.assert_array_equal(points.quantile([0.2, 0.5, np.nextafter(0.5, 1), 0.9]), [0, 0, 1, 1])
    draws = Mixture([Empirical([1.0, 4.0]), Empirical([2.0, 8.0])], [0.5, 0.5])
    np.testing.assert_array_equal(draws.quantile([0.1, 0.25, 0.4, 0.6, 0.8]), [1, 1, 2, 4, 8])
    spike = Mixture([Normal(0.3, 0.0), Normal(0.0, 1.0)], [0.5, 0.5])
    np.testing.assert_array_equal(spike.quantile([0.35, 0.5, 0.8]), 0.3)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-6, 1e6), st.floats(0.01, 1)), min_size=1, max_size=5),
    st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=5),
)
@settings(max_examples=30, deadline=None)
def test_quantiles_are_monotone_and_undone_by_the_cdf(parts: list, levels: list) -> None:
    means, stds, weights = np.array(parts).T
    dist = Mixture([Normal(m, s) for m, s in zip(means, stds, strict=True)], weights / weights.sum())
    q = np.sort(levels)
    x = dist.quantile(q)
    assert (np.diff(x) >= 0).all()
    slack = 1e-12 + 4 * np.spacing(np.abs(x)) / stds.min()
    assert (np.abs(dist.cdf(x) - q) <= slack).all()


@pytest.mark.parametrize("part", [Normal([0.0, 1e3], [2.0, 1e-3]), StudentT([3.0, 1.5], 1.0, [1.0, 7.0])])
def test_a_mixture_of_one_is_its_component(part: Distribution) -> None:
    alone, y = Mixture([part], [1.0]), np.array([[-3.0], [0.0], [999.9995]])
    np.testing.assert_allclose(alone.mean, part.mean, rtol=1e-15)
    np.testing.assert_allclose(alone.std, part.std, rtol=1e-15)
    np.testing.assert_allclose(alone.cdf(y), part.cdf(y), rtol=1e-15)
    np.testing.assert_allclose(alone.log_prob(y), part.log_prob(y), rtol=1e-15)
    np.testing.assert_allclose(alone.crps(y), part.crps(y), rtol=1e-10)
    np.testing.assert_allclose(alone.quantile(LEVELS[1:]), part.quantile(LEVELS[1:]), rtol=1e-13, atol=1e-13)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_moments_and_density_by_the_textbook(seed: int) -> None:
    rng = np.random.default_rng(seed)
    means, stds = rng.normal(0, 5, (3, 2)), rng.gamma(1, 2, (3, 2))
    weights = rng.dirichlet(np.ones(3), 2)
    dist = Mixture([Normal(m, s) for m, s in zip(means, stds, strict=True)], weights)
    w, y = weights.T, rng.normal(size=2)
    mean = (w * means).sum(axis=0)
    np.testing.assert_allclose(dist.mean, mean)
    np.testing.assert_allclose(dist.var, (w * (stds**2 + means**2)).sum(axis=0) - mean**2)
    np.testing.assert_allclose(dist.log_prob(y), logsumexp(np.log(w) + stats.norm.logpdf(y, means, stds), axis=0))


@pytest.mark.parametrize("y", [-4.0, 5.0])
@pytest.mark.parametrize(
    "dist",
    [
        Mixture([Normal(0.0, 1.0), Normal(5.0, 0.1)], [0.3, 0.7]),
        Mixture([Normal(0.0, 1.0), StudentT(1.0, 5.0, 0.1)], [0.3, 0.7]),
        Mixture([StudentT(0.9, 0.0, 1.0), StudentT(3.0, 5.0, 1e-2)], [0.5, 0.5]),
        Mixture([Empirical([-1.0, 0.5, 7.0]), StudentT(4.0, 5.0, 0.5)], [0.5, 0.5]),
        Mixture([Mixture([Normal(0.0, 1.0), Normal(5.0, 0.1)], [0.5, 0.5]), Normal(1.0, 3.0)], [0.6, 0.4]),
    ],
)
def test_crps_is_its_integral(dist: Mixture, y: float) -> None:
    points = [-1e4, -100, -10, -1, 0, 0.5, 2, 4, 4.9, 4.99, 5, 5.01, 5.1, 6, 7, 10, 100, 1e4]
    expected = oracles.crps(lambda x: float(dist.cdf(x)), y, points=points)
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-7)


def test_quadrature_agrees_with_the_closed_form() -> None:
    """A mixture in a mixture is integrated; flattened, it has the closed form."""
    a, b, c = Normal([0.0, 100.0], 1.0), Normal(3.0, [0.1, 1e-4]), Normal(-2.0, 20.0)
    nested = Mixture([Mixture([a, b], [0.5, 0.5]), c], [0.4, 0.6])
    flat = Mixture([a, b, c], [0.2, 0.2, 0.6])
    y = np.array([[-60.0], [0.0], [3.0], [250.0]])
    np.testing.assert_allclose(nested.crps(y), flat.crps(y), rtol=1e-12)
    np.testing.assert_allclose(nested.quantile(LEVELS), flat.quantile(LEVELS), rtol=1e-10)


def test_crps_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, one = np.linspace(-3, 3, 11), StudentT(4.0, 1.0, 2.0)
    dist, y = Mixture([Normal(rows, 1.0), one], [0.5, 0.5]), np.linspace(0, 5, 22).reshape(2, 11)
    whole = dist.crps(y)
    monkeypatch.setattr("credo.distributions.numeric._BLOCK_POINTS", 300)
    np.testing.assert_allclose(dist.crps(y), whole, rtol=1e-13)


def test_components_without_weight_have_no_say() -> None:
    wild = StudentT(0.4, 1e5, 1e9)
    dist, normal = Mixture([wild, Normal(1.0, 2.0)], [0.0, 1.0]), Normal(1.0, 2.0)
    assert dist.mean == 1.0 and dist.std == 2.0
    np.testing.assert_allclose(dist.crps(0.3), normal.crps(0.3), rtol=1e-10)
    np.testing.assert_allclose(dist.log_prob(0.3), normal.log_prob(0.3))
    np.testing.assert_array_equal(Mixture([Normal(0.3, 0.0), normal], [0.0, 1.0]).log_prob(0.3), normal.log_prob(0.3))
    assert (dist.sample(100, random_state=0) < 100).all()


def test_heavy_tails_make_moments_and_scores_infinite() -> None:
    dist = Mixture([Normal(0.0, 1.0), StudentT([0.5, 1.0, 2.0])], [0.5, 0.5])
    np.testing.assert_array_equal(np.isinf(dist.crps(0.0)), [True, False, False])
    np.testing.assert_array_equal(dist.mean, [np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(dist.std, [np.nan, np.nan, np.inf])


def test_mixtures_of_labels_that_are_numbers() -> None:
    dist = Mixture([Bernoulli([0.2, 0.9]), Bernoulli(0.4)], [0.5, 0.5])
    plain = Bernoulli([0.3, 0.65])
    np.testing.assert_allclose(dist.log_prob([1, 0]), plain.log_prob([1, 0]))
    np.testing.assert_allclose(dist.crps([1, 0]), plain.crps([1, 0]), rtol=1e-12)
    np.testing.assert_array_equal(
        dist.quantile([0.0, 0.5, 0.69, 0.71, 1.0]), plain.quantile([0.0, 0.5, 0.69, 0.71, 1.0])
    )


def test_tiny_and_huge_spreads_survive() -> None:
    np.testing.assert_allclose(Mixture([Normal(0.0, 1e-200), Normal(0.0, 1e-200)], [0.5, 0.5]).std, 1e-200)
    np.testing.assert_allclose(Mixture([Normal(0.0, 1e200), Normal(0.0, 1e200)], [0.5, 0.5]).std, 1e200)


def test_extremes_raise_no_warning() -> None:
    largest = np.finfo(float).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (Normal(0.0, 5e-324), StudentT(1.0, 0.0, 1e-300), Normal(0.0, 0.0)):
            dist = Mixture([Normal(0.0, 1e300), other], [0.5, 0.5])
            for y in (-np.inf, -largest, 0.0, largest, np.inf):
                values = np.array([dist.cdf(y), dist.log_prob(y), dist.crps(y)])
                assert not np.isnan(values).any()
            assert not np.isnan(dist.quantile(np.append(LEVELS, [0.0, 1.0]))).any()


def test_bad_input_is_refused_in_words() -> None:
    a, b = Normal([0.0, 1.0], 1.0), Normal([0.0, 1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"equal lengths \(or length 1\); got \[2, 3\]"):
        Mixture([a, b], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"weights must have the shape \(2,\) or \(2, 2\), .* got \(3,\)"):
        Mixture([a, a], [0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match=r"weights must sum to 1; they sum to 0.9"):
        Mixture([a, a], [0.5, 0.4])
    with pytest.raises(ValueError, match=r"weights of row 1 must sum to 1; they sum to 1.1"):
        Mixture([a, a], [[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(ValueError, match=r"weights must be between 0 and 1; got -0.5 at index 0"):
        Mixture([a, a], [-0.5, 1.5])
    with pytest.raises(ValueError, match="at least one component"):
        Mixture([], [])
    with pytest.raises(TypeError, match="components must be distributions; component 1 is a float"):
        Mixture([a, 1.0], [0.5, 0.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a density and a probability can't be mixed: Normal and Bernoulli"):
        Mixture([a, Bernoulli(0.5)], [0.5, 0.5]).log_prob(1.0)
    with pytest.raises(TypeError, match="labels such as 'x' have no cdf"):
        Mixture([Categorical([0.5, 0.5], classes=["x", "y"])], [1.0]).cdf(0.0)
    with pytest.raises(TypeError, match="no density"):
        Mixture([Empirical([1.0, 2.0])], [1.0]).log_prob(0.0)


def test_repr_says_what_is_inside() -> None:
    dist = Mixture([Normal([0.0, 1.0], 1.0), StudentT(3.0), Normal(0.0, 1.0)], [0.2, 0.3, 0.5])
    assert repr(dist) == "Mixture(<3 components (Normal, StudentT) of 2 rows>)"
    assert len(dist.components) == 3 and dist.weights.shape == (2, 3)
