"""Tables with several rows for each patient, and what is said about them."""

import numpy as np
import pandas as pd
import pytest

from credo.study import dataset
from credo.study.checks import repeated_units

RNG = np.random.default_rng(0)
N = 96


@pytest.fixture
def visits():
    """Eight visits of twelve patients, whose group and age don't change."""
    patient = np.repeat(np.arange(12), 8)
    return pd.DataFrame(
        {
            "case": 4601 + patient,
            "visit": np.tile(np.arange(8), 12),
            "group": np.array(["a", "b"])[patient % 2],
            "age": 40 + patient % 5,
            "weight": RNG.normal(size=N),
        }
    )


def test_columns_that_depend_on_another_one_show_units(visits):
    assert repeated_units(visits) == ("case", ["group", "age"])
    for name in ("patient_id", "PatientID", "subject"):
        assert repeated_units(visits.rename(columns={"case": name})[[name, "visit", "weight"]]) == (name, [])


def test_ordinary_tables_have_none(visits):
    assert repeated_units(visits[["case", "visit", "weight"]]) is None
    # Few units, one row each, missing values, or agreement by chance.
    assert repeated_units(visits.assign(case=visits["case"] % 3)) is None
    assert repeated_units(visits.assign(case=np.arange(N))) is None
    assert repeated_units(visits.assign(case=visits["case"].where(visits["visit"] > 0))) is None
    rare = pd.DataFrame({"k": np.repeat(np.arange(32), 3), "flag": np.arange(N) < 3, "x": RNG.normal(size=N)})
    assert repeated_units(rare) is None


def test_the_note_says_what_the_scores_are_about(visits):
    notes = [note.text for note in dataset(visits, "weight").notes if note.important]
    assert any("'case' has several rows, with equal 'group', 'age'" in text for text in notes)
