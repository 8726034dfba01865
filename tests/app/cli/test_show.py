"""`credo show`: what a model file holds."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study.catalogue import MODELS
from credo.tables import load


def test_a_person_reads_kind_target_columns_and_parameters(run, fitted):
    result = run("show", fitted / "model.credo")
    assert result.exit_code == 0, result.stderr
    facts = {line[:16].strip(): line[17:] for line in result.stdout.splitlines()[:7]}
    assert facts["model"] in {"Linear regression by least squares", "Bayesian linear regression"}
    assert facts["equation"].startswith("y = ")
    assert facts["target"] == "price"
    assert "size (numeric)" in facts["columns"]
    assert "colour (categorical)" in facts["columns"]
    for effect in load(fitted / "model.credo").describe().effects:
        assert re.search(rf"^{effect.name} +{effect.estimate:.5g} ", result.stdout, re.MULTILINE)


def test_json_holds_the_parameters(run, fitted):
    record = json.loads(run("show", fitted / "model.credo", "--json").stdout)
    assert {column["name"]: column["kind"] for column in record["columns"]} == {
        "size": "numeric",
        "age": "numeric",
        "colour": "categorical",
    }
    table = load(fitted / "model.credo").summary()
    assert record["parameters"]["estimate"] == pytest.approx(table.columns["estimate"])
    assert record["parameters"]["upper"] == pytest.approx(table.columns["upper"])


def test_a_model_that_was_saved_from_python_is_shown_as_well(run, tmp_path):
    X = np.arange(10.0)[:, None]
    model = credo.BayesianLinearRegression().fit(X, 2 * X[:, 0] + np.tile([0.1, -0.1], 5))
    credo.save(model, tmp_path / "line.credo")
    record = json.loads(run("show", tmp_path / "line.credo", "--json").stdout)
    assert record["model"] == "Bayesian linear regression"
    assert record["log_evidence"] == model.log_evidence_
    assert record["target"] is None


def test_every_model_runs_and_is_shown(run, data, tmp_path, without_report, short_searches):
    result = run(
        "fit", data, "--target", "price", "--out", tmp_path, *["--cv", "2", "--time", "none", "--keep", "all", "--json"]
    )
    assert result.exit_code == 0, result.stderr
    board = {line["name"]: line for line in json.loads(result.stdout)["leaderboard"]}
    offered = {spec.name for spec in MODELS["regression"] if spec.default} | {"average"}
    assert set(board) == offered - {"naive", "naive-season", "gp-time", "counts", "hurdle", "log-normal", "weibull"}
    assert all(line["error"] is None for line in board.values())
    # The price is linear in its columns, so nothing but a mean of neighbours may be far from the noise, whose deviation
    # is 5.
    smooth = [line for name, line in board.items() if name not in {"baseline", "boosting", "forest"}]
    assert all(4 < line["rmse"] < 8 for line in smooth), board
    for name in board.keys() - {"baseline", "average"}:
        check_shown(run, tmp_path / f"{name}.credo", data, name)


@pytest.mark.parametrize("name", ["lms", "linear-log"])
def test_a_model_on_request_is_shown(run, data, tmp_path, without_report, name):
    fit = run("fit", data, "--target", "price", "--models", name, "--out", tmp_path, "--cv", 2)
    assert fit.exit_code == 0, fit.stderr
    check_shown(run, tmp_path / "model.credo", data, name)


def check_shown(run, model, data, name):
    result = run("show", model, "--debug")
    assert result.exit_code == 0, result.stderr
    assert re.search("intercept|length ?scale|residual|expert|member|out.of.bag|importance", result.stdout), name
    # A column without any number says nothing; JSON holds it all the same.
    assert " nan" not in result.stdout
    assert run("predict", model, data).stdout.startswith("row,mean,std,lower,upper,outside\n1,"), name


@pytest.fixture
def wide(tmp_path):
    """A model of 60 columns, of which three matter, and one that names towns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 60))).add_prefix("g").assign(town=rng.choice(["Ulm", "Bonn"], 120))
    y = 5 * frame["g7"] - 50 * frame["g30"] + 0.5 * frame["g59"] + 0.01 * rng.normal(size=120)
    credo.save(credo.tables.TableModel(None, credo.LinearRegression(), "y").fit(frame, y), tmp_path / "wide.credo")
    return tmp_path / "wide.credo"


def test_many_columns_are_counted_and_the_surest_parameters_shown(run, wide):
    out = run("show", wide).stdout
    assert "columns          61: 60 numeric, 1 categorical" in out
    lines = out[out.index("parameter") :].splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["intercept", "g30", "g7", "g59"]
    assert "… and 41 more, less significant than these; --all shows every one" in lines
    assert len([line for line in lines if line.startswith("g")]) <= 20


