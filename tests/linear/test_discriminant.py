"""Linear discriminant: the closed formula, scikit-learn, and covariances that can't be inverted."""

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.utils.fixes import parse_version

import credo
from credo.core.estimator import FitWarning
from credo.core.notices import collected
from credo.linear import LinearDiscriminant


def table(n=200, p=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=(n_classes, p))[y] + 5, y


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"), reason="its default solver had another covariance"
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("with_priors", [False, True])
def test_decision_values_are_those_of_scikit_learn(n_classes, with_priors):
    X, y = table(n_classes=n_classes)
    priors = np.arange(1.0, n_classes + 1) / np.arange(1.0, n_classes + 1).sum() if with_priors else None
    model = LinearDiscriminant(priors=priors).fit(X, y)
    other = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    ours, theirs = model.decision_function(X), other.decision_function(X)
    if n_classes == 3:
        # Logits are defined up to a number that all classes share.
        ours, theirs = ours - ours[:, :1], theirs - theirs[:, :1]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_posterior_is_bayes_rule_with_normal_densities(n_classes):
    X, y = table(n_classes=n_classes)
    model = LinearDiscriminant().fit(X, y)
    density = np.column_stack([stats.multivariate_normal(m, model.covariance_).pdf(X) for m in model.means_])
    joint = density * model.priors_
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    likelihood = np.log(joint / joint.sum(axis=1, keepdims=True))[np.arange(len(y)), y].sum()
    assert model.log_likelihood_ == pytest.approx(likelihood)
    assert model.n_parameters_ == (n_classes - 1) * 4 and model.n_observations_ == 200


def test_weights_and_offset_by_the_closed_formula():
    X, y = table()
    model = LinearDiscriminant(priors=[0.3, 0.7]).fit(X, y)
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    S = (np.cov(X[y == 0].T) * (np.sum(y == 0) - 1) + np.cov(X[y == 1].T) * (np.sum(y == 1) - 1)) / 200
    w = np.linalg.solve(S, m1 - m0)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], -0.5 * (m0 + m1) @ w + np.log(0.7 / 0.3), rtol=1e-9)
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-9)
    np.testing.assert_allclose(model.means_, [m0, m1], rtol=1e-12)


def within(X, y):
    """Rows about their class means, and the pooled standard deviations."""
    inner = X - np.array([X[y == k].mean(axis=0) for k in range(y.max() + 1)])[y]
    return inner, np.sqrt(np.square(inner).mean(axis=0))


def test_more_columns_than_rows_use_the_pseudo_inverse_in_standardized_units():
    X, y = table(20, 50)
    with pytest.warns(FitWarning, match=r"50 columns is singular \(rank 18\).*shrinkage"):
        model = LinearDiscriminant().fit(X, y)
    inner, scale = within(X, y)
    S = inner.T @ inner / 20
    inverse = np.linalg.pinv(S / np.outer(scale, scale), rcond=1e-10) / np.outer(scale, scale)
    np.testing.assert_allclose(model.coef_[0], inverse @ (model.means_[1] - model.means_[0]), rtol=1e-6)
    np.testing.assert_allclose(model.covariance_, S, atol=1e-9)


