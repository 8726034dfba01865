"""`credo demo`: the very path of `credo fit`, on a table that comes along."""

import json
import re
import shlex
import sys

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from credo.app.cli._demo import MODELS, command_as_typed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new"


def test_the_demo_does_what_fit_does(run, folder, monkeypatch, short_searches):
    # No time limit: a busy machine may need a minute to compile.
    monkeypatch.setattr("credo.study.engine._FOR_MODELS", 100.0)
    result = run("demo", "--out", folder, "--seed", 1)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in folder.iterdir()} == {
        *("diabetes.csv", "model.credo", "report.html", "leaderboard.csv", "held_out.csv", "inclusions.csv")
    }
    assert f"Report       {folder / 'report.html'}" in result.stdout
    assert f"--models {','.join(MODELS)} --out" in result.stdout
    assert {"gp", "spike-slab"} <= set(MODELS)
    page = (folder / "report.html").read_text(encoding="utf-8")
    # Whichever subset is right, body mass and blood pressure are in it.
    assert re.search(r"Of the ten inputs[^;]*\bbmi\b[^;]*\bbp\b[^;]* almost certainly matter", page)
    assert f"Next: credo show {folder / 'model.credo'}" in result.stdout
    table = pd.read_csv(folder / "diabetes.csv")
    assert table["progression"].tolist() == load_diabetes().target.tolist()
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None)
    fit = run(
        "fit",
        folder / "diabetes.csv",
        "--target",
        "progression",
        "--models",
        "linear,bayes",
        "--seed",
        1,
        "--out",
        folder / "again",
        "--json",
    )
    again = {line["name"]: line["log_score"] for line in json.loads(fit.stdout)["leaderboard"]}
    board = pd.read_csv(folder / "leaderboard.csv")
    assert set(board["name"]) == {"baseline", *MODELS, "average"}
    found = dict(zip(board["name"], board["log_score"], strict=True))
    for name in ("baseline", "linear", "bayes"):
        assert found[name] == pytest.approx(again[name])
    # Published errors of linear models on this table lie around 54 to 57.
    assert 52 < board["rmse"].min() < 57
    assert board["coverage"].between(0.9, 0.99).all()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A command in .venv/bin of the working folder, and another place for commands."""
    for folder in (tmp_path / ".venv" / "bin", tmp_path / "bin"):
        folder.mkdir(parents=True)
    command = tmp_path / ".venv" / "bin" / "credo"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_a_command_off_the_path_is_named_as_it_was_typed(installed, monkeypatch):
    monkeypatch.setattr("sys.argv", [".venv/bin/credo", "demo"])
    assert command_as_typed() == ".venv/bin/credo"


def test_a_command_on_the_path_is_named_alone(installed, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(installed / ".venv" / "bin" / "credo"), "demo"])
    monkeypatch.setenv("PATH", str(installed / ".venv" / "bin"))
    assert command_as_typed() == "credo"
    # A link to it counts as well.
    (installed / "bin" / "credo").symlink_to(installed / ".venv" / "bin" / "credo")
    monkeypatch.setenv("PATH", str(installed / "bin"))
    assert command_as_typed() == "credo"


def test_another_credo_on_the_path_is_not_meant(installed, monkeypatch):
    other = installed / "bin" / "credo"
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    monkeypatch.setattr("sys.argv", [".venv/bin/credo", "demo"])
    assert command_as_typed() == ".venv/bin/credo"


def test_a_path_with_spaces_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["/some where/bin/credo"])
    assert command_as_typed() == "'/some where/bin/credo'"


def test_a_module_is_named_as_python_runs_it(installed, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(installed / "credo" / "__main__.py"), "demo"])
    assert command_as_typed() == f"{shlex.quote(sys.executable)} -m credo"
