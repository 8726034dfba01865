"""The contract of every basis expansion that `credo.features` exports."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils.estimator_checks import check_estimator

import credo
import credo.features
from credo.features import Custom, Fourier, Polynomial, Radial, Sigmoid, Step, Words
from credo.sparse import Lasso

# Members that can't be made without arguments, and settings that take another path than the defaults do.
MADE = {Custom: lambda: Custom(np.tanh)}
VARIANTS = [
    Polynomial(3, interactions=False, scale=True),
    Polynomial(2, min_degree=2, include_constant=True),
    Radial("data"),
    Radial(3, width=2.0),
    Sigmoid([0.0, 1.0], slope=2.0),
    Fourier(2, period=3.0),
    Step([0.0, 1.0]),
]
DEFAULTS = [MADE.get(member, member)() for member in (getattr(credo.features, n) for n in credo.features.__all__)]
# scikit-learn's checks give numbers only, so `Words`, which reads text, is checked by its own tests.
NUMERIC = [basis for basis in DEFAULTS if not isinstance(basis, Words)] + VARIANTS

each = pytest.mark.parametrize("basis", NUMERIC, ids=repr)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize("basis", [basis for basis in DEFAULTS if not isinstance(basis, Words)], ids=repr)
def test_scikit_learn_checks(basis):
    check_estimator(basis, on_skip=None)


def test_words_says_that_it_reads_text():
    tags = Words().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


@each
def test_one_distinct_name_for_each_column(basis, X):
    basis = clone(basis).fit(X)
    names = basis.get_feature_names_out(["dose", "year"])
    assert len(names) == len(set(names)) == basis.transform(X).shape[1]
    assert all(isinstance(name, str) for name in names)


@each
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(basis, X, library):
    plain = clone(basis).fit_transform(X)
    table = {"pandas": pd, "polars": pl}[library].DataFrame({"dose": X[:, 0], "year": X[:, 1]})
    fitted = clone(basis).set_output(transform=library).fit(table)
    out = fitted.transform(table)
    assert type(out) is type(table)
    np.testing.assert_array_equal(out.to_numpy(), plain)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    assert list(fitted.feature_names_in_) == ["dose", "year"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(
            table.rename(columns={"dose": "tiger"}) if library == "pandas" else table.rename({"dose": "tiger"})
        )


@each
def test_rows_do_not_see_each_other(basis, X):
    basis = clone(basis).fit(X)
    whole = basis.transform(X)
    np.testing.assert_array_equal(np.vstack([basis.transform(row[None]) for row in X]), whole)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(basis.transform(X[order]), whole[order])


@each
def test_input_is_left_alone_whatever_its_form(basis, X):
    X32 = np.asfortranarray(X.astype(np.float32))
    X32.flags.writeable = False
    expected = clone(basis).fit_transform(X32.astype(np.float64))
    np.testing.assert_array_equal(clone(basis).fit_transform(X32), expected)
    before = X.copy()
    clone(basis).fit_transform(X)
    np.testing.assert_array_equal(X, before)


@each
def test_fit_does_not_keep_the_callers_memory(basis, X):
    fitted = clone(basis).fit(X)
    probe = X[:5].copy()
    expected = fitted.transform(probe)
    X[:] = 99.0
    np.testing.assert_array_equal(fitted.transform(probe), expected)


@each
def test_pipelines_and_unions(basis, X):
    y = X[:, 0]
    frame = pd.DataFrame(X, columns=["dose", "year"])
    union = make_union(clone(basis), Polynomial(2))
    model = make_pipeline(union, LinearRegression()).fit(frame, y)
    assert model[:-1].get_feature_names_out()[-1].endswith("__year^2")
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-6)


@each
def test_a_model_behind_it_knows_the_names(basis, X):
    frame = pd.DataFrame(X, columns=["dose", "year"])
    model = make_pipeline(clone(basis), Lasso(1e-3)).fit(frame, X[:, 0])
    assert list(model[-1].feature_names_in_) == list(model[0].get_feature_names_out())
    assert type(model[0].transform(frame)) is np.ndarray
    with warnings.catch_warnings(action="error"):
        model.predict(frame)


@pytest.mark.parametrize("basis", [b for b in NUMERIC if not isinstance(b, Custom)], ids=repr)
def test_files_bring_it_back_bit_for_bit(basis, X, tmp_path):
    fitted = clone(basis).fit(pd.DataFrame(X, columns=["dose", "year"]))
    credo.save(fitted, tmp_path / "basis.credo")
    back = credo.load(tmp_path / "basis.credo")
    frame = pd.DataFrame(X * 1.5, columns=["dose", "year"])
    np.testing.assert_array_equal(back.transform(frame), fitted.transform(frame))
    assert list(back.get_feature_names_out()) == list(fitted.get_feature_names_out())


def test_words_come_back_from_a_file(tmp_path):
    fitted = Words().fit(["naïve Ωmega", "don't"])
    credo.save(fitted, tmp_path / "words.credo")
    assert credo.load(tmp_path / "words.credo").vocabulary_ == fitted.vocabulary_


def test_code_is_not_saved(X, tmp_path):
    with pytest.raises(ValueError, match="function"):
        credo.save(Custom(np.tanh).fit(X), tmp_path / "custom.credo")


def test_grid_search_over_a_basis(X):
    y = X[:, 0] ** 3
    search = GridSearchCV(make_pipeline(Polynomial(), LinearRegression()), {"polynomial__degree": [1, 2, 3]}, cv=3)
    assert search.fit(X, y).best_params_ == {"polynomial__degree": 3}


@each
def test_bad_input_raises_clear_errors(basis, X):
    fitted = clone(basis).fit(X)
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2 features"):
        fitted.transform(X[:, :1])
    for bad, message in [
        ([[np.nan, 1.0]], "NaN"),
        ([[np.inf, 1.0]], "infinity"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([1.0, 2.0], "2D array"),
        ([["tall", "x"]], "tall|decimal numbers"),
        (np.array([[1 + 2j, 1.0]]), "[Cc]omplex"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(basis).fit(bad)
        with pytest.raises(ValueError, match=message):
            fitted.transform(bad)
