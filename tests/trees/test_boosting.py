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


def test_the_first_rounds_are_those_of_a_shorter_fit():
    long, short = (HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=3).fit(X, y) for n in (8, 3))
    np.testing.assert_array_equal(BoostedTrees.of(long).first(3).predict(NEW), BoostedTrees.of(short).predict(NEW))


def test_the_fit_is_scikit_learn_s_with_the_chosen_number_of_rounds():
    """The target is standardized, and rows are sorted; with squared error neither changes the trees."""
    model = BoostedTreesRegressor(max_rounds=40).fit(X, y)
    theirs = HistGradientBoostingRegressor(
        max_iter=model.trees_.n_rounds, max_leaf_nodes=8, min_samples_leaf=6, early_stopping=False
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    # The noise is that of rows that were not fitted, hence above the 0.1 of the data, and below the target's.
    assert 0.1 < model.noise_std_ < y.std()


def test_rounds_end_where_held_out_rows_gain_nothing():
    noise = rng.normal(size=120)
    assert (
        BoostedTreesRegressor().fit(X, noise).trees_.n_rounds < 20 < BoostedTreesRegressor().fit(X, y).trees_.n_rounds
    )
    assert "too few rows" in BoostedTreesRegressor().fit(X[:8], y[:8]).result_.message


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
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BoostedTreesRegressor(**options).fit(X, y)


def test_a_forged_tree_is_refused():
    trees = BoostedTreesRegressor(max_rounds=5).fit(X, y).trees_
    state = vars(trees)
    fields = {name: state[name] for name in BoostedTrees.__dataclass_fields__}
    for name, value, message in [
        ("left", np.where(trees.left >= 0, 0, -1), "after their parents"),
        ("right", np.where(trees.left >= 0, 10**6, -1), "after their parents"),
        ("root", trees.root + 10**6, "root must contain"),
        ("feature", trees.feature - 1, "feature must contain"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(BoostedTrees(**fields | {name: value}))
