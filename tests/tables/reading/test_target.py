"""The target column."""

import numpy as np
import pytest

from credo.tables import ColumnError, split_target

pd = pytest.importorskip("pandas")


def test_rows_without_a_target_are_left_out_of_both_and_counted():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1.5, None, "", "2.5"]})
    rest, y, notes = split_target(frame, "y")
    assert rest["x"].tolist() == [1, 4] and list(rest.columns) == ["x"]
    np.testing.assert_array_equal(y, [1.5, 2.5])
    assert y.dtype == np.float64 and notes == ["Left out 2 rows whose target 'y' is missing."]


def test_nothing_to_say_about_a_whole_target():
    assert split_target(pd.DataFrame({"x": [2, 1], "y": [1, 2]}), "y")[2] == []


def test_a_constant_target_raises():
    with pytest.raises(ColumnError, match="only one value, 3, in 2 rows: there is nothing to predict"):
        split_target(pd.DataFrame({"x": [1, 2], "y": [3, 3]}), "y")


def test_a_target_of_two_values_is_a_number_and_the_note_says_what_that_means():
    notes = split_target(pd.DataFrame({"x": range(12), "y": [0, 1, 1] * 4}), "y")[2]
    assert "has only two values, 0 and 1, and is predicted as a number" in notes[0]
    assert "--task classification" in notes[0]
    assert "Intervals" in notes[0]
    assert split_target(pd.DataFrame({"x": range(12), "y": [0, 1, 2] * 4}), "y")[2] == []


def test_columns_of_one_type_are_stored_together():
    """Otherwise every fold of a wide table is taken column by column."""
    table = pd.DataFrame({"y": [1.0, 2.0]})
    for j in range(20):
        table[f"x{j}"] = [0.5 * j, 1.0]
    assert split_target(table, "y")[0]._mgr.nblocks == 1


def test_a_wrong_target_lists_the_columns():
    table = pd.DataFrame({f"column {j}": [1.0, 2.0] for j in range(20)})
    with pytest.raises(ColumnError, match=r"it has 'column 0', .*'column 14' and 5 more"):
        split_target(table, "price")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["setosa", "virginica", "setosa"],
            r"'y' is not a number \(it holds 'setosa', 'virginica'\).*use classification for others",
        ),
        ([True, False, True], r"'y' is not a number \(it holds 'True', 'False'\)"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]), "'y' is not a number"),
        (
            [1.0, "abc", 3.0],
            r"the target 'y', row 2: 'abc' is not a number; correct it, leave the field empty",
        ),
        ([1.0, np.inf, 3.0], "'y' is infinite in row 2; correct or delete that row"),
        ([None, np.nan, ""], "'y' has no value in any row"),
        ([1j, 2j, 3j], "complex numbers"),
    ],
)
def test_targets_that_are_no_numbers(values, message):
    with pytest.raises(ColumnError, match=message):
        split_target(pd.DataFrame({"x": [1, 2, 3], "y": values}), "y")


def test_an_unknown_target_suggests_the_nearest():
    frame = pd.DataFrame({"Price": [1.0], "area": [2.0]})
    with pytest.raises(
        ColumnError, match=r"the table has no target 'prise' \(did you mean 'Price'\?\); it has 'Price', 'area'"
    ):
        split_target(frame, "prise")


def test_a_table_of_the_target_alone():
    with pytest.raises(ColumnError, match="no column besides its target 'y'"):
        split_target(pd.DataFrame({"y": [1.0, 2.0]}), "y")


def test_other_frames_and_dicts_are_taken():
    pl = pytest.importorskip("polars")
    for table in (pl.DataFrame({"x": [1, 2], "y": [3.0, None]}), {"x": [1, 2], "y": [3.0, None]}):
        rest, y, _ = split_target(table, "y")
        assert rest["x"].tolist() == [1] and y.tolist() == [3.0]


def test_repeated_names_are_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    with pytest.raises(ColumnError, match="more than one column named 'a'; rename them"):
        split_target(frame, "y")


def test_a_column_that_equals_the_target_is_told():
    table = pd.DataFrame({"x": [1.0, 5.0, 2.0], "copy": [4, 5, 6], "gaps": pd.array([4, None, 6], dtype="Int64")})
    _, _, notes = split_target(table.assign(y=[4.0, 5.0, 6.0]), "y")
    assert notes == ["Equal to the target in every row: 'copy'. Leave out columns that aren't known when predicting."]
