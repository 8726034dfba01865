"""Splits by size, and rows of equal inputs, which are copies unless the columns have few values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from credo.study import dataset


def coin(logit, rng):
    return np.where(rng.uniform(size=len(logit)) < 1 / (1 + np.exp(-logit)), "yes", "no")


def passengers(rng, n=600):
    """Class, sex and age of passengers, with survival about as it was on the Titanic."""
    frame = pd.DataFrame(
        {
            "class": rng.choice(["first", "second", "third"], n, p=[0.25, 0.2, 0.55]),
            "sex": rng.choice(["man", "woman"], n, p=[0.65, 0.35]),
            "age": rng.choice(["adult", "child"], n, p=[0.92, 0.08]),
        }
    )
    logit = 2.4 * (frame["sex"] == "woman") - 1.2 + 0.8 * (frame["class"] == "first") + 1.0 * (frame["age"] == "child")
    return frame.assign(target=coin(logit.to_numpy(), rng))


def survey(rng, n=600):
    """Three questions with answers from 1 to 5."""
    frame = pd.DataFrame(rng.integers(1, 6, size=(n, 3)), columns=["service", "food", "price"])
    logit = frame @ [0.9, 0.5, 0.2] - 4.8
    return frame.assign(target=coin(logit.to_numpy(), rng))


def factors(rng, n=200):
    """An experiment with two factors of two levels each."""
    frame = pd.DataFrame({"drug": np.tile(["a", "b"], n // 2), "dose": np.repeat(["low", "high"], n // 2)})
    logit = 2.2 * (frame["drug"] == "b") + 1.5 * (frame["dose"] == "high") - 1.8
    return frame.assign(target=coin(logit.to_numpy(), rng))


@pytest.mark.parametrize("table", [passengers, survey, factors])
def test_few_discrete_columns_are_predicted_as_well_as_by_logistic_regression(analyze, table):
    frame = table(np.random.default_rng(0))
    study = analyze(frame, "target", models=["logistic", "discriminant"])
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    oracle = make_pipeline(OneHotEncoder(), LogisticRegression())
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    accuracy = np.mean(cross_val_predict(oracle, X, y, cv=folds) == y)
    base = max(np.mean(y == label) for label in ("yes", "no"))
    scores = {score.name: score.held_out for score in study.comparison.scores}
    assert accuracy > base + 0.07
    assert scores["logistic"]["accuracy"] == pytest.approx(accuracy, abs=0.03)
    assert scores["baseline"]["accuracy"] == pytest.approx(base, abs=0.01)
    assert study.selected != "baseline"
    # Rows that repeat each other with their target are no copies here: they are in several folds.
    of_fold = [set(map(tuple, frame.iloc[test].to_numpy())) for _, test in study.data.splits(3, 0)[0]]
    assert set.intersection(*of_fold)


def test_classes_are_spread_over_the_folds():
    data = dataset(passengers(np.random.default_rng(1)), "target")
    shares = [np.mean(data.y[test] == "yes") for _, test in data.splits(5, 0)[0]]
    assert max(shares) - min(shares) < 0.01


@pytest.fixture
def measured():
    """Two continuous columns; 15 of 60 rows are there twice, once with another target."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame = pd.concat([frame, frame.iloc[:15]], ignore_index=True)
    return frame.assign(y=frame["a"] + rng.normal(size=75))


def test_copies_of_continuous_rows_share_a_fold(measured):
    data = dataset(measured, "y")
    inputs = list(map(tuple, data.frame.to_numpy()))
    splits = data.splits(5, 0)[0]
    assert len(splits) == 5
    for train, test in splits:
        assert {inputs[i] for i in train}.isdisjoint(inputs[i] for i in test)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_target_has_no_say_in_which_rows_are_copies(measured, task):
    y = measured["y"].to_numpy() if task == "regression" else np.where(measured["y"] > 0, "high", "low")
    labels = [
        dataset(measured.assign(y=np.random.default_rng(seed).permutation(y)), "y", task=task).groups
        for seed in range(3)
    ]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])


def test_a_missing_cell_equals_a_missing_cell():
    frame = pd.DataFrame({"a": [1.0, 1.0, 1.0, np.nan, np.nan, 2.0], "b": ["x", "x", "y", "x", "x", "x"]})
    groups = dataset(frame.assign(y=np.arange(6.0)), "y").groups
    assert groups[0] == groups[1] and groups[3] == groups[4]
    assert len(set(groups.tolist())) == 4


def numbers(n, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), **columns})


@pytest.mark.parametrize(
    ("n", "folds", "sizes"),
    [
        (3000, None, [600] * 5),
        (3001, None, [601]),
        (30_000, None, [5000]),
        (3001, 2, [1501, 1500]),
    ],
)
def test_folds_up_to_3000_rows_and_one_set_of_held_out_rows_beyond(n, folds, sizes):
    splits, notes = dataset(numbers(n), "y").splits(folds, 0)
    assert sorted(len(test) for _, test in splits) == sorted(sizes) and notes == []
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))


def test_one_set_of_held_out_rows_has_all_classes_and_no_copy_of_a_training_row():
    n = 4000
    frame = numbers(n, kind=np.where(np.arange(n) % 100 == 0, "rare", "frequent"))
    frame.loc[1::2, ["x", "y"]] = frame.loc[::2, ["x", "y"]].to_numpy()
    data = dataset(frame, "kind")
    [(train, test)] = data.splits(None, 0)[0]
    assert np.sum(data.y[test] == "rare") == pytest.approx(8, abs=3)
    assert set(data.frame["x"].iloc[train]).isdisjoint(data.frame["x"].iloc[test])


@pytest.mark.parametrize(("n", "held"), [(3650, 730), (30_000, 5000)])
def test_of_many_rows_in_time_order_the_last_are_held_out(n, held):
    data = dataset(numbers(n, day=pd.date_range("1950-01-01", periods=n)), "y")
    [(train, test)] = data.splits(None, 0)[0]
    np.testing.assert_array_equal(np.sort(train), np.arange(n - held))
    np.testing.assert_array_equal(np.sort(test), np.arange(n - held, n))
