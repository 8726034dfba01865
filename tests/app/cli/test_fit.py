"""`credo fit` on real files: what it writes, what it prints where, and what it refuses."""

import csv
import json
import re
import shlex
import signal
from time import sleep

import numpy as np
import pandas as pd
import pytest

from credo.app.cli import _fit as fit_command
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.selection import compare
from credo.tables import Preparation, TableModel, load

OUTPUTS = {"model.credo", "report.html", "leaderboard.csv", "held_out.csv"}


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_leaderboard_is_that_of_compare(fitted, frame):
    prepared = Preparation(standardize=True).fit_transform(frame.drop(columns="price"))
    models = {"linear": LinearRegression(), "bayes": BayesianLinearRegression()}
    expected = compare(models, prepared, frame["price"].to_numpy(), random_state=0)
    with (fitted / "leaderboard.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] != "average"]
    assert [row["name"] for row in rows] == [score.name for score in expected.scores]
    for row, score in zip(rows, expected.scores, strict=True):
        # Prices are never negative, which a study knows.
        assert float(row["log_score"]) == pytest.approx(score.held_out["log_score"], rel=1e-4)
        assert float(row["rmse"]) == pytest.approx(score.held_out["rmse"], rel=1e-4)
        assert row["error"] == ""
    assert {row["name"]: row["log_evidence"] == "" for row in rows} == {
        "baseline": True,
        "linear": True,
        "bayes": False,
    }


def test_the_model_is_the_selected_one_fitted_on_all_rows(fitted, frame):
    X, y = frame.drop(columns="price"), frame["price"].to_numpy()
    models = {
        name: TableModel(Preparation(standardize=True), estimator, "price")
        for name, estimator in {"linear": LinearRegression(), "bayes": BayesianLinearRegression()}.items()
    }
    direct = models[compare(models, X, y, random_state=0).selected].fit(X, y)
    model = load(fitted / "model.credo")
    np.testing.assert_allclose(model.predict(X), direct.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict_dist(X).std, direct.predict_dist(X).std, rtol=1e-12)


def test_a_run_writes_its_files_and_nothing_else(fitted):
    assert names(fitted) == OUTPUTS | {"houses.csv"}
    page = (fitted / "report.html").read_text()
    assert "price" in page
    assert "</html>" in page


def test_the_leaderboard_is_plain_text_when_stdout_is_no_terminal(fitted_run):
    folder, result = fitted_run
    assert "\x1b" not in result.stdout + result.stderr
    header, first, second = re.findall(r"^(?:model|linear|bayes) .*$", result.stdout, re.MULTILINE)
    assert " ".join(header.split()) == "model log score RMSE CRPS coverage log evidence seconds"
    assert {first.split()[0], second.split()[0]} == {"linear", "bayes"}
    assert f"Report       {folder / 'report.html'}" in result.stdout
    assert "Next: credo show" in result.stdout
    assert "Fitting linear" in result.stderr
    assert "Fitting" not in result.stdout


def test_json_is_alone_on_stdout_and_matches_the_files(run, data, tmp_path, without_report):
    result = run("fit", data, "--target", "price", "--models", "bayes,linear", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert (record["rows"], record["columns"], record["target"], record["folds"]) == (80, 3, "price", 5)
    with (tmp_path / "leaderboard.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [line["name"] for line in record["leaderboard"]] == [row["name"] for row in rows]
    assert record["selected"] in {row["name"] for row in rows}
    assert record["leaderboard"][0]["log_score"] == float(rows[0]["log_score"])
    assert set(record["outputs"]) == {"model", "leaderboard", "held_out"}
    events = [json.loads(line)["progress"] for line in result.stderr.splitlines() if line.startswith("{")]
    assert [event["running"] for event in events][:2] == ["baseline", "baseline"] and events[-1]["running"] is None
    assert [line["name"] for line in events[-1]["leaderboard"]] == [row["name"] for row in rows]


def test_kinds_of_columns_can_be_given_and_columns_dropped(run, data, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "linear", "--out", tmp_path)
    for option in ("--kinds=size=number,no such column=text", "--drop=no such column"):
        refused = run(*arguments, option)
        assert refused.exit_code == 1 and "no such column" in refused.stderr
    assert run(*arguments, "--kinds", "size").exit_code == 2
    assert run(*arguments, "--kinds", "size=category,age=number", "--drop", "colour").exit_code == 0
    kinds = {column.name: column.kind for column in load(tmp_path / "model.credo").preparation_.columns_}
    assert kinds == {"size": "categorical", "age": "numeric"}
    wrong = run(*arguments, "--kinds", "size=numbr")
    assert wrong.exit_code == 1 and "did you mean 'number'?" in wrong.stderr


def test_a_sentinel_is_missing_unless_it_is_kept(run, frame, tmp_path, without_report):
    coded = frame.copy()
    coded.loc[::20, "age"] = -999
    coded.loc[[7, 9], "price"] = -9999
    coded.to_csv(tmp_path / "coded.csv", index=False)
    arguments = ("fit", tmp_path / "coded.csv", "--target", "price", "--models", "linear", "--out", tmp_path / "out")
    result = run(*arguments)
    assert "Column 'age': -999 (4 rows) was treated as missing" in result.stderr
    assert "Left out 2 rows whose target 'price' is missing" in result.stderr
    assert "-999" not in run(*arguments, "--keep-sentinels").stderr


def test_quiet_prints_nothing(run, data, tmp_path, without_report):
    result = run("fit", data, "--target", "price", "--models", "linear", "--out", tmp_path, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert names(tmp_path) >= OUTPUTS - {"report.html"}


def test_the_same_seed_gives_the_same_scores(run, data, tmp_path, without_report):
    def scores(seed):
        result = run(
            "fit",
            data,
            "--target",
            "price",
            "--models",
            "linear",
            "--seed",
            seed,
            "--out",
            tmp_path,
            "--json",
        )
        return [line["log_score"] for line in json.loads(result.stdout)["leaderboard"]]

    assert scores(3) == scores(3) != scores(4)


def test_notes_about_the_table_are_shown(run, tmp_path, frame, without_report):
    worn = frame.assign(constant=1)
    worn.loc[[3, 9], "age"] = np.nan
    worn.loc[[5], "price"] = np.nan
    worn.to_csv(tmp_path / "worn.csv", index=False)
    result = run("fit", tmp_path / "worn.csv", "--target", "price", "--models", "linear", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert record["rows"] == 79
    for column in ("constant", "age", "price"):
        assert any(column in note for note in record["notes"]), record["notes"]
    for note in record["notes"]:
        assert f"Note: {note}" in result.stderr


def test_options_say_how_to_read_the_table(run, tmp_path, frame, without_report):
    path = tmp_path / "european.csv"
    worn = frame.copy()
    worn.loc[[0, 1], "age"] = np.nan
    worn.to_csv(path, index=False, sep=";", decimal=",", na_rep="nichts", encoding="utf-16")
    result = run(
        *("fit", path, "--target", "price", "--models", "linear", "--out", tmp_path / "out", "--json"),
        *("--separator", ";", "--decimal", ",", "--na", "nichts,nix", "--encoding", "utf-16"),
    )
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert (record["rows"], record["columns"]) == (80, 3)
    assert record["leaderboard"][0]["rmse"] < 10
    # Words that counted as missing still do.
    options = ("--separator", ";", "--decimal", ",", "--encoding", "utf-16")
    assert run("predict", tmp_path / "out/model.credo", path, *options).exit_code == 0
    bare = run("fit", path, "--target", "column_4", "--no-header", "--models", "linear", "--out", tmp_path / "bare")
    assert "header" not in bare.stderr and "column_4" in bare.stderr


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("size,age,price\n1,2,3\n4,5,6\n", "prise", "price"),
        ("size,name\n1,ann\n2,bob\n3,cat\n", "name", "name"),
        ("", "price", ""),
        ("size,price\n", "price", ""),
        ("size,price\n1,2\n", "price", ""),
        ("size,price\n1,\n2,\n", "price", "price"),
    ],
    ids=["wrong name", "words as target", "empty", "header only", "one row", "target missing"],
)
def test_data_that_can_not_be_used_exit_with_1_and_a_sentence(run, tmp_path, text, target, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run("fit", path, "--target", target, "--out", tmp_path / "out")
    assert result.exit_code == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert "unexpected" not in last
    assert words in last
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_output_never_replaces_the_data(run, tmp_path, frame):
    path = tmp_path / "leaderboard.csv"
    frame.to_csv(path, index=False)
    before = path.read_bytes()
    result = run("fit", path, "--target", "price", "--out", tmp_path)
    assert result.exit_code == 1
    assert "is an input file and would be overwritten" in result.stderr
    assert path.read_bytes() == before


def test_without_the_libraries_of_the_report_the_rest_is_written(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None if name == "jinja2" else True)
    result = run("fit", data, "--target", "price", "--models", "linear", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert names(tmp_path / "out") == OUTPUTS - {"report.html"}
    assert "No report was written: it needs jinja2 (pip install 'credo[report]')" in result.stderr
    assert "Report " not in result.stdout


@pytest.fixture
def long_table(tmp_path):
    """A table on which least squares takes no time, and a process longer than any test waits."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1200, 5)), columns=list("abcde"))
    table["a"] += 3 * table["b"]
    table.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def _interrupted(process, while_fitting):
    """The output of a process that gets an interrupt once it has begun with a model."""
    assert any(f'"running": "{while_fitting}"' in line for line in iter(process.stderr.readline, ""))
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


def test_ctrl_c_writes_the_models_that_are_finished_and_keeps_stdout_for_json(spawn, long_table, tmp_path):
    out = tmp_path / "out"
    process = spawn(
        *("fit", long_table, "--target", "a", "--models", "linear,gp", "--time", "none"),
        *("--folds", 2, "--out", out, "--json"),
        FORCE_COLOR="1",
        NO_COLOR="1",
    )
    stdout, stderr = _interrupted(process, "gp")
    assert process.returncode == 0, stderr
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", stderr)
    assert "Traceback" not in stderr
    assert "Stopped by Ctrl-C before these models were fitted: gp" in stderr
    record = json.loads(stdout)
    assert record["selected"] == "linear"
    assert {line["name"] for line in record["leaderboard"]} == {"baseline", "linear", "average"}
    assert names(out) == OUTPUTS - {"report.html"}
    assert load(out / "model.credo").target == "a"


@pytest.mark.slow
def test_ctrl_c_before_any_model_is_finished_leaves_old_outputs_alone(spawn, long_table, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.credo").write_text("an older model")
    process = spawn(
        *("fit", long_table, "--target", "a", "--models", "gp", "--time", "none"),
        *("--folds", 2, "--out", out, "--json"),
    )
    stdout, stderr = _interrupted(process, "gp")
    assert process.returncode == 130
    assert stdout == ""
    assert "Stopped. No partial files were left." in stderr
    assert "Traceback" not in stderr
    assert names(out) == {"model.credo"}
    assert (out / "model.credo").read_text() == "an older model"


def _with_one(odd, usual, n=60):
    return [odd if i == 7 else usual(i) for i in range(n)]


@pytest.mark.parametrize(
    ("values", "ending"),
    [
        (_with_one("maybe", lambda i: ("yes", "no")[i % 2]), "csv"),
        (_with_one("31/12/2020", lambda i: f"{i % 12 + 1:02}/{i % 11 + 1:02}/2020"), "csv"),
        (_with_one("abc", lambda i: f"{i * 37 % 61 / 7:.3f}"), "parquet"),
        (_with_one("yes", lambda i: None if i == 9 else "no"), "csv"),
    ],
    ids=["a third answer", "the one date that shows the order", "a slip", "a rare answer"],
)
def test_one_cell_that_most_folds_do_not_see(values, ending, run, tmp_path, without_report):
    x = np.random.default_rng(0).normal(size=len(values))
    table, path = pd.DataFrame({"x": x, "odd": values, "y": 2 * x + 0.1 * x**2}), tmp_path / f"table.{ending}"
    (table.to_csv if ending == "csv" else table.to_parquet)(path, index=False)
    result = run("fit", path, "--target", "y", "--models", "linear,bayes", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    assert [score["error"] for score in json.loads(result.stdout)["leaderboard"]] == [None] * 4
    prediction = run("predict", tmp_path / "model.credo", path)
    assert len(prediction.stdout.splitlines()) == len(table) + 1, prediction.stderr


def test_a_terminal_that_can_not_show_a_dash_is_no_failure(spawn, data, tmp_path):
    arguments = ("fit", data, "--target", "price", "--models", "linear", "--folds", 2, "--out", tmp_path)
    process = spawn(*arguments, PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "linear" in out


def test_the_selected_model_is_named_with_what_it_is_worth(run, data, frame, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "linear", "--folds", 3, "--out", tmp_path)
    out = run(*arguments).stdout
    assert "Selected: linear (Linear regression by least squares). " in out
    line = json.loads(run(*arguments, "--json").stdout)["leaderboard"][0]
    # The error beside that of the mean, and how often the intervals held.
    below = 100 * (1 - line["rmse"] / frame["price"].std())
    found = re.search(r"That is (\d+) % below the baseline. Coverage: .*? \(([\d.]+) %\)", " ".join(out.split()))
    assert float(found[1]) == pytest.approx(below, abs=2.0)
    assert float(found[2]) == pytest.approx(100 * line["coverage"], abs=0.06)


def test_the_help_promises_what_is_done(run):
    assert "classification" in run("--help").stdout
    words = " ".join(run("fit", "--help").stdout.split()).replace("- ", "-")
    assert "on Ctrl-C, the finished models are compared and written" in words
    for option in ("--time SECONDS", "--select NAME", "--keep [selected|all]", "--shuffle", "--folds, --cv"):
        assert option in words
    assert "--task [regression|classification]" in words


def test_a_missing_target_lists_the_columns(run, data):
    result = run("fit", data)
    assert result.exit_code == 2
    assert "Missing option '--target'" in result.stderr
    assert "houses.csv has 'size', 'age', 'colour', 'price'." in " ".join(result.stderr.split())


def test_a_fit_that_is_too_good_to_be_true_is_questioned(run, frame, tmp_path, without_report):
    frame.assign(cents=100 * frame["price"]).to_csv(tmp_path / "leak.csv", index=False)
    result = run("fit", tmp_path / "leak.csv", "--target", "price", "--models", "linear", "--out", tmp_path, "--json")
    assert "another form of the target" in " ".join(json.loads(result.stdout)["notes"])
    assert "another form of the target" in result.stderr


def test_the_report_asks_a_question_about_the_file(fitted):
    page = (fitted / "report.html").read_text()
    assert "<h1>Predicting price from " in page
    assert "<span>houses.csv</span>" in page


def test_seconds_are_those_of_the_fit_without_the_preparation(run, data, tmp_path, without_report, monkeypatch):
    prepare = Preparation.fit_transform

    def slow(self, *arguments, **options):
        sleep(0.3)
        return prepare(self, *arguments, **options)

    monkeypatch.setattr(Preparation, "fit_transform", slow)
    result = run("fit", data, "--target", "price", "--models", "linear", "--cv", 2, "--out", tmp_path, "--json")
    assert json.loads(result.stdout)["leaderboard"][0]["seconds"] < 0.3


def test_select_overrides_and_says_what_would_have_been_selected(run, data, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "linear,polynomial", "--folds", 3, "--out", tmp_path)
    result = run(*arguments, "--select", "polynomial")
    assert result.exit_code == 0, result.stderr
    assert "Selected: polynomial (Bayesian linear regression after polynomial), as requested. " in result.stdout
    assert "By the held-out scores, linear would be selected." in result.stdout
    assert "after polynomial\n" in run("show", tmp_path / "model.credo").stdout
    record = json.loads(run(*arguments, "--select", "polynomial", "--json").stdout)
    assert record["selected"] == "polynomial" and "linear would be selected" in record["reason"]
    result = run(*arguments, "--select", "gp")
    assert result.exit_code == 1
    assert "select='gp' is not among the models: " in result.stderr


def test_keep_all_writes_every_model(run, data, frame, tmp_path, without_report):
    arguments = ("fit", data, "--target", "price", "--models", "linear,bayes-log", "--folds", 3, "--out", tmp_path)
    assert names(tmp_path) == {"houses.csv"}
    result = run(*arguments, "--keep", "all")
    assert result.exit_code == 0, result.stderr
    assert {"baseline.credo", "linear.credo", "bayes-log.credo", "model.credo"} <= names(tmp_path)
    assert "baseline.credo, bayes-log.credo, linear.credo" in result.stdout
    for name in ("baseline", "linear", "bayes-log"):
        model = load(tmp_path / f"{name}.credo")
        assert model.predict(frame.drop(columns="price")).shape == (80,)
        predicted = run("predict", tmp_path / f"{name}.credo", data)
        assert predicted.exit_code == 0 and len(predicted.stdout.splitlines()) == 81, predicted.stderr


def test_without_keep_only_the_selected_model_is_written(run, data, tmp_path, without_report):
    run("fit", data, "--target", "price", "--models", "linear,bayes", "--folds", 3, "--out", tmp_path / "out")
    assert names(tmp_path / "out") == OUTPUTS - {"report.html"}


def test_held_out_predictions_are_a_file(run, data, frame, tmp_path, without_report):
    result = run("fit", data, "--target", "price", "--models", "linear", "--folds", 3, "--out", tmp_path, "--json")
    held = pd.read_csv(tmp_path / "held_out.csv")
    assert held["row"].tolist() == list(range(1, 81))
    assert held["actual"].tolist() == frame["price"].tolist()
    line = json.loads(result.stdout)["leaderboard"][0]
    assert np.sqrt(np.mean((held["actual"] - held["mean"]) ** 2)) == pytest.approx(line["rmse"])


@pytest.mark.parametrize("value", ["0", "-3", "soon", "inf", "nan"])
def test_a_wrong_time_is_wrong_usage(run, data, value):
    result = run("fit", data, "--target", "price", "--time", value)
    assert result.exit_code == 2
    assert "neither a positive number of seconds nor 'none'" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("linear,bays", "there is no model 'bays'. Did you mean 'bayes'?"),
        ("xyz", "there is no model 'xyz'. Choose from naive, naive-season, linear, "),
        (" , ", "name at least one of naive"),
    ],
)
def test_a_wrong_name_suggests_the_nearest(run, data, value, words):
    result = run("fit", data, "--target", "price", "--models", value)
    assert result.exit_code == 2
    # click breaks lines at hyphens as well.
    assert words in " ".join(result.stderr.split()).replace("- ", "-")


def test_a_table_comes_from_standard_input(run, data, tmp_path, without_report):
    arguments = ("--target", "price", "--models", "linear,bayes", "--folds", 3, "--json", "--out")
    piped = run("fit", "-", *arguments, tmp_path / "piped", input=data.read_bytes())
    assert piped.exit_code == 0, piped.stderr
    direct = json.loads(run("fit", data, *arguments, tmp_path / "direct").stdout)
    record = json.loads(piped.stdout)
    for key in ("selected", "rows", "columns"):
        assert record[key] == direct[key]
    assert [line["rmse"] for line in record["leaderboard"]] == [line["rmse"] for line in direct["leaderboard"]]
    model = tmp_path / "piped" / "model.credo"
    assert run("predict", model, "-", input=data.read_bytes()).stdout == run("predict", model, data).stdout


def test_standard_input_is_named_in_words(run, data, tmp_path, without_report):
    arguments = ("--target", "price", "--models", "linear", "--folds", 2, "--out", tmp_path)
    said = run("fit", "-", *arguments, input=data.read_bytes()).stdout
    assert "standard input: 80 rows, 3 columns" in said
    missing = run("fit", "-", input=data.read_bytes())
    assert missing.exit_code == 2
    assert "standard input has 'size', 'age'" in " ".join(missing.stderr.split())
    assert run("fit", "-", *arguments, input=b"").exit_code == 1


def test_a_sheet_of_a_workbook(run, frame, tmp_path, without_report):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame({"about": ["prices of houses"]}).to_excel(book, sheet_name="readme", index=False)
        frame.to_excel(book, sheet_name="houses", index=False)
    arguments = ("fit", tmp_path / "book.xlsx", "--target", "price", "--models", "linear", "--folds", 2)
    result = run(*arguments, "--sheet", "houses", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"] == 80
    predicted = run("predict", tmp_path / "model.credo", tmp_path / "book.xlsx", "--sheet", "houses")
    assert len(predicted.stdout.splitlines()) == 81


def test_rows_in_the_order_of_time_are_forecast_unless_shuffled(run, tmp_path, without_report):
    rng = np.random.default_rng(0)
    dates = pd.date_range("2020-01-01", periods=60, freq="MS")
    pd.DataFrame({"date": dates, "level": np.arange(60) + rng.normal(size=60)}).to_csv(tmp_path / "t.csv", index=False)
    arguments = ("fit", tmp_path / "t.csv", "--target", "level", "--models", "linear", "--folds", 3, "--out", tmp_path)
    assert "in the order of 'date'" in run(*arguments).stderr
    assert pd.read_csv(tmp_path / "held_out.csv")["row"].tolist() == list(range(31, 61))
    assert "in the order of 'date'" not in run(*arguments, "--shuffle").stderr
    assert len(pd.read_csv(tmp_path / "held_out.csv")) == 60
    # A year of the far future is flagged, in a column and in a note.
    (tmp_path / "new.csv").write_text("date\n2024-06-01\n3000-01-01\n")
    result = run("predict", tmp_path / "model.credo", tmp_path / "new.csv")
    lines = list(csv.DictReader(result.stdout.splitlines()))
    assert lines[0]["outside"] == "" and "date" in lines[1]["outside"]
    assert "Note: " in result.stderr and "outside" in result.stderr


@pytest.mark.parametrize(("options", "folds", "held"), [((), 1, 620), (("--folds", 3), 3, 3100)])
def test_beyond_3000_rows_there_is_one_set_of_held_out_rows(run, tmp_path, without_report, options, folds, held):
    x = np.random.default_rng(0).normal(size=(3100, 2))
    pd.DataFrame({"x": x[:, 0], "y": x.sum(axis=1)}).to_csv(tmp_path / "many.csv", index=False)
    arguments = ("fit", tmp_path / "many.csv", "--target", "y", "--models", "linear", "--out", tmp_path, "--json")
    record = json.loads(run(*arguments, *options).stdout)
    assert record["folds"] == folds
    assert len(pd.read_csv(tmp_path / "held_out.csv")) == held


def test_what_continues_a_run_keeps_its_options(run, data, tmp_path, monkeypatch):
    typed = [
        "fit",
        str(data),
        "--target",
        "price",
        "--exposure",
        "size",
        "--no-group",
        "--out",
        str(tmp_path / "new one"),
    ]
    monkeypatch.setattr("sys.argv", ["credo", *typed, "--time", "0.1"])
    said = run(*typed, "--time", "0.1").stdout
    (line,) = [line for line in said.splitlines() if " --continue " in line]
    _, *again = shlex.split(line)
    assert again == [*typed, "--time", "0.1", "--continue", str(tmp_path / "new one")]
    assert run(*again).exit_code == 0
    assert fit_command._continuing(again, "other") == [*again[:-1], "other"]
