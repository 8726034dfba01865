"""A target that is missing, however it is written, is one clear error to every estimator.

`GPRegressor` is the exception: to it NaN is an entry that wasn't observed, and so is every other way to write that.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from tests.contracts.estimators import classifiers, regressors

from credo.ensemble import TransformedTarget, choose_transform
from credo.gp import GPRegressor
from credo.linear import BaselineClassifier, BaselineRegressor, LinearRegression, LogisticRegression, ridge_path
from credo.selection import compare
from credo.sparse import forward_selection, lasso_path

N, ROW = 12, 3
X = np.random.default_rng(0).normal(size=(N, 2))


def ways(values):
    """The values with the one of row 3 missing, in each of the ways that people write it."""
    gap = [None if i == ROW else value for i, value in enumerate(values)]
    whole = all(float(value).is_integer() for value in values)
    return {
        "list": gap,
        "object array": np.array(gap, dtype=object),
        "object Series": pd.Series(gap, dtype=object, index=range(100, 100 + N)),
        "NA": pd.Series([pd.NA if value is None else value for value in gap], dtype=object),
        "nullable": pd.Series(gap, dtype="Int64" if whole else "Float64"),
        "polars": pl.Series(gap),
        "NaN": np.array([np.nan if value is None else value for value in gap]),
    }


NUMBERS = ways(X[:, 0] + 1.5)
LABELS = ways(np.arange(N) % 2)
each_number = pytest.mark.parametrize("y", NUMBERS.values(), ids=NUMBERS)
each_label = pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
MESSAGE = rf"y has no (value|label) in row {ROW}: .*; leave such rows out"


@pytest.mark.parametrize(
    "model",
    [m for m in [*regressors(variants=False), BaselineRegressor()] if not isinstance(m, GPRegressor)],
    ids=repr,
)
def test_regressors_name_the_row(model):
    for y in NUMBERS.values():
        with pytest.raises(ValueError, match=MESSAGE):
            clone(model).fit(X, y)


@pytest.mark.parametrize("model", [*classifiers(variants=False), BaselineClassifier()], ids=repr)
def test_classifiers_name_the_row(model):
    for y in LABELS.values():
        with pytest.raises(ValueError, match=MESSAGE):
            clone(model).fit(X, y)


@each_number
@pytest.mark.parametrize(
    "function",
    [
        lambda y: ridge_path(X, y, alphas=[1.0]),
        lambda y: lasso_path(X, y),
        lambda y: forward_selection(X, y),
        lambda y: compare({"line": LinearRegression()}, X, y, cv=3),
        lambda y: choose_transform(X, y, random_state=0),
        lambda y: TransformedTarget(LinearRegression(), random_state=0).fit(X, y),
    ],
    ids=["ridge_path", "lasso_path", "forward_selection", "compare", "choose_transform", "TransformedTarget"],
)
def test_functions_name_the_row(function, y):
    with pytest.raises(ValueError, match=MESSAGE):
        function(y)


@each_label
def test_a_comparison_of_classifiers_names_the_row(y):
    with pytest.raises(ValueError, match=MESSAGE):
        compare({"logistic": LogisticRegression(alpha=1.0)}, X, y, cv=3)


@each_number
def test_to_a_process_every_way_is_a_row_that_was_not_observed(y):
    seen = np.arange(N) != ROW
    model = GPRegressor(n_restarts=0, random_state=0).fit(X, y)
    alone = GPRegressor(n_restarts=0, random_state=0).fit(X[seen], (X[:, 0] + 1.5)[seen])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-10)


def test_a_table_of_targets_has_its_row_named_too():
    Y = np.column_stack([X[:, 0], X[:, 1]]).astype(object)
    Y[ROW, 1] = None
    model = LinearRegression()
    with pytest.raises(ValueError, match=MESSAGE):
        model.fit(X, Y)


def test_numbers_among_objects_are_targets_as_before():
    y = pd.Series([float(i) for i in range(N)], dtype=object)
    np.testing.assert_allclose(LinearRegression().fit(X, y).coef_, LinearRegression().fit(X, np.arange(N)).coef_)
