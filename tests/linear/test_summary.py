"""Summaries of rows: merged from chunks they equal the summary of the whole; fits from them equal fits to the rows."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.linear.test_least_squares import digits
from tests.reference.nist import FILIP, LONGLEY

from credo.core.notices import collected
from credo.linear import BayesianLinearRegression, LinearRegression, Ridge, RowSummary, summarize

MODELS = [LinearRegression(), Ridge(0.7), BayesianLinearRegression(2.0, noise_precision=3.0)]


def merged(parts):
    return reduce(RowSummary.merge, parts)


def in_chunks(X, y, weight, sizes):
    edges = np.cumsum([0, *sizes])
    return merged(summarize(X[a:b], y[a:b], weight[a:b]) for a, b in pairwise(edges))


def table(n=80, p=6, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    X = Z + offset
    weight = rng.integers(1, 4, n) * rng.uniform(0.5, 1.5, n)
    return X, (X - offset) @ rng.normal(size=p) + rng.normal(size=n), weight


@pytest.mark.parametrize("shape", [(80, 6), (5, 9), (7, 6), (40_000, 10)], ids=["tall", "wide", "square", "gram"])
def test_the_factor_is_a_root_of_the_centred_gram_matrix(shape):
    X, y, weight = table(*shape)
    found = summarize(X, y, weight)
    Z = np.column_stack([X, y])
    mean = np.average(Z, axis=0, weights=weight)
    gram = (Z - mean).T @ ((Z - mean) * weight[:, None])
    np.testing.assert_allclose(found.factor.T @ found.factor, gram, rtol=1e-11, atol=1e-11 * gram.max())
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    assert found.weight == pytest.approx(weight.sum())
    if shape[0] > shape[1]:
        np.testing.assert_array_equal(found.factor, np.triu(found.factor))


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("intercept", [True, False])
def test_chunks_equal_the_whole(offset, seed, intercept):
    """Chunks of random sizes, of one row and of fewer rows than columns among them."""
    X, y, weight = table(offset=offset, seed=seed)
    rng = np.random.default_rng(seed)
    sizes = np.diff([0, *np.sort(rng.choice(np.arange(1, 80), 12, replace=False)), 80])
    for cut in (sizes, [1] * 80, [3, 77]):
        parts, whole = in_chunks(X, y, weight, cut), summarize(X, y, weight)
        scale = np.sqrt(np.diag(whole.factor.T @ whole.factor))
        gram = [(s.factor / scale).T @ (s.factor / scale) for s in (parts, whole)]
        np.testing.assert_allclose(*gram, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12, atol=1e-12)
        if offset and not intercept:
            continue
        for model in MODELS:
            model.set_params(fit_intercept=intercept)
            ours, direct = (model.fit_summary(part).predict_dist(X) for part in (parts, whole))
            np.testing.assert_allclose(ours.mean, direct.mean, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(ours.std, direct.std, rtol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("shape", [(80, 6), (5, 9), (7_000, 60)], ids=["tall", "wide", "gram"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_fit_from_a_summary_is_the_fit_to_the_rows(model, shape, intercept):
    X, y, weight = table(*shape)
    model.set_params(fit_intercept=intercept)
    with collected():
        direct = model.fit(X, y, weight).coef_
        np.testing.assert_array_equal(model.fit_summary(summarize(X, y, weight)).coef_, direct)
        assert model.n_features_in_ == shape[1]
        light = model.fit_summary(summarize(sparse.csr_array(X), y, weight)).coef_
        np.testing.assert_allclose(light, direct, rtol=1e-8, atol=1e-9)
        chunks = model.fit_summary(in_chunks(X, y, weight, [2, shape[0] - 2])).coef_
        np.testing.assert_allclose(chunks, direct, rtol=1e-10, atol=1e-10)


def test_chunks_of_a_wide_table_equal_the_whole():
    """Fewer rows than columns in every chunk and in all of them together."""
    X, y, weight = table(12, 30)
    for model in (Ridge(0.7), BayesianLinearRegression(2.0, noise_precision=3.0)):
        expected = model.fit(X, y, weight)
        mean, std = expected.coef_, expected.coef_std_
        for cut in ([1] * 12, [5, 7], [4, 4, 4]):
            model.fit_summary(in_chunks(X, y, weight, cut))
            np.testing.assert_allclose(model.coef_, mean, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(model.coef_std_, std, rtol=1e-9)


def test_certified_digits_survive_merging():
    longley = merged(summarize(LONGLEY.X[k::3], LONGLEY.y[k::3]) for k in range(3))
    assert digits(LinearRegression().fit_summary(longley).coef_, LONGLEY.coef) > 11
    X = FILIP.x[:, None] ** np.arange(1, 11)
    filip = merged(summarize(X[k::4], FILIP.y[k::4]) for k in range(4))
    assert digits(LinearRegression().fit_summary(filip).coef_, FILIP.coef[1:]) > 6


def test_no_rows_change_nothing():
    X, y, weight = table()
    whole, nothing = summarize(X, y, weight), RowSummary.empty(6)
    for both in (whole.merge(nothing), nothing.merge(whole)):
        np.testing.assert_array_equal(both.factor, whole.factor)
    with pytest.raises(ValueError, match="a summary of at least one row is needed"):
        LinearRegression().fit_summary(nothing)


def test_a_constant_column_is_constant_in_every_chunk():
    X, y, weight = table()
    X[:, 2] = 1e8 + 1 / 3
    with collected():
        model = LinearRegression().fit_summary(in_chunks(X, y, weight, [1, 30, 49]))
    assert model.rank_ == 5 and model.coef_[2] == 0.0


def test_names_come_along_and_have_to_agree():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    first = summarize(frame[:40], y[:40])
    model = Ridge().fit_summary(first.merge(summarize(frame[40:], y[40:])))
    assert list(model.feature_names_in_) == list("abcdef")
    np.testing.assert_allclose(model.predict(frame), Ridge().fit(frame, y).predict(frame), rtol=1e-10)
    with pytest.raises(ValueError, match="summaries of different columns"):
        first.merge(summarize(frame.rename(columns={"a": "z"}), y))
    with pytest.raises(ValueError, match="summaries of 6 and of 5 columns"):
        first.merge(summarize(X[:, :5], y))


def test_what_needs_the_rows_says_so():
    X, y, _ = table()
    with pytest.raises(ValueError, match="outside the range"):
        Ridge().fit_summary(summarize(X * 1e200, y))
    with pytest.raises(ValueError, match="alpha='loo' needs all rows"):
        Ridge("loo").fit_summary(summarize(X, y))
    with pytest.raises(ValueError, match="fitted from a summary"):
        LinearRegression().fit_summary(summarize(X, y)).leverage()
    with pytest.raises(ValueError, match="pass them as X_train"):
        BayesianLinearRegression().fit_summary(summarize(X, y)).equivalent_kernel(X)


def test_rows_that_were_not_centred_have_no_intercept():
    X, y, weight = table()
    about_zero = summarize(X, y, weight).for_intercept(False)
    for model in MODELS:
        with pytest.raises(ValueError, match="rows that were not centered"):
            model.set_params(fit_intercept=True).fit_summary(about_zero)
    both = about_zero.merge(summarize(X, y, weight))
    expected = LinearRegression(fit_intercept=False).fit(X, y, weight).coef_
    np.testing.assert_allclose(LinearRegression(fit_intercept=False).fit_summary(both).coef_, expected, rtol=1e-10)


def test_a_stream_may_begin_with_a_summary():
    X, y, _ = table()
    model = BayesianLinearRegression().fit_summary(summarize(X[:50], y[:50])).partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(model.coef_, BayesianLinearRegression().fit(X, y).coef_, rtol=1e-10)
