"""Logistic regression of chunks equals that of all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.core.parts.test_parts import cut

from credo import BayesianLogisticRegression, LogisticRegression
from credo.core.estimator import ConvergenceWarning


def table(n=600, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 2.0]
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(3, n_classes))
    labels = np.array(["a", "b", "c"])[np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)]
    return X, labels, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"alpha": 2.0}, {"fit_intercept": False, "alpha": 1.0}, {"class_weight": "balanced"}],
    ids=["likelihood", "penalized", "no intercept", "balanced"],
)
def test_chunks_equal_the_whole(n_classes, arguments):
    X, y, weight = table(n_classes=n_classes)
    # A chunk with one class only, and one of a single row.
    order = np.argsort(y[:200], kind="stable")
    X[:200], y[:200], weight[:200] = X[order], y[order], weight[order]
    whole = LogisticRegression(**arguments).fit(X, y, weight)
    found = LogisticRegression(**arguments).fit(cut(X, y, weight, sizes=(30, 1, 300, 269)))
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_allclose(found.intercept_, whole.intercept_, rtol=1e-7, atol=1e-12)
    assert found.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=1e-10)
    assert found.classes_.tolist() == whole.classes_.tolist()
    assert found.n_observations_ == pytest.approx(whole.n_observations_)
    if "alpha" not in arguments:
        np.testing.assert_allclose(found.coef_std_error_, whole.coef_std_error_, rtol=1e-6)


def test_sparse_chunks_and_a_class_without_weight():
    X, y, _ = table(n_classes=3)
    light = [(sparse.csr_array(rows), labels) for rows, labels in cut(X, y)]
    factors = {"a": 1.0, "b": 2.0, "c": 0.0}
    whole = LogisticRegression(class_weight=factors).fit(X, y)
    found = LogisticRegression(class_weight=factors).fit(light)
    assert found.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7)


def test_separated_classes_and_collinear_columns():
    X, _, _ = table()
    y = X[:, 0] > 0.3
    with pytest.warns(ConvergenceWarning, match="perfectly separated"):
        model = LogisticRegression().fit(cut(X, y))
    assert np.isinf(model.coef_std_error_).all()
    X, y, _ = table()
    with pytest.raises(ValueError, match="columns are collinear"):
        LogisticRegression().fit(cut(np.column_stack([X, X[:, 0]]), y))


@pytest.mark.parametrize("model", [LogisticRegression(), BayesianLogisticRegression()])
@pytest.mark.parametrize("lost", [1, 2])
def test_passes_with_different_rows(model, lost):
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
    n_passes = 0

    def chunks():
        nonlocal n_passes
        n_passes += 1
        return [(X[:20], y[:20]), (X[20:], y[20:])][: 2 if n_passes == 1 else 2 - lost]

    left = 40 - 20 * lost
    with pytest.raises(ValueError, match=f"had 40 rows when it was read for the first time, and has {left} now"):
        model.fit(chunks)


def test_a_function_that_returns_no_chunks():
    with pytest.raises(TypeError, match=r"returned an object of type NoneType; it must return an iterable of chunks"):
        LogisticRegression().fit(lambda: None)


def test_an_iterator_is_not_enough():
    X, y, _ = table()
    with pytest.raises(ValueError, match="reads the rows several times"):
        LogisticRegression().fit(iter(cut(X, y)))
    again = LogisticRegression().fit(lambda: iter(cut(X, y)))
    np.testing.assert_allclose(again.coef_, LogisticRegression().fit(X, y).coef_, rtol=1e-7)
    with pytest.raises(ValueError, match="solver='ascent' needs all rows"):
        LogisticRegression(solver="ascent").fit(cut(X, y))
    with pytest.raises(ValueError, match="at least two classes"):
        LogisticRegression().fit(cut(X, np.full(600, "a")))
    with pytest.raises(ValueError, match="text in some parts and numbers"):
        LogisticRegression().fit([(X[:9], y[:9]), (X[9:], np.arange(591) % 2)])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"prior_precision": "integrate"}, {"fit_intercept": False}, {"class_weight": "balanced"}],
    ids=["given", "learned", "no intercept", "balanced"],
)
def test_bayesian_chunks_equal_the_whole(n_classes, arguments):
    X, y, weight = table(300, n_classes=n_classes)
    order = np.argsort(y[:200], kind="stable")
    X[:200], y[:200], weight[:200] = X[order], y[order], weight[order]
    whole = BayesianLogisticRegression(**arguments).fit(X, y, weight)
    found = BayesianLogisticRegression(**arguments).fit(cut(X, y, weight, sizes=(30, 1, 200, 69)))
    # Both Gaussians are within 1e-4 standard deviations of the best one.
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=0, atol=5e-4 * whole.coef_std_.max())
    np.testing.assert_allclose(found.coef_std_, whole.coef_std_, rtol=1e-3)
    np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), atol=1e-4)
    assert found.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-3)
    assert found.n_observations_ == pytest.approx(whole.n_observations_)
    assert found.classes_.tolist() == whole.classes_.tolist()


def test_bayesian_chunks_of_collinear_sparse_and_named_columns():
    X, y, _ = table(200)
    X = np.column_stack([X, X[:, 0], np.full(200, 3.0)])
    whole = BayesianLogisticRegression().fit(X, y)
    found = BayesianLogisticRegression().fit(cut(pd.DataFrame(X, columns=list("pqrst")), y, sizes=(90, 110)))
    np.testing.assert_allclose(found.coef_std_, whole.coef_std_, rtol=1e-3)
    assert found.feature_names_in_.tolist() == list("pqrst")
    light = [(sparse.csr_array(rows), labels) for rows, labels in cut(X, y, sizes=(90, 110))]
    np.testing.assert_allclose(BayesianLogisticRegression().fit(light).coef_std_, whole.coef_std_, rtol=1e-3)
    with pytest.raises(ValueError, match="BayesianLogisticRegression needs at least two classes"):
        BayesianLogisticRegression().fit(cut(X, np.full(200, "a"), sizes=(90, 110)))
