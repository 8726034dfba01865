"""Tables of a few distinct rows, as of categories alone: copies of a row aren't all held out together."""

import numpy as np
import pytest

from credo.ensemble import AdaBoostClassifier
from credo.trees import BoostedTreesClassifier, BoostedTreesRegressor, DecisionTreeClassifier, DecisionTreeRegressor

# Two categories of two levels: the rows of each cell, and those of the second class among them.
CELLS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ROWS, ONES = np.array([60, 40, 80, 50]), np.array([6, 12, 56, 45])


def table():
    y = np.concatenate([np.arange(n) < ones for n, ones in zip(ROWS, ONES, strict=True)])
    return np.repeat(CELLS, ROWS, axis=0), y.astype(np.int64)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        BoostedTreesClassifier(),
        AdaBoostClassifier(n_rounds=20, random_state=0),
        AdaBoostClassifier(n_rounds=20, early_stopping=True, random_state=0),
    ],
    ids=["tree", "boosted trees", "AdaBoost", "AdaBoost, stopped early"],
)
def test_probabilities_are_near_the_frequencies_of_the_cells(model):
    X, y = table()
    np.testing.assert_allclose(model.fit(X, y).predict_proba(CELLS)[:, 1], ONES / ROWS, atol=0.13)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(random_state=0), BoostedTreesRegressor()])
def test_means_are_near_those_of_the_cells(model):
    X, y = table()
    np.testing.assert_allclose(model.fit(X, y.astype(float)).predict(CELLS), ONES / ROWS, atol=0.08)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(random_state=0), BoostedTreesClassifier(), AdaBoostClassifier(n_rounds=20, random_state=0)],
)
def test_a_weight_is_a_number_of_copies_where_classes_share_inputs(model):
    X, y = table()
    inputs, labels = np.repeat(CELLS, 2, axis=0), np.tile([0, 1], 4)
    weight = np.column_stack([ROWS - ONES, ONES]).ravel()
    weighted = model.fit(inputs, labels, sample_weight=weight).predict_proba(CELLS)
    np.testing.assert_allclose(weighted, model.fit(X, y).predict_proba(CELLS), rtol=1e-6)
