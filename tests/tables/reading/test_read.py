"""Tables as people write them."""

import csv
import gzip
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.core.wording import quoted
from credo.tables import TableError, read_table

pd = pytest.importorskip("pandas")

SEPARATORS = [",", ";", "\t", "|", " "]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"]
NA = ["", "NA", "NaN", "null", "?", "-", "#N/A"]
ROWS = [("köln", 1.5, -2), ("bonn", 2.25, 3), ("trier", -0.125, 40), ("mainz", 1000.5, 5)]


def written(tmp_path, content, *, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def read(tmp_path, content, **options):
    return read_table(written(tmp_path, content), **options)


def table(separator, decimal, na):
    """A table with one missing number; a comma inside a comma-separated file stands in quotation marks."""

    def number(value):
        text = str(value).replace(".", decimal)
        return f'"{text}"' if separator in text else text

    empty = f'"{na}"' if separator == " " else na
    lines = [["city", "height", "count"]]
    lines += [[city, number(height), str(count)] for city, height, count in ROWS]
    lines += [["ulm", empty, "6"]]
    return "\n".join(separator.join(line) for line in lines) + "\n"


@pytest.mark.parametrize(("separator", "decimal"), list(itertools.product(SEPARATORS, ".,")))
@pytest.mark.parametrize("na", NA)
def test_separator_decimal_and_na_words_are_sniffed(separator, decimal, na, tmp_path):
    frame = read(tmp_path, table(separator, decimal, na)).frame
    assert list(frame.columns) == ["city", "height", "count"]
    assert frame["city"].tolist() == [city for city, _, _ in ROWS] + ["ulm"]
    np.testing.assert_array_equal(frame["height"], [height for _, height, _ in ROWS] + [np.nan])
    np.testing.assert_array_equal(frame["count"], [-2, 3, 40, 5, 6])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_line_ends_and_gzip(encoding, newline, packed, tmp_path):
    content = table(";", ",", "NA").replace("\n", newline).encode(encoding)
    sheet = read_table(written(tmp_path, gzip.compress(content) if packed else content))
    assert sheet.frame["city"][0] == "köln" and sheet.frame["height"][1] == 2.25
    guessed = encoding in ("cp1252", "latin-1")
    assert any("read as cp1252" in note for note in sheet.notes) == guessed


def test_every_option_overrules(tmp_path):
    content = "a;b\n1,234;x\n2,345;-9\n"
    assert read(tmp_path, content, decimal=".").frame["a"].tolist() == [1234, 2345]
    assert read(tmp_path, content, decimal=",").frame["a"].tolist() == [1.234, 2.345]
    assert read(tmp_path, content, separator=",").frame.shape == (2, 2)
    assert pd.isna(read(tmp_path, content, na_words=["-9"]).frame["b"][1])
    assert read(tmp_path, content, header=False).frame.shape == (3, 2)
    assert read(tmp_path, "k\xf6ln;1\n".encode("cp1252"), encoding="cp1252", header=False).frame.iat[0, 0] == "köln"
    assert read(tmp_path, "1990,1991\n3,4\n", header=True).frame.columns.tolist() == ["1990", "1991"]


def test_floats_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    for decimal, separator in [(".", ","), (",", ";")]:
        lines = [f"{repr(value).replace('.', decimal)}{separator}1" for value in values.tolist()]
        frame = read(tmp_path, "\n".join([f"x{separator}y", *lines])).frame
        assert frame["x"].to_numpy().tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("content", "expected", "note"),
    [
        ("x;y\n1 234,5;1\n2 000,25;2\n", [1234.5, 2000.25], "with spaces between thousands"),
        ("x;y\n1.234,5;1\n2.000;2\n", [1234.5, 2000.0], "with points between thousands"),
        ('x,y\n"1,234.5",1\n"2,000",2\n', [1234.5, 2000.0], "with commas between thousands"),
        ("x;y\n1'234.5;1\n999;2\n", [1234.5, 999.0], "with apostrophes between thousands"),
        ("x,y\n12%,1\n7.5 %,2\n", [12.0, 7.5], "without the sign '%' (12 % is 12)"),
        ("x,y\n$12,1\n$7.5,2\n", [12.0, 7.5], "without the sign '$'"),
        ("x;y\n1,234;a\n2,345;b\n", [1.234, 2.345], "--decimal .) reads it as a thousands separator"),
        ("x;y\n1,234,567;a\n2,345,678;b\n", [1234567, 2345678], "with commas between thousands"),
        ("x;y\n−1.5;a\n2.5;b\n", [-1.5, 2.5], None),
        ("x,y\n1,a\n?,b\n3,c\n", [1, np.nan, 3], "1 value that isn't a number ('?' in row 2) treated as missing"),
        ("x;y;z\n1,5;a;1.5\n2,5;b;2.5\n7,5;b;2.5\n", [1.5, 2.5, 7.5], None),
    ],
)
def test_numbers_written_as_words(content, expected, note, tmp_path):
    sheet = read(tmp_path, content)
    np.testing.assert_array_equal(sheet.frame["x"].to_numpy(dtype=float), expected)
    assert note is None or any(note in text for text in sheet.notes), sheet.notes


