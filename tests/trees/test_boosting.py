"""Boosted trees: scikit-learn's predictions to the last bit, from arrays that a file may hold."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from credo.core.fields import check
from credo.trees import BoostedTrees, BoostedTreesClassifier, BoostedTreesRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=120)
NEW = np.where(rng.random((50, 3)) < 0.1, np.nan, 2 * rng.normal(size=(50, 3)))


def test_predictions_are_those_of_scikit_learn_to_the_last_bit():
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for model in (
        HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=3).fit(gaps, y),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3).fit(gaps, y > 0),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3).fit(X, np.digitize(y, [-0.5, 0.5])),
    ):
        np.testing.assert_array_equal(BoostedTrees.of(model).predict(NEW), model._raw_predict(NEW))


def test_splits_of_categories_are_scikit_learn_s_to_the_last_bit():
    """A category that one column lacks in training, others that new rows bring, and missing ones."""
    codes = np.column_stack([X[:, 0], rng.choice([0, 3, 4, 9, 40, 250], 120), X[:, 1], rng.integers(0, 5, 120)])
    codes[rng.random(codes.shape) < 0.1] = np.nan
    target = y + np.isin(codes[:, 1], [3, 40]) + 2 * (codes[:, 3] == 2)
    new = np.column_stack([NEW[:, 0], rng.integers(0, 255, 50), NEW[:, 1], rng.integers(0, 7, 50)])
    options = {"max_iter": 20, "min_samples_leaf": 3, "categorical_features": [1, 3]}
    for model in (
        HistGradientBoostingRegressor(**options).fit(codes, target),
        HistGradientBoostingClassifier(**options).fit(codes, np.digitize(target, [0.0, 1.0])),
    ):
        trees = BoostedTrees.of(model)
        assert len(trees.left_codes)
        for rows in (codes, new):
            np.testing.assert_array_equal(trees.predict(rows), model._raw_predict(rows))


def test_the_first_rounds_are_those_of_a_shorter_fit():
    long, short = (HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=3).fit(X, y) for n in (8, 3))
    np.testing.assert_array_equal(BoostedTrees.of(long, 3).predict(NEW), BoostedTrees.of(short).predict(NEW))
    np.testing.assert_allclose(BoostedTrees.of(long, 0).predict(NEW)[:, 0], y.mean())


def test_a_member_is_scikit_learn_s_fit_without_its_tenth():
    """The target is standardized, and rows are sorted; with squared error neither changes the trees."""
    rows = np.random.default_rng(1).normal(size=(40_000, 2))
    target = np.sin(2 * rows[:, 0]) + rows[:, 1] + 0.1 * np.random.default_rng(2).normal(size=40_000)
    model = BoostedTreesRegressor(max_rounds=5).fit(rows, target)
    assert len(model.members_) == 1 and model.members_[0].n_rounds == 5
    theirs = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=31, early_stopping=False).fit(rows, target)
    assert np.abs(model.predict(rows) - theirs.predict(rows)).mean() < 0.05
    assert len(BoostedTreesRegressor(max_rounds=5).fit(X, y).members_) == 10


def test_rounds_end_where_held_out_rows_gain_nothing():
    noise = rng.normal(size=120)
    assert BoostedTreesRegressor().fit(X, noise).result_.n_iter < 20 < BoostedTreesRegressor().fit(X, y).result_.n_iter
    assert "too few rows" in BoostedTreesRegressor().fit(X[:8], y[:8]).result_.message


def test_the_spread_is_learned_and_intervals_hold_what_they_say():
    def draw(n, seed):
        r = np.random.default_rng(seed)
        rows = r.uniform(-1, 1, size=(n, 2))
        return rows, rows[:, 0] + np.where(rows[:, 1] > 0, 1.0, 0.1) * r.normal(size=n)

    model = BoostedTreesRegressor().fit(*draw(1500, 0))
    rows, target = draw(2000, 1)
    dist = model.predict_dist(rows)
    np.testing.assert_allclose(dist.mean, model.predict(rows))
    lower, upper = dist.interval(0.9)
    inside, wide = (lower < target) & (target < upper), rows[:, 1] > 0
    assert 0.86 < inside[wide].mean() < 0.94 and 0.86 < inside[~wide].mean() < 0.96
    assert 6 < dist.std[wide].mean() / dist.std[~wide].mean() < 12


def test_probabilities_are_calibrated_for_rare_classes():
    def draw(n, seed):
        r = np.random.default_rng(seed)
        rows = r.normal(size=(n, 3))
        return rows, r.random(n) < 1 / (1 + np.exp(4 - 2 * rows[:, 0]))

    seen, labels = draw(2000, 0)
    model = BoostedTreesClassifier().fit(seen, labels)
    rows, target = draw(4000, 1)
    p = model.predict_proba(rows)[:, 1]
    truth = 1 / (1 + np.exp(4 - 2 * rows[:, 0]))
    loss, best = (-np.where(target, np.log(q), np.log1p(-q)).mean() for q in (p, truth))
    assert loss < best + 0.025
    assert abs(model.predict_proba(seen)[:, 1].mean() - labels.mean()) < 0.01


def test_categories_are_sets_of_codes_and_unknown_ones_missing_values():
    codes = rng.integers(0, 30, size=(1500, 1)).astype(float)
    target = np.isin(codes[:, 0] % 7, [1, 4]) + 0.01 * rng.normal(size=1500)
    model = BoostedTreesRegressor(max_leaves=2, max_rounds=40).fit(codes, target, categorical_features=[0])
    np.testing.assert_allclose(model.predict(codes), target, atol=0.1)
    np.testing.assert_array_equal(model.predict([[77.0], [1e9], [-1.0]]), model.predict([[np.nan]] * 3))
    mask = BoostedTreesRegressor(max_leaves=2, max_rounds=40).fit(codes, target, categorical_features=[True])
    np.testing.assert_array_equal(mask.predict(codes), model.predict(codes))
    for wrong, message in (
        (codes + 0.5, "whole numbers"),
        (codes + 250, "whole numbers"),
        (codes - 1, "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(wrong, target, categorical_features=[0])
    with pytest.raises(ValueError, match="categorical_features must be"):
        model.fit(codes, target, categorical_features=[1])


def test_a_class_of_one_row_is_never_held_out():
    labels = np.where(X[:, 0] > 0, "a", "b").astype(object)
    labels[7] = "c"
    model = BoostedTreesClassifier(max_rounds=10).fit(X, labels.astype(str))
    assert model.predict_proba(X).shape == (120, 3)


def test_importances_name_the_columns_that_matter():
    labels = np.where(X[:, 0] > 0, "a", "b")
    model = BoostedTreesClassifier(max_rounds=10).fit(X, labels)
    assert model.feature_importances_[0] > 0.99
    assert model.score(X, labels) > 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rounds": 0}, "max_rounds must be"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
        ({"max_leaves": 1}, "max_leaves must be at least 2"),
        ({"min_leaf": 0}, "min_leaf must be"),
        ({"l2": -1.0}, "l2 must"),
        ({"max_features": 1.5}, "max_features must be"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BoostedTreesRegressor(**options).fit(X, y)


def test_a_forged_tree_is_refused():
    trees = BoostedTreesRegressor(max_rounds=5).fit(X, y).members_[0]
    state = vars(trees)
    fields = {name: state[name] for name in BoostedTrees.__dataclass_fields__}
    for name, value, message in [
        ("left", np.where(trees.left >= 0, 0, -1), "after their parents"),
        ("right", np.where(trees.left >= 0, 10**6, -1), "after their parents"),
        ("root", trees.root + 10**6, "root must contain"),
        ("feature", trees.feature - 1, "feature must contain"),
        ("subset", trees.subset + 1, "subset"),
        ("left_codes", np.zeros((3, 31), dtype=np.uint8), "left_codes has shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(BoostedTrees(**fields | {name: value}))
