"""Tables in chunks give the fits of the whole table, and errors name the chunk."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from credo import (
    BayesianLinearRegression,
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    Ridge,
    SpikeSlabRegressor,
    summarize,
)
from credo.core.parts import PartError, in_parts


def table(n=600, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** np.arange(p) + 3.0
    weight = rng.integers(0, 4, n).astype(float)
    return X, X @ (0.5 / 10.0 ** np.arange(p)) + rng.normal(size=n), weight


def cut(X, y, *more, sizes=(1, 199, 7, 300, 93)):
    ends = np.cumsum(sizes)
    return [tuple(values[a - size : a] for values in (X, y, *more)) for a, size in zip(ends, sizes, strict=True)]


ONE_PASS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(3.0),
    BayesianLinearRegression(),
    Lasso(0.05),
    Lasso(0.05, fit_intercept=False),
    ElasticNet(0.1, l1_ratio=0.3),
    SpikeSlabRegressor(slab="g"),
    SpikeSlabRegressor(slab="normal"),
]


@pytest.mark.parametrize("model", ONE_PASS, ids=repr)
def test_one_pass_over_chunks_equals_the_fit_to_all_rows(model):
    X, y, weight = table()
    model.fit(X, y, weight)
    whole, level, std = model.coef_, model.intercept_, model.predict(X[:5], return_std=True)[1]
    model.fit(iter(cut(X, y, weight)))
    np.testing.assert_allclose(model.coef_, whole, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, level, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X[:5], return_std=True)[1], std, rtol=1e-9)


def test_evidences_of_chunks_equal_those_of_all_rows():
    X, y, _ = table()
    for model in (BayesianLinearRegression(), SpikeSlabRegressor(slab="zellner-siow")):
        whole = model.fit(X, y).log_evidence_
        assert model.fit(cut(X, y)).log_evidence_ == pytest.approx(whole, rel=1e-10)


def test_spike_and_slab_treats_constant_columns_and_copies_as_in_memory():
    X, y, _ = table()
    X = np.column_stack([X, np.full(600, 7.7), X[:, 0]])
    model = SpikeSlabRegressor()
    with pytest.warns(UserWarning):
        whole = model.fit(X, y).inclusion_probabilities_
    with pytest.warns(UserWarning):
        np.testing.assert_allclose(model.fit(cut(X, y)).inclusion_probabilities_, whole, atol=1e-9)
    assert model.design_.flat == [5]


def test_the_cross_validated_lasso_holds_out_whole_chunks():
    """The oracle is the fit in memory with folds of the same rows."""
    X, y, _ = table()
    chunks = cut(X, y, sizes=(150, 120, 180, 150))
    fold = np.repeat([0, 1, 0, 1], [150, 120, 180, 150])
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]
    whole = LassoCV(folds, n_alphas=20, eps=0.1).fit(X, y)
    found = LassoCV(2, n_alphas=20, eps=0.1).fit(chunks)
    np.testing.assert_allclose(found.mse_path_, whole.mse_path_, rtol=1e-5)
    assert found.alpha_ == pytest.approx(whole.alpha_)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="needs at least 2"):
        LassoCV(2).fit(chunks[:1])
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        LassoCV(folds).fit(chunks)


def test_sparse_chunks_and_frames():
    X, y, weight = table()
    X = np.where(np.abs(X - 3.0) > 10.0 ** np.arange(5), X, 0.0)
    whole = LinearRegression().fit(X, y, weight)
    light = [(sparse.csr_array(rows), *rest) for rows, *rest in cut(X, y, weight)]
    np.testing.assert_allclose(LinearRegression().fit(light).coef_, whole.coef_, rtol=1e-10)
    frames = [(pd.DataFrame(rows, columns=list("abcde")), *rest) for rows, *rest in cut(X, y, weight)]
    model = LinearRegression().fit(frames)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert list(model.feature_names_in_) == list("abcde")
    assert summarize(frames).n_rows == np.count_nonzero(weight)


def test_chunks_without_rows_or_weights_change_nothing():
    X, y, weight = table()
    whole = Ridge().fit(X, y, weight).coef_
    nothing = np.zeros((0, 5)), np.zeros(0), np.zeros(0)
    chunks = [nothing, *cut(X, y, weight), (X, y + 1.0, np.zeros(600))]
    np.testing.assert_allclose(Ridge().fit(chunks).coef_, whole, rtol=1e-10)
    with pytest.raises(ValueError, match="the table has no rows"):
        Ridge().fit([nothing])


def spoiled(kind):
    X, y, _ = table()
    chunks = cut(X, y)
    rows, target = chunks[3]
    chunks[3] = {
        "nan": (np.where(rows == rows[2, 1], np.nan, rows), target),
        "narrow": (rows[:, :4], target),
        "short": (rows, target[:-1]),
        "text": (rows, np.full(len(rows), "high")),
        "y nan": (rows, np.where(target == target[5], np.nan, target)),
        "flat": (rows[:, 0], target),
        "triple": (rows, target, None, None),
    }[kind]
    return chunks


@pytest.mark.parametrize(
    "kind, words",
    [
        ("nan", "chunk 3: .*NaN"),
        ("narrow", "chunk 3 has 4 columns, but chunk 0 has 5"),
        ("short", "chunk 3: .*inconsistent"),
        ("text", "chunk 3: y .*text"),
        ("y nan", "chunk 3: y has no value in row 5"),
        ("flat", "chunk 3: "),
        ("triple", "chunk 3 is a tuple of length 4"),
    ],
)
def test_errors_name_the_chunk(kind, words):
    with pytest.raises(PartError, match=words):
        LinearRegression().fit(spoiled(kind))


def test_chunks_must_have_the_same_names():
    X, y, _ = table()
    frames = [(pd.DataFrame(rows, columns=list("abcde")), target) for rows, target in cut(X, y)]
    frames[2] = (frames[2][0].rename(columns={"a": "z"}), frames[2][1])
    with pytest.raises(PartError, match="chunk 2 has the columns z, b, c, d, e, but chunk 0 has a, b"):
        LinearRegression().fit(frames)


def test_what_is_a_table_in_parts():
    X, y, _ = table(10)
    for parts in ([(X, y)], ((X, y),), iter([(X, y)]), lambda: iter([(X, y)])):
        assert in_parts(parts, None)
    for rows in (X, pd.DataFrame(X), X.tolist(), [(1.0, 2.0), (3.0, 4.0)], [], "rows", sparse.csr_array(X), None):
        assert not in_parts(rows, None)
    assert not in_parts([(X, y)], y)
    with pytest.raises(ValueError, match="no sample_weight"):
        LinearRegression().fit([(X, y)], sample_weight=y)
    with pytest.raises(ValueError, match="alpha='loo' needs all rows"):
        Ridge("loo").fit([(X, y)])
    with pytest.raises(ValueError, match="y to be passed"):
        LinearRegression().fit(X)