@pytest.mark.parametrize("n", [20, 200])
def test_shrinkage_by_number_and_by_ledoit_and_wolf(n):
    X, y = table(n, 30)
    inner, scale = within(X, y)
    S = inner.T @ inner / n
    model = LinearDiscriminant(0.2).fit(X, y)
    shrunk = 0.8 * S + 0.2 * np.diag(np.diag(S))
    np.testing.assert_allclose(model.covariance_, shrunk, atol=1e-9)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(shrunk, model.means_[1] - model.means_[0]), rtol=1e-7)
    auto = LinearDiscriminant("auto").fit(X, y)
    assert auto.shrinkage_ == pytest.approx(ledoit_wolf(inner / scale, assume_centered=True)[1], rel=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
@pytest.mark.parametrize("n", [25, 200])
def test_predictions_do_not_depend_on_the_units_of_the_columns(shrinkage, n):
    X, y = table(n, 30, n_classes=3)
    X = np.column_stack([X, y == 1, np.full(n, 7.0)])  # no variation within the classes, or none at all
    units = 10.0 ** np.linspace(-6, 6, 32)
    with collected():
        first, second = (LinearDiscriminant(shrinkage).fit(rows, y) for rows in (X, X * units))
    assert second.shrinkage_ == pytest.approx(first.shrinkage_, rel=1e-9)
    np.testing.assert_allclose(second.predict_proba(X * units), first.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(second.covariance_, first.covariance_ * np.outer(units, units), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("load", "least"), [(load_wine, 0.96), (load_breast_cancer, 0.95)])
def test_automatic_shrinkage_is_accurate_where_columns_differ_in_units(load, least):
    X, y = load(return_X_y=True)
    assert cross_val_score(LinearDiscriminant("auto"), X, y, cv=5).mean() >= least


def test_constant_and_repeated_columns():
    X, y = table()
    more = np.column_stack([X, X[:, 0] * 1e6, np.full(len(X), 3.3)])
    with pytest.warns(FitWarning, match=r"5 columns is singular \(rank 3\)"):
        model = LinearDiscriminant().fit(more, y)
    np.testing.assert_allclose(
        model.decision_function(more), LinearDiscriminant().fit(X, y).decision_function(X), rtol=1e-6, atol=1e-7
    )
    assert model.coef_[0, 4] == 0


def test_units_and_offsets_don_t_show():
    X, y = table(n_classes=3)
    moved = X * [1e-8, 1e8, 1.0] + [0.0, 1e10, -1e5]
    np.testing.assert_allclose(
        LinearDiscriminant().fit(moved, y).predict_proba(moved),
        LinearDiscriminant().fit(X, y).predict_proba(X),
        atol=1e-6,
    )


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_weights_are_copies(shrinkage):
    X, y = table(60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    weighted = LinearDiscriminant(shrinkage).fit(X, y, sample_weight=weight)
    repeated = LinearDiscriminant(shrinkage).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9)


def test_files_bring_it_back_bit_for_bit(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LinearDiscriminant("auto").fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.covariance_, model.covariance_)
    assert str(back.summary()) == str(model.summary()) and "setosa: intercept" in str(model.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrinkage": 1.5}, 'shrinkage must be None, "auto" or a number from 0 to 1; got 1.5'),
        ({"shrinkage": "oas"}, "got 'oas'"),
        (
            {"priors": [0.2, 0.2]},
            r"priors must be 2 positive numbers that sum to one, in the order of .* \[0, 1\]",
        ),
        ({"priors": [1.0]}, "priors must be 2 positive numbers"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        LinearDiscriminant(**options).fit(*table())


def test_one_row_for_each_class_is_refused_in_words():
    with pytest.raises(ValueError, match="no column varies within a class, in 2 rows of 2 classes"):
        LinearDiscriminant().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="in 4 rows of 2 classes with n_features=1"):
        LinearDiscriminant().fit([[2.0]] * 4, ["a", "a", "b", "b"])


@pytest.mark.parametrize("units", [1.0, 1e-6, 1e6])
def test_classes_that_are_points_go_to_the_nearest_mean(units):
    points = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 1.0], [1.0, 5.0, 3.0]]) * [1.0, 1.0, units]
    y = np.repeat([0, 1, 2], [1, 3, 40])
    with pytest.warns(FitWarning, match="no column varies within a class"):
        model = LinearDiscriminant().fit(points[y], y)
    assert model.rank_ == 0 and model.score(points[y], y) == 1.0
    new = np.array([[0.3, 5.0, 1.2], [0.8, 7.0, 1.9], [0.9, 0.0, 2.5]]) * [1.0, 1.0, units]
    spread = points[y].std(axis=0)
    spread[1] = np.inf
    gaps = np.square((new[:, None] - points) / spread).sum(axis=2)
    np.testing.assert_array_equal(model.predict(new), gaps.argmin(axis=1))
    with pytest.warns(FitWarning, match="no column varies"):
        weighted = LinearDiscriminant().fit(points, [0, 1, 2], [1, 3, 40])
    np.testing.assert_allclose(weighted.coef_, model.coef_, rtol=1e-9)
