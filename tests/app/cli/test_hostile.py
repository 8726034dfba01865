"""Tables that were made to break a run: the model is written, and what is wrong is named."""

import csv

import numpy as np
import pytest

from credo import study


@pytest.fixture
def table(tmp_path):
    """A table of one number, one flag and a target, as text."""
    rng = np.random.default_rng(0)
    x, flag = rng.normal(size=60), rng.integers(2, size=60)
    y = x + flag + 0.1 * rng.normal(size=60)
    path = tmp_path / "table.csv"
    path.write_text("x,flag,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(x, flag, y, strict=True)))
    return path


def test_class_labels_that_look_like_formulas(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "prices.csv"
    labels = np.array(["$0_$5", "$5_$10", "${^\\frac"])
    rows = (f"{value},{labels[k]}\n" for k in range(3) for value in rng.normal(k, 0.5, size=20))
    path.write_text("$x_$,price_$range$\n" + "".join(rows))
    out = tmp_path / "out"
    result = run("fit", path, "--target", "price_$range$", "--models", "logistic", "--time", "none", "--out", out)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text()
    assert "$5_$10" in page and "could not be drawn" not in page


def test_a_report_that_fails_costs_the_report_alone(run, table, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise ZeroDivisionError("no such figure")

    monkeypatch.setattr(study.Study, "report", fails)
    out = tmp_path / "out"
    result = run("fit", table, "--target", "y", "--models", "linear", "--out", out)
    assert result.exit_code == 0
    assert "Note: No report was written (ZeroDivisionError: no such figure)." in result.stderr
    assert {"model.credo", "leaderboard.csv", "held_out.csv"} == {path.name for path in out.iterdir()}
    assert run("show", out / "model.credo").exit_code == 0


@pytest.fixture
def model(run, table, tmp_path, without_report):
    run("fit", table, "--target", "y", "--models", "linear", "--select", "linear", "--out", tmp_path / "out")
    return tmp_path / "out" / "model.credo"


@pytest.mark.parametrize("column", ["x", "flag"])
def test_one_absurd_cell_is_pointed_at_and_the_others_are_predicted(column, run, model, tmp_path):
    new = tmp_path / "new.csv"
    cells = {"x": "1e308,0", "flag": "0,1e308"}[column]
    new.write_text(f"x,flag\n0.5,1\n{cells}\n0.1,0\n")
    result = run("predict", model, new)
    assert result.exit_code == 0, result.output
    found = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["row"] for row in found] == ["1", "2", "3"]
    assert [bool(row["outside"]) for row in found] == [False, True, False]
    assert f"{column} = 1e+308" in found[1]["outside"]
    assert all(np.isfinite(float(row["mean"])) for row in found)


def test_a_blank_line_of_one_column_keeps_its_number(run, tmp_path, without_report):
    rng = np.random.default_rng(0)
    path, new = tmp_path / "table.csv", tmp_path / "new.csv"
    path.write_text("x,y\n" + "".join(f"{x},{2 * x + 0.1 * rng.normal()}\n" for x in rng.normal(size=40)))
    new.write_text("x\n1\n\n3\n")
    run("fit", path, "--target", "y", "--models", "linear", "--select", "linear", "--out", tmp_path / "out")
    result = run("predict", tmp_path / "out" / "model.credo", new)
    found = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["row"] for row in found] == ["1", "2", "3"]
    assert [round(float(row["mean"])) for row in found[::2]] == [2, 6]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("prize", "the table has no target 'prize' (did you mean 'price'?); it has 'id', 'x', 'price'"),
        ("x", "the target 'x' has no value in any row"),
    ],
)
def test_an_identifier_and_a_target_that_is_not_there(target, words, run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,x,price\n" + "".join(f"{i},,{i * 1.5}\n" for i in range(30)))
    result = run("fit", path, "--target", target, "--out", tmp_path / "out")
    assert result.exit_code == 1 and words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_table_of_nothing_but_an_identifier_says_so(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,price\n" + "".join(f"{i},{i * 1.5}\n" for i in range(30)))
    result = run("fit", path, "--target", "price", "--out", tmp_path / "out")
    assert result.exit_code == 1 and "identif" in result.stderr
