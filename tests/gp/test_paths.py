"""Paths are draws from the exact posterior, and functions: the same wherever and however they are evaluated."""

import tracemalloc
from dataclasses import FrozenInstanceError
from itertools import cycle

import numpy as np
import pytest

from credo.core.inference import Dense
from credo.kernels import RBF, Categorical, Exponential, Linear, Matern32, Matern52, Periodic, White

RNG = np.random.default_rng(2)
X = RNG.uniform(0.0, 4.0, size=(14, 2))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=14)
NOISE = RNG.uniform(0.02, 0.3, size=14)
NEW = np.array([[1.0, 1.0], [1.1, 1.2], [3.9, 0.2], [2.0, 5.0], [-9.0, 9.0], X[3]])

MEANS = {
    "zero": lambda rows: np.empty((len(rows), 0)),
    "constant": lambda rows: np.ones((len(rows), 1)),
    "linear": lambda rows: np.column_stack([np.ones(len(rows)), rows]),
}


def drawn(kernel=None, *, X=X, y=Y, noise=NOISE, mean="constant", n=7, random_state=0, **options):
    """Paths and the exact posterior that they are draws of."""
    kernel = RBF(1.2) if kernel is None else kernel
    posterior = Dense(X).prior(kernel).observe(y[:, None], noise, MEANS[mean])
    return posterior.paths(n, np.random.default_rng(random_state), **options), posterior


@pytest.mark.parametrize(
    ("kernel", "mean"),
    zip(
        [
            RBF([1.2, 2.0], variance=2.0),
            Matern32(1.5),
            Periodic(1.0, period=6.0).on(0) + 0.2 * Linear(),
            Matern52(2.0).on(0) * RBF(3.0).on(1) + 0.5,
            RBF(1.0).on(0) * Linear(0.3).on(1),
        ],
        cycle(MEANS),
        strict=False,
    ),
)
def test_mean_and_covariance_are_the_exact_ones(kernel, mean):
    """5000 paths: five standard errors, and 0.02 of the prior variance for the features that they share."""
    paths, posterior = drawn(kernel, mean=mean, n=5000)
    expected, cov = posterior.expected(NEW)[:, 0], posterior.covariance(NEW)
    values = paths(NEW)
    std = np.sqrt(np.diag(cov))
    assert (np.abs(values.mean(axis=0) - expected) < 5 * std / np.sqrt(5000)).all()
    prior = np.sqrt(kernel.diagonal(NEW))
    slack = 5 * np.sqrt((np.outer(std**2, std**2) + cov**2) / 5000) + 0.02 * np.outer(prior, prior)
    assert (np.abs(np.cov(values.T) - cov) < slack).all()


@pytest.mark.parametrize("kernel", [RBF(1.2), Exponential(1.0), Matern52([1.0, 3.0])], ids=repr)
def test_paths_pass_through_data_without_noise(kernel):
    paths, posterior = drawn(kernel, noise=np.zeros(14))
    np.testing.assert_allclose(paths(X), np.tile(Y, (7, 1)), atol=1e-6 + 10 * np.sqrt(posterior.jitter))


def test_a_path_is_one_function():
    """At once, in batches, backwards or alone: the same values up to rounding."""
    paths, _ = drawn(RBF(0.8) + Matern32(2.0))
    rows = RNG.uniform(-1.0, 5.0, size=(1500, 2))
    values = paths(rows)
    assert values.shape == (7, 1500)
    batches = np.hstack([paths(rows[i : i + 133]) for i in range(0, 1500, 133)])
    np.testing.assert_allclose(batches, values, atol=1e-11)
    np.testing.assert_allclose(paths(rows[::-1])[:, ::-1], values, atol=1e-11)
    np.testing.assert_allclose(np.vstack([path(rows) for path in paths]), values, atol=1e-11)
    np.testing.assert_allclose(paths(rows[41:42])[:, 0], values[:, 41], atol=1e-11)


