"""Labels of any kind, and weights of classes."""

import numpy as np
import pandas as pd
import pytest

from credo.core.estimator import check_labels
from credo.linear import LinearDiscriminant, LogisticRegression

X = np.random.default_rng(0).normal(size=(30, 2))
Y = (np.arange(30) % 3 > 0).astype(int)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (["b", "a"], ["b", "a"]),
        (np.array([1, 2], dtype=object), [1, 2]),
        (np.array([True, False], dtype=object), [True, False]),
        (pd.Series(["b", "a"], dtype="string"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="category"), ["b", "a"]),
        (pd.Series([3, 1], dtype="Int64"), [3, 1]),
    ],
)
def test_labels_of_any_kind(y, expected):
    found = check_labels(y)
    assert found.tolist() == expected
    assert found.dtype.kind != "O" or isinstance(expected[0], str)


@pytest.mark.parametrize(
    "y", [["a", None], pd.Series(["a", pd.NA], dtype="string"), [1.0, np.nan], pd.Series([1, pd.NA], dtype="Int64")]
)
def test_a_missing_label_is_named(y):
    with pytest.raises(ValueError, match=r"y has no label in row 1: .*leave such rows out"):
        check_labels(y)


def test_labels_of_several_kinds_are_refused():
    with pytest.raises(ValueError, match="of several types, int and str"):
        check_labels(np.array([1, "b"], dtype=object))


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_factors_of_classes_are_numbers(factor):
    for model in (LogisticRegression(alpha=1.0), LinearDiscriminant()):
        with pytest.raises(ValueError, match="class_weight gives class 0 the factor"):
            model.set_params(class_weight={0: factor, 1: 1.0}).fit(X, Y)


def test_a_class_of_weight_zero_is_not_there():
    with pytest.raises(ValueError, match="at least two classes, but every label is 1"):
        LogisticRegression(alpha=1.0, class_weight={0: 0.0, 1: 1.0}).fit(X, Y)
    three = np.arange(30) % 3
    model = LogisticRegression(alpha=1.0, class_weight={0: 0.0, 1: 1.0, 2: 1.0}).fit(X, three)
    assert model.classes_.tolist() == [1, 2]
    rest = LogisticRegression(alpha=1.0).fit(X[three > 0], three[three > 0])
    np.testing.assert_allclose(model.predict_proba(X), rest.predict_proba(X), atol=1e-8)
