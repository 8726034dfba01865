"""Least squares on indicators: linear regression on ±1, and shares on the simplex."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import credo
from credo.core.estimator import FitWarning
from credo.core.notices import collected
from credo.linear import LeastSquaresClassifier, LinearDiscriminant, LinearRegression
from credo.linear.least_squares_classifier import nearest_simplex


def table(n=100, p=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, p)) + rng.normal(size=(n_classes, p))[y] + 5, y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_two_classes_are_linear_regression_on_plus_and_minus_one(fit_intercept, weighted):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y)) if weighted else None
    model = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    line = LinearRegression(fit_intercept=fit_intercept).fit(X, 2.0 * y - 1, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], line.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), line.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n", "p"), [(100, 3), (5, 3), (12, 30)])
def test_many_classes_are_linear_regressions_on_indicators(n, p):
    X, y = table(n, p, 3)
    y[:3] = [0, 1, 2]
    model = LeastSquaresClassifier()
    if p > n:
        with pytest.warns(FitWarning, match=r"30 columns are collinear \(rank 11\)"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    design = np.column_stack([X - X.mean(axis=0), np.ones(n)])
    w = np.linalg.lstsq(design, np.eye(3)[y], rcond=None)[0]
    np.testing.assert_allclose(model.coef_, w[:-1].T, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1.0, rtol=1e-9)


def test_two_balanced_classes_point_as_fisher_s_direction():
    # Bishop 4.1.5: least squares gives the direction of Fisher's discriminant.
    X, y = table()
    a, b = LeastSquaresClassifier().fit(X, y).coef_[0], LinearDiscriminant().fit(X, y).coef_[0]
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) == pytest.approx(1.0, abs=1e-12)


def test_probabilities_are_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(6, 4))
    P = nearest_simplex(V)
    for v, p in zip(V, P, strict=True):
        found = minimize(
            lambda q, v=v: np.sum((q - v) ** 2), np.full(4, 0.25), bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1}, tol=1e-14,
        )  # fmt: skip
        np.testing.assert_allclose(p, found.x, atol=1e-6)
    np.testing.assert_allclose(nearest_simplex(P), P, atol=1e-15)


def test_probabilities_keep_the_order_of_the_scores():
    for n_classes in (2, 3):
        X, y = table(n_classes=n_classes)
        model = LeastSquaresClassifier().fit(X, y)
        P = model.predict_proba(X)
        assert (P >= 0).all() and np.allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    X, y = table()
    model = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], np.clip((1 + model.decision_function(X)) / 2, 0, 1), rtol=1e-12
    )


def test_dependent_columns_get_the_smallest_weights():
    X, y = table()
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 0.1)])
    with pytest.warns(FitWarning, match=r"5 columns are collinear \(rank 3\)"):
        model = LeastSquaresClassifier().fit(twice, y)
    once = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(model.coef_[0, [0, 3]], once.coef_[0, 0] / 2, rtol=1e-9)
    assert model.coef_[0, 4] == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies_and_class_weights_are_weights(n_classes):
    X, y = table(n_classes=n_classes)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = LeastSquaresClassifier().fit(X, y, sample_weight=weight)
    repeated = LeastSquaresClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    by_class = LeastSquaresClassifier(class_weight={0: 3.0}).fit(X, y)
    by_row = LeastSquaresClassifier().fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-12)


def test_files_bring_it_back_bit_for_bit(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LeastSquaresClassifier().fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert str(back.summary()) == str(model.summary())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", [(90, 6), (12, 20)], ids=["tall", "wide"])
def test_sparse_rows_give_the_dense_fit(n_classes, shape):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=shape) * (rng.random(shape) < 0.4), np.arange(shape[0]) % n_classes
    weight = rng.integers(1, 4, shape[0]).astype(float)
    with collected():
        model = LeastSquaresClassifier().fit(sparse.csr_array(X), y, weight)
        dense = LeastSquaresClassifier().fit(X, y, weight)
    assert model.rank_ == dense.rank_
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-8)