@pytest.mark.parametrize(
    "values", [["1.2.3", "2.0"], ["12%", "5"], ["$5", "€6"], ["1 234", "12345"], ["5a", "6"], ["5 kg", "6 m"]]
)
def test_words_that_only_resemble_numbers_stay_words(values, tmp_path):
    frame = read(tmp_path, "x;y\n" + "".join(f"{value};a\n" for value in values)).frame
    assert frame["x"].tolist() == values


@pytest.mark.parametrize(
    ("cells", "values", "sign"),
    [
        (["321 km", "1.2 km"], [321.0, 1.2], "km"),
        (["1,250 kg", "3 kg"], [1250.0, 3.0], "kg"),
        (["1 day", "20 days"], [1.0, 20.0], "day"),
        (["90 min", "2 h", "30 min"], [90.0, 120.0, 30.0], "min"),
    ],
)
def test_numbers_with_a_unit_are_numbers(cells, values, sign, tmp_path):
    frame = read(tmp_path, "x;y\n" + "".join(f"{cell};a\n" for cell in cells)).frame
    np.testing.assert_allclose(frame["x"], values)
    assert frame.attrs["signs"] == {"x": sign}


def test_a_slip_among_many_numbers_is_missing_and_said(tmp_path):
    sheet = read(tmp_path, "x,y\n" + "".join(f"{i}.5,1\n" for i in range(40)) + "abc,1\n")
    assert sheet.frame["x"].isna().sum() == 1
    (note,) = [note for note in sheet.notes if "isn't a number" in note]
    assert note == "Column 'x': 1 value that isn't a number ('abc' in row 41) treated as missing."
    several = read(tmp_path, "x,y\n" + "".join(f"{i}.5,1\n" for i in range(80)) + "abc,1\n7,1\noops,1\n")
    assert any("2 values that aren't numbers ('abc', 'oops'; the first in row 81)" in note for note in several.notes)


def test_codes_with_leading_zeros_stay_words(tmp_path):
    sheet = read(tmp_path, "zip,y\n01234,1\n98765,2\n")
    assert sheet.frame["zip"].tolist() == ["01234", "98765"]
    assert sheet.notes == ("Columns kept as text because of leading zeros: 'zip'.",)


def test_words_and_numbers_that_mean_missing_can_be_added(tmp_path):
    content = "x,y\n1,5\n-999,6\nNA,7\n2,nix\n-999,2000\n"
    assert read(tmp_path, content).frame["x"].tolist()[:2] == [1, -999]
    assert read(tmp_path, content, na_words=["-999", "nix"]).frame.isna().sum().tolist() == [3, 1]
    # With none, only empty cells are missing.
    assert read(tmp_path, "place,y\nNA,5\n,6\n", na_words=[]).frame["place"].isna().tolist() == [False, True]


