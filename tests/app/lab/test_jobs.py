"""Tables in the lab: upload, columns, run, stop, a killed process, predictions. The processes are real."""

import csv
import io
import os
import re
import signal
import time

import numpy as np
import pytest
from scipy.integrate import trapezoid

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from credo.app.lab.jobs._child import Bounds, Child, ChildFailed
from credo.app.lab.jobs._jobs import Jobs, Limits, file_name, shown_name
from credo.app.lab.jobs._routes import router
from credo.app.lab.refused import Refused
from credo.app.serve import BodyLimit

HOSTILE = "<img src=x onerror=alert(1)>"
BUSY = ("reading", "waiting", "running", "stopping")


@pytest.fixture(scope="module")
def app():
    made = FastAPI()
    made.include_router(router)
    made.state.job_limits = Limits(jobs=4)
    made.add_middleware(BodyLimit, max_bytes=3_000_000, seconds=60.0)
    return made


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app) as client:
        yield client


def table(n=60, seed=0):
    """A line with noise: y = 3 x + z + e."""
    rng = np.random.default_rng(seed)
    x, group = rng.uniform(0, 10, n), rng.choice(["a", "b"], n)
    y = 3 * x + (group == "b") + 0.1 * rng.standard_normal(n)
    lines = [f"{a:.4f},{g},{c:.4f}" for a, g, c in zip(x, group, y, strict=True)]
    return ("\n".join([f"x,{HOSTILE},y", *lines]) + "\n").encode()


def wait(client, key, *, until=lambda job: job["state"] not in BUSY, seconds=120):
    end = time.monotonic() + seconds
    while not until(job := client.get(f"/api/jobs/{key}").json()):
        assert time.monotonic() < end, f"still {job['state']}: {job['progress']}"
        time.sleep(0.2)
    return job


def upload(client, content, name="table.csv"):
    answer = client.post("/api/jobs", params={"name": name}, content=content)
    assert answer.status_code == 201, answer.text
    return wait(client, answer.json()["id"])


@pytest.fixture(scope="module")
def finished(client):
    """A job whose models were compared."""
    job = upload(client, table(), name="../../etc/<b>rows</b>.csv")
    settings = {"target": "y", "models": ["linear", "ridge"], "seconds": 60}
    assert client.post(f"/api/jobs/{job['id']}/run", json=settings).status_code == 202
    return wait(client, job["id"])


def test_columns_are_described_and_a_target_is_proposed(client):
    content = "id,when,kind,y,same\n" + "".join(
        f"{i},2024-01-{1 + i % 28:02},{'ab'[i % 2]},{i / 7},5\n" for i in range(40)
    )
    job = upload(client, content.replace("\n3,2024-01-04,b", "\n3,2024-01-04,").encode())
    found = {column["name"]: column for column in job["table"]["columns"]}
    kinds = {name: column["kind"] for name, column in found.items()}
    assert kinds == {"id": "leave out", "when": "date", "kind": "category", "y": "number", "same": "leave out"}
    assert job["table"]["rows"] == 40 and job["table"]["target"] == "y"
    assert found["kind"]["missing"] == 1 and found["kind"]["distinct"] == 2
    assert (found["when"]["low"], found["when"]["high"]) == ("2024-01-01", "2024-01-28")
    assert found["y"]["task"]["name"] == "regression" and found["kind"]["task"]["name"] == "classification"
    assert job["table"]["preview"][0][:3] == ["0", "2024-01-01", "a"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(range(256)) * 20, "binary data"),
        (b"\n \n", "is empty"),
        (b"x\n1\n2\n", "only one column"),
        (b"x,y\n", "no rows"),
        (b"PAR1" + bytes(100), "Parquet"),
    ],
    ids=["junk", "blank", "one column", "no rows", "broken parquet"],
)
def test_a_file_that_is_no_table_is_refused_in_words_that_name_it(client, content, words):
    job = upload(client, content, name="mine.csv")
    assert job["state"] == "failed"
    assert words in job["error"] and "'mine.csv'" in job["error"] and "/tmp" not in job["error"]
    refused = client.post(f"/api/jobs/{job['id']}/run", json={"target": "y"})
    assert refused.status_code == 409


