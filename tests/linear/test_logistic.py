"""Logistic regression: published fits, scikit-learn, finite differences, and what happens where no maximum is."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import log_expit
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as Peer

import credo
from credo.core.estimator import FitWarning
from credo.linear import BayesianLogisticRegression, LogisticRegression, logistic
from credo.linear._softmax import MatrixFreeObjective, Objective

# Hours of study and whether the exam was passed: the worked example of many courses, with its published fit.
HOURS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5]
PASSED = [0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1]


def table(n=300, p=4, n_classes=2, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.geomspace(0.1, 10, p) + np.linspace(-3, 30, p)
    scores = ((X - X.mean(axis=0)) / X.std(axis=0)) @ rng.normal(size=(p, n_classes))
    return X, np.argmax(scores + noise * rng.gumbel(size=scores.shape), axis=1)


def peer(X, y, alpha, **options):
    C = 1 / alpha if alpha else np.inf
    weight = options.pop("sample_weight", None)
    return Peer(C=C, solver="newton-cholesky", tol=1e-10, max_iter=500, **options).fit(X, y, sample_weight=weight)


# Maximum likelihood


def test_published_fit_of_hours_and_passes():
    model = LogisticRegression().fit(np.array(HOURS)[:, None], PASSED)
    assert round(model.coef_[0, 0], 4) == 1.5046 and round(model.intercept_[0], 4) == -4.0777
    assert round(model.coef_std_error_[0, 0], 4) == 0.6287 and round(model.intercept_std_error_[0], 4) == 1.7610
    assert model.result_.converged


def test_published_fit_of_two_irises():
    # R's glm on versicolor and virginica: estimates, standard errors, residual deviance 11.899.
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X[y > 0], y[y > 0])
    np.testing.assert_allclose(model.coef_[0], [-2.465, -6.681, 9.429, 18.286], atol=6e-4)
    np.testing.assert_allclose(model.coef_std_error_[0], [2.394, 4.480, 4.737, 9.743], atol=6e-4)
    assert abs(model.intercept_[0] + 42.638) < 6e-4 and abs(model.intercept_std_error_[0] - 25.708) < 6e-4
    assert abs(-2 * model.log_likelihood_ - 11.899) < 6e-4
    assert model.n_parameters_ == 5 and model.n_observations_ == 100


def test_standard_errors_are_those_of_the_information_matrix():
    X, y = table(n_classes=3, p=2)
    model = LogisticRegression().fit(X, y)
    # With the first class as reference, θₖ − θ₀ has the covariance of the textbook's information matrix; so have its
    # combinations with coefficients that sum to zero over the classes.
    P, Z = model.predict_proba(X), np.column_stack([X, np.ones(len(X))])
    H = np.zeros((6, 6))
    for a in range(2):
        for b in range(2):
            pull = P[:, a + 1] * ((a == b) - P[:, b + 1])
            H[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] = (Z * pull[:, None]).T @ Z
    cov = np.linalg.inv(H).reshape(2, 3, 2, 3)
    center = np.array([[-1, -1], [2, -1], [-1, 2]]) / 3
    errors = np.sqrt(np.einsum("ka,ajbj,kb->kj", center, cov, center))
    np.testing.assert_allclose(model.coef_std_error_, errors[:, :2], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_std_error_, errors[:, 2], rtol=1e-6)
    expected = np.einsum("ka,aibj,lb->kilj", center, cov, center)[:, :2, :, :2].reshape(6, 6)
    np.testing.assert_allclose(model.coef_cov_, expected, rtol=1e-6, atol=1e-9)


def test_intervals_are_the_published_estimates_within_their_standard_errors():
    # 1.5046 ± 1.96 · 0.6287 and −4.0777 ± 1.96 · 1.7610.
    model = LogisticRegression().fit(pd.DataFrame({"hours": HOURS}), PASSED)
    intervals = model.confint()
    np.testing.assert_allclose(intervals["hours"], [0.2724, 2.7369], atol=2e-4)
    np.testing.assert_allclose(intervals["intercept"], [-7.5292, -0.6262], atol=2e-4)
    np.testing.assert_array_equal(intervals, np.column_stack([model.summary().columns[c] for c in ("lower", "upper")]))
    names = LogisticRegression().fit(*table(n_classes=3, p=2)).confint(0.9).columns["parameter"]
    assert names == [f"{k}: {name}" for k in range(3) for name in ("intercept", "x0", "x1")]


def test_intervals_without_standard_errors_name_a_model_that_has_some():
    model = LogisticRegression(1.0).fit(np.array(HOURS)[:, None], PASSED)
    assert not hasattr(model, "coef_cov_")
    with pytest.raises(ValueError, match=r"has no standard errors.*BayesianLogisticRegression has intervals"):
        model.confint()
    with pytest.raises(NotFittedError):
        LogisticRegression().confint()
    bayes = BayesianLogisticRegression(1.0).fit(np.array(HOURS)[:, None], PASSED)
    lower, upper = bayes.confint(0.9)["x0"]
    assert lower < bayes.coef_[0, 0] < upper


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_scikit_learn(n_classes, alpha, fit_intercept):
    X, y = table(n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y))
    model = LogisticRegression(alpha, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    other = peer(X, y, alpha, fit_intercept=fit_intercept, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    if alpha or n_classes == 2:
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-5, atol=1e-6)
    if n_classes == 3:
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(model.intercept_.sum(), 0, atol=1e-7)


def test_the_maximum_is_one():
    X, y = table()
    alpha = 0.7
    model = LogisticRegression(alpha).fit(X, y)

    def objective(w):
        return log_expit((2 * y - 1) * (X @ w[:-1] + w[-1])).sum() - alpha / 2 * w[:-1] @ w[:-1]

    top = np.append(model.coef_[0], model.intercept_)
    rng = np.random.default_rng(3)
    for _ in range(20):
        assert objective(top + 1e-3 * rng.normal(size=5)) < objective(top)
    assert model.log_likelihood_ == pytest.approx(objective(top) + alpha / 2 * top[:-1] @ top[:-1])


@pytest.mark.parametrize("kind", [Objective, MatrixFreeObjective])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_slope_and_curvature_are_finite_differences(kind, n_classes):
    X, y = table(50, 3, n_classes)
    rng = np.random.default_rng(2)
    objective = kind(X, y, rng.uniform(0.5, 2, 50), n_classes, X[0], 0.4, True)
    theta, h = 0.1 * rng.normal(size=objective.shape), 1e-5
    slope, curvature = np.empty(theta.size), np.empty((theta.size, theta.size))
    for i, e in enumerate(np.eye(theta.size)):
        ahead, behind = (objective.evaluate(theta + s * h * e.reshape(theta.shape)) for s in (1, -1))
        slope[i] = (ahead.value - behind.value) / (2 * h)
        curvature[i] = -(ahead.gradient - behind.gradient).ravel() / (2 * h)
    point = objective.evaluate(theta)
    np.testing.assert_allclose(point.gradient.ravel(), slope, rtol=1e-6, atol=1e-5)
    if kind is Objective:
        np.testing.assert_allclose(point.curvature, curvature, rtol=1e-6, atol=1e-5)
    else:
        times, diagonal = objective.product(theta)
        v = rng.normal(size=theta.shape)
        np.testing.assert_allclose(times(v).ravel(), curvature @ v.ravel(), rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(diagonal.ravel(), np.diagonal(curvature), rtol=1e-6)


def test_many_rows_start_from_few_and_end_the_same(monkeypatch):
    X, y = table(120_000, 4)
    model = LogisticRegression().fit(X, y)
    monkeypatch.setattr("credo.linear._ascent._SUBSAMPLING_RATIO", 10**9)
    monkeypatch.setattr("credo.linear._softmax._MIN_PARALLEL_ENTRIES", 10**9)
    plain = LogisticRegression().fit(X, y)
    assert model.result_.converged and plain.result_.converged
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.coef_std_error_, plain.coef_std_error_, rtol=1e-8)


def test_units_and_offsets_don_t_show():
    X, y = table()
    unit, offset = np.array([1e-6, 1e6, 1.0, 1e3]), np.array([0.0, 1e9, -1e4, 0.0])
    plain, moved = LogisticRegression().fit(X, y), LogisticRegression().fit(X * unit + offset, y)
    np.testing.assert_allclose(moved.coef_ * unit, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(moved.coef_std_error_ * unit, plain.coef_std_error_, rtol=1e-6)


def test_nearly_collinear_columns_keep_their_digits():
    X, y = table()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    close = np.column_stack([X[:, 0], X[:, 0] + 1e-6 * X[:, 1]])
    model, clear = LogisticRegression().fit(close, y), LogisticRegression().fit(X[:, :2], y)
    # w₀x₀ + w₁x₁ = (a + b)x₀ + 1e-6 b x₁
    np.testing.assert_allclose(model.coef_[0, 1] * 1e-6, clear.coef_[0, 1], rtol=1e-5)
    np.testing.assert_allclose(model.coef_std_error_[0, 1] * 1e-6, clear.coef_std_error_[0, 1], rtol=1e-5)


# Columns that depend on one another


def test_dependent_columns_get_the_smallest_weights():
    X, y = table()
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 7.1)])
    with pytest.warns(FitWarning, match=r"6 columns are collinear \(rank 4\).*smallest norm"):
        model = LogisticRegression().fit(twice, y)
    once = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[0, [0, 4]], once.coef_[0, 0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.coef_[0, 1:4], once.coef_[0, 1:], rtol=1e-6)
    assert model.coef_[0, 5] == 0
    np.testing.assert_allclose(model.coef_std_error_[0, 1:4], once.coef_std_error_[0, 1:], rtol=1e-6)
    assert np.isinf(model.coef_std_error_[0, [0, 4, 5]]).all()
    assert model.n_parameters_ == 5 and model.result_.converged
    np.testing.assert_allclose(model.coef_, LogisticRegression(1e-10).fit(twice, y).coef_, rtol=1e-5, atol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300)) + 2
    y = rng.integers(0, 3, 40)
    model = LogisticRegression(2.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer(X, y, 2.0).coef_, atol=1e-7)


# Many columns, sparse rows


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_and_many_parameters(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 60), density=0.1, format="csr", rng=rng)
    y = np.argmax(X @ rng.normal(size=(60, n_classes)) + 0.3 * rng.gumbel(size=(400, n_classes)), axis=1)
    dense = LogisticRegression(0.1).fit(X.toarray(), y)
    np.testing.assert_allclose(LogisticRegression(0.1).fit(X, y).coef_, dense.coef_, atol=1e-8)
    monkeypatch.setattr(logistic, "_MAX_STORED_PARAMETERS", 10)
    wide = LogisticRegression(0.1).fit(X, y)
    np.testing.assert_allclose(wide.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(LogisticRegression(0.1).fit(X.toarray(), y).coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(wide.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-8)


def test_thousands_of_parameters():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 2000), density=0.01, format="csr", rng=rng)
    y = (X @ rng.normal(size=2000) + 0.1 * rng.normal(size=3000) > 0).astype(int)
    model = LogisticRegression(1.0).fit(X, y)
    slope = X.T @ (y - model.predict_proba(X)[:, 1]) - model.coef_[0]
    assert model.result_.converged and np.abs(slope).max() < 1e-6


# Where the likelihood has no maximum


def test_separated_classes_are_told_in_words():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(FitWarning, match=r"no maximum, because the classes are perfectly separated.*Use alpha>0"):
        model = LogisticRegression().fit(X[y < 2], y[y < 2])
    assert not model.result_.converged and "alpha>0" in model.result_.message
    assert model.score(X[y < 2], y[y < 2]) == 1 and np.abs(model.coef_).max() < 100
    assert np.isinf(model.coef_std_error_).all() and np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_quasi_complete_separation_is_told_in_words(n_classes):
    X, y = table(n_classes=n_classes)
    # A rare mark that only one class bears: its weight would grow for ever.
    mark = np.zeros(len(y))
    mark[np.flatnonzero(y == 1)[:5]] = 1.0
    with pytest.warns(FitWarning, match=r"no maximum, because the classes are quasi-separated.*ties"):
        model = LogisticRegression().fit(np.column_stack([X, mark]), y)
    assert not model.result_.converged and np.abs(model.coef_).max() < 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LogisticRegression(1e-3).fit(np.column_stack([X, mark]), y).result_.converged


def test_one_overlap_is_enough_for_a_maximum():
    X = np.append(np.linspace(-3, -1, 40), np.linspace(1, 3, 40))[:, None]
    y = np.repeat([0, 1], 40)
    y[0] = 1
    assert LogisticRegression().fit(X, y).result_.converged
    # A tie at the boundary is none.
    y[0], y[39], X[39], X[40] = 0, 0, 0.5, 0.5
    with pytest.warns(FitWarning, match="no maximum"):
        LogisticRegression().fit(X, y)


@pytest.mark.parametrize("seed", range(12))
def test_the_verdict_is_that_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 30))
    X = rng.integers(-2, 3, size=(n, 3)).astype(float)
    y = rng.permutation(np.arange(n) % 2)
    A = (2 * y - 1)[:, None] * np.column_stack([X, np.ones(n)])
    best = -linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(n), bounds=(-1, 1)).fun
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        assert LogisticRegression().fit(X, y).result_.converged == (best < 1e-9)


def test_endless_growth_among_many_parameters(monkeypatch):
    monkeypatch.setattr("credo.linear._ascent._MAX_PROGRAM_PARAMETERS", 3)
    X, y = table()
    mark = np.zeros(len(y))
    mark[np.flatnonzero(y == 1)[:5]] = 1.0
    with pytest.warns(FitWarning, match="the likelihood probably has no maximum"):
        LogisticRegression().fit(np.column_stack([X, mark]), y)


# Steepest ascent


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ascent_records_its_path(n_classes):
    X, y = table(n_classes=n_classes)
    model, newton = LogisticRegression(solver="ascent").fit(X, y), LogisticRegression().fit(X, y)
    assert model.result_.converged and len(model.path_) == model.n_iter_ + 1
    assert (np.diff(model.path_.objective) > 0).all() and not model.path_.coef[0].any()
    np.testing.assert_array_equal(model.path_.coef[-1], model.coef_)
    np.testing.assert_array_equal(model.path_.intercept[-1], model.intercept_)
    np.testing.assert_allclose(model.predict_proba(X), newton.predict_proba(X), atol=1e-4)
    assert len(model.path_) > 2 * newton.n_iter_
    assert not hasattr(model, "coef_std_error_") and not hasattr(newton, "path_")


def test_ascent_says_when_it_is_cut_short():
    X, y = table()
    with pytest.warns(FitWarning, match=r"did not converge in 2 iterations .* solver='newton'"):
        model = LogisticRegression(solver="ascent", max_iter=2).fit(X, y)
    assert len(model.path_) == 3 and not model.result_.converged


# Labels, weights, files


def test_labels_of_any_type_and_class_weights():
    X, y = table()
    words = np.array(["yes", "no"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression(0.1, class_weight={"yes": 2.0, "no": 0.5}).fit(frame, words)
    assert model.classes_.tolist() == ["no", "yes"] and set(model.predict(frame)) == {"no", "yes"}
    by_hand = LogisticRegression(0.1).fit(X, words, sample_weight=np.where(y == 0, 2.0, 0.5))
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-10)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.summary().columns["parameter"] == ["intercept", "a", "b", "c", "d"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies(n_classes):
    X, y = table(80, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    weighted = LogisticRegression(0.2).fit(X, y, sample_weight=weight)
    repeated = LogisticRegression(0.2).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-9)
    assert weighted.n_observations_ == repeated.n_observations_


def test_scores_and_probabilities_agree_far_out():
    X, y = table()
    model = LogisticRegression().fit(X, y)
    far = X * 1e4
    scores, logs = model.decision_function(far), model.predict_log_proba(far)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], scores, rtol=1e-10)
    assert (np.diff(model.predict_proba(X)[np.argsort(model.decision_function(X)), 1]) >= 0).all()


@pytest.mark.parametrize("options", [{}, {"alpha": 1.0}, {"solver": "ascent"}])
def test_files_bring_it_back_bit_for_bit(options, tmp_path):
    X, y = table(n_classes=3)
    model = LogisticRegression(**options).fit(X, np.array(["a", "b", "c"])[y])
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert str(back.summary()) == str(model.summary()) and back.result_ == model.result_


def test_a_new_fit_forgets_the_old_one():
    X, y = table()
    model = LogisticRegression().fit(X, y)
    assert hasattr(model, "coef_std_error_")
    model.set_params(alpha=1.0).fit(X, y)
    assert not hasattr(model, "coef_std_error_") and set(model.summary().columns["sd"]) == {None}


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_summary_checks_its_level_with_intervals_and_without(alpha):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        LogisticRegression(alpha).fit(*table()).summary(level=95)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a finite number that is not negative; got -1.0"),
        ({"solver": "lbfgs"}, "solver must be one of 'newton', 'ascent'; got 'lbfgs'"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"tol": 0.0}, "tol must be a positive finite number"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**options).fit(*table())


def test_digits_in_many_classes():
    X, y = load_digits(n_class=4, return_X_y=True)
    model = LogisticRegression(10.0).fit(X, y)
    P = model.predict_proba(X)
    slope = (np.eye(4)[y] - P).T @ X - 10.0 * model.coef_
    assert np.abs(slope).max() < 1e-6 and model.score(X, y) > 0.99


def test_weights_separate_what_a_linear_program_says_can_be_separated():
    """Newton's first steps leave two rows on the wrong side; a boundary with a margin exists."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with pytest.warns(FitWarning, match="the classes are perfectly separated"):
        model = LogisticRegression().fit(X, y)
    assert model.score(X, y) == 1.0
