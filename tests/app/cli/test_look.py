"""`credo look`: a table in ten lines."""

import json

import numpy as np
import pandas as pd
import pytest

from credo.study import look


@pytest.fixture
def trial(tmp_path):
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(1, 31), 7)
    age = rng.integers(20, 80, 30)[patient - 1]
    growth = rng.normal(size=210).round(3)
    frame = pd.DataFrame(
        {
            "patient": patient,
            "age": age,
            "temperature": np.where(rng.random(210) < 0.1, -999, rng.normal(37, 1, 210).round(1)),
            "dose": [f"{value} mg" for value in rng.integers(1, 9, 210)],
            "site": rng.choice(["Ulm", "Bonn"], 210),
            "code": [f"x{i}" for i in range(210)],
            "twice": 2 * growth,
            "growth": growth,
        }
    )
    frame.to_csv(tmp_path / "trial.csv", index=False)
    return tmp_path / "trial.csv"


def test_a_profile_in_ten_lines(run, trial):
    result = run("look", trial, "--target", "growth")
    assert result.exit_code == 0, result.stderr
    lines = {line[:11].strip(): line[12:] for line in result.stdout.splitlines()}
    assert len(lines) <= 10
    assert lines["trial.csv"] == "210 rows, 8 columns"
    assert lines["target"] == "growth (regression)"
    assert lines["numbers"] == "patient, age, temperature, dose, twice"
    assert lines["categories"] == "site (2 levels)"
    assert lines["left out"] == "code (identifier)"
    assert lines["gaps"].startswith("temperature 1")
    assert lines["sentinels"] == "-999 in temperature"
    assert lines["groups"] == "patient (several rows each)"
    assert lines["leaks"] == "twice alone explains 100 %"
    assert "without the unit 'mg'" in result.stderr


def test_the_profile_as_json(run, trial):
    record = json.loads(run("look", trial, "--drop", "twice", "--kinds", "patient=category", "--json").stdout)
    assert record["rows"] == 210 and record["target"] is None and record["leaks"] == {}
    kinds = {column["name"]: column["kind"] for column in record["columns"]}
    assert kinds["patient"] == "categorical" and "twice" not in kinds
    assert record["sentinels"] == {"temperature": ["-999"]}


def test_a_time_column_and_a_wrong_name(run, tmp_path):
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60).astype(str), "load": np.arange(60.0) % 7})
    assert dict(look(frame).lines())["time"] == "day (rows in order, one row a day)"
    frame.to_csv(tmp_path / "load.csv", index=False)
    wrong = run("look", tmp_path / "load.csv", "--target", "laod")
    assert wrong.exit_code == 1 and "did you mean 'load'?" in wrong.stderr
