"""The probability that each input matters, as numbers: `inclusions.csv` and `--json` of `credo fit`."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from credo.cli._inclusions import inclusions

from credo.io import Preparation, TableModel
from credo.report._inclusions import inclusions as shown
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor


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
    assert not (tmp_path / "out" / "inclusions.csv").exists() and "not of this run" not in result.stderr
    (tmp_path / "out" / "inclusions.csv").write_text("an older one")
    result = run(*arguments)
    assert f"{tmp_path / 'out' / 'inclusions.csv'} is not of this run" in result.stderr
    assert (tmp_path / "out" / "inclusions.csv").read_text() == "an older one"


def test_data_of_that_name_is_not_overwritten(run, frame, tmp_path):
    path = tmp_path / "inclusions.csv"
    frame.to_csv(path, index=False)
    result = run("fit", path, "--target", "price", "--out", tmp_path)
    assert result.exit_code == 1
    assert "is an input and would be overwritten" in result.stderr


def test_levels_words_and_numbers_are_those_of_the_reports_figure():
    rng = np.random.default_rng(0)
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    text = [f"{' '.join(rng.choice(said, size=3, replace=False))} no {i}" for i in range(80)]
    frame = pd.DataFrame({"text": text, "soil": rng.choice(["sand", "clay", "peat"], size=80)})
    frame["dose"] = rng.normal(size=80)
    y = np.where([("win" in words) ^ (rng.uniform() < 0.05) for words in text], "spam", "ham")
    model = TableModel(Preparation(standardize=True), SpikeSlabClassifier("beta-binomial"), "y")
    with pytest.warns(UserWarning, match="depend on each other"):
        model.fit(frame, y)
    found, figure = inclusions({"spike-slab": model}), shown({"spike-slab": model}, frame, y)
    assert [each["name"] for each in found] == [figure.names[i] for i in figure.order]
    assert [each["inclusion_probability"] for each in found] == pytest.approx(figure.values[figure.order])
    assert {"soil", "dose"} < {each["name"] for each in found} and "win" in found[0]["name"]


def test_copies_share_a_probability_and_have_that_of_the_reports_bar_together():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["rain", "wind", "dust"]).assign(flat=1.0)
    frame["rain_mm"] = 3 + 25.4 * frame["rain"]
    y = frame["rain"] - 0.3 * frame["wind"] + rng.normal(size=60)
    for kind, target in ((SpikeSlabRegressor("beta-binomial", slab="g"), y), (SpikeSlabClassifier(), y > 0)):
        model = TableModel(Preparation(standardize=True), kind, "y")
        with pytest.warns(UserWarning, match="copies of each other"):
            model.fit(frame, target.to_numpy())
        found, figure = inclusions({"spike-slab": model}), shown({"spike-slab": model}, frame, target.to_numpy())
        own, together = (
            {each["name"]: each[key] for each in found} for key in ("inclusion_probability", "with_copies")
        )
        assert together["rain"] == together["rain_mm"] == pytest.approx(figure.value("rain"))
        assert together["rain"] > own["rain"] + 0.2 and own["rain"] == pytest.approx(own["rain_mm"])
        assert together["wind"] == own["wind"] == pytest.approx(figure.value("wind"))
        assert list(together.values()) == sorted(together.values(), reverse=True)


def test_the_help_names_the_file(run):
    words = re.sub(r"\s+", " ", run("fit", "--help").stdout).replace("- ", "-")
    assert "where spike-slab is among the models inclusions.csv: the probability that each input matters" in words
