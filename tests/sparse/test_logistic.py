"""Sparse logistic regression: optimality, the gap, scikit-learn's optimum, more classes, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax
from sklearn import linear_model as sk

from credo.core.estimator import ConvergenceWarning
from credo.sparse import SparseLogisticRegression, SparseLogisticRegressionCV


def table(n=80, p=15, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=p)
    X[rng.random(X.shape) < 0.3] = 0.0
    W = np.zeros((n_classes, p))
    W[:, :4] = 1.5 * rng.normal(size=(n_classes, 4))
    return X, np.argmax(X @ W.T + rng.gumbel(size=(n, n_classes)), axis=1)


def objective(X, y, coef, intercept, alpha, weight=None):
    scores = X @ coef.T + intercept
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    log_loss = -log_softmax(scores, axis=1)[np.arange(len(y)), y]
    return np.average(log_loss, weights=weight) + alpha * np.abs(coef).sum()


def assert_optimal(model, X, y, weight=None, tol=1e-4):
    """The slope of the mean log loss is −α sign(w) where w isn't zero, and at most α in size elsewhere."""
    weight = np.ones(len(y)) if weight is None else weight
    rest = (y[:, None] == np.arange(len(model.classes_))) - model.predict_proba(X)
    rest = (rest[:, 1:] if len(model.classes_) == 2 else rest) * (weight / weight.sum())[:, None]
    slope, active = rest.T @ X, model.coef_ != 0
    assert (np.abs(slope) <= model.alpha + tol).all()
    np.testing.assert_allclose(slope[active], model.alpha * np.sign(model.coef_[active]), atol=tol)
    np.testing.assert_allclose(rest.sum(axis=0), 0.0, atol=1e-8)


SHAPES = [(80, 15, 2), (40, 200, 2), (80, 15, 3), (60, 100, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("kind", "alpha"), [(np.array, 0.1), (sparse.csc_array, 0.01), (sparse.csr_matrix, 0.1)])
def test_the_weights_are_optimal_and_the_gap_is_met(shape, kind, alpha):
    X, y = table(*shape)
    model = SparseLogisticRegression(alpha=alpha).fit(kind(X), y)
    assert_optimal(model, X, y)
    shares = np.bincount(y) / len(y)
    assert model.result_.converged and 0 <= model.dual_gap_ <= 1e-7 * -(shares @ np.log(shares))


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_liblinear_is_no_better_without_intercept(alpha):
    X, y = table()
    model = SparseLogisticRegression(alpha=alpha, fit_intercept=False).fit(X, y)
    other = sk.LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1 / (alpha * len(y)), tol=1e-10, max_iter=10**5, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-3)
    ours, theirs = (objective(X, y, m.coef_, 0.0, alpha) for m in (model, other))
    assert ours <= theirs + model.dual_gap_ + 1e-12


@pytest.mark.parametrize("shape", [(80, 15, 2), (80, 15, 3)])
def test_saga_finds_the_same_optimum(shape):
    X, y = table(*shape)
    model = SparseLogisticRegression(alpha=0.03).fit(X, y)
    other = sk.LogisticRegression(l1_ratio=1.0, solver="saga", C=1 / (0.03 * len(y)), tol=1e-8, max_iter=20_000).fit(
        X, y
    )
    ours, theirs = (objective(X, y, m.coef_, m.intercept_, 0.03) for m in (model, other))
    assert ours <= theirs + model.dual_gap_ and ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_gap_bounds_the_distance_from_the_optimum(shape):
    X, y = table(*shape)
    exact = SparseLogisticRegression(alpha=0.02, tol=1e-11).fit(X, y)
    best = objective(X, y, exact.coef_, exact.intercept_, 0.02)
    for tol in (0.3, 1e-1, 1e-2, 1e-4):
        rough = SparseLogisticRegression(alpha=0.02, tol=tol).fit(X, y)
        value = objective(X, y, rough.coef_, rough.intercept_, 0.02)
        assert -1e-10 <= value - best <= rough.dual_gap_ + 1e-10


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
def test_weights_are_copies(n_classes, kind):
    X, y = table(45, 30, n_classes)
    weight = np.resize([1, 3, 2, 0, 1], 45)
    weighted = SparseLogisticRegression().fit(kind(X), y, sample_weight=weight)
    repeated = SparseLogisticRegression().fit(kind(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-7)
    assert_optimal(weighted, X, y, weight.astype(float))


def test_everything_is_zero_from_alpha_max_on():
    X, y = table()
    largest = np.abs(X.T @ (y - y.mean())).max() / len(y)
    model = SparseLogisticRegression(alpha=largest * (1 + 1e-9)).fit(X, y)
    assert not model.coef_.any() and model.selected_ == []
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-9)
    assert SparseLogisticRegression(alpha=0.99 * largest).fit(X, y).coef_.any()


