"""A user's own function: what it may return, and what is said when it doesn't."""

import warnings

import numpy as np
import pytest

from credo.core.estimator import FitWarning
from credo.features import Custom


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(1, 2, size=(6, 2))


def test_columns_are_the_functions(X):
    np.testing.assert_array_equal(Custom(np.log).fit_transform(X), np.log(X))
    np.testing.assert_array_equal(Custom(lambda X: X.sum(axis=1)).fit_transform(X), X.sum(axis=1)[:, None])
    np.testing.assert_array_equal(Custom(lambda X: X[:, 0] < 1.5).fit_transform(X)[:, 0], X[:, 0] < 1.5)


def test_names(X):
    def ratio(X):
        return X[:, 0] / X[:, 1]

    assert list(Custom(np.log).fit(X).get_feature_names_out()) == ["log0", "log1"]
    assert list(Custom(ratio).fit(X).get_feature_names_out()) == ["ratio"]
    assert list(Custom(lambda X: X).fit(X).get_feature_names_out()) == ["custom0", "custom1"]
    assert list(Custom(np.log, names=["a", "b"]).fit(X).get_feature_names_out()) == ["a", "b"]


def test_the_function_may_write_on_what_it_gets(X):
    def clobber(X):
        X *= 2
        return X

    before = X.copy()
    np.testing.assert_array_equal(Custom(clobber).fit_transform(X), 2 * before)
    np.testing.assert_array_equal(X, before)


def test_functions_of_the_whole_batch_are_warned_about(X):
    with pytest.warns(FitWarning, match="function center gives different values for the first row alone"):
        Custom(_named("center", lambda X: X - X.mean(axis=0))).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Custom(np.log).fit(X)


def _named(name, function):
    function.__name__ = name
    return function


@pytest.mark.parametrize(
    ("function", "message"),
    [(lambda X: 1.0, r"one row for each row of X, of shape \(6,\) or \(6, n_columns\); got shape \(\)"),
     (lambda X: X[:3], r"got shape \(3, 2\)"),
     (lambda X: X[:, :, None], r"got shape \(6, 2, 1\)"),
     (lambda X: X[:, :0], r"got shape \(6, 0\)"),
     (lambda X: ["a"] * len(X), "must return an array of numbers; got list"),
     (lambda X: None, "function f"),
     (lambda X: X[:, 9], r"function f failed on an array of shape \(6, 2\): IndexError"),
     (lambda X: np.where(X[4, 1] == X, np.nan, X), "function f returned nan at row 4, column 1")],
)  # fmt: skip
def test_wrong_results_are_named(X, function, message):
    with pytest.raises(ValueError, match=message):
        Custom(_named("f", function)).fit(X)


def test_wrong_arguments_are_named(X):
    with pytest.raises(TypeError, match=r"function must be callable, as in Custom\(numpy.sin\); got 'sin'"):
        Custom("sin").fit(X)
    with pytest.raises(ValueError, match="names has 1 entries, but function log returns 2 columns"):
        Custom(np.log, names=["a"]).fit(X)
    with pytest.raises(ValueError, match="names must be a list of strings"):
        Custom(np.log, names="ab").fit(X)


def test_columns_that_come_and_go_are_refused(X):
    basis = Custom(_named("unique", lambda X: X if len(X) != 3 else X[:, :1])).fit(X)
    with pytest.raises(ValueError, match="function unique returned 1 columns for these rows and 2 in fit"):
        basis.transform(X[:3])