def test_huge_integers_become_numbers(tmp_path):
    assert read(tmp_path, f"x,y\n{10**30},1\n2,2\n").frame["x"].tolist() == [1e30, 2.0]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1,2\n3,4\n", ["column_1", "column_2"]),
        ("5.1,setosa\n4.9,setosa\n6.0,virginica\n", ["column_1", "column_2"]),
        ("red,small\nblue,large\nred,large\n", ["column_1", "column_2"]),
        ("color,size\nblue,large\nred,large\n", ["color", "size"]),
        ("x,2\n1,2\n", ["x", "2"]),
        ("date,y\n2020-01-01,2\n", ["date", "y"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("# made by hand\n\na,b\n1,2\n", ["a", "b"]),
        ('"n" "v"\n"1" 5.5 6\n"2" 5.6 7\n', ["row", "n", "v"]),
        ("a,b,\n1,2,\n", ["a", "b", "column_3"]),
        ("a,b\n1,2,\n3,4,\n", ["a", "b", "column_3"]),
        (",a\n0,1\n1,2\n", ["row", "a"]),
        ("a,a,a_2,b\n1,2,3,4\n", ["a", "a_3", "a_2", "b"]),
        ("x\n1,5\n2,5\n", ["x"]),
        ("x\n1\n2\n", ["x"]),
    ],
)
def test_headers(content, names, tmp_path):
    assert list(read(tmp_path, content).frame.columns) == names


def test_notes_about_names(tmp_path):
    assert read(tmp_path, "a,a,\n1,2,3\n").notes == (
        "Columns without a name (number 3) were given one.",
        "Column names that occur more than once were numbered: 'a'.",
    )
    assert "so columns were numbered; header=True" in read(tmp_path, "1,2\n3,4\n").notes[0]
    assert "Skipped 1 comment line at the top." in read(tmp_path, "#c\na,b\n1,2\n").notes


def test_one_column_with_decimal_commas(tmp_path):
    assert read(tmp_path, "x\n1,5\n2,5\n").frame["x"].tolist() == [1.5, 2.5]


def test_quoted_fields_hold_anything(tmp_path):
    frame = read(tmp_path, 'text,y\n"one, ""two""\nthree",1\nfour,2\n').frame
    assert frame["text"].tolist() == ['one, "two"\nthree', "four"]


def test_rows_without_values_are_left_out_and_said(tmp_path):
    sheet = read(tmp_path, "a,b\n1,2\n,\n\n3,4\n")
    assert sheet.frame["a"].tolist() == [1, 3]
    assert sheet.notes == ("Left out 1 empty row.",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"#only\n#comments\n", "it has no rows"),
        (b"a,b,c\n", "it has a header but no rows below it"),
        (b"a,b\n,\n,\n", "it has a header but no values below it"),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", r"line 3 has 2 fields where the table has 3 columns \(separator: comma\)"),
        (b"#c\na;b\n1;2\n\n4;5;6\n", r"line 5 has 3 fields where the table has 2 columns \(separator: semicolon\)"),
        (b"a,b\n1,5,2,5\n1,6,2,6\n", "line 2 has 4 fields .* decimal commas can't be distinguished"),
        (b'a,b\n1,"2\n3,4\n', "line 3 can't be split into fields .* unclosed quotation mark"),
        (b"\x00\x01\x02\x03" * 20, "is not a text table: it holds binary data"),
        (b"PK\x03\x04rest", "it is a zip archive; unpack it first"),
        (b"%PDF-1.4", "it is a PDF"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "damaged or truncated gzip file"),
        (b"PAR1 nonsense", "is a damaged Parquet file"),
    ],
)
def test_what_is_no_table_raises(content, message, tmp_path):
    with pytest.raises(TableError, match=message) as caught:
        read(tmp_path, content)
    assert "table.csv" in str(caught.value)


def test_a_decompression_bomb_stops_at_the_limit(tmp_path):
    packed = gzip.compress(b"1,2\n" * 5_000_000)
    assert len(packed) < 100_000
    with pytest.raises(TableError, match=r"holds more than 1,000,000 bytes when unpacked; raise the limit"):
        read(tmp_path, packed, max_bytes=1_000_000)