def test_separated_classes_have_finite_weights():
    X, y = table()
    X[:, 0] = np.where(y == 1, 5.0, -5.0)
    model = SparseLogisticRegression(alpha=1e-4).fit(X, y)
    assert model.result_.converged and model.score(X, y) == 1.0
    assert_optimal(model, X, y)


def test_constant_and_duplicated_columns():
    X, y = table()
    X[:, 5], X[:, 6] = 3.0, X[:, 0]
    model = SparseLogisticRegression(alpha=0.02).fit(X, y)
    assert (model.coef_[:, 5] == 0).all()
    X[:, 6] = 0.0
    once = SparseLogisticRegression(alpha=0.02).fit(X, y)
    assert model.coef_[0, 0] + model.coef_[0, 6] == pytest.approx(once.coef_[0, 0], abs=1e-3)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_columns(scale):
    X, y = table()
    plain = SparseLogisticRegression(alpha=0.02).fit(X, y)
    scaled = SparseLogisticRegression(alpha=0.02 * scale).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_columns_that_hardly_vary_around_their_offset(n_classes, kind):
    X, y = table(80, 10, n_classes)
    far = X.copy()
    far[:, :4] += 1e6
    seen = far.copy()
    seen[:, :4] -= 1e6
    plain = SparseLogisticRegression(alpha=0.02, tol=1e-11).fit(seen, y)
    model = SparseLogisticRegression(alpha=0.02, tol=1e-11).fit(kind(far), y)
    assert model.result_.n_iter <= plain.result_.n_iter + 2
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(kind(far)), plain.predict_proba(seen), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_very_different_weight_take_few_rounds(n_classes):
    X, y = table(60, 5, n_classes)
    model = SparseLogisticRegression(alpha=1e-9, class_weight={0: 1e4, 1: 1e-3, 2: 1e-3}).fit(X, y)
    assert model.result_.converged and model.result_.n_iter < 20


def test_a_warm_start_saves_rounds():
    X, y = table(60, 100)
    model = SparseLogisticRegression(alpha=0.02, warm_start=True).fit(X, y)
    cold = model.result_.n_iter
    assert model.fit(X, y).result_.n_iter < cold


def test_names_likelihood_and_summary():
    X, y = table(200, 40)
    model = SparseLogisticRegression(alpha=0.05).fit(X, y)
    assert model.selected_ == [f"x{j}" for j in np.flatnonzero(model.coef_[0])]
    assert set(model.summary().columns["parameter"]) == {"intercept", *model.selected_}
    assert model.log_likelihood_ == pytest.approx(np.log(model.predict_proba(X)[np.arange(200), y]).sum())
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)


def test_a_gap_that_is_not_met_is_said():
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 iterations .* increase max_iter or tol"):
        model = SparseLogisticRegression(alpha=0.001, max_iter=1).fit(*table())
    assert not model.result_.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "use credo.linear.LogisticRegression"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        SparseLogisticRegression(**options).fit(*table())


@pytest.mark.parametrize("model", [SparseLogisticRegression(), SparseLogisticRegressionCV(cv=3, n_alphas=5)])
def test_a_spread_that_is_not_known_is_not_shown(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    table = model.fit(X, X[:, 0] + rng.logistic(size=60) > 0).summary()
    assert str(table).splitlines()[1].split() == ["parameter", "estimate"] and "—" not in str(table)
