"""`credo predict`: the numbers of the model, row by row, as CSV or JSON."""

import csv
import io
import json

import numpy as np
import pytest

from credo.tables import load


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def column(lines, name):
    return np.array([float(line[name]) for line in lines])


def test_csv_on_stdout_holds_the_distribution_of_each_row(run, fitted, frame):
    result = run("predict", fitted / "model.credo", fitted / "houses.csv")
    assert result.exit_code == 0, result.stderr
    lines = rows(result.stdout)
    assert list(lines[0]) == ["row", "mean", "std", "lower", "upper", "outside"]
    assert [line["row"] for line in lines] == [str(i) for i in range(1, 81)]
    dist = load(fitted / "model.credo").predict_dist(frame.drop(columns="price"))
    np.testing.assert_allclose(column(lines, "mean"), dist.mean, atol=5e-4 * dist.std.max())
    np.testing.assert_allclose(column(lines, "std"), dist.std, atol=5e-4 * dist.std.max())
    np.testing.assert_allclose(column(lines, "lower"), dist.interval(0.95)[0], atol=5e-4 * dist.std.max())
    np.testing.assert_allclose(column(lines, "upper"), dist.interval(0.95)[1], atol=5e-4 * dist.std.max())


def test_level_widens_the_interval(run, fitted):
    narrow, wide = (
        rows(run("predict", fitted / "model.credo", fitted / "houses.csv", "--level", level).stdout)
        for level in (0.5, 0.99)
    )
    assert np.all(column(wide, "lower") < column(narrow, "lower"))
    assert np.all(column(wide, "upper") > column(narrow, "upper"))
    np.testing.assert_array_equal(column(wide, "mean"), column(narrow, "mean"))


@pytest.mark.parametrize("level", ["0", "1", "95", "-0.5"])
def test_a_wrong_level_is_wrong_usage(run, fitted, level):
    result = run("predict", fitted / "model.credo", fitted / "houses.csv", "--level", level)
    assert result.exit_code == 2
    assert "strictly between 0 and 1" in result.stderr


def test_a_file_holds_what_stdout_would(run, fitted, tmp_path):
    arguments = ("predict", fitted / "model.credo", fitted / "houses.csv")
    result = run(*arguments, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "80 predictions written to" in result.stderr
    assert (tmp_path / "out.csv").read_text() == run(*arguments).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_json_holds_the_same_numbers(run, fitted):
    arguments = ("predict", fitted / "model.credo", fitted / "houses.csv", "--level", 0.8)
    record = json.loads(run(*arguments, "--json").stdout)
    lines = rows(run(*arguments).stdout)
    assert record["level"] == 0.8
    assert len(record["predictions"]) == 80
    std = column(lines, "std")
    for key in ("row", "mean", "std", "lower", "upper"):
        exact = np.array([line[key] for line in record["predictions"]])
        assert np.all(np.abs(exact - column(lines, key)) <= 5.1e-4 * std)
    # Four digits of the standard deviation.
    assert all(len(line["std"].replace(".", "").strip("0")) <= 4 for line in lines)


def test_quantiles_have_columns_of_their_own(run, fitted, frame):
    result = run("predict", fitted / "model.credo", fitted / "houses.csv", "--quantiles", ".05, 0.5,.95")
    lines = rows(result.stdout)
    assert list(lines[0])[-4:] == ["q0.05", "q0.5", "q0.95", "outside"]
    dist = load(fitted / "model.credo").predict_dist(frame.drop(columns="price"))
    np.testing.assert_allclose(column(lines, "q0.05"), dist.quantile(0.05), atol=5e-4 * dist.std.max())
    for wrong in ("5,95", "half"):
        refused = run("predict", fitted / "model.credo", fitted / "houses.csv", "--quantiles", wrong)
        assert refused.exit_code == 2 and "strictly between 0 and 1" in refused.stderr


def test_the_order_of_columns_and_further_ones_do_not_matter(run, fitted, frame, tmp_path):
    frame.drop(columns="price")[["colour", "age", "size"]].assign(extra=1).to_csv(tmp_path / "new.csv", index=False)
    found = run("predict", fitted / "model.credo", tmp_path / "new.csv")
    assert found.exit_code == 0, found.stderr
    assert found.stdout == run("predict", fitted / "model.credo", fitted / "houses.csv").stdout
    assert "extra" in found.stderr


def test_a_missing_column_exits_with_1_and_its_name(run, fitted, frame, tmp_path):
    frame.drop(columns=["price", "age"]).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", fitted / "model.credo", tmp_path / "new.csv")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "age" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_model_exits_with_1(run, fitted):
    result = run("predict", fitted / "houses.csv", fitted / "houses.csv")
    assert result.exit_code == 1
    assert "houses.csv" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", ["model.credo", "houses.csv"])
def test_an_input_is_never_overwritten(run, fitted, name):
    before = (fitted / name).read_bytes()
    result = run("predict", fitted / "model.credo", fitted / "houses.csv", "-o", fitted / name)
    assert result.exit_code == 1
    assert "is an input file and would be overwritten" in result.stderr
    assert (fitted / name).read_bytes() == before


def test_rows_are_those_of_the_file_when_empty_ones_are_left_out(run, fitted, frame, tmp_path):
    lines = frame[:3].to_csv(index=False).splitlines()
    (tmp_path / "gap.csv").write_text("\n".join([*lines[:2], ",,,", *lines[2:]]) + "\n")
    result = run("predict", fitted / "model.credo", tmp_path / "gap.csv")
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["row", "1", "3", "4"]


def test_rows_outside_the_training_range_are_flagged_and_noted(run, fitted, frame, tmp_path):
    new = frame.drop(columns="price").head(3).assign(size=[50.0, 5000.0, 50.0], colour=["red", "red", "mauve"])
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", fitted / "model.credo", tmp_path / "new.csv")
    outside = [line["outside"] for line in rows(result.stdout)]
    assert outside[0] == "" and "size" in outside[1] and "colour" in outside[2]
    assert "outside" in result.stderr
    lines = rows(result.stdout)
    # An unseen colour is predicted with more doubt than a known one.
    assert float(lines[2]["std"]) > float(lines[0]["std"])


def test_quiet_prints_no_notes(run, fitted, frame, tmp_path):
    frame.drop(columns="price").assign(extra=1, size=5000.0).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", fitted / "model.credo", tmp_path / "new.csv", "--quiet")
    assert result.stderr == ""
    assert len(rows(result.stdout)) == 80


def test_columns_that_identify_the_rows_are_carried_along(run, frame, tmp_path, without_report):
    named = frame.assign(id=[f"house-{i:03}" for i in range(80)])[["id", *frame.columns]]
    named.to_csv(tmp_path / "named.csv", index=False)
    arguments = ("fit", tmp_path / "named.csv", "--target", "price", "--models", "linear", "--folds", 2)
    assert run(*arguments, "--out", tmp_path).exit_code == 0
    lines = rows(run("predict", tmp_path / "model.credo", tmp_path / "named.csv").stdout)
    assert list(lines[0])[:3] == ["row", "id", "mean"]
    assert [line["id"] for line in lines] == named["id"].tolist()