def test_empty_and_too_large_uploads_are_refused(client):
    assert client.post("/api/jobs", content=b"").status_code == 422
    assert client.post("/api/jobs", content=b"x" * 3_000_001).status_code == 413
    # The length isn't declared.
    assert client.post("/api/jobs", content=(b"x" * 10_000 for _ in range(301))).status_code == 413


def test_a_run_gives_leaderboard_report_and_files(client, finished):
    assert finished["state"] == "done", finished["error"]
    assert finished["name"] == "b>.csv"
    result = finished["result"]
    assert {line["name"] for line in result["leaderboard"]} == {"baseline", "linear", "ridge", "average"}
    assert result["selected"] in ("linear", "ridge") and result["task"] == "regression"
    words = {line["name"]: line["words"] for line in result["leaderboard"]}
    assert words["linear"].startswith("Linear regression") and "class" not in words["baseline"]
    best = result["leaderboard"][0]
    assert best["rmse"] < 0.2 < result["leaderboard"][-1]["rmse"]
    address = f"/api/jobs/{finished['id']}"
    board = list(csv.DictReader(io.StringIO(client.get(f"{address}/files/leaderboard").text)))
    assert float(board[0]["rmse"]) == best["rmse"]
    assert client.get(f"{address}/files/model").content[:2] == b"PK"
    for name in ("nothing", "report.html", "%2e%2e%2ftable", "..%2f..%2ftable"):
        assert client.get(f"{address}/files/{name}").status_code == 404
    listed = client.get("/api/jobs").json()["jobs"]
    assert any(job["id"] == finished["id"] and job["state"] == "done" for job in listed)


def test_the_report_runs_no_script_and_escapes_names(client, finished):
    answer = client.get(f"/api/jobs/{finished['id']}/files/report")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'none'" in policy and "sandbox" in policy and "default-src 'none'" in policy
    assert HOSTILE not in answer.text and "&lt;img src=x onerror" in answer.text
    assert "<b>rows" not in answer.text and "<script" not in answer.text


def test_a_row_is_predicted_by_form(client, finished):
    address = f"/api/jobs/{finished['id']}"
    form = client.get(f"{address}/form").json()
    fields = {field["name"]: field for field in form["fields"]}
    assert fields[HOSTILE]["choices"] == ["a", "b"] and fields["x"]["kind"] == "number"
    answer = client.post(f"{address}/predict", json={"row": {"x": "5", HOSTILE: "b"}}).json()
    assert answer["mean"] == pytest.approx(16.0, abs=0.2)
    assert answer["lower"] < 16.0 < answer["upper"] and not answer["outside"]
    x, y = np.array(answer["curve"]["x"]), np.array(answer["curve"]["y"])
    assert trapezoid(y, x) == pytest.approx(1.0, abs=0.01)
    inside = (x >= answer["lower"]) & (x <= answer["upper"])
    assert trapezoid(y[inside], x[inside]) == pytest.approx(0.95, abs=0.03)
    far = client.post(f"{address}/predict", json={"row": {"x": 50, HOSTILE: "c"}}).json()
    assert "x = 50" in far["outside"] and "'c'" in far["outside"]
    wrong = client.post(f"{address}/predict", json={"row": {"x": "much", HOSTILE: "a"}})
    assert wrong.status_code == 422 and "'x' is a number" in wrong.json()["detail"]


