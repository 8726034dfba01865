"""Whether a target asks for a number or a class, and labels taken out of a table."""

import numpy as np
import pytest

from credo.tables import ColumnError, split_target, target_task, without_lone_classes

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(1)


def task(values):
    return target_task(pd.DataFrame({"x": np.arange(float(len(values))), "y": values}), "y")


CODES = "none of them rare, which look like class codes"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["oak", "elm", None, "oak"], "it holds text, such as 'oak', 'elm'"),
        ([True, False, True], "it holds only true and false"),
        ([True, None, False], "it holds only true and false"),
        ([0, 1] * 6, "it has only two values, 0 and 1"),
        ([-1.0, 1.0, np.nan] * 6, "it has only two values, -1 and 1"),
        (
            [0, 1, 2] * 20,
            f"it has 3 different whole numbers between 0 and 2, {CODES}",
        ),
        (
            [1, 2, 3, 4] * 20,
            f"it has 4 different whole numbers between 1 and 4, {CODES}",
        ),
    ],
)
def test_classes_and_the_reason(values, why):
    found = task(values)
    assert (found.name, found.why) == ("classification", why)
    assert found.open == why.startswith("it has")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (RNG.normal(size=40), ""),
        (RNG.poisson(1.0, size=400), "different whole numbers between 0 and"),
        (
            np.repeat([3, 4, 5, 6, 7, 8], [10, 53, 681, 638, 199, 18]),
            "it has 6 different whole numbers between 3 and 8",
        ),
        (np.arange(40) % 13, ""),
        ([0, 1, 2] * 3, ""),
        ([0, 1, 1, 0], ""),
        ([0.5, 1.5, 2.5] * 20, ""),
        ([1.0, "slip", 3.0], ""),
        ([5.0] * 20, ""),
    ],
    ids=["measured", "counts", "marks of wine", "many", "few rows", "two of few rows", "halves", "a slip", "constant"],
)
def test_numbers(values, why):
    found = task(values)
    assert found.name == "regression"
    assert why in found.why and bool(why) == bool(found.why) == found.open


def labels(values):
    return split_target(pd.DataFrame({"x": np.arange(len(values)), "y": values}), "y", task="classification")


def test_labels_keep_their_kind():
    assert labels(["b ", "a", "b"])[1].tolist() == ["b", "a", "b"]
    assert labels(["b", "a"])[1].dtype.kind == "U"
    assert labels([3.0, 1.0, 3.0])[1].dtype == np.int64
    assert labels([True, False])[1].dtype == bool
    assert labels([0.5, 1.5, 0.5])[1].tolist() == ["0.5", "1.5", "0.5"]
    assert labels(pd.Series(["1", "x", "1"]))[1].tolist() == ["1", "x", "1"]


def test_rows_without_a_label_are_left_out_and_counted():
    rest, y, notes = labels(["a", None, " ", "b"])
    assert y.tolist() == ["a", "b"] and rest["x"].tolist() == [0, 3]
    assert notes == ["Left out 2 rows whose target 'y' is missing."]
    _, y, notes = labels([1.0, np.nan, 2.0])
    assert y.tolist() == [1, 2] and y.dtype == np.int64
    _, y, _ = labels([True, None, False])
    assert y.tolist() == [True, False] and y.dtype == bool


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a"] * 5, "the target 'y' has only one class, 'a', in 5 rows: there is nothing to classify"),
        ([7, 7], "has only one class, 7, in 2 rows"),
        ([None, None], "has no value in any row"),
        (range(200), "has 200 different values, but at most 100 classes are supported"),
        ([1.0, np.inf], "'y' is infinite in row 2"),
    ],
)
def test_targets_that_hold_no_classes(values, words):
    with pytest.raises(ColumnError, match=words):
        labels(values)


def test_a_copy_of_the_labels_is_told():
    frame = pd.DataFrame({"x": [1, 2, 3], "again": ["a", "b", "a "], "y": ["a", "b", "a"]})
    notes = split_target(frame, "y", task="classification")[2]
    assert notes == ["Equal to the target in every row: 'again'. Leave out columns that aren't known when predicting."]


def test_an_unknown_task():
    with pytest.raises(ValueError, match='task must be "regression" or "classification"; got \'ranking\''):
        split_target(pd.DataFrame({"x": [1], "y": [2]}), "y", task="ranking")


def test_lone_classes_are_left_out_with_their_names():
    frame = pd.DataFrame({"x": [1, 2, 3, 4, 5, 5, 6]})
    y = np.array(["a", "a", "b", "b", "c", "c", "d"])
    rest, kept, (note,) = without_lone_classes(frame, y, "kind")
    # The two rows of c are copies: together they stay in one fold.
    assert kept.tolist() == ["a", "a", "b", "b"] and rest["x"].tolist() == [1, 2, 3, 4]
    assert note == (
        "Left out 3 rows, each the only one of its class ('c', 'd'): a class needs at least two rows, to "
        "learn from and to test on."
    )
    assert without_lone_classes(frame[:4], y[:4], "kind")[2] == []


def test_nothing_but_lone_classes():
    frame = pd.DataFrame({"x": np.arange(4)})
    with pytest.raises(ColumnError, match="'kind' has 4 classes in 4 rows, and none of them has more than one row"):
        without_lone_classes(frame, np.array(list("abcd")), "kind")
    with pytest.raises(ColumnError, match="has 3 classes in 4 rows, and only 'a' has more than one row to learn from"):
        without_lone_classes(frame, np.array(list("aabc")), "kind")
