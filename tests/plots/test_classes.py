import numpy as np
import pandas as pd
import pytest

from credo.distributions import Bernoulli, Categorical, Normal
from credo.plots.class_rows import forecast, labels, ordered, title


def test_a_bernoulli_and_arrays_say_the_same():
    y, p = [0, 1, 1], np.array([0.2, 0.7, 0.4])
    expected = np.column_stack([1 - p, p])
    for prediction in (Bernoulli(p), p, p[:, None], expected, Categorical(expected)):
        found = forecast(y, prediction)
        np.testing.assert_allclose(found.table, expected)
        assert found.codes.tolist() == y
        assert found.classes.tolist() == [0, 1]


def test_words_are_ordered_as_a_classifier_orders_them():
    found = forecast(pd.Series(["no", "yes", "no"]), [0.1, 0.8, 0.3])
    assert found.classes.tolist() == ["no", "yes"]
    assert found.codes.tolist() == [0, 1, 0]
    assert ordered([3, "a", 1]) == [1, 3, "a"]


@pytest.mark.parametrize(
    ("y", "n_classes", "expected"),
    [([1, 1], 2, [0, 1]), ([-1, -1], 2, [-1, 1]), ([True], 2, [0, 1]), ([2, 0], 4, [0, 1, 2, 3])],
)
def test_a_class_may_be_absent_where_the_labels_are_the_usual_numbers(y, n_classes, expected):
    assert forecast(y, np.full((len(y), n_classes), 1 / n_classes)).classes.tolist() == expected


def test_an_absent_class_of_another_name_has_to_be_said():
    with pytest.raises(ValueError, match="'no', which is not among the classes 0, 1"):
        forecast(["no", "no"], [0.1, 0.2])
    assert forecast(["no", "no"], [0.1, 0.2], ["no", "yes"]).codes.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("y", "prediction", "classes", "message"),
    [
        ([0, 1], [0.1, 0.2, 0.3], None, "one row for each of the 2 labels; got 3"),
        ([0, 1], [0.1, 1.2], None, "probs must be between 0 and 1"),
        ([0, 1], [0.1, np.nan], None, "probs must not contain NaN"),
        ([0, 1], [[0.5, 0.5], [0.5, 0.7]], None, "probs of row 1 must sum to 1; they sum to 1.2"),
        ([0, None], [0.1, 0.2], None, "y has no label in row 1: None"),
        ([0, np.nan], [0.1, 0.2], None, "y has no label in row 1: nan"),
        ([], [], None, "nothing to draw: y is empty"),
        ([[0, 1]], [0.1], None, r"one label for each row; got an array of shape \(1, 2\)"),
        ([0, 2], [0.1, 0.2], [0, 1], "is 2, which is not among the classes 0, 1"),
        ([0, 1], [0.1, 0.2], [0, 1, 2], "probs has 2 columns, but classes has the shape"),
    ],
)
def test_what_cannot_be_drawn_is_said(y, prediction, classes, message):
    with pytest.raises(ValueError, match=message):
        forecast(y, prediction, classes)


def test_predictions_of_numbers_are_no_probabilities():
    with pytest.raises(TypeError, match="must be a Bernoulli or a Categorical; got a Normal"):
        forecast([0, 1], Normal([0.0, 1.0], 1.0))


def test_missing_labels_of_a_frame_are_found():
    with pytest.raises(ValueError, match="y has no label in row 2"):
        labels("y", pd.Series(["a", "b", pd.NA], dtype="object"))


def test_numbers_are_titled_as_values_of_y():
    assert [title(label) for label in (1.0, 2.5, -1, np.str_("word"))] == ["y = 1", "y = 2.5", "y = −1", "word"]