def test_missing_files_name_their_neighbours(tmp_path):
    written(tmp_path, "a\n1\n", name="measurements.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*; did you mean .*measurements\.csv'\?"):
        read_table(tmp_path / "Measurement.csv")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        read_table(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ";;"}, "separator must be one ASCII character"),
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "ascii"}, "is not in ascii"),
    ],
)
def test_wrong_options(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "é,b\n1,2\n", **options)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2020-01-01", "2020-01-03"]), "w": ["x", None]})
    frame.to_parquet(tmp_path / "t.parquet")
    sheet = read_table(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(sheet.frame, frame)
    with pytest.raises(TableError, match="raise the limit with max_bytes="):
        read_table(tmp_path / "t.parquet", max_bytes=10)
    frame.iloc[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(TableError, match="is empty: it has 0 rows"):
        read_table(tmp_path / "empty.parquet")


def test_parquet_keeps_a_named_index(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [1, 2]}, index=pd.Index([10, 20], name="key")).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").frame.columns) == ["a", "key"]


def test_without_its_extras_the_room_opens_and_says_what_it_misses(tmp_path):
    code = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
import credo.tables
try:
    credo.tables.read_table(sys.argv[1])
except ImportError as error:
    print(error)
"""
    path = written(tmp_path, "a,b\n1,2\n")
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "reading and preparing tables needs pandas: pip install 'credo[cli]'"


words = st.text("abcdefghijklmnoßéü", min_size=4, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    n_rows=st.integers(2, 12),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
)
def test_what_pandas_writes_is_read_back(data, n_rows, separator, decimal, quoting, folder):
    """Any mixture of numbers and words, whatever the dialect, provided that the numbers show their decimal sign."""
    numbers = st.floats(-1e6, 1e6)
    frame = pd.DataFrame({
        "first word": data.draw(st.lists(words, min_size=n_rows, max_size=n_rows)),
        "number": data.draw(st.lists(numbers, min_size=n_rows, max_size=n_rows)),
        "count": data.draw(st.lists(st.integers(-10**6, 10**6), min_size=n_rows, max_size=n_rows)),
        "last": data.draw(st.lists(words, min_size=n_rows, max_size=n_rows)),
    })  # fmt: skip
    frame["number"] = frame["number"].round(3) + 0.0625
    path = folder / "frame.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, quoting=quoting, index=False)
    again = read_table(path).frame
    assert again.columns.tolist() == frame.columns.tolist()
    for name in frame.columns:
        assert again[name].tolist() == frame[name].tolist()


@settings(max_examples=150, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.text("ab1,;\t|.\"' \n-%", max_size=60).map(str.encode),
        st.text(max_size=40).map(lambda text: text.encode("utf-16", "surrogatepass")),
    )
)
def test_no_bytes_bring_it_down(content, folder):
    """Whatever a file holds, there is a frame or a TableError."""
    path = folder / "junk.csv"
    path.write_bytes(content)
    try:
        frame = read_table(path).frame
    except TableError:
        return
    assert len(frame) > 0 and frame.columns.is_unique


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def test_empty_rows_of_a_spreadsheet_above_the_table(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(",,\n;;\na,b,c\n1,2,3\n4,5\n")
    with pytest.raises(TableError, match="line 5 has 2 fields where the table has 3 columns"):
        read_table(path)
    path.write_text(",,\n,,\na,b,c\n1,2,3\n4,5,6\n")
    assert read_table(path).frame.to_dict("list") == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}


def test_rows_keep_their_number_when_empty_ones_are_left_out(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n1,2\n,\n5,6\n")
    assert read_table(path).frame.index.tolist() == [0, 2]


@pytest.mark.parametrize("separator", ["→", "\0"])
def test_separators_that_only_half_of_the_readers_know(separator, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a→b\n1→2\n3→4\n", encoding="utf-8")
    with pytest.raises(ValueError, match="one ASCII character"):
        read_table(path, separator=separator)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_raises(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TableError, match="pipe or a device"):
        read_table(tmp_path / "pipe")


def test_endless_names_are_clipped_in_sentences():
    assert len(quoted(["x" * 10_000])) < 120


def test_every_index_of_a_parquet_file_is_a_column(tmp_path):
    index = pd.MultiIndex.from_arrays([[1, 2], [3, 4]], names=["plot", "year"])
    pd.DataFrame({"y": [0.5, 0.7]}, index=index).to_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet").frame
    assert frame.to_dict("list") == {"plot": [1, 2], "year": [3, 4], "y": [0.5, 0.7]}
