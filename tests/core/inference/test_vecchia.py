"""Vecchia's approximation where it isn't exact: its density, its neighbours, and how close it is."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from credo.core.inference import Dense, Vecchia
from credo.core.inference import vecchia as _neighbors
from credo.core.inference.vecchia import earlier_neighbors, ordered
from credo.kernels import RBF, Linear, Matern32, Periodic

RNG = np.random.default_rng(3)
X = RNG.uniform(0, 1, size=(150, 2))
Y = np.sin(5 * X[:, :1]) + X[:, 1:] ** 2 + 0.1 * RNG.normal(size=(150, 1))
NOISE = RNG.uniform(0.01, 0.03, size=150)
KERNEL = Matern32([0.4, 0.9], variance=1.2)


def constant(rows):
    return np.ones((len(rows), 1))


def test_the_evidence_is_the_sum_of_conditional_log_densities():
    rows = Vecchia(X, n_neighbors=7)
    places, unused = rows.neighbors
    C = KERNEL.gram(X) + np.diag(NOISE)
    total = 0.0
    for own, first in zip(places, unused, strict=True):
        own = own[first:]
        joint = multivariate_normal(np.zeros(len(own)), C[np.ix_(own, own)]).logpdf(Y[own, 0])
        others = own[:-1]
        if len(others):
            joint -= multivariate_normal(np.zeros(len(others)), C[np.ix_(others, others)]).logpdf(Y[others, 0])
        total += joint
    assert rows.prior(KERNEL).observe(Y, NOISE).log_evidence == pytest.approx(total, abs=1e-9)


def test_the_gradient_is_a_difference_of_evidences_with_few_neighbours():
    rows, step = Vecchia(X, n_neighbors=6), 1e-5

    def value(kernel, noise):
        return rows.prior(kernel).observe(Y, noise, constant).log_evidence

    found = rows.prior(KERNEL).observe(Y, NOISE, constant).gradient()
    ends = [value(KERNEL.with_params(lengthscale=[0.4, 0.9 + s]), NOISE) for s in (step, -step)]
    assert found.by_kernel[1] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)
    for row in (0, 77):
        ends = [value(KERNEL, NOISE + s * (np.arange(150) == row)) for s in (1e-6, -1e-6)]
        assert found.by_noise[row] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4)


def test_neighbours_are_the_nearest_of_those_before():
    Z, m = RNG.normal(size=(400, 3)), 5
    order = ordered(Z)
    assert np.array_equal(np.sort(order), np.arange(400))
    places, unused = earlier_neighbors(Z, order, m)
    for k in (1, 3, 6, 50, 399):
        before = order[:k]
        nearest = before[np.argsort(((Z[before] - Z[order[k]]) ** 2).sum(axis=1))[:m]]
        assert set(places[k, unused[k] : -1]) == set(nearest) and places[k, -1] == order[k]


@pytest.mark.parametrize("n, n_columns", [(1, 2), (9, 1), (1500, 2), (1500, 3), (300, 8)])
def test_each_row_is_as_far_as_possible_from_those_before(n, n_columns):
    Z = np.random.default_rng(n).normal(size=(n, n_columns))
    expected, distance = [np.argmin(((Z - Z.mean(axis=0)) ** 2).sum(axis=1))], np.full(n, np.inf)
    while len(expected) < n:
        np.minimum(distance, ((Z - Z[expected[-1]]) ** 2).sum(axis=1), out=distance)
        distance[expected] = -1.0
        expected.append(np.argmax(distance))
    assert np.array_equal(ordered(Z), expected)


def test_copies_come_last_and_where_there_is_no_time_the_order_is_random(monkeypatch):
    Z = np.random.default_rng(0).integers(0, 6, size=(400, 2)).astype(float)
    order = ordered(Z)
    assert len(np.unique(Z[order[:36]], axis=0)) == 36 and np.array_equal(np.sort(order), np.arange(400))
    monkeypatch.setattr(_neighbors, "_MAX_DISTANCES_PER_ROW", 3)
    few = np.random.default_rng(0).normal(size=(400, 2))
    assert np.array_equal(np.sort(ordered(few)), np.arange(400))


def test_copies_of_rows_have_an_order_and_a_posterior():
    rows = np.repeat([[0.0, 0.0], [1.0, 2.0]], 30, axis=0)
    posterior = Vecchia(rows, n_neighbors=4).prior(KERNEL).observe(np.repeat([[1.0], [2.0]], 30, axis=0), 0.1)
    mean, variance = posterior.latent(rows)
    assert np.isfinite(posterior.log_evidence) and (variance >= 0).all()
    np.testing.assert_allclose(mean[:, 0], np.repeat([1.0, 2.0], 30), atol=0.1)


@pytest.mark.parametrize("m, error", [(5, 0.3), (20, 0.05)])
def test_more_neighbours_come_closer_to_the_exact_posterior(m, error):
    exact = Dense(X).prior(KERNEL).observe(Y, NOISE, constant)
    found = Vecchia(X, m).adapted(KERNEL).prior(KERNEL).observe(Y, NOISE, constant)
    new = np.random.default_rng(7).uniform(0, 1, size=(50, 2))
    (mean, variance), (near, spread) = exact.latent(new), found.latent(new)
    assert np.abs(near - mean).max() < error * np.sqrt(variance.max() + NOISE.mean())
    np.testing.assert_allclose(np.sqrt(spread), np.sqrt(variance), rtol=error)


@pytest.mark.parametrize(
    "kernel", [RBF(0.5) + Linear(0.3), RBF(0.5).on(0) * Matern32(0.3).on(1), Periodic(0.6, period=2.0).exp()], ids=repr
)
def test_composed_kernels_pass_their_blocks_on(kernel):
    places = np.stack([RNG.permutation(150)[:6] for _ in range(5)])
    a, c = np.tril_indices(6)
    K = kernel.gram(X)
    np.testing.assert_allclose(kernel.blocks(X, places), K[places[:, a], places[:, c]], rtol=1e-12)
    W = RNG.normal(size=(5, 21))
    whole = np.zeros((150, 150))
    np.add.at(whole, (places[:, a], places[:, c]), W)
    np.testing.assert_allclose(kernel.pullback_blocks(X, places, W), kernel.pullback(X, whole), rtol=1e-9)


def test_places_must_be_rows():
    for places in ([[0, 150]], [[-1, 0]], [0, 1]):
        with pytest.raises(ValueError, match="numbers of rows from 0 to 149"):
            KERNEL.blocks(X, np.array(places))


@pytest.mark.parametrize("kernel", [KERNEL, RBF(0.5) + Linear(0.3)], ids=repr)
def test_the_information_of_all_neighbours_is_that_of_a_normal_distribution(kernel):
    """½ tr(C⁻¹ ∂C/∂θ_j C⁻¹ ∂C/∂θ_k) for each of two targets."""
    rows, step = X[:40], 1e-5
    by_noise = np.linspace(0.5, 1.5, 40)
    tree, vector = kernel.tree, kernel.tree.flatten()

    def gram(vector):
        return kernel.with_tree(tree.unflatten(vector)).gram(rows)

    slopes = [
        (gram(vector + move) - gram(vector - move)) / (2 * step * unit)
        for move, unit in zip(step * np.eye(len(vector)), tree.derivative(vector), strict=True)
    ]
    C = kernel.gram(rows) + np.diag(NOISE[:40])
    solved = [np.linalg.solve(C, slope) for slope in [*slopes, np.diag(by_noise)]]
    expected = [[np.trace(one @ other) for one in solved] for other in solved]
    posterior = Vecchia(rows, n_neighbors=39).prior(kernel).observe(np.hstack([Y[:40], X[:40, :1]]), NOISE[:40])
    np.testing.assert_allclose(posterior.information(by_noise), expected, rtol=1e-4, atol=1e-6)


def test_paths_are_functions_with_the_posterior_s_moments():
    """1000 paths: five standard errors, and the error of the random features."""
    posterior = Vecchia(X, n_neighbors=10).prior(KERNEL).observe(Y, NOISE, constant)
    paths = posterior.paths(1000, np.random.default_rng(0))
    new = np.random.default_rng(7).uniform(-0.2, 1.2, size=(40, 2))
    values, (mean, variance) = paths(new), posterior.latent(new)
    assert (np.abs(values.mean(axis=0) - mean[:, 0]) < 5 * np.sqrt(variance / 1000)).all()
    np.testing.assert_allclose(values.std(axis=0), np.sqrt(variance), rtol=0.15)
    np.testing.assert_allclose(paths[[3, 1]](new[::-1])[:, ::-1], values[[3, 1]], atol=1e-12)
    np.testing.assert_allclose(np.hstack([paths(new[:7]), paths(new[7:])]), values, atol=1e-12)
