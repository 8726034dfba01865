"""The programs on the page of a server run as they are copied, and CSV goes in and out."""

import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from tests.app.serve.conftest import ROW
from tests.app.serve.test_process import started

import credo
from credo.app.cli._group import credo as group

ROOT = Path(__file__).parents[3]
CSV = {"content-type": "text/csv"}


def programs(port, token=None):
    """The three programs on the page."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/docs", headers=headers)
    page = urllib.request.urlopen(asked).read().decode()
    assert token is None or token not in page
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)]


@pytest.mark.parametrize("name", ["growth", "size", "plain"])
def test_the_programs_of_the_page_run(files, tmp_path, name):
    with started(files[name]) as (_, port):
        shell, table, python = programs(port)
        done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True)
        assert ("mean" if name != "size" else "probabilities") in done.stdout
        if shutil.which("curl"):
            answer = json.loads(subprocess.run(shell, shell=True, capture_output=True, check=True).stdout)
            assert answer["model"] == name and len(answer["predictions"]) == 1
            row = {f"x{j}": 0.5 for j in range(3)} if name == "plain" else ROW
            pd.DataFrame([row, row]).to_csv(tmp_path / "rows.csv", index=False)
            subprocess.run(table, shell=True, cwd=tmp_path, check=True)
            assert len(pd.read_csv(tmp_path / "predictions.csv")) == 2


def test_the_programs_take_the_token_from_the_environment(files):
    with started(files["growth"], "--token", "s3cret") as (_, port):
        shell, _, python = programs(port, "s3cret")
        environment = {**os.environ, "CREDO_TOKEN": "s3cret"}
        done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, env=environment)
        assert "mean" in done.stdout, done.stderr
        if shutil.which("curl"):
            shown = subprocess.run(shell, shell=True, capture_output=True, env=environment).stdout
            assert json.loads(shown)["predictions"]


@pytest.mark.parametrize("name", ["growth", "size", "visits"])
def test_csv_is_predicted_as_json_is(client, name):
    http = client(name)
    row = {"age": 30.5} if name == "visits" else ROW
    table = pd.DataFrame([row, {**row, "age": 41.0}])
    answer = http.post("/predict", content=table.to_csv(index=False), headers=CSV)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/csv"), answer.text
    found = pd.read_csv(io.StringIO(answer.text))
    expected = http.post("/predict", json=table.to_dict("records")).json()["predictions"]
    if name == "size":
        assert found.iloc[:, 0].tolist() == [one["predicted"] for one in expected]
    else:
        assert found["mean"].tolist() == pytest.approx([one["mean"] for one in expected])
        assert found["lower"].tolist() == pytest.approx([one["lower"] for one in expected])


def test_the_kind_of_answer_can_be_chosen(client):
    http, text = client("growth"), pd.DataFrame([ROW]).to_csv(index=False)
    (row,) = http.post("/predict", content=text, headers=CSV | {"accept": "application/json"}).json()["predictions"]
    answer = http.post("/predict", json=[ROW], headers={"accept": "text/csv"})
    assert pd.read_csv(io.StringIO(answer.text))["mean"][0] == pytest.approx(row["mean"])


def test_an_empty_cell_is_missing(client):
    text = pd.DataFrame([ROW | {"dose": None}]).to_csv(index=False)
    (row,) = (
        client("growth")
        .post("/predict", content=text, headers=CSV | {"accept": "application/json"})
        .json()["predictions"]
    )
    (expected,) = client("growth").post("/predict", json=[ROW | {"dose": None}]).json()["predictions"]
    assert row["mean"] == pytest.approx(expected["mean"])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "no header"),
        (b"age\xff\n1\n", 400, "UTF-8"),
        (b'age,"soil\n1,2\n', 400, "CSV"),
        (b"age,soil,wet,day,dose\n", 422, "no rows below it"),
        (b"age,soil,wet,day,dose\nold,clay,yes,03.02.2024,1\n", 422, "row 1, column 'age'"),
        (b"age,soil,wet,day,dose\n30,clay,yes,03.02.2024,1\n30,clay\n", 422, "row 2"),
        (b"age,soil,wet,day,doze\n30,clay,yes,03.02.2024,1\n", 422, "did you mean 'dose'"),
        (b"age,soil,wet,day,dose\nnan,clay,yes,03.02.2024,1\n", 422, "row 1, column 'age'"),
    ],
)
def test_bad_csv_is_refused_by_a_sentence(client, body, status, words):
    answer = client("growth").post("/predict", content=body, headers=CSV)
    assert answer.status_code == status and words in answer.json()["error"], answer.text


def test_the_python_of_the_documentation_runs(tmp_path):
    table = load_diabetes(as_frame=True, scaled=False).frame
    credo.save(credo.TableModel(None, credo.LinearRegression(), "target").fit(table), tmp_path / "model.credo")
    text = (ROOT / "docs" / "start" / "serve.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with started(tmp_path / "model.credo") as (_, port):
        program = program.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
        shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    mean, lower, upper = map(float, shown.split())
    assert lower < mean < upper and 50 < mean < 350


def test_the_container_copies_what_exists_and_starts_a_command_that_exists(files):
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    assert copied and all((ROOT / name).exists() for names in copied for name in names)
    admitted = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {f"!{name}" for names in copied for name in names} == set(admitted) - {"*"}
    (entry,) = (json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRYPOINT "))
    unit = (ROOT / "docs" / "start" / "serve.md").read_text("utf-8")
    service = re.search(r"^ExecStart=\S+/credo serve \S+ (.*)$", unit, re.MULTILINE)[1].split()
    for arguments in (entry[2:], service):
        command = group.get_command(None, "serve")
        command.make_context("serve", [*arguments, str(files["growth"])]).close()
    assert entry[:2] == ["credo", "serve"]
