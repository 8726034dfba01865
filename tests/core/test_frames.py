"""Frames come from whichever library is asked for, and tables print as people read them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from credo.core.frames import Table, frame


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_backends(backend, kind):
    made = frame({"a": np.arange(3), "b": ["x", "y", "z"]}, backend=backend)
    assert isinstance(made, kind)
    assert made["a"].to_numpy().tolist() == [0, 1, 2]


def test_an_unknown_backend_is_named():
    with pytest.raises(ValueError, match="backend must be one of pandas, polars, pyarrow; got 'excel'"):
        frame({"a": [1]}, backend="excel")


def test_without_any_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("credo.core.frames.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        frame({"a": [1]})


def test_columns_line_up():
    lines = str(Table("T", {"name": ["a", "long name"], "value": [1.0, -123.456]}, notes=("a note",))).splitlines()
    assert lines == ["T", "name         value", "a                1", "long name  -123.46", "a note"]


def test_what_is_missing_is_a_dash_and_numbers_stay_right():
    for missing in (None, np.nan):
        assert str(Table("T", {"v": [missing, 12.5]})).splitlines() == ["T", "   v", "   —", "12.5"]


def test_html_escapes():
    assert "<script>" not in Table("<script>", {"<script>": ["<script>"]}, notes=("<script>",))._repr_html_()


def test_a_table_becomes_a_frame():
    made = Table("T", {"a": [1.0, 2.0]}).to_frame(backend="pandas")
    assert made["a"].tolist() == [1.0, 2.0] and len(Table("T", {"a": [1.0, 2.0]})) == 2


def test_a_long_table_is_printed_in_part_and_handed_over_whole():
    table = Table("Numbers", {"n": list(range(10)), "which": [(1,), (1, 2)] * 5}, notes=("all",), most=3)
    assert str(table).splitlines()[-2:] == ["… and 7 more; to_frame() has all", "all"]
    assert table.to_frame(backend="pandas")["which"].tolist() == [(1,), (1, 2)] * 5


def test_a_column_without_a_value_is_kept_and_not_shown():
    table = Table("T", {"name": ["a", "b"], "sd": [None, None], "value": [1.0, None]})
    assert str(table).splitlines() == ["T", "name  value", "a         1", "b         —"]
    assert "<th>value</th>" in table._repr_html_() and "sd" not in table._repr_html_()
    assert table._repr_html_().count("<td>") == 4
    assert list(table.to_frame(backend="pandas")) == ["name", "sd", "value"]


def test_a_table_without_rows_shows_its_columns():
    assert str(Table("T", {"name": [], "sd": []})).splitlines() == ["T", "name  sd"]


def test_a_table_in_a_console_reads_as_it_prints():
    table = Table("Weights", {"parameter": ["slope"], "estimate": [np.float64(2.0)]})
    assert repr(table) == str(table) and "np.float64" not in repr(table)