def test_paths_count_and_pick():
    paths, _ = drawn()
    assert len(paths) == 7 and len(paths[2]) == 1 and len(paths[1:4]) == 3 and len(paths[[0, 5]]) == 2
    np.testing.assert_allclose(paths[[5, 0]](NEW), paths(NEW)[[5, 0]], atol=1e-12)
    np.testing.assert_allclose(paths[-1](NEW)[0], paths(NEW)[-1], atol=1e-12)
    with pytest.raises(IndexError):
        paths[7]
    assert repr(paths[:2]) == "Paths(n=2, kernel=RBF(lengthscale=1.2))"


def test_paths_do_not_change():
    rows, y = X.copy(), Y.copy()
    paths, _ = drawn(X=rows, y=y)
    before = paths(NEW)
    rows += 1.0
    y += 1.0
    np.testing.assert_array_equal(paths(NEW), before)
    with pytest.raises(FrozenInstanceError):
        paths.center = 1.0
    for array in (paths.X, paths.weights, paths.alpha, paths.coefficients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_seeds():
    first, again, other = (drawn(random_state=seed)[0](NEW) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).min() > 1e-6


@pytest.mark.parametrize(("kernel", "order"), [(RBF(1.0), 4), (Matern32(1.0), 3)], ids=repr)
def test_paths_are_as_smooth_as_the_kernel(kernel, order):
    """Second differences have the variance 6k(0) − 8k(h) + 2k(2h), which goes like h⁴, for a Matérn 3/2 like h³."""
    paths, _ = drawn(kernel, X=np.zeros((1, 1)), y=np.zeros(1), noise=np.ones(1), mean="zero", n=400, n_features=8192)
    variances = []
    for h in (0.1, 0.05):
        values = paths(np.arange(30.0, 60.0, h)[:, None])
        found = np.mean(np.diff(values, n=2, axis=1) ** 2)
        k = kernel.cross([[0.0]], [[0.0], [h], [2 * h]])[0]
        assert found == pytest.approx(6 * k[0] - 8 * k[1] + 2 * k[2], rel=0.1)
        variances.append(found)
    assert np.log2(variances[0] / variances[1]) == pytest.approx(order, abs=0.25)


def test_far_from_data_paths_are_those_of_the_prior():
    """3000 draws: the standard error of a variance is √(2/3000) of it."""
    kernel = Matern52(0.5, variance=3.0)
    paths, _ = drawn(kernel, mean="zero", n=3000)
    values = paths(np.array([[100.0, -50.0], [-70.0, 20.0]]))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=5 * np.sqrt(3 / 3000))
    np.testing.assert_allclose(values.var(axis=0), 3.0, rtol=5 * np.sqrt(2 / 3000))


def test_categories():
    """A category without data is drawn with the prior's correlation to those with data."""
    kernel = Categorical(0.5, variance=2.0)
    rows, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    paths, posterior = drawn(kernel, X=rows, y=y, noise=np.full(2, 0.1), mean="zero", n=5000)
    new = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(paths(new).mean(axis=0), posterior.expected(new)[:, 0], atol=0.1)
    np.testing.assert_allclose(np.cov(paths(new).T), posterior.covariance(new), atol=0.15)


def test_memory_is_bounded():
    """Forty thousand rows of 2048 features would be 655 MB."""
    paths, _ = drawn(n=2)
    rows = RNG.uniform(size=(40_000, 2))
    paths(rows[:10])
    tracemalloc.start()
    paths(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drawn(n=0), "n must be a whole number of at least 1; got 0"),
        (lambda: drawn(n_features=1.5), "n_features must be a whole number of at least 1; got 1.5"),
        (lambda: drawn(RBF() + White(0.1)), r"kernel with White\(0.1\).* sample\(X\)"),
        (lambda: drawn(RBF().exp()), r"no random features.* sample\(X\)"),
        (lambda: drawn()[0](NEW[:, :1]), "X has 1 columns, but the paths were drawn for 2"),
        (lambda: drawn()[0]([[np.nan, 0.0]]), "NaN"),
    ],
)
def test_errors_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