def test_rows_of_a_file_are_predicted_into_a_table(client, finished):
    address = f"/api/jobs/{finished['id']}"
    rows = f"{HOSTILE},x\na,1\nb,2\na,99\n".encode()
    assert client.post(f"{address}/predictions?name=new.csv", content=rows).status_code == 202
    job = wait(client, finished["id"], until=lambda job: job["predictions"]["state"] != "running")
    found = job["predictions"]
    assert found["rows"] == 3 and found["outside"] == 1 and found["name"] == "new.csv"
    lines = list(csv.DictReader(io.StringIO(client.get(f"{address}/files/predictions").text)))
    assert [float(line["mean"]) for line in lines[:2]] == pytest.approx([3.0, 7.0], abs=0.2)
    assert lines[2]["outside"].startswith("x = 99")
    client.post(f"{address}/predictions?name=new.csv", content=b"z\n1\n2\n")
    job = wait(client, finished["id"], until=lambda job: job["predictions"]["state"] != "running")
    assert job["predictions"]["state"] == "failed" and "'x'" in job["predictions"]["error"]


def test_rows_that_do_not_arrive_leave_nothing_and_only_one_table_is_taken_at_a_time(client, finished, app):
    address, job = f"/api/jobs/{finished['id']}", app.state.jobs[finished["id"]]
    before, files = job.predictions, set(job.folder.iterdir())

    def broken():
        yield b"x\n1\n"
        # While the rows arrive, the job takes no others.
        with pytest.raises(Refused, match="is running"):
            app.state.jobs.expect_rows(job, "others.csv")
        raise RuntimeError("the client is gone")

    with pytest.raises(RuntimeError, match="gone"):
        client.post(f"{address}/predictions", content=broken())
    assert client.post(f"{address}/predictions", content=b"x" * 3_000_001).status_code == 413
    assert client.post(f"{address}/predictions", content=b"").status_code == 422
    assert set(job.folder.iterdir()) == files and job.predictions == before


def test_corrected_kinds_and_task_are_used_and_bad_ones_explained(client):
    job = upload(client, table())
    address = f"/api/jobs/{job['id']}"
    for settings, words in (
        ({"target": "nothing"}, "no target 'nothing'"),
        ({"target": "y", "kinds": {"x": "leave out", HOSTILE: "leave out"}}, "nothing to predict from"),
    ):
        assert client.post(f"{address}/run", json=settings).status_code == 202
        assert words in wait(client, job["id"])["error"]
    settings = {"target": HOSTILE, "kinds": {"x": "leave out", "y": "date"}, "models": ["logistic"]}
    client.post(f"{address}/run", json=settings)
    ended = wait(client, job["id"])
    assert ended["state"] == "failed" and "Column 'y' can't be read as dates" in ended["error"]


def test_a_stopped_run_keeps_what_is_finished_and_a_killed_one_is_explained(client, app):
    # Rows enough for minutes of gp, which is stopped within a second.
    job, waiting = upload(client, table(2000)), upload(client, table())
    address, jobs = f"/api/jobs/{job['id']}", app.state.jobs
    settings = {"target": "y", "models": ["linear", "gp"], "seconds": 3600, "kinds": {HOSTILE: "leave out"}}

    def begun(job):
        state = job["progress"] or {}
        return job["state"] not in BUSY or state.get("running") == "gp"

    client.post(f"{address}/run", json=settings)
    assert wait(client, job["id"], until=begun)["state"] == "running"
    client.post(f"/api/jobs/{waiting['id']}/run", json=settings)
    assert client.get(f"/api/jobs/{waiting['id']}").json()["state"] == "waiting"
    client.post(f"/api/jobs/{waiting['id']}/stop", json={})
    assert client.post(f"{address}/run", json=settings).status_code == 409
    client.post(f"{address}/stop", json={})
    ended = wait(client, job["id"])
    assert ended["state"] == "done", ended["error"]
    assert ended["result"]["selected"] == "linear"
    assert any(note["text"] == "Stopped before these models were fitted: gp." for note in ended["result"]["notes"])

    client.post(f"{address}/run", json=settings)
    assert wait(client, job["id"], until=begun)["state"] == "running"
    os.kill(jobs[job["id"]].child._process.pid, signal.SIGKILL)
    ended = wait(client, job["id"])
    assert ended["state"] == "failed" and ended["result"] is None
    assert "killed (SIGKILL)" in ended["error"] and "It was fitting gp." in ended["error"]

    client.post(f"{address}/run", json=settings)
    assert wait(client, job["id"], until=begun)["state"] == "running"
    client.post(f"{address}/stop", json={"now": True})
    ended = wait(client, job["id"])
    assert ended["state"] == "ready" and ended["error"] == "Stopped before a model was finished."
    assert client.get(f"/api/jobs/{waiting['id']}").json()["state"] == "ready"


