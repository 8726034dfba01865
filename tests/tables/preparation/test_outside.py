"""Rows outside the training data are told, with the reason."""

import numpy as np
import pandas as pd

from credo.linear import LinearRegression
from credo.tables import Preparation, TableModel, load, save

FRAME = pd.DataFrame(
    {
        "year": np.arange(1871, 1971),
        "day": pd.date_range("2020-01-01", periods=100).astype(str),
        "soil": ["clay", "sand"] * 50,
        "gap": [None, *np.linspace(0.0, 1.0, 99)],
        "y": np.sin(np.arange(100.0)),
    }
)


def row(**changes):
    return pd.DataFrame([{"year": 1900, "day": "2020-02-01", "soil": "clay", "gap": 0.5, **changes}])


def fitted():
    return TableModel(Preparation(standardize=True), LinearRegression(), "y").fit(FRAME)


def test_nothing_is_outside_in_the_training_rows():
    found = fitted().outside(FRAME)
    assert not found.rows.any() and set(found.reasons) == {""} and found.note() is None


def test_far_values_and_unseen_levels_are_outside():
    cases = {
        "year = 3000 (training: 1871 to 1970)": {"year": 3000},
        "year = 1800.5 (training: 1871 to 1970)": {"year": 1800.5},
        "day = 2021-01-01 (training: 2020-01-01 to 2020-04-09)": {"day": "2021-01-01"},
        "soil = 'peat' (not in the training data)": {"soil": "peat"},
        "gap = -3 (training: 0 to 1)": {"gap": -3.0},
    }
    found = fitted().outside(pd.concat([row(**changes) for changes in cases.values()]))
    assert found.rows.all() and found.reasons == list(cases)
    assert found.columns == {"year": 2, "day": 1, "soil": 1, "gap": 1}
    assert "5 rows of 5 are outside" in found.note()


def test_a_little_beyond_is_inside_but_not_in_time():
    # One hundredth beyond the end of the range, and a missing value.
    assert not fitted().outside(pd.concat([row(gap=1.01), row(gap=None)])).rows.any()
    later = fitted().outside(pd.concat([row(year=1971), row(year=1870), row(day="2020-04-10")]))
    assert later.reasons[:2] == [f"year = {year} (training: 1871 to 1970)" for year in (1971, 1870)]
    assert later.rows.all()


def test_several_reasons_share_a_row():
    found = fitted().outside(row(year=3000, soil="peat"))
    assert found.reasons == ["year = 3000 (training: 1871 to 1970); soil = 'peat' (not in the training data)"]


def test_a_rare_level_is_known_although_it_shares_a_column():
    preparation = Preparation(max_levels=2).fit({"c": ["a"] * 9 + ["b", "d", "e"]})
    assert preparation.outside({"c": ["d", "zebra"]}).rows.tolist() == [False, True]


def test_a_file_keeps_the_ranges(tmp_path):
    save(fitted(), tmp_path / "model.credo")
    found = load(tmp_path / "model.credo").outside(row(year=3000))
    assert found.reasons == ["year = 3000 (training: 1871 to 1970)"]
    wide = pd.DataFrame({"x": [1.5, 2.5, 3.5, 9.25]})
    preparation = Preparation().fit(wide, sample_weight=[1.0, 2.0, 1.0, 1.0])
    assert preparation.outside({"x": [9.5, 20.0]}).rows.tolist() == [False, True]
