"""Rows outside the training data are told, with the reason."""

import numpy as np
import pandas as pd

from credo.linear import LinearRegression
from credo.sparse import Lasso
from credo.tables import Preparation, TableModel, load, save

FRAME = pd.DataFrame(
    {
        "year": np.arange(1871, 1971),
        "day": pd.date_range("2020-01-01", periods=100).astype(str),
        "soil": ["clay", "sand"] * 50,
        "gap": [None, *np.linspace(0.0, 1.0, 99)],
        "y": np.sin(np.arange(100.0)) + 0.5 * (np.arange(100) % 2),
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
        "day = 2021-01-01 (training: 2020-01-01 to 2020-04-09)": {"day": "2021-01-01"},
        "soil = 'peat' (not in the training data)": {"soil": "peat"},
        "gap = -3 (training: 0 to 1)": {"gap": -3.0},
    }
    found = fitted().outside(pd.concat([row(**changes) for changes in cases.values()]))
    assert found.rows.all() and found.reasons == list(cases)
    assert found.columns == {"year": 1, "day": 1, "soil": 1, "gap": 1}
    assert "4 rows of 4 are outside" in found.note()


def test_a_little_beyond_is_inside():
    # One hundredth beyond the end of the range, and a missing value.
    assert not fitted().outside(pd.concat([row(gap=1.01), row(gap=None)])).rows.any()


def test_forecasts_are_one_note_instead_of_a_flag_in_every_row():
    later = fitted().outside(pd.concat([row(year=year) for year in range(1971, 1981)]))
    assert not later.rows.any() and set(later.reasons) == {""}
    assert later.note() == "Forecasts: 10 rows with year 1971 to 1980 (training: 1871 to 1970)."
    # Further ahead than the training data are long.
    both = fitted().outside(pd.concat([row(year=1975), row(year=2090)]))
    assert both.rows.tolist() == [False, True]
    assert both.note().startswith("Forecasts: 1 row with year 1975 to 1975") and "1 row of 2 is outside" in both.note()


def test_an_empty_comment_is_not_outside():
    texts = [f"the {word} arrived {when} noon" for word in ("parcel", "letter", "box") for when in ("at", "after")] * 4
    preparation = Preparation(kinds={"said": "text"}).fit({"said": texts, "x": np.arange(24.0)})
    found = preparation.outside({"said": ["", None, "parcel", "zebra"], "x": [1.0] * 4})
    assert found.reasons == ["", "", "", "said: no word of the training data"]


def test_columns_that_the_model_does_not_use_are_not_outside():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=200), "idle": rng.normal(size=200), "kind": ["a", "b"] * 100})
    table["y"] = 3 * table["x"] + rng.normal(0, 0.1, 200)
    model = TableModel(Preparation(standardize=True), Lasso(alpha=0.5), "y").fit(table)
    new = pd.DataFrame({"x": [0.0, 50.0], "idle": [99.0, 99.0], "kind": ["z", "a"]})
    assert model.preparation_.outside(new).columns == {"x": 1, "idle": 2, "kind": 1}
    assert model.outside(new).columns == {"x": 1}
    table["y"] = 3 * table["idle"] + 2 * (table["kind"] == "a")
    uses = TableModel(Preparation(standardize=True), Lasso(alpha=0.1), "y").fit(table)
    assert uses.outside(new).columns == {"idle": 2, "kind": 1}


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
