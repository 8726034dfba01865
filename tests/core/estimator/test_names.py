"""Names beside arrays: who has them, for how long, and what an estimator makes of them."""

import gc
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import credo
from credo.core.estimator import names as _names
from credo.core.estimator.names import named, names_of
from credo.features import Polynomial, Words
from credo.sparse import ElasticNet, Lasso, LassoCV, SparseLogisticRegression, SparseLogisticRegressionCV, lasso_path

NAMES = ["rain", "wind", "sun"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = 2 * X[:, 0] - X[:, 2] + 0.3 * RNG.normal(size=60)
LABELS = np.where(Y > 0, "wet", "dry")

each_kind = pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix])
each_model = pytest.mark.parametrize(
    ("model", "y"),
    [(Lasso(0.1), Y), (ElasticNet(0.1), Y), (LassoCV(alphas=[0.1]), Y), (SparseLogisticRegression(0.05), LABELS),
     (SparseLogisticRegressionCV(alphas=[0.05]), LABELS)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip


@each_kind
def test_an_object_keeps_its_class_and_only_itself_has_the_names(kind):
    table = kind(X)
    before = type(table)
    assert named(table, NAMES) is table and type(table) is before
    assert names_of(table).tolist() == NAMES
    assert names_of(table[:5]) is None and names_of(table.copy()) is None and names_of(kind(X)) is None
    named(table, ["a", "b", "c"])
    assert names_of(table).tolist() == ["a", "b", "c"]


@each_kind
def test_names_go_with_the_object(kind):
    table = named(kind(X), NAMES)
    key = id(table)
    assert key in _names._NAMED
    del table
    # The youngest objects only: among all those of a long run of tests, a full collection takes a second.
    gc.collect(0)
    assert key not in _names._NAMED


def test_names_of_other_columns_are_no_names():
    table = named(sparse.csr_array(X), NAMES)
    table.resize((60, 2))
    assert names_of(table) is None


@each_kind
@each_model
def test_estimators_take_them(model, y, kind):
    table = named(kind(X), NAMES)
    fitted = clone(model).fit(table, y)
    assert set(fitted.selected_) <= set(NAMES) and "rain" in fitted.selected_
    assert list(fitted.feature_names_in_) == NAMES
    assert fitted.summary().columns["parameter"] == ["intercept", *NAMES]


@each_model
def test_rows_without_names_are_predicted_in_silence(model, y):
    fitted = clone(model).fit(named(X.copy(), NAMES), y)
    plain = clone(model).fit(X, y)
    with warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(fitted.predict(X[:5]), plain.predict(X[:5]))
        fitted.predict(named(X[:5].copy(), ["a", "b", "c"]))
        fitted.predict(pd.DataFrame(X, columns=NAMES))
    for rows, message in [
        (X[:, :2], "X has 2 features, but .* is expecting 3 features"),
        (np.full((1, 3), np.nan), "Input X contains NaN"),
        (pd.DataFrame(X, columns=["rain", "sun", "wind"]), "must be in the same order"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted.predict(rows)


@each_model
def test_a_further_fit_has_the_names_of_its_own_rows(model, y):
    fitted = clone(model).fit(named(X.copy(), NAMES), y)
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_") and "x0" in fitted.selected_
    fitted.fit(named(X.copy(), NAMES), y).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    # To a frame's names scikit-learn's rule applies.
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)


@each_model
def test_files_keep_them(model, y, tmp_path):
    fitted = clone(model).fit(named(X.copy(), NAMES), y)
    credo.save(fitted, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert back.selected_ == fitted.selected_ and str(back.summary()) == str(fitted.summary())
    with warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(back.predict(X), fitted.predict(X))


def test_the_path_takes_them_and_those_that_are_given_go_before():
    table = named(X.copy(), NAMES)
    assert lasso_path(table, Y).names == NAMES
    assert lasso_path(table, Y, names=["a", "b", "c"]).names == ["a", "b", "c"]


def test_words_reach_the_last_step_of_a_pipeline(tmp_path):
    texts = ["free money now", "see you now", "free prize", "see you soon", "money money", "you and me"] * 5
    model = make_pipeline(Words(), SparseLogisticRegression(0.01)).fit(texts, ["spam", "ham"] * 15)
    vocabulary = {f"word={word}" for word in model[0].vocabulary_}
    assert model[-1].selected_ and set(model[-1].selected_) <= vocabulary
    assert set(model[-1].summary().columns["parameter"]) == {"intercept", *vocabulary}
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert back[-1].selected_ == model[-1].selected_
    with warnings.catch_warnings(action="error"):
        assert back.predict(texts).tolist() == model.predict(texts).tolist()


def test_names_are_those_of_the_fit_that_made_the_columns():
    basis = Polynomial(2)
    before = basis.fit_transform(pd.DataFrame(X[:, :1], columns=["rain"]))
    basis.fit(pd.DataFrame(X[:, 1:2], columns=["wind"]))
    assert names_of(before).tolist() == ["rain", "rain^2"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (partial(named, X, NAMES[:2]), ValueError, "names has 2 entries, but X has 3 columns: pass one name for each"),
        (partial(named, X, ["a", "b", "a"]), ValueError, "names must be different, but 'a' occurs 2 times"),
        (partial(named, X, "abc"), ValueError, "names must be a sequence of 3 names.* got the string 'abc'"),
        (partial(named, pd.DataFrame(X), NAMES), TypeError, "got DataFrame: a data frame has names of its own"),
        (partial(named, X.tolist(), NAMES), TypeError, "got list: .* a list must be converted"),
        (partial(named, Y, NAMES), TypeError, "two-dimensional array or sparse matrix; got ndarray"),
    ],
)
def test_bad_names_are_refused_in_words(make, error, message):
    with pytest.raises(error, match=message):
        make()
