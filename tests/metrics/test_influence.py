"""How far inputs move predictions, against what a linear function must give; and which inputs go together."""

import numpy as np
import pytest

from credo.metrics import influence

RNG = np.random.default_rng(3)
N = 2000


def linear(*weights):
    return lambda rows: np.asarray(rows) @ np.array(weights)


def test_a_weight_times_the_spread_is_what_a_linear_function_gives():
    X = RNG.normal(size=(N, 2)) * [1.0, 5.0]
    found = influence(linear(2.0, -0.1), X, ["a", "b"])
    assert found.members == [["a"], ["b"]] and found.measured == [True, True]
    # Rows near the ends of a column stop there, which for normal numbers is next to none of them.
    np.testing.assert_allclose(found.values, [2.0, 0.5], rtol=0.05)
    assert found.order.tolist() == [0, 1] and found.together == []


def test_levels_of_one_input_count_together():
    level = RNG.integers(3, size=N)
    X = np.column_stack([level == 1, level == 2, RNG.normal(size=N)]).astype(float)
    found = influence(linear(3.0, 3.0, 1.0), X, ["soil", "soil", "warmth"])
    assert found.members == [["soil"], ["warmth"]] and found.measured == [False, True]
    # 3·1{level > 0} has the standard deviation 3 √(2/9); 500 rows exchange theirs at random.
    assert found.values[0] == pytest.approx(np.sqrt(2), rel=0.1)


def test_parts_that_cancel_move_together_or_not_at_all():
    """A model may lean on a difference that no row shows: alone each twin looks mighty, together they do little."""
    x = RNG.normal(size=N)
    X = np.column_stack([x, x + 1e-3 * RNG.normal(size=N), RNG.normal(size=N)])
    found = influence(linear(50.0, -49.5, 1.0), X, ["x", "twin", "z"], spread=1.1)
    assert found.members == [["x", "twin"], ["z"]]
    assert found.values[0] == pytest.approx(0.5, rel=0.15)
    assert found.order.tolist() == [1, 0]
    assert found.measured == [False, True]


def test_a_sum_takes_its_parts_along_and_leaves_strangers_alone():
    wall, roof, height, wind = RNG.normal(size=(4, N))
    X = np.column_stack([wall, wind, roof, wall + 2 * roof, height])
    found = influence(linear(1, 1, 1, 1, 1), X, ["wall", "wind", "roof", "surface", "height"])
    assert found.together == [["wall", "roof", "surface"]]
    assert found.members == [["wall", "roof", "surface"], ["wind"], ["height"]]


def test_two_groups_stay_two():
    a, b = RNG.normal(size=(2, N))
    X = np.column_stack([a, 2 * a + 1e-4 * b, b, -b + 1e-4 * a])
    found = influence(linear(1, 1, 1, 1), X, list("aAbB"))
    assert found.members == [["a", "A"], ["b", "B"]]


def test_what_goes_with_a_told_column_goes_with_its_group():
    """A column of two values that follows another closely, though no sum of columns tells it exactly."""
    size = np.repeat(np.linspace(-1, 1, 12), N // 12)
    tall = np.where(RNG.uniform(size=len(size)) < 0.02, -np.sign(size), np.sign(size))
    steep = np.sign(size) + 0.1 * size
    X = np.column_stack([steep, steep + 1e-3 * RNG.normal(size=len(size)), tall, RNG.normal(size=len(size))])
    found = influence(linear(1, 1, 1, 1), X, ["steep", "twin", "tall", "z"])
    assert found.members == [["steep", "twin", "tall"], ["z"]]


def test_a_column_that_moves_too_far_alone_joins_the_nearest():
    x, z = RNG.normal(size=(2, N))
    X = np.column_stack([x, 0.8 * x + 0.6 * z, RNG.normal(size=N)])
    calm = influence(linear(30.0, 0.1, 0.1), X, list("abc"))
    assert calm.together == []
    wild = influence(linear(30.0, 0.1, 0.1), X, list("abc"), spread=1.0)
    assert wild.together == [["a", "b"]]


def test_of_probabilities_the_part_that_changes_class_counts():
    def predict(rows):
        p = 0.5 + 0.1 * np.tanh(rows[:, 0])
        return np.column_stack([p, 1 - p])

    X = RNG.normal(size=(N, 2))
    both, one = influence(predict, X, ["a", "b"]), influence(lambda rows: predict(rows)[:, 0], X, ["a", "b"])
    np.testing.assert_allclose(both.values, one.values)
    assert both.values[1] == 0.0


def test_predictions_that_are_no_numbers_have_no_influence():
    assert influence(lambda rows: np.full(len(rows), np.nan), RNG.normal(size=(50, 2)), ["a", "b"]) is None


def test_few_rows_for_many_columns_bind_nothing():
    X = RNG.normal(size=(12, 10))
    assert influence(linear(*range(10)), X, list(range(10))).together == []
