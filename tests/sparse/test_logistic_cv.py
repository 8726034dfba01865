"""The penalty of sparse logistic regression by cross-validation: scikit-learn's losses, and laws of the folds."""

import warnings
from time import perf_counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

import credo
from credo.core.estimator import ConvergenceWarning, FitWarning
from credo.sparse import SparseLogisticRegression, SparseLogisticRegressionCV, cross_validation


def table(n=90, p=8, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=p)
    X[rng.random(X.shape) < 0.3] = 0.0
    W = np.zeros((n_classes, p))
    W[:, :3] = 2 * rng.normal(size=(n_classes, 3))
    return X, np.argmax(X @ W.T + rng.gumbel(size=(n, n_classes)), axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_losses_are_those_of_scikit_learn_on_the_same_folds(n_classes, kind):
    X, y = table(n_classes=n_classes)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    model = SparseLogisticRegressionCV(cv=folds, n_alphas=6, eps=0.05).fit(kind(X), y)
    for k, (train, held) in enumerate(folds.split(X, y)):
        for alpha, found in list(zip(model.alphas_, model.log_loss_path_[:, k], strict=True))[1::2]:
            other = LogisticRegression(
                l1_ratio=1.0, solver="saga", C=1 / (alpha * len(train)), tol=1e-6, max_iter=20_000
            ).fit(X[train], y[train])
            # Losses follow the square root of the gap, which on the way is met to 1e-5.
            assert found == pytest.approx(log_loss(y[held], other.predict_proba(X[held])), rel=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_model_at_the_chosen_alpha(n_classes):
    X, y = table(n_classes=n_classes)
    model = SparseLogisticRegressionCV(n_alphas=20).fit(X, y)
    single = SparseLogisticRegression(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), single.predict_proba(X), atol=1e-4)
    assert model.selected_ == single.selected_
    place = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
    assert model.log_loss_[place] == model.log_loss_.min() and model.log_loss_path_.shape == (20, 5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_grid_begins_where_the_first_weight_leaves_zero(n_classes, fit_intercept):
    X, y = table(n_classes=n_classes)
    model = SparseLogisticRegressionCV(n_alphas=4, eps=0.1, fit_intercept=fit_intercept).fit(X, y)
    largest = model.alphas_[0]
    for factor, zero in [(1 + 1e-6, True), (0.99, False)]:
        single = SparseLogisticRegression(alpha=factor * largest, fit_intercept=fit_intercept).fit(X, y)
        assert (not single.coef_.any()) == zero
    np.testing.assert_allclose(model.alphas_, largest * np.geomspace(1, 0.1, 4))


def test_one_standard_error_is_the_largest_alpha_within_it():
    X, y = table(120)
    least, simple = (
        SparseLogisticRegressionCV(rule=rule, n_alphas=25).fit(X, y) for rule in ("min", "one-standard-error")
    )
    assert simple.alpha_ > least.alpha_ and len(simple.selected_) <= len(least.selected_)
    best = np.argmin(simple.log_loss_)
    bound = simple.log_loss_[best] + simple.log_loss_std_error_[best]
    place = np.flatnonzero(simple.alphas_ == simple.alpha_)[0]
    assert simple.log_loss_[place] <= bound and (simple.log_loss_[:place] > bound).all()


@pytest.mark.parametrize(("class_weight", "random_state"), [(None, None), ("balanced", None), (None, 0)])
def test_weights_are_copies_and_the_order_of_rows_doesn_t_show(class_weight, random_state):
    X, y = table(40, 5)
    weight = np.resize([1, 3, 2, 0, 1], 40)
    model = SparseLogisticRegressionCV(n_alphas=12, class_weight=class_weight, random_state=random_state)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(0).permutation(weight.sum())
    rows, labels = np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order]
    repeated = model.fit(rows, labels)
    np.testing.assert_allclose(repeated.log_loss_, weighted.log_loss_, rtol=1e-3)
    assert repeated.alpha_ == pytest.approx(weighted.alpha_)
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, atol=1e-6)


def test_random_state_shuffles_the_folds():
    X, y = table(60, 3)
    paths = [SparseLogisticRegressionCV(n_alphas=5, random_state=s).fit(X, y).log_loss_path_ for s in (None, 0, 0)]
    assert np.array_equal(paths[1], paths[2]) and not np.allclose(paths[0], paths[1])


def test_threads_change_nothing(monkeypatch):
    X, y = table(n_classes=3)
    alone = SparseLogisticRegressionCV(n_alphas=8).fit(X, y)
    monkeypatch.setattr(cross_validation, "_PARALLEL_ENTRIES", 0)
    monkeypatch.setattr("credo.core.linalg.threads.n_threads", lambda: 3)
    together = SparseLogisticRegressionCV(n_alphas=8).fit(X, y)
    np.testing.assert_allclose(together.log_loss_path_, alone.log_loss_path_, rtol=1e-9)


def test_a_label_that_is_rarer_than_the_folds_is_scored_where_it_is_known():
    X, y = table(60, n_classes=3)
    y[:] = np.where(y == 2, 0, y)
    y[7] = 2
    model = SparseLogisticRegressionCV(n_alphas=10).fit(X, y)
    assert np.isfinite(model.log_loss_path_).all() and model.predict_proba(X).shape == (60, 3)
    # Two rows of it are in different folds, so that both are scored; one can't be.
    splits = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    given = SparseLogisticRegressionCV(cv=splits, n_alphas=10).fit(X, y)
    without = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.delete(np.arange(30), 7))]
    other = SparseLogisticRegressionCV(cv=without, n_alphas=10).fit(X, y)
    np.testing.assert_allclose(given.log_loss_path_, other.log_loss_path_)


