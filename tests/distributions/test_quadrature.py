"""The CRPS of mixtures of Student-t laws: right whatever their scales, and at a bounded cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributions import oracles

from credo.distributions import Empirical, Mixture, Normal, StudentT
from credo.distributions.numeric import mesh

HARD = {
    "alike": Mixture([StudentT(df, 0.1 * df, 1.0) for df in (3.0, 4.0, 5.0)], [0.2, 0.3, 0.5]),
    "separated": Mixture([StudentT(4.0, -300.0, 1.0), StudentT(40.0, 5.0, 0.1), Normal(1e3, 3.0)], [0.3, 0.3, 0.4]),
    "unlike scales": Mixture([StudentT(6.0, 0.3, 1e-6), StudentT(9.0, 0.0, 1.0)], [0.4, 0.6]),
    "one inside another": Mixture([Normal(0.0, 1e-3), StudentT(2.5, 1.0, 10.0), Normal(0.002, 1e-5)], [0.5, 0.2, 0.3]),
    "df just above 1": Mixture([StudentT(1.0001, 0.0, 1.0), StudentT(1.01, 7.0, 0.2)], [0.5, 0.5]),
    "df below 1": Mixture([StudentT(0.8, 0.0, 1.0), Normal(2.0, 0.3)], [0.7, 0.3]),
    "df of all sizes": Mixture([StudentT(1.5, 0.0, 1.0), StudentT(1e5, 0.5, 1.0), Normal(1.0, 1.0)], [0.2, 0.5, 0.3]),
    "a faint wide one": Mixture([StudentT(5.0, 0.0, 1.0), StudentT(3.0, 50.0, 1e3)], [1 - 1e-6, 1e-6]),
}


@pytest.mark.parametrize("y", [0.3, -6.0])
@pytest.mark.parametrize("name", HARD)
def test_crps_is_its_integral(name: str, y: float) -> None:
    np.testing.assert_allclose(HARD[name].crps(y), oracles.mixture_crps(HARD[name], y), rtol=1e-9)


def test_crps_of_a_mixture_of_many_is_that_of_its_draws() -> None:
    """E|X − y| − E|X − X'|/2, from a hundred thousand pairs; five standard errors."""
    rng = np.random.default_rng(3)
    parts = [StudentT(7.0, loc, scale) for loc, scale in zip(rng.normal(size=33), rng.gamma(2, size=33), strict=True)]
    dist, y, n = Mixture(parts, rng.dirichlet(np.ones(33))), 1.7, 100_000
    one, other = dist.sample(2 * n, random_state=4).reshape(2, n)
    draws = np.abs(one - y) - np.abs(one - other) / 2
    assert abs(dist.crps(y) - draws.mean()) < 5 * draws.std() / np.sqrt(n)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_splitting_or_shifting_components_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 6)
    df, loc, scale = 10.0 ** rng.uniform(0, 3, k), rng.normal(0, 5, k), 10.0 ** rng.uniform(-5, 3, k)
    weights, y = rng.dirichlet(np.ones(k)), rng.normal(0, 5)
    parts = [StudentT(*args) for args in zip(df, loc, scale, strict=True)]
    score = Mixture(parts, weights).crps(y)
    twice = Mixture([*parts, *parts], np.append(weights, weights) / 2)
    np.testing.assert_allclose(twice.crps(y), score, rtol=1e-12)
    moved = [StudentT(*args) for args in zip(df, -64 * loc, 64 * scale, strict=True)]
    np.testing.assert_allclose(Mixture(moved, weights).crps(-64 * y), 64 * score, rtol=2e-10)


def test_components_that_agree_score_as_one() -> None:
    part = StudentT([3.0, 70.0], [0.0, 5.0], [1.0, 1e-3])
    np.testing.assert_array_equal(Mixture([part, part, part], [0.25, 0.25, 0.5]).crps(1.7), part.crps(1.7))


def test_point_masses_have_the_score_of_their_draws() -> None:
    """E|X − y| − E|X − X'|/2 over the points."""
    points = [Normal(0.0, 0.0), StudentT(3.0, 2.0, 0.0), Empirical([[10.0]])]
    expected = 0.5 * 3 + 0.3 * 1 + 0.2 * 7 - (0.5 * 0.3 * 2 + 0.5 * 0.2 * 10 + 0.3 * 0.2 * 8)
    np.testing.assert_allclose(Mixture(points, [0.5, 0.3, 0.2]).crps(3.0), expected, rtol=1e-13)


def panels(dist: Mixture) -> np.ndarray:
    return (np.diff(mesh(dist._knots(), *dist._widths()), axis=0) > 0).sum(axis=0)


def test_panels_do_not_grow_with_components_that_overlap() -> None:
    """Fourteen nodes a panel: some hundred nodes, for three components as for three hundred."""
    rng = np.random.default_rng(0)
    for k in (3, 33, 300):
        parts = [StudentT(20.0, loc, 1.0) for loc in rng.uniform(-1, 1, k)]
        assert panels(Mixture(parts, np.full(k, 1 / k)))[0] <= 8


def test_panels_grow_with_the_logarithm_of_unequal_scales() -> None:
    few, many = (panels(Mixture([Normal(0.0, 1.0), Normal(0.1, s)], [0.5, 0.5]))[0] for s in (1e-3, 1e-12))
    assert many - few <= 2 * np.log(1e9) / np.log(4.0) + 2


def test_jumps_are_edges_and_components_without_weight_are_not() -> None:
    dist = Mixture([StudentT(5.0, [0.0, 1.0], 1.0), Normal(0.7, 0.0), Normal(99.0, 1.0)], [0.5, 0.5, 0.0])
    edges = mesh(dist._knots(), *dist._widths())
    assert (np.diff(edges, axis=0) >= 0).all()
    assert (edges == 0.7).any(axis=0).all()
    assert edges.max() < 90
