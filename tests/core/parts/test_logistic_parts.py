"""Logistic regression of chunks equals that of all rows."""

import numpy as np
import pytest
from scipy import sparse
from tests.core.parts.test_parts import cut

from credo import BayesianLogisticRegression, GPClassifier, LogisticRegression
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


@pytest.mark.parametrize("lost", [1, 2])
def test_passes_with_different_rows(lost):
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
    n_passes = 0

    def chunks():
        nonlocal n_passes
        n_passes += 1
        return [(X[:20], y[:20]), (X[20:], y[20:])][: 2 if n_passes == 1 else 2 - lost]

    left = 40 - 20 * lost
    with pytest.raises(ValueError, match=f"had 40 rows when it was read for the first time, and has {left} now"):
        LogisticRegression().fit(chunks)


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


@pytest.mark.parametrize("model", [BayesianLogisticRegression(), GPClassifier()])
def test_models_of_many_passes_do_not_fit_from_parts(model):
    X, y, _ = table()
    for parts in (cut(X, y), lambda: iter(cut(X, y))):
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not fit from parts: .* sample of the rows"):
            model.fit(parts)
