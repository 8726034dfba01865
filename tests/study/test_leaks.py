"""Columns that alone nearly determine the target are named; good predictors are not."""

import numpy as np
import pandas as pd
import pytest

from credo.study import dataset


def important(frame, target):
    return [note.text for note in dataset(frame, target).notes if note.important]


@pytest.fixture
def wages():
    rng = np.random.default_rng(0)
    education, age = rng.integers(1, 6, size=400), rng.uniform(18, 65, size=400)
    log = 4 + 0.1 * education + 0.005 * age + rng.normal(0, 0.3, size=400)
    return pd.DataFrame({"education": education, "age": age, "wage": np.exp(log)})


def test_the_logarithm_of_the_target_is_named(wages):
    [note] = important(wages.assign(logwage=np.log(wages["wage"])), "wage")
    assert "'logwage'" in note and "'wage'" in note
    assert "another form of the target" in note
    assert "education" not in note


def test_a_rounded_copy_is_named(wages):
    [note] = important(wages.assign(band=(wages["wage"] / 2).round()), "wage")
    assert "'band'" in note


@pytest.mark.parametrize("r2", [0.5, 0.9, 0.95])
def test_strong_predictors_are_ordinary(r2):
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=400), "y": x + np.sqrt(1 / r2 - 1) * rng.normal(size=400)})
    assert important(frame, "y") == []


def test_a_code_of_the_class_is_named():
    rng = np.random.default_rng(2)
    kind = rng.choice(["oak", "elm", "ash"], 120)
    frame = pd.DataFrame({"height": rng.normal(size=120), "kind": kind})
    assert important(frame, "kind") == []
    [note] = important(frame.assign(code=frame["kind"].map({"oak": 7, "elm": 3, "ash": 5})), "kind")
    assert "'code'" in note


def test_names_of_rows_are_no_leak(wages):
    assert important(wages.assign(name=[f"person {i}" for i in range(400)]), "wage") == []


def test_the_note_is_on_the_leaderboard(analyze, wages):
    study = analyze(wages.assign(logwage=np.log(wages["wage"])), "wage", models="linear")
    assert "'logwage'" in str(study)


def test_rows_that_are_sorted_by_the_target_give_nothing_away():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(2, size=200), "b": rng.normal(size=200), "y": np.repeat(["u", "v"], 100)})
    assert important(frame, "y") == []
    assert important(frame.assign(y=np.arange(200.0)), "y") == []


def test_a_leak_among_a_thousand_columns(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 1500)).round(4)
    y = rng.permutation(60) / 10
    values[:, 1234] = 2 * y + 1
    path = tmp_path / "wide.csv"
    pd.DataFrame(values, columns=[f"c{j}" for j in range(1500)]).assign(y=y).to_csv(path, index=False)
    found = dataset(path, "y")
    assert found.size.columns == 1500 and found.time is None
    [note] = [note.text for note in found.notes if "another form of the target" in note.text]
    assert "'c1234'" in note
