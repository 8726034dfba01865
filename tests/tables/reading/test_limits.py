"""Limits hold on what is decoded, and reading takes time in proportion to the file."""

import gzip
import json
import subprocess
import sys
import zipfile
from datetime import date
from decimal import Decimal
from time import perf_counter

import numpy as np
import pytest

from credo.tables import TableError, read_table
from credo.tables.columns import read_numbers, unique_names

# Imports once, and forks for every file; lowered limits make small files too large.
PEAKS = """
import json, os, resource, sys
from credo.tables import TableError, read_table
from credo.tables import formats
import pandas, pyarrow.parquet, pyarrow.compute
formats._MAX_ROW_CHARACTERS, formats._MAX_ELEMENTS = 2**20, 200_000
for line in sys.stdin:
    path, max_bytes = json.loads(line)
    if os.fork() == 0:
        before, error = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ""
        try:
            read_table(path, max_bytes=max_bytes)
        except TableError as raised:
            error = str(raised)
        rise = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        print(json.dumps([rise, error]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def peak():
    """By how many MiB reading a file raises the memory of a process, and the error."""
    pytest.importorskip("resource")
    pytest.importorskip("pyarrow")
    with subprocess.Popen([sys.executable, "-c", PEAKS], stdin=-1, stdout=-1, text=True) as process:

        def read(path, max_bytes):
            process.stdin.write(json.dumps([str(path), max_bytes]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield read
        process.stdin.close()


def test_a_word_that_parquet_repeats_counts_as_often_as_it_occurs(peak, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bomb.parquet"
    word = pa.array(["a" * 2**20] * 100)
    pq.write_table(pa.table({"word": word, "x": range(100)}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    rise, error = peak(path, 2**26)
    assert "holds more than 67,108,864 bytes; raise the limit with max_bytes=" in error
    assert rise < 60
    assert read_table(path).frame.shape == (100, 2)


@pytest.mark.parametrize("kind", ["decimal", "date", "number"])
def test_runs_of_one_value_count_as_often_as_they_occur(kind, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    types = {"decimal": pa.decimal128(5), "date": pa.date32(), "number": pa.int8()}
    path = tmp_path / "bomb.parquet"
    value = {"decimal": Decimal(1), "date": date(2020, 1, 2), "number": 1}[kind]
    pq.write_table(pa.table({"x": pa.array([value] * 20_000, types[kind])}), path)
    with pytest.raises(TableError, match="raise the limit with max_bytes="):
        read_table(path, max_bytes=20_000 * 8 - 1)
    assert len(read_table(path).frame) == 20_000


@pytest.mark.parametrize(
    "text",
    ["a,b\n" + "1,2\n" * 100_000, "a\n" + "1\n" * 200_000, "a\n1" + "\n" * 200_000 + "1", "a,b\n" + ",\n" * 100_000],
    ids=["numbers", "one column", "blank lines", "no values"],
)
def test_cells_of_a_few_bytes_count_by_what_they_take_in_memory(text, tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(TableError, match="more cells than the 125,000 that max_bytes=1,000,000 allows"):
        read_table(path, max_bytes=1_000_000)


def test_a_packed_table_takes_a_few_times_the_memory_of_its_frame(peak, tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    rise, error = peak(path, 2**30)
    # The frame is 16 MB.
    assert not error and rise < 70


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"b":2,"c":3}\n' + "{}\n" * 100_000, '[{"a":1,"b":2,"c":3}' + ",{}" * 100_000 + "]"],
    ids=["lines", "list"],
)
def test_json_counts_the_cells_that_a_row_leaves_out(text, tmp_path):
    path = tmp_path / "bomb.jsonl"
    path.write_text(text)
    with pytest.raises(TableError, match="the table has more cells than the 125,000"):
        read_table(path, max_bytes=1_000_000)
    assert read_table(path).frame.shape == (100_001, 3)


def test_json_whose_rows_all_have_other_keys(peak, tmp_path):
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(f'{{"key {i}": {i}}}\n' for i in range(7_000)))
    rise, error = peak(path, 2**30)
    assert "line 1001: the table has a value in fewer than one of 100 cells" in error
    # All 49 million cells would take 400 MB at least.
    assert rise < 50


def test_keys_of_json_may_be_missing_in_any_rows(tmp_path):
    path = tmp_path / "gaps.jsonl"
    path.write_text('{"a": 1}\n{"b": "x"}\n{}\n{"b": "y", "a": 2}\n{"c": 2.5}\n')
    frame = read_table(path).frame
    assert frame.columns.tolist() == ["a", "b", "c"] and len(frame) == 5
    filled = {name: frame[name].dropna().to_dict() for name in frame}
    assert filled == {"a": {0: 1.0, 3: 2.0}, "b": {1: "x", 3: "y"}, "c": {4: 2.5}}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": "x"}\n{"a": "half \\ud83d"}\n', r"line 2 holds '\\ud83d'"),
        ('{"a": 1}\n\n{"\\udc00": 2}\n', r"line 3 holds '\\udc00'"),
        ('[{"a": 1}, {"a": "\\ude00\\ud83d"}]', r"record 2 holds '\\ude00'"),
    ],
)
def test_half_of_a_surrogate_pair(text, place, tmp_path):
    path = tmp_path / "half.json"
    path.write_text(text)
    with pytest.raises(TableError, match=rf"half\.json': {place}, half of a surrogate pair"):
        read_table(path)


def test_a_whole_surrogate_pair(tmp_path):
    path = tmp_path / "whole.jsonl"
    path.write_text('{"a": "\\ud83d\\ude00"}\n{"a": "ü"}\n')
    assert read_table(path).frame["a"].tolist() == ["\U0001f600", "ü"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" + "[]," * 3_000_000 + "[]]", "the list doesn't end after record 0"),
        ('[{"a":[' + "[]," * 3_000_000 + "[]]}]", "the list doesn't end after record 0"),
        ('{"a":[' + "[]," * 3_000_000 + "[]]}", "line 1 is longer than 1,048,576 characters"),
    ],
    ids=["records", "within a record", "within a line"],
)
def test_nested_lists_without_end(text, message, peak, tmp_path):
    path = tmp_path / "bomb.json"
    path.write_text(text)
    rise, error = peak(path, 2**30)
    assert message in error
    # All of it would take 200 MB; the text itself takes 9 MB, and is there twice.
    assert rise < 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1} {"a": 2}]', "record 2 is not a flat object such as .*, after a comma"),
        ('[{"a": 1}', "the list doesn't end after record 1"),
        ('[{"a": 1}] 3', "the list doesn't end after record 1"),
        ('[{"a": "}]', "the list doesn't end after record 0"),
        ('[{"a": 1}, {"a": {"b": 2}}]', "record 2 is not a flat object"),
        ('[{"a": 1}, 3, {"a": 2}]', "record 2 is not a flat object"),
        ('[{"a": }]', "record 1 isn't valid JSON"),
    ],
)
def test_lists_that_are_no_json(text, message, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_table(path)


def test_records_of_a_list_hold_any_string(tmp_path):
    path = tmp_path / "list.json"
    path.write_text('\ufeff [ {"a": "}]{[\\"", "b": "\\\\"} ,\n{"b": "ü\\u00fc", "a": "] , ["}\n]\n')
    assert read_table(path).frame.to_dict("list") == {"a": ['}]{["', "] , ["], "b": ["\\", "üü"]}


SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</worksheet>'
)


def forged_workbook(path, sheet):
    """A workbook whose sheet has this XML in place of its own."""
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    members["xl/worksheets/sheet1.xml"] = SHEET.format(sheet).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def number(place):
    return f'<c r="{place}"><v>1</v></c>'


def test_a_sheet_that_says_it_is_larger_than_it_is(tmp_path):
    rows = "".join(f'<row r="{i}">{number(f"A{i}")}{number(f"B{i}")}</row>' for i in range(1, 4))
    sheet = f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'
    assert read_table(forged_workbook(tmp_path / "book.xlsx", sheet)).frame.shape == (3, 2)


@pytest.mark.parametrize(
    "rows",
    [
        f'<row r="1">{number("A1")}</row><row r="1000000000">{number("A1000000000")}</row>',
        f'<row r="1">{number("XFD1")}</row><row r="100000">{number("A100000")}</row>',
    ],
    ids=["a row far below", "a wide row above a long sheet"],
)
def test_cells_that_a_sheet_leaves_out_count(rows, tmp_path):
    path = forged_workbook(tmp_path / "book.xlsx", f"<sheetData>{rows}</sheetData>")
    with pytest.raises(TableError, match=r"more cells than the 1,250,000|fewer than one of 100 cells"):
        read_table(path, max_bytes=10_000_000)


def test_a_row_of_a_sheet_without_end(peak, tmp_path):
    path = forged_workbook(tmp_path / "book.xlsx", f'<sheetData><row r="1">{"<c/>" * 600_000}</row></sheetData>')
    rise, error = peak(path, 2**30)
    assert "'xl/worksheets/sheet1.xml' holds too many elements" in error and rise < 100


def test_a_cell_without_end_is_refused_before_it_is_decoded(peak, tmp_path):
    text = "a" * 40_000_000
    sheet = f'<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c></row></sheetData>'
    rise, error = peak(forged_workbook(tmp_path / "book.xlsx", sheet), 2**30)
    assert "'xl/worksheets/sheet1.xml' holds a cell longer than Excel allows" in error
    assert rise < 20


def test_the_longest_cell_that_excel_allows(tmp_path):
    text = "&#128512;" * 32_767
    rows = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c></row><row r="2">{number("A2")}</row>'
    frame = read_table(forged_workbook(tmp_path / "book.xlsx", f"<sheetData>{rows}</sheetData>"), header=True).frame
    assert frame.columns.tolist() == ["\U0001f600" * 32_767]


def test_a_sheet_with_one_cell_far_to_the_right_in_every_row(peak, tmp_path):
    rows = "".join(f'<row r="{i}">{number(f"XFD{i}")}</row>' for i in range(1, 1000))
    rise, error = peak(forged_workbook(tmp_path / "book.xlsx", f"<sheetData>{rows}</sheetData>"), 2**30)
    assert "has a value in fewer than one of 100 cells" in error and rise < 50


def seconds(function, *arguments):
    start = perf_counter()
    function(*arguments)
    return perf_counter() - start


def growth(make, small, large):
    """How many times longer the larger input takes; the shortest of three runs each."""
    times = [min(seconds(make(size)) for _ in range(3)) for size in (small, large)]
    return times[1] / max(times[0], 0.01)


def reading(tmp_path, text):
    path = tmp_path / f"{len(text)}.csv"
    path.write_text(text)
    return lambda: read_table(path)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\t"])
@pytest.mark.parametrize("cell", ["1{}x", "$1{}x", "${}x", "1{}2{}x", "1e{}x"])
def test_a_cell_of_many_blanks_takes_time_in_proportion(cell, blank, tmp_path):
    def make(size):
        return reading(tmp_path, f"a;b\n1;2\n{cell.replace('{}', blank * size)};3\n")

    # Eight times the size; quadratic time would be 64 times as long, and minutes at that.
    assert growth(make, 5000, 40_000) < 24


def test_equal_names_take_time_in_proportion(tmp_path):
    # Eight times the names; a quadratic search would take 64 times as long.
    assert growth(lambda size: lambda: unique_names(["x"] * size), 10_000, 80_000) < 24
    names = reading(tmp_path, ",".join(["x"] * 500) + "\n" + ",".join(["1"] * 500) + "\n")().frame.columns
    assert list(names[-2:]) == ["x_499", "x_500"]


def test_zero_before_the_comma_rules_thousands_out(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('x,y\n"0,250",1.5\n"1,250",2.5\n')
    sheet = read_table(path)
    assert sheet.frame["x"].tolist() == [0.25, 1.25]
    assert "Column 'x' was read as numbers with commas as decimal signs, unlike the rest." in sheet.notes
    path.write_text("x;y\n0,273;1.5\n0,300;2.5\n")
    assert read_table(path).frame["x"].tolist() == [0.273, 0.3]
    assert read_table(path, decimal=".").frame["x"].tolist() == [0.273, 0.3]


def test_one_number_that_has_no_thousands_decides_for_all():
    words = np.array(["1,250"] * 30 + ["0,250"], dtype=object)
    np.testing.assert_array_equal(read_numbers(words, name="x", decimal=".").values, [1.25] * 30 + [0.25])
    # Here the point is the decimal sign, and the last value is a typing error.
    words = np.array(["1,250.5"] * 30 + ["1,25"], dtype=object)
    np.testing.assert_array_equal(read_numbers(words, name="x", decimal=".").values, [1250.5] * 30 + [np.nan])


def test_a_blank_line_of_a_single_column_is_a_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x\n1\n\n3\n  \n5\n\n\n")
    sheet = read_table(path)
    np.testing.assert_array_equal(sheet.frame["x"], [1, np.nan, 3, np.nan, 5])
    assert "Blank lines were read as missing values, because the table has only one column." in sheet.notes
    path.write_text("x,y\n1,2\n\n3,4\n")
    assert len(read_table(path).frame) == 2


def test_a_long_field_is_called_long(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1," + "x" * 131_073 + "\n")
    with pytest.raises(TableError, match=r"line 2 has a field of more than 131,072 characters"):
        read_table(path)


def test_binary_and_nested_columns_are_left_out_and_said(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    columns = {"picture": [b"\xff\xd8", b"b"], "text": ["a", "b"], "x": [1, 2], "list": [[1], [2, 3]]}
    pq.write_table(pa.table(columns), path)
    sheet = read_table(path)
    assert sheet.frame.to_dict("list") == {"text": ["a", "b"], "x": [1, 2]}
    assert sheet.notes == ("Left out columns of lists, structures or bytes: 'picture', 'list'.",)
    pq.write_table(pa.table({"picture": columns["picture"]}), path)
    with pytest.raises(TableError, match=r"no columns to read\. Left out columns of .* bytes: 'picture'"):
        read_table(path)


def test_text_of_parquet_that_is_no_utf_8(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    bad = pa.StringArray.from_buffers(2, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xffb"))
    pq.write_table(pa.table({"s": bad}), path)
    with pytest.raises(TableError, match="is a damaged Parquet file"):
        read_table(path)


def test_parts_of_a_long_table_are_read_alike(tmp_path):
    """pandas reads 512 rows of a wide table at a time."""
    path = tmp_path / "table.csv"
    rows = [f"{i if i < 540 else '007x'},{i % 2 == 0},{'' if i < 540 else 'z'},{i}" + ",1" * 2000 for i in range(600)]
    path.write_text("w,b,e,x" + "".join(f",c{j}" for j in range(2000)) + "\n" + "\n".join(rows) + "\n")
    frame = read_table(path).frame
    assert frame["w"].tolist()[:3] == ["0", "1", "2"] and frame["w"].tolist()[-1] == "007x"
    assert frame["b"].dtype == bool and frame["x"].tolist() == list(range(600))
    assert frame["e"].isna().sum() == 540 and frame["e"].tolist()[-1] == "z"
