"""`credo show`: what a model file holds."""

import json

import numpy as np
import pytest

import credo
from credo.cli._models import NAMES
from credo.io import load


def test_a_person_reads_kind_target_columns_and_parameters(run, fitted):
    result = run("show", fitted / "model.credo")
    assert result.exit_code == 0, result.stderr
    facts = {line[:16].strip(): line[17:] for line in result.stdout.splitlines()[:6]}
    assert facts["model"] in {"LinearRegression", "BayesianLinearRegression"}
    assert facts["target"] == "price"
    assert "size (numeric)" in facts["columns"]
    assert "colour (categorical)" in facts["columns"]
    assert str(load(fitted / "model.credo").summary()) in result.stdout


def test_json_holds_the_parameters(run, fitted):
    record = json.loads(run("show", fitted / "model.credo", "--json").stdout)
    assert {column["name"]: column["kind"] for column in record["columns"]} == {
        "size": "numeric",
        "age": "numeric",
        "colour": "categorical",
    }
    table = load(fitted / "model.credo").summary()
    assert list(record["parameters"]) == list(table.columns)
    assert all(len(values) == len(table) for values in record["parameters"].values())


def test_a_model_that_was_saved_from_python_is_shown_as_well(run, tmp_path):
    X = np.arange(10.0)[:, None]
    model = credo.BayesianLinearRegression().fit(X, 2 * X[:, 0] + np.tile([0.1, -0.1], 5))
    credo.save(model, tmp_path / "line.credo")
    record = json.loads(run("show", tmp_path / "line.credo", "--json").stdout)
    assert record["model"] == "BayesianLinearRegression"
    assert record["log_evidence"] == model.log_evidence_
    assert record["target"] is None


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_model_is_shown(run, data, tmp_path, without_report, name):
    fit = run("fit", data, "--target", "price", "--models", name, "--out", tmp_path, "--cv", 2)
    assert fit.exit_code == 0, fit.stderr
    result = run("show", tmp_path / "model.credo", "--debug")
    assert result.exit_code == 0, result.stderr
    assert "intercept" in result.stdout
    assert run("predict", tmp_path / "model.credo", data).stdout.startswith("row,mean,std,lower,upper\n1,")