@pytest.mark.parametrize(
    ("progress", "interrupted"), [(None, True), ({"running": "gp"}, True), ({"running": None}, False)]
)
def test_a_run_that_writes_its_files_is_not_interrupted(progress, interrupted):
    calls = []

    class Process:
        def interrupt(self):
            calls.append("interrupt")

        def kill(self):
            calls.append("kill")

    jobs = Jobs()
    job = jobs.new("a.csv")
    job.state, job.progress, job.child = "running", progress, Process()
    jobs.stop(job)
    assert job.state == "stopping" and calls == ["interrupt"] * interrupted
    jobs.stop(job, now=True)
    assert calls[-1] == "kill"
    jobs.close()


def test_old_jobs_make_room_and_all_is_gone_at_the_end():
    jobs = Jobs(Limits(jobs=2))
    made = [jobs.new("a.csv"), jobs.new("b.csv")]
    with pytest.raises(Refused, match="2 jobs running"):
        jobs.new("c.csv")
    made[0].state = "failed"
    made.append(jobs.new("c.csv"))
    assert [job["id"] for job in jobs.summaries()] == [made[2].id, made[1].id]
    assert os.stat(jobs.folder).st_mode & 0o077 == 0 and not made[0].folder.exists()
    made[2].upload.write_bytes(table(200_000))
    jobs.read(made[2])
    end = time.monotonic() + 20
    while made[2].child is None:
        assert time.monotonic() < end
    process = made[2].child._process
    jobs.close()
    assert not jobs.folder.exists() and process.poll() is not None


def test_names_of_files_are_only_shown():
    assert shown_name("../../etc/passwd") == "passwd"
    assert shown_name("a\x1b[2J\u202eb.csv") == "a[2Jb.csv"
    assert shown_name("/") == "table"
    for name in ("..", "-", "--help", "a;rm -rf *", "$(x)", "`x`", "~root", "x" * 99 + ".csv"):
        kept = file_name(shown_name(name))
        assert re.fullmatch(r"[\w(][\w.() -]{0,59}", kept), kept


def test_a_process_that_takes_too_long_or_too_much_memory_or_prints_too_much_is_stopped(tmp_path, monkeypatch):
    rows = "".join(f"{i},{i}.5,{i % 7}\n" for i in range(200_000))
    (tmp_path / "table").write_text("a,b,c\n" + rows)
    read = ["credo.app.lab.jobs._table", "table"]
    with pytest.raises(ChildFailed, match="took more than 0 seconds"):
        Child(read, tmp_path, Bounds()).result(0.05)
    with pytest.raises(ChildFailed):
        Child(read, tmp_path, Bounds(memory=2**28)).result(60)
    assert b'"rows": 200000' in Child(read, tmp_path, Bounds()).result(60)
    monkeypatch.setattr("credo.app.lab.jobs._child._MAX_PRINTED_BYTES", 20)
    with pytest.raises(ChildFailed, match="printed too much"):
        Child(["credo", "show", "nothing"], tmp_path, Bounds()).result(60)
    with pytest.raises(ChildFailed, match="can't be started"):
        Child(["credo", "a\0b"], tmp_path, Bounds())
