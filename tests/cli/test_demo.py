"""`credo demo`: the very path of `credo fit`, on a table that comes along."""

import json
import re

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from credo.cli._demo import MODELS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new"


def test_the_demo_does_what_fit_does(run, folder, monkeypatch):
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
    assert re.search(r"Of the ten inputs, bmi, [^;]*\bbp\b[^;]* almost surely matter", page)
    assert f"Next: credo show {folder / 'model.credo'}" in result.stdout
    table = pd.read_csv(folder / "diabetes.csv")
    assert table["progression"].tolist() == load_diabetes().target.tolist()
    monkeypatch.setattr("credo.study._write.find_spec", lambda name: None)
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
    assert set(board["name"]) == {"baseline", *MODELS}
    found = dict(zip(board["name"], board["log_score"], strict=True))
    assert {name: found[name] for name in ("baseline", "linear", "bayes")} == pytest.approx(again)
    # Published errors of linear models on this table lie around 54 to 57.
    assert 52 < board["rmse"].min() < 57
    assert board["coverage"].between(0.9, 0.99).all()
