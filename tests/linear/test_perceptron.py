"""The perceptron: the textbook's updates, Novikoff's bound, and the best boundary where none is perfect."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import credo
from credo.core.estimator import ConvergenceWarning, FitWarning
from credo.linear import Perceptron


def separable(n=60, p=3, seed=0, margin=0.3):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(3 * n, p)), rng.normal(size=p)
    lead = X @ w / np.linalg.norm(w) - 0.4
    kept = np.abs(lead) > margin
    return X[kept][:n], (lead[kept][:n] > 0).astype(int)


def blobs(n=120, n_classes=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 2)) * spread + 2 * np.column_stack([np.cos(2 * y), np.sin(2 * y)]), y


def test_updates_are_rosenblatt_s():
    X, y = separable()
    model = Perceptron(10_000, random_state=3).fit(X, y)
    rng, w, passes = np.random.default_rng(3), np.zeros(4), []
    while not passes or passes[-1]:
        passes.append(0)
        for i in rng.permutation(len(X)):
            phi, sign = np.append(X[i], 1.0), 2 * y[i] - 1
            if sign * (w @ phi) <= 0:
                w = w + sign * phi
                passes[-1] += 1
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), w, rtol=1e-10)
    assert model.mistakes_.tolist() == passes


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_keep_to_novikoff_s_bound(seed):
    X, y = separable(seed=seed)
    model = Perceptron(10_000, random_state=0).fit(X, y)
    assert model.result_.converged and model.mistakes_[-1] == 0 and model.score(X, y) == 1
    phi = np.column_stack([X, np.ones(len(X))])
    # The widest margin of boundaries through the origin of φ-space, by a support vector machine on ±φ.
    machine = SVC(kernel="linear", C=1e8).fit(np.vstack([phi, -phi]), np.append(y, 1 - y))
    w = machine.coef_[0] / np.linalg.norm(machine.coef_)
    gamma = ((2 * y - 1) * (phi @ w)).min()
    assert gamma > 0
    assert model.mistakes_.sum() <= np.square(np.linalg.norm(phi, axis=1).max() / gamma)


def test_three_classes_by_the_multiclass_rule():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 4.0], [4.0, -2.0], [-4.0, -2.0]], 20, axis=0) + rng.normal(size=(60, 2)) * 0.4
    y = np.repeat(["a", "b", "c"], 20)
    model = Perceptron(random_state=0).fit(X, y)
    assert model.result_.converged and model.score(X, y) == 1 and model.coef_.shape == (3, 2)
    # What one class gains another loses.
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)


def test_without_a_boundary_it_warns_and_keeps_the_best_weights():
    X, y = blobs(spread=1.5)
    with pytest.warns(ConvergenceWarning, match="can't converge unless the classes are linearly separable"):
        model = Perceptron(random_state=0).fit(X, y)
    assert not model.result_.converged and len(model.mistakes_) == 200 and (model.mistakes_ > 0).all()
    assert model.training_error_ == pytest.approx(1 - model.score(X, y))
    # No line errs less than one through two of the points does.
    phi, best = np.column_stack([X, np.ones(len(X))]), 1.0
    for i in range(0, len(X), 2):
        for j in range(1, len(X), 2):
            side = phi @ np.cross(phi[i], phi[j])
            wrong = (side > 0) != (y == 1)
            wrong[[i, j]] = False
            best = min(best, wrong.mean(), 1 - wrong.mean())
    assert best - 1e-12 <= model.training_error_ <= best + 0.05


def test_there_are_no_probabilities():
    X, y = separable()
    model = Perceptron(random_state=0).fit(X, y)
    for name in ("predict_proba", "predict_log_proba", "predict_dist"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="no probabilities: use LogisticRegression"):
        model.predict_proba(X)


def test_without_an_intercept():
    X, y = separable()
    X = X - np.array([0.4, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        assert Perceptron(fit_intercept=False, random_state=0).fit(X, y).intercept_[0] == 0


def test_files_and_frames(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    kept = y < 2
    X, names = X[kept], np.array(["setosa", "versicolor"])[y[kept]]
    model = Perceptron(random_state=0).fit(X, names)
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(back.predict(X), names)
    assert str(back.summary()) == str(model.summary()) and "mistakes in" in str(model.summary())
    assert isinstance(X, pd.DataFrame) and list(model.feature_names_in_) == list(X.columns)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_epochs must be a whole number of at least 1; got 0"):
        Perceptron(0, random_state=0).fit(*separable())
    with pytest.raises(ValueError, match="needs at least two classes"):
        Perceptron(random_state=0).fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match=r"random_state must be .* got 'dice'"):
        Perceptron(random_state="dice").fit(*separable())