def test_all_shows_every_column_and_parameter(run, wide):
    out = run("show", wide, "--all").stdout
    assert "g0 (numeric), g1 (numeric)" in out
    assert all(f"\n{name} " in out for name in load(wide).summary().columns["parameter"])
    record = json.loads(run("show", wide, "--json").stdout)
    assert len(record["columns"]) == 61
    assert len(record["parameters"]["estimate"]) == 62


def test_without_intervals_the_parameters_of_the_largest_effect_are_shown(run, tmp_path):
    X = np.random.default_rng(1).normal(size=(80, 30))
    credo.save(credo.LMSRegression(random_state=0).fit(X, X[:, 27] - 2 * X[:, 3]), tmp_path / "lms.credo")
    out = run("show", tmp_path / "lms.credo").stdout
    assert "… and 10 more, with smaller effects; --all shows every one" in out
    lines = out[out.index("parameter") :].splitlines()
    assert "sd" not in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["intercept", "x3", "x27"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_words_of_a_penalised_model_come_by_their_effect(run, tmp_path, n_classes):
    rng = np.random.default_rng(0)
    words = [f"w{i:02d}" for i in range(40)]
    said = [" ".join(rng.choice(words, size=12)) for _ in range(300)]
    frame = pd.DataFrame({"text": said, "dose": 1000 * rng.normal(size=300)})
    has = np.array([("w33" in text) + 2 * ("w07" in text) for text in said]) + 0.002 * frame["dose"].to_numpy()
    y = np.digitize(has, [1.0] if n_classes == 2 else [0.5, 2.0])
    model = credo.tables.TableModel(None, credo.LogisticRegression(alpha=1.0), "y").fit(frame, y)
    credo.save(model, tmp_path / "text.credo")
    out = run("show", tmp_path / "text.credo").stdout
    lines = out[out.index("parameter") :].splitlines()[1:]
    strong = ("w33", "w07", "dose")
    if n_classes == 2:
        # In the units of the table the weight of the dose is a thousand times smaller than what it does.
        assert lines[0].startswith("intercept")
        assert sorted(next(name for name in strong if name in line) for line in lines[1:4]) == sorted(strong)
    else:
        assert all(any(name in line for name in strong) for line in lines[:6])
        assert not any("intercept" in line for line in lines)
    assert "with smaller effects" in out


def test_a_pipeline_is_told_with_its_steps(run, data, tmp_path, without_report):
    run("fit", data, "--target", "price", "--models", "polynomial", "--out", tmp_path, "--cv", 2)
    record = json.loads(run("show", tmp_path / "model.credo", "--json").stdout)
    assert record["model"] == "Bayesian linear regression after polynomial"


def test_a_spike_and_slab_is_shown_by_inclusion_in_the_units_of_the_table(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd")) * [1.0, 1000.0, 1.0, 1.0] + 5.0
    y = 0.004 * frame["b"] + frame["d"] + 0.1 * rng.normal(size=80)
    model = credo.tables.TableModel(None, credo.SpikeSlabRegressor(slab="g"), "y").fit(frame, y)
    credo.save(model, tmp_path / "spike.credo")
    parameters = json.loads(run("show", tmp_path / "spike.credo", "--json").stdout)["parameters"]
    table = dict(zip(parameters["parameter"], parameters["estimate"], strict=True))
    assert set(parameters["parameter"][1:3]) == {"b", "d"}
    assert parameters["inclusion"][1:] == sorted(parameters["inclusion"][1:], reverse=True)
    # Where all columns are zero the prediction is the intercept, and along one it rises by its estimate.
    zero = pd.DataFrame(np.zeros((1, 4)), columns=list("abcd"))
    assert table["intercept"] == pytest.approx(model.predict(zero)[0])
    assert table["b"] == pytest.approx(model.predict(zero.assign(b=1.0))[0] - model.predict(zero)[0], abs=1e-9)
    assert "inclusion" in run("show", tmp_path / "spike.credo").stdout


def test_of_many_weights_those_that_are_not_zero_are_shown(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 60))).add_prefix("g")
    frame["g7"] *= 1000.0
    y = 0.05 * frame["g7"] - 5 * frame["g30"] + 0.01 * rng.normal(size=120)
    model = credo.tables.TableModel(None, credo.Lasso(alpha=0.5), "y").fit(frame, y)
    credo.save(model, tmp_path / "lasso.credo")
    out = run("show", tmp_path / "lasso.credo").stdout
    lines = out[out.index("parameter") :].splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["intercept", "g7", "g30"]
    assert "2 of 60 columns have a nonzero coefficient" in out
    assert float(lines[2].split()[1]) == pytest.approx(0.05, rel=0.05)
