"""Values far outside the others are set to a bound, named, and can't make a prediction explode."""

import numpy as np
import pandas as pd
import pytest

from credo.tables import ColumnError, Preparation


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    width = rng.normal(5.7, 1.1, size=5000)
    width[17] = 58.9
    rare = np.zeros(5000)
    rare[:2] = 1.0
    return pd.DataFrame({"width": width, "rare": rare, "when": pd.date_range("2000-01-01", periods=5000)})


def test_one_absurd_value_is_set_to_a_bound_and_named(table):
    preparation = Preparation(clip=True).fit(table)
    found = preparation.transform(table)[:, 0]
    # Normal values end near 5.7 ± 3.1 · 1.1, and the bound is no farther than eight standard deviations beyond.
    assert 10 < found[17] < 21
    others = np.delete(np.arange(5000), 17)
    np.testing.assert_array_equal(found[others], table["width"].to_numpy()[others])
    (note,) = (note for note in preparation.notes_ if "far outside" in note)
    assert "row 18: 58.9" in note and "'width'" in note


def test_rare_flags_and_dates_are_left_alone(table):
    preparation = Preparation(clip=True).fit(table)
    later = table.iloc[:1].assign(when=pd.Timestamp("2100-01-01"))
    _, rare, days = preparation.transform(later)[0, :3]
    assert (rare, days) == (1.0, (pd.Timestamp("2100-01-01") - pd.Timestamp("2000-01-01")).days)


def test_new_rows_are_clipped_by_the_bounds_of_the_training_rows(table):
    preparation = Preparation(standardize=True, clip=True).fit(table.drop(index=17))
    new = table.iloc[:3].assign(width=[5.0, 1e6, -1e6])
    low, high = preparation.lower_[0], preparation.upper_[0]
    expected = (np.array([5.0, high, low]) - preparation.center_[0]) / preparation.scale_[0]
    np.testing.assert_allclose(preparation.transform(new)[:, 0], expected)
    assert not any("far outside" in note for note in preparation.notes_)


def test_without_clip_nothing_changes(table):
    found = Preparation().fit_transform(table)
    assert found[17, 0] == 58.9


def test_an_absurd_value_among_two_is_set_to_a_bound(table):
    preparation = Preparation(standardize=True, clip=True).fit(table)
    new = table.iloc[:3].assign(rare=[0.0, 1e308, -1e308])
    assert np.isfinite(preparation.transform(new)).all()
    assert "rare = 1e+308 (training: 0 to 1)" in preparation.outside(new).reasons[1]


def test_a_value_too_large_to_be_scaled_is_named(table):
    preparation = Preparation(standardize=True).fit(table)
    new = table.iloc[5:8].assign(rare=[0.0, 1e308, 0.0])
    with pytest.raises(ColumnError, match=r"column 'rare', row 7: 1e\+308 is too far from the training data"):
        preparation.transform(new)
