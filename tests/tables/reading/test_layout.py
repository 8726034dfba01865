"""Rows of a sheet that aren't observations: units, repeated headers, footnotes and totals."""

import numpy as np
import pandas as pd
import pytest

from credo.tables import read_table

ROWS = "".join(f"a{i},{i * 3},{i * 1.5}\n" for i in range(1, 9))


def read(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_table(path)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"name,weight,length\n,kg,cm\n{ROWS}", "the row below the header: it names units or parts ('kg', 'cm')"),
        (f"name,weight,length\n,[kg],\n{ROWS}", "the row below the header: it names units or parts ('[kg]')"),
        (f"name,weight,length\n{ROWS}Total,108,54\n", "the last row, which sums up those above ('Total')"),
        (f"name,weight,length\n{ROWS},108,54\n", "the last row, which sums up those above"),
        (
            f"name,weight,length\n{ROWS}Sum,108,54\nMean:,13.5,6.75\n",
            "the last 2 rows, which sum up those above ('Sum', 'Mean:')",
        ),
        (f"name,weight,length\n{ROWS}Source: our own,,\n", "the last row, a footnote ('Source: our own')"),
    ],
)
def test_rows_that_are_no_observations_are_left_out(text, note, tmp_path):
    sheet = read(tmp_path, text)
    assert sheet.frame["weight"].tolist() == [3.0 * i for i in range(1, 9)]
    assert f"Left out {note}." in sheet.notes


def test_a_repeated_header_is_left_out(tmp_path):
    sheet = read(tmp_path, f"name,weight,length\n{ROWS}name,weight,length\n{ROWS}")
    assert len(sheet.frame) == 16 and "Left out 1 repetition of the header." in sheet.notes


@pytest.mark.parametrize(
    "text",
    [
        f"name,weight,length\n{ROWS}a9,30,13.5\n",
        f"name,weight,length\n{ROWS}Total,95,13.5\n",
        f"name,weight,length\nheavy,,cm\n{ROWS}",
        "name,weight,length\na,0,0\nb,0,0\nc,0,0\nd,0,0\ne,0,0\nf,0,0\n",
        "n,a\n1,x\n1,y\n2,x\n",
    ],
)
def test_other_rows_stay(text, tmp_path):
    sheet = read(tmp_path, text)
    assert len(sheet.frame) == text.count("\n") - 1
    assert not any("Left out" in note for note in sheet.notes)


def test_years_as_names_are_a_header(tmp_path):
    assert list(read(tmp_path, "country,2019,2020,2021\nPeru,1.5,2,3\nChad,4,5,6\n").frame) == [
        *("country", "2019", "2020", "2021")
    ]
    assert list(read(tmp_path, "1990,1995,2000\n1.5,2,3\n4,5,6\n").frame) == ["1990", "1995", "2000"]
    assert len(read(tmp_path, "1990,1991\n1992,1993\n").frame) == 2


def test_a_sheet_of_excel_with_units_and_a_total(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"shop": list("abcdefgh"), "sales": np.arange(1.0, 9.0), "area": np.arange(10.0, 18.0)})
    sheet = pd.concat(
        [
            pd.DataFrame([{"shop": None, "sales": "€", "area": "m²"}]),
            frame,
            pd.DataFrame([{"shop": "Total", "sales": 36.0, "area": 108.0}]),
        ]
    )
    sheet.to_excel(tmp_path / "sales.xlsx", index=False)
    found = read_table(tmp_path / "sales.xlsx")
    assert found.frame["sales"].tolist() == frame["sales"].tolist()
    assert sum(note.startswith("Left out the ") for note in found.notes) == 2