def test_given_folds_see_rows_of_weight_zero_and_labels_without_weight():
    X, y = table(60, n_classes=3)
    weight = np.resize([1.0, 0.0, 2.0], 60)
    splits = list(KFold(3).split(X))
    model = SparseLogisticRegressionCV(cv=splits, n_alphas=8, class_weight={0: 1.0, 1: 1.0, 2: 0.0})
    model.fit(X, y, sample_weight=weight)
    used = np.flatnonzero((weight > 0) & (y < 2))
    kept = [(np.flatnonzero(np.isin(used, a)), np.flatnonzero(np.isin(used, b))) for a, b in splits]
    other = SparseLogisticRegressionCV(cv=kept, n_alphas=8).fit(X[used], y[used], sample_weight=weight[used])
    np.testing.assert_allclose(model.log_loss_, other.log_loss_, rtol=1e-9)
    assert list(model.classes_) == [0, 1]


def test_words_tell_which_matter(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((300, 400)) < 0.03).astype(float))
    y = np.where(np.asarray(X[:, [3, 50, 200]].sum(axis=1)).ravel() + 0.3 * rng.random(300) > 0.5, "spam", "ham")
    model = SparseLogisticRegressionCV(rule="one-standard-error", n_alphas=20).fit(X, y)
    assert model.selected_ == ["x3", "x50", "x200"]
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict_proba(X), model.predict_proba(X))


def test_the_summary_tells_the_loss():
    model = SparseLogisticRegressionCV(n_alphas=10).fit(*table())
    notes = str(model.summary())
    assert "held-out log loss" in notes and "rule 'min'" in notes and f"at alpha {model.alpha_:.4g}" in notes


def test_a_gap_that_is_not_met_is_said():
    with pytest.warns(ConvergenceWarning) as caught:
        model = SparseLogisticRegressionCV(alphas=[1e-4], max_iter=1, cv=2).fit(*table())
    assert "increase max_iter or tol" in str(caught[0].message)
    assert "2 of 2 fits to the training folds did not converge" in str(caught[1].message)
    assert "increase max_iter" in str(caught[1].message) and not model.result_.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "two-standard-errors"}, "rule must be one of 'min', 'one-standard-error'"),
        ({"cv": 1}, "cv must be at least 2 folds; got 1"),
        ({"cv": [(np.arange(40), np.arange(40, 90))]}, "gives 1 folds"),
        ({"alphas": [np.nan]}, "alphas must be one or more finite numbers, positive"),
        ({"tol": 0.0}, "tol must be a positive finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        SparseLogisticRegressionCV(**options).fit(*table())


def test_one_row_of_each_label_is_refused_in_words():
    X, y = table()
    rows = [int(np.flatnonzero(y == k)[0]) for k in (0, 1)]
    with pytest.raises(
        ValueError, match=r"at least 2 folds with 2 classes.*use SparseLogisticRegression with a fixed alpha"
    ):
        SparseLogisticRegressionCV().fit(X[rows], y[rows])


def test_a_label_that_no_fold_can_judge_is_said():
    X = np.random.default_rng(0).normal(size=(60, 5))
    with pytest.warns(FitWarning, match="label True is so rare that no held-out row with it could be scored"):
        SparseLogisticRegressionCV(n_alphas=10).fit(X, np.arange(60) == 7)


def test_a_penalty_at_the_end_of_the_range_is_said():
    # A wide column that tells little sets the range of penalties, and a narrow one that tells much pays all of them.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) * [1000.0, 1.0]
    y = X @ [0.001, 2.0] + rng.logistic(size=150) > 0
    words = "held-out error is smallest at the smallest penalty tried"
    with pytest.warns(FitWarning, match=words) as caught:
        model = SparseLogisticRegressionCV(n_alphas=20).fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert model.alpha_ == model.alphas_[-1] and words in model.result_.message and model.result_.converged
    with warnings.catch_warnings(action="error"):
        wider = SparseLogisticRegressionCV(eps=1e-6, n_alphas=40).fit(X, y)
        SparseLogisticRegressionCV(n_alphas=20).fit(*table())
    assert wider.log_loss_.min() < model.log_loss_.min() * (1 - 2e-3)


def test_a_few_discrete_columns_are_not_held_out_with_their_label():
    # With every (inputs, label) combination in one fold, training rows would have the opposite label only.
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, size=(600, 3)).astype(float)
    y = rng.random(600) < 1 / (1 + np.exp(1.0 - 2.0 * X[:, 0] - X[:, 1]))
    model = SparseLogisticRegressionCV(n_alphas=25).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = LogisticRegressionCV(cv=folds, l1_ratios=[1.0], solver="saga", scoring="neg_log_loss", max_iter=2000)
    best = -grid.fit(X, y).scores_[True].mean(axis=0).max()
    assert model.log_loss_.min() == pytest.approx(best, abs=0.02)
    assert (model.coef_[0, :2] > 0.5).all()


@pytest.mark.parametrize("seed", range(2))
def test_rows_that_occur_with_both_labels_are_fitted_by_a_constant_in_no_time(seed):
    X = np.tile(np.random.default_rng(seed).normal(size=(3, 2)), (2, 1))
    start = perf_counter()
    model = SparseLogisticRegressionCV().fit(X, [0, 0, 0, 1, 1, 1])
    assert perf_counter() - start < 10
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-9)
