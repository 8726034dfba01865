"""The probability that each input matters, as numbers: `inclusions.csv` and `--json` of `credo fit`."""

import csv
import json
import re

import pytest

from credo.sparse import SpikeSlabRegressor
from credo.tables import Preparation


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_probabilities_are_those_of_the_model_on_all_rows(run, data, frame, tmp_path, without_report):
    out = tmp_path / "out"
    result = run("fit", data, "--target", "price", "--models", "linear,spike-slab", "--out", out, "--cv", 2)
    assert result.exit_code == 0, result.stderr
    assert f"Inclusions   {out / 'inclusions.csv'}" in result.stdout
    rows = table(out / "inclusions.csv")
    X, y = frame.drop(columns="price"), frame["price"].to_numpy()
    prepared = Preparation(standardize=True).fit(X)
    direct = SpikeSlabRegressor("beta-binomial", slab="g").fit(prepared.transform(X), y)
    sources = prepared.sources()
    expected = {
        name: direct.inclusion_of([j for j, source in enumerate(sources) if source == name]) for name in X.columns
    }
    assert {row["name"]: float(row["inclusion_probability"]) for row in rows} == pytest.approx(expected, rel=1e-9)
    assert {row["model"] for row in rows} == {"spike-slab"}
    values = [float(row["inclusion_probability"]) for row in rows]
    assert values == sorted(values, reverse=True)


def test_json_has_the_same_numbers(run, data, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "spike-slab", "--out", tmp_path, "--cv", 2, "--json")
    record = json.loads(run(*arguments).stdout)
    rows = table(tmp_path / "inclusions.csv")
    assert [(each["name"], each["inclusion_probability"]) for each in record["inclusions"]] == [
        (row["name"], float(row["inclusion_probability"])) for row in rows
    ]
    assert record["outputs"]["inclusions"] == str(tmp_path / "inclusions.csv")


def test_without_spike_and_slab_there_are_none_and_an_older_file_is_pointed_out(run, data, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "linear", "--out", tmp_path / "out", "--cv", 2, "--json")
    result = run(*arguments)
    record = json.loads(result.stdout)
    assert record["inclusions"] == [] and "inclusions" not in record["outputs"]
    assert not (tmp_path / "out" / "inclusions.csv").exists() and "an earlier run" not in result.stderr
    (tmp_path / "out" / "inclusions.csv").write_text("an older one")
    result = run(*arguments)
    assert f"{tmp_path / 'out' / 'inclusions.csv'} is from an earlier run" in result.stderr
    assert (tmp_path / "out" / "inclusions.csv").read_text() == "an older one"


def test_data_of_that_name_is_not_overwritten(run, frame, tmp_path):
    path = tmp_path / "inclusions.csv"
    frame.to_csv(path, index=False)
    result = run("fit", path, "--target", "price", "--out", tmp_path)
    assert result.exit_code == 1
    assert "is an input file and would be overwritten" in result.stderr


def test_the_help_names_the_file(run):
    words = re.sub(r"\s+", " ", run("fit", "--help").stdout).replace("- ", "-")
    assert "if spike-slab is among the models, inclusions.csv: the probability that each input matters" in words
