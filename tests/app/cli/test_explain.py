"""`credo explain`: a table, JSON and a figure of what each input adds to a prediction."""

import json
import re

import numpy as np
import pytest

from credo.tables import load


def test_contributions_add_up_to_the_prediction(run, fitted, frame):
    result = run("explain", fitted / "model.credo", fitted / "houses.csv", "--row", 5, "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    model = load(fitted / "model.credo")
    assert record["prediction"] == pytest.approx(model.predict(frame)[4])
    # All 80 rows are the background, so that the average is that of the table.
    assert record["background_rows"] == 80
    assert record["average"] == pytest.approx(model.predict(frame).mean())
    lines = {line["input"]: line for line in record["contributions"]}
    total = sum(line["contribution"] for line in lines.values())
    assert record["average"] + total == pytest.approx(record["prediction"])
    # About 3 a unit of the size, and −2 a year.
    slope = lines["size"]["contribution"] / (frame["size"][4] - frame["size"].mean())
    assert slope == pytest.approx(3, abs=0.3)
    assert lines["colour"]["value"] == frame["colour"][4]
    assert {line["standard_error"] for line in lines.values()} == {0.0}


def test_a_person_reads_a_table_and_a_sentence(run, fitted, frame):
    out = run("explain", fitted / "model.credo", fitted / "houses.csv", "--row", 5).stdout
    assert re.search(rf"^size +{frame['size'][4]:.5g} +-?\d", out, re.MULTILINE)
    assert re.search(r"^Row 5: predicted price [\d.]+, which is [\d.]+ (above|below) [\d.]+, the average", out, re.M)


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("PNG", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_figure_is_written(run, fitted, tmp_path, suffix, start):
    path = tmp_path / f"why.{suffix}"
    result = run("explain", fitted / "model.credo", fitted / "houses.csv", "--row", 1, "-o", path)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(start)
    assert f"Figure written to {path}" in result.stderr


def test_another_table_to_compare_with(run, fitted, frame, tmp_path):
    frame.drop(columns="price").head(1).to_csv(tmp_path / "new.csv", index=False)
    alone = run("explain", fitted / "model.credo", tmp_path / "new.csv", "--row", 1)
    assert alone.exit_code == 1 and "the background has fewer than two rows" in alone.stderr
    found = run(
        "explain", fitted / "model.credo", tmp_path / "new.csv", "--row", 1, "--background", fitted / "houses.csv"
    )
    same = run("explain", fitted / "model.credo", fitted / "houses.csv", "--row", 1)
    assert found.exit_code == 0 and found.stdout == same.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", 81], "81 is more than the 80 rows"),
        (["--row", 1, "-o", "a.txt"], "a.txt must end in .svg"),
        ([], "--row"),
    ],
)
def test_wrong_usage_is_said(run, fitted, options, message):
    result = run("explain", fitted / "model.credo", fitted / "houses.csv", *options)
    assert result.exit_code == 2 and message in result.stderr


def test_the_model_file_is_never_overwritten(run, fitted, tmp_path):
    model = tmp_path / "model.svg"
    model.write_bytes((fitted / "model.credo").read_bytes())
    result = run("explain", model, fitted / "houses.csv", "--row", 1, "-o", model)
    assert result.exit_code == 1 and "would be overwritten" in result.stderr
    assert np.isfinite(load(model).predict({"size": [50.0], "age": [3.0], "colour": ["red"]})).all()
