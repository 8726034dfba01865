"""Shapley values against their definition, closed forms and laws."""

from itertools import combinations, permutations
from math import factorial

import numpy as np
import pytest

from credo.metrics import shapley

RNG = np.random.default_rng(5)


def by_definition(predict, x, background, blocks):
    """φᵢ as the mean over all orders, in the plainest way."""
    d = len(blocks)

    def v(members):
        rows = background.copy()
        for i in members:
            rows[:, blocks[i]] = x[blocks[i]]
        return predict(rows).mean(axis=0)

    known = {frozenset(c): v(c) for size in range(d + 1) for c in combinations(range(d), size)}
    values = 0.0
    for order in permutations(range(d)):
        step = [None] * d
        for place, i in enumerate(order):
            step[i] = known[frozenset(order[: place + 1])] - known[frozenset(order[:place])]
        values = values + np.array(step)
    return values / factorial(d)


def random_function(d, n_outputs=None):
    """A function with interactions of all orders."""
    W, b = RNG.normal(size=(d, 8)), RNG.normal(size=8)
    out = RNG.normal(size=8 if n_outputs is None else (8, n_outputs))
    return lambda rows: np.tanh(2 * rows @ W + b) @ out


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("n_outputs", [None, 3])
def test_few_inputs_are_exact(d, n_outputs):
    predict, X, background = random_function(d, n_outputs), RNG.normal(size=(2, d)), RNG.normal(size=(7, d))
    found = shapley(predict, X, background)
    assert not found.errors.any()
    for x, values in zip(X, found.values, strict=True):
        np.testing.assert_allclose(values, by_definition(predict, x, background, np.arange(d)), atol=1e-12)


def test_orders_are_unbiased_and_their_standard_errors_true():
    predict, x, background = random_function(6), RNG.normal(size=(1, 6)), RNG.normal(size=(30, 6))
    truth = by_definition(predict, x[0], background, np.arange(6))
    found = [shapley(predict, x, background, random_state=seed) for seed in range(300)]
    z = np.array([(one.values[0] - truth) / one.errors[0] for one in found])
    # 300 draws of six values: the mean of z has a standard deviation of 0.06, and 95 % lie within 1.96.
    assert np.all(np.abs(z.mean(axis=0)) < 0.25)
    assert 0.92 < np.mean(np.abs(z) < 1.96) < 0.98


def test_more_pairs_have_smaller_errors():
    predict, x, background = random_function(12), RNG.normal(size=(1, 12)), RNG.normal(size=(20, 12))
    few, many = (shapley(predict, x, background, n_pairs=n).errors for n in (4, 64))
    assert few.mean() / many.mean() == pytest.approx(4, rel=0.2)


def test_a_linear_function_has_its_closed_form():
    X, background, w = RNG.normal(size=(3, 12)), RNG.normal(size=(40, 12)), RNG.normal(size=12)
    found = shapley(lambda rows: rows @ w + 3.0, X, background)
    np.testing.assert_allclose(found.values, w * (X - background.mean(axis=0)), atol=1e-12)
    assert not found.errors.any()
    # The levels of one input count together.
    columns = ["soil"] * 3 + [f"x{j}" for j in range(9)]
    grouped = shapley(lambda rows: rows @ w + 3.0, X, background, columns)
    np.testing.assert_allclose(grouped.values[:, 0], found.values[:, :3].sum(axis=1), atol=1e-12)
    assert grouped.names == ("soil", *columns[3:])


def test_additive_functions_and_pairs_are_exact():
    x, background = RNG.normal(size=(1, 9)), RNG.normal(size=(30, 9))
    added = shapley(lambda rows: np.sin(rows).sum(axis=1), x, background)
    np.testing.assert_allclose(added.values[0], np.sin(x[0]) - np.sin(background).mean(axis=0), atol=1e-12)
    # f = a·b: half of the sum of what each adds before and after the other.
    (a, b), (A, B) = x[0, :2], background[:, :2].T
    pair = shapley(lambda rows: rows[:, 0] * rows[:, 1], x, background)
    np.testing.assert_allclose(pair.values[0, 0], np.mean((a - A) * (b + B)) / 2, atol=1e-12)
    assert not added.errors.any() and not pair.errors.any() and not pair.values[0, 2:].any()


@pytest.mark.parametrize("d", [3, 11])
def test_values_add_up_to_the_difference_from_the_mean(d):
    predict, X, background = random_function(d, 2), RNG.normal(size=(2, d)), RNG.normal(size=(9, d))
    found = shapley(predict, X, background)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), predict(X), atol=1e-12)
    np.testing.assert_allclose(found.base, predict(background).mean(axis=0))


def test_equal_inputs_have_equal_values_and_idle_ones_none():
    background = RNG.normal(size=(15, 4))
    background[:, 1] = background[:, 0]
    found = shapley(lambda r: np.exp(r[:, 0] + r[:, 1]) * r[:, 2], np.array([[0.3, 0.3, 2.0, 5.0]]), background)
    assert found.values[0, 0] == pytest.approx(found.values[0, 1])
    assert found.values[0, 3] == pytest.approx(0.0, abs=1e-12)


def test_what_has_no_values_is_said():
    ok = np.zeros((2, 3))
    for X, columns, n_pairs, message in (
        (np.zeros((1, 2)), None, 4, "the same columns"),
        (np.zeros((0, 3)), None, 4, "at least one row"),
        (ok, ["a"], 4, "1 labels for 3 features"),
        (ok, None, 1, "at least 2"),
    ):
        with pytest.raises(ValueError, match=message):
            shapley(lambda rows: rows[:, 0], X, ok, columns, n_pairs=n_pairs)
    with pytest.raises(ValueError, match="not finite"):
        shapley(lambda rows: np.full(len(rows), np.nan), ok, ok)
