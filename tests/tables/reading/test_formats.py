"""Standard input, Excel workbooks and JSON lines, and the signs that numbers were written with."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from credo.core.notices import collected
from credo.linear import LinearRegression
from credo.tables import Preparation, TableError, TableModel, load, read_table, save, split_target

CSV = b"city,height\nulm,1.5\nbonn,2.5\n"


class Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)

    def isatty(self):
        return False


@pytest.mark.parametrize(
    "content",
    [CSV, gzip.compress(CSV), b'{"city": "ulm", "height": 1.5}\n{"city": "bonn", "height": 2.5}\n'],
    ids=["csv", "gzip", "json lines"],
)
def test_a_dash_is_standard_input(content, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    sheet = read_table("-")
    assert sheet.frame.to_dict("list") == {"city": ["ulm", "bonn"], "height": [1.5, 2.5]}
    assert str(sheet.path) == "-"


def test_parquet_comes_by_standard_input_too(monkeypatch):
    pytest.importorskip("pyarrow")
    packed = io.BytesIO()
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(packed)
    monkeypatch.setattr(sys, "stdin", Stdin(packed.getvalue()))
    assert read_table("-").frame["x"].tolist() == [1.0, 2.0]


def test_a_real_pipe():
    code = "from credo.tables import read_table; import sys; sys.stdout.write(str(read_table('-').frame.shape))"
    run = subprocess.run([sys.executable, "-c", code], input=CSV, capture_output=True, check=True)
    assert run.stdout == b"(2, 2)"


def test_standard_input_is_bounded_and_not_empty(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(b"a,b\n" + b"1,2\n" * 1000))
    with pytest.raises(TableError, match="'standard input' holds more than 100 bytes"):
        read_table("-", max_bytes=100)
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    with pytest.raises(TableError, match="'standard input' is empty"):
        read_table("-")


def test_json_lines(tmp_path):
    path = tmp_path / "table.jsonl"
    records = [
        {"city": "ulm", "height": 1.5, "big": True, "share": "12 %"},
        {"city": None, "height": 2, "big": False, "share": "7 %", "late": 3},
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n")
    sheet = read_table(path)
    assert list(sheet.frame.columns) == ["city", "height", "big", "share", "late"]
    assert sheet.frame["height"].tolist() == [1.5, 2.0] and sheet.frame["big"].tolist() == [True, False]
    assert sheet.frame["share"].tolist() == [12.0, 7.0] and sheet.frame["late"].isna().tolist() == [True, False]
    listed = tmp_path / "table.json"
    listed.write_text(json.dumps(records))
    pd.testing.assert_frame_equal(read_table(listed).frame, sheet.frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": }\n', "line 2 isn't valid JSON"),
        ('{"a": 1}\n{"a": {"b": 2}}\n', "line 2: 'a' holds a nested object"),
        ('{"a": [1, 2]}\n', "line 1: 'a' holds a list"),
        ('{"a": 1}\n3\n', "line 2 holds int, not an object"),
        ('{"a": 1}\n' + "[" * 100_000 + "\n", "line 2 (is nested too deeply|isn't valid JSON)"),
        ("{}\n", "it has no rows"),
    ],
)
def test_json_that_is_no_table_raises(text, message, tmp_path):
    path = tmp_path / "table.ndjson"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_table(path)


def workbook(path, **sheets):
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


ROWS = [
    ["# city", "height", "when", "share", "code"],
    ["köln, ulm", 1.5, datetime(2020, 1, 2), "12 %", "007"],
    ["bonn", None, date(2020, 1, 3), "7 %", "010"],
    [None, 1 / 3, datetime(2020, 1, 4, 12, 30), None, "011"],
]


def test_excel(tmp_path):
    sheet = read_table(workbook(tmp_path / "book.xlsx", data=ROWS))
    frame = sheet.frame
    assert list(frame.columns) == ROWS[0]
    np.testing.assert_array_equal(frame["height"], [1.5, np.nan, 1 / 3])
    assert frame["# city"].tolist()[:2] == ["köln, ulm", "bonn"] and frame["code"].tolist() == ["007", "010", "011"]
    assert frame["share"].tolist()[:2] == [12.0, 7.0]
    assert Preparation(kinds={"when": "date"}).fit(frame).columns_[2].detail == "2020-01-02 to 2020-01-04"


def test_excel_sheets_titles_and_formulas(tmp_path):
    titled = [["Heights of trees"], [], *[row[:2] for row in ROWS], [None, "=1+1"], []]
    path = workbook(tmp_path / "book.xlsx", first=titled, second=[["x"], [1], [2]])
    sheet = read_table(path)
    assert sheet.frame.shape == (3, 2)
    assert "Read the first of 2 sheets, 'first'; sheet= (--sheet) chooses another." in sheet.notes
    assert "Skipped 1 row above the table." in sheet.notes
    assert read_table(path, sheet="second").frame["x"].tolist() == [1, 2]
    with pytest.raises(TableError, match=r"has no sheet 'secnd' \(did you mean 'second'\?\)"):
        read_table(path, sheet="secnd")


def test_a_workbook_that_unpacks_to_too_much_raises(tmp_path):
    path = workbook(tmp_path / "book.xlsx", data=[["x"], *[[i] for i in range(5000)]])
    with pytest.raises(TableError, match="bytes when unpacked; raise the limit"):
        read_table(path, max_bytes=100_000)


def test_a_damaged_workbook_raises(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("xl/workbook.xml", "<nonsense")
    with pytest.raises(TableError, match="is a damaged Excel workbook"):
        read_table(path)


def test_a_sheet_of_a_file_that_has_none_raises(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(CSV)
    with pytest.raises(TableError, match="sheet= is for Excel workbooks"):
        read_table(path, sheet="data")


def prices(tmp_path, price, share, n=30):
    lines = ["price,share,y"] + [f"{price.format(10 + i)},{share.format(3 * i)},{i % 7}" for i in range(n)]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_table(path).frame


def notes(model, frame):
    with collected() as found:
        model.predict(frame)
    return [str(notice) for notice in found]


def test_a_changed_sign_is_noticed(tmp_path):
    frame = prices(tmp_path, "${}", "{}%")
    assert frame.attrs["signs"] == {"price": "$", "share": "%"}
    rest, y, _ = split_target(frame, "y")
    model = TableModel(Preparation(standardize=True), LinearRegression()).fit(rest, y)
    save(model, tmp_path / "model.credo")
    model = load(tmp_path / "model.credo")
    assert notes(model, rest) == []
    (euro,) = notes(model, prices(tmp_path, "€{}", "{}%")[["price", "share"]])
    assert "'price'" in euro and "'€'" in euro and "'$'" in euro
    (plain,) = notes(model, prices(tmp_path, "{}", "{}%")[["price", "share"]])
    assert "without a sign" in plain
    fractions = prices(tmp_path, "${}", "0.{}")[["price", "share"]]
    (wrong,) = notes(model, fractions)
    assert "'share'" in wrong and "look like fractions" in wrong and "multiply them by 100" in wrong
    # Frames that no file stands behind say nothing of signs, and only fractions are told.
    assert notes(model, pd.DataFrame({"price": [12.0], "share": [50.0]})) == []
    assert len(notes(model, pd.DataFrame({"price": [12.0], "share": [0.5]}))) == 1


def test_a_sign_that_is_new_is_noticed(tmp_path):
    model = TableModel(None, LinearRegression(), "y").fit(prices(tmp_path, "{}", "{}"))
    (found,) = notes(model, prices(tmp_path, "{}", "{}%"))
    assert "'share'" in found and "with '%'" in found
