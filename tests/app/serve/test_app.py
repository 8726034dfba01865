"""The routes, with the models in this process."""

import json
import math
import re
import threading
import time
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tests.app.serve.conftest import ROW

import credo
from credo.app.serve import ServedModel

ROWS = [ROW, {**ROW, "age": 12, "soil": "sand", "wet": False, "dose": None, "plant_id": 7, "growth": None}]


def test_a_hostile_cookie_takes_no_time(client):
    # The framework parses cookies in quadratic time in Python before 3.11.10: 7 seconds for this one.
    http, begun = client("plain", token="s3cret"), time.process_time()
    assert http.get("/health", headers={"cookie": 'a="' + '\\"' * 32_000 + '"'}).status_code == 200
    assert time.process_time() - begun < 0.5


class TestPredict:
    def test_numbers_are_those_of_the_loaded_model(self, client, files):
        answer = client("growth").post("/predict", json=ROWS).json()
        dist = credo.load(files["growth"]).predict_dist(pd.DataFrame(ROWS).drop(columns="growth"))
        lower, upper = dist.interval(0.95)
        expected = np.column_stack([dist.mean, dist.std, lower, upper])
        found = [[row[name] for name in ("mean", "std", "lower", "upper")] for row in answer["predictions"]]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert (answer["model"], answer["level"], answer["notes"]) == ("growth", 0.95, [])
        assert [row["outside"] for row in answer["predictions"]] == [None, None]

    def test_classes_are_those_of_the_loaded_model(self, client, files):
        answer = client("size").post("/predict", json=ROWS[:1]).json()
        model = credo.load(files["size"])
        (row,) = answer["predictions"]
        expected = model.predict_proba(pd.DataFrame([ROW]))[0]
        np.testing.assert_allclose([row["probabilities"][name] for name in model.classes_], expected, rtol=1e-12)
        assert row["predicted"] == model.classes_[expected.argmax()] and "level" not in answer

    def test_a_model_without_a_table(self, client, files):
        rows = [{"x0": 1, "x1": 2.5, "x2": -1}]
        (row,) = client("plain").post("/predict", json=rows).json()["predictions"]
        mean, std = credo.load(files["plain"]).predict([[1, 2.5, -1]], return_std=True)
        assert (row["mean"], row["std"]) == (pytest.approx(mean[0]), pytest.approx(std[0])) and "outside" not in row

    def test_the_three_forms_and_the_level(self, client):
        http = client("growth")
        names = list(ROW)
        lists = {"columns": names[::-1], "rows": [[ROW[name] for name in names[::-1]]], "level": 0.5}
        answers = [
            http.post("/predict?level=0.5", json=[ROW]).json(),
            http.post("/predict", json={"rows": [ROW], "level": 0.5}).json(),
            http.post("/predict", json=lists).json(),
        ]
        assert answers[0] == answers[1] == answers[2] and answers[0]["level"] == 0.5
        (half,), (wide,) = answers[0]["predictions"], http.post("/predict", json=[ROW]).json()["predictions"]
        assert wide["lower"] < half["lower"] < half["mean"] < half["upper"] < wide["upper"]

    def test_rows_outside_the_training_data_are_flagged(self, client):
        rows = [ROW, {**ROW, "age": 500, "soil": "moon"}]
        answer = client("growth").post("/predict", json=rows).json()
        inside, outside = (row["outside"] for row in answer["predictions"])
        assert inside is None and "age = 500" in outside and "moon" in outside and "'moon'" in answer["notes"][0]

    def test_many_rows_are_predicted_as_one_by_one(self, client):
        http = client("growth")
        rows = [{**ROW, "age": 10 + 0.01 * i} for i in range(2500)]
        found = http.post("/predict", json=rows).json()["predictions"]
        alone = [http.post("/predict", json=[rows[i]]).json()["predictions"][0] for i in (0, 999, 1000, 2499)]
        for i, row in zip((0, 999, 1000, 2499), alone, strict=True):
            assert row.pop("outside") == found[i].pop("outside")
            assert found[i] == pytest.approx(row, rel=1e-9)
        assert len(found) == 2500

    def test_levels_may_be_written_as_numbers(self, tmp_path):
        table = pd.DataFrame({"zone": ["1", "2", "x"] * 10, "y": [1.0, 2.0, 3.0] * 10})
        model = credo.TableModel(credo.Preparation(), credo.BayesianLinearRegression(), "y").fit(table)
        credo.save(model, tmp_path / "zones.credo")
        served = ServedModel.open(tmp_path / "zones.credo")
        rows = served.inputs.from_objects([{"zone": "2"}, {"zone": 2}, {"zone": 2.0}, {"zone": 2.5}])
        found = served.predict(rows)
        mean, outside = found.frame["mean"].tolist(), found.frame["outside"].tolist()
        assert mean[0] == mean[1] == mean[2]
        assert outside[:3] == [""] * 3 and "2.5" in outside[3]

    def test_results_that_are_not_finite_are_null(self, tmp_path):
        # Three rows: Student-t with so few degrees of freedom that there is no standard deviation.
        X = [[0.0], [1.0], [2.0]]
        credo.save(credo.LinearRegression().fit(X, [0.0, 1.1, 1.9]), tmp_path / "few.credo")
        from starlette.testclient import TestClient

        from credo.app.serve import application

        http = TestClient(application(ServedModel.open(tmp_path / "few.credo")), base_url="http://localhost")
        text = http.post("/predict", json=[{"x0": 3}]).text
        (row,) = json.loads(text, parse_constant=pytest.fail)["predictions"]
        assert row["std"] is None and math.isfinite(row["mean"])


class TestRefusals:
    """Each names the row (from 1) and the column."""

    @pytest.mark.parametrize(
        ("change", "column", "says"),
        [
            ({"agee": 1}, "agee", "did you mean 'age'"),
            ({"age": None}, "age", "none was missing"),
            ({"soil": None}, "soil", "none was missing"),
            ({"soil": "  "}, "soil", "none was missing"),
            ({"age": "30"}, "age", "a number is needed; this is a text"),
            ({"age": True}, "age", "a number is needed"),
            ({"age": [1]}, "age", "this is a list"),
            ({"age": {}}, "age", "this is an object"),
            ({"age": 10**309}, "age", "too large"),
            ({"soil": ["clay"]}, "soil", "this is a list"),
            ({"soil": "x" * 10_001}, "soil", "10001 characters"),
            ({"soil": "\ud800"}, "soil", "surrogate"),
            ({"wet": "perhaps"}, "wet", "'perhaps' is not one of"),
            ({"wet": 2}, "wet", "'2' is not one of"),
            ({"day": "gestern"}, "day", "'gestern' is not a date"),
            ({"day": 20240203}, "day", "a date as text"),
            ({"dose": "none"}, "dose", "a number is needed"),
            ({"dose": ""}, "dose", "a number is needed"),
        ],
    )
    def test_a_cell(self, client, change, column, says):
        reply = client("growth").post("/predict", content=json.dumps([ROW, ROW, {**ROW, **change}]))
        (problem,) = reply.json()["problems"]
        assert reply.status_code == 422 and (problem["row"], problem["column"]) == (3, column)
        assert says in problem["problem"] and "row 3" in reply.json()["error"] and repr(column) in reply.json()["error"]

    def test_a_missing_column_and_several_problems(self, client):
        row = {name: value for name, value in ROW.items() if name != "age"}
        answer = client("growth").post("/predict", json=[row, {**ROW, "wet": []}, 5]).json()
        assert [(p["row"], p["column"]) for p in answer["problems"]] == [(1, "age"), (3, None)]

    def test_the_list_of_problems_ends(self, client):
        answer = client("growth").post("/predict", json=[{**ROW, "age": None}] * 1000).json()
        assert len(answer["problems"]) == 20 and "999 more problems" in answer["error"]

    @pytest.mark.parametrize("form", ["twice", "object", "list"])
    def test_many_names_are_refused_in_linear_time(self, client, form):
        names = ",".join(f'"ag{i}":1' for i in range(30_000 if form == "twice" else 150_000))
        body = {
            "twice": f'{{{names},"ag29999":2}}',
            "object": f"[{{{names}}}]",
            "list": f'{{"columns":[{names.replace(":1", "")}],"rows":[[1]]}}',
        }[form]
        served, start = client("growth"), time.process_time()
        reply = served.post("/predict", content=body.encode())
        assert reply.status_code == (400 if form == "twice" else 422)
        # It takes 0.2 seconds; comparing the names with each other took 15, and all with those of the model 4.
        assert time.process_time() - start < 2.0

    def test_a_row_that_overflows(self, client):
        reply = client("plain").post("/predict", json=[{"x0": 0, "x1": 0, "x2": x} for x in (1, 2, 1e308, 3)])
        assert reply.status_code in (200, 422)
        if reply.status_code == 422:
            assert reply.json()["problems"][0]["row"] == 3

    @pytest.mark.parametrize(
        ("names", "says"),
        [
            (["age", "soil", "wet", "day", "day"], "more than once"),
            (["age", "soil", "wet", "day", "dosis"], "no such column"),
            (["age", "soil", "wet", "day"], "missing"),
            (["age", "soil", "wet", "day", 3], "must be a text"),
        ],
    )
    def test_names_of_columns(self, client, names, says):
        reply = client("growth").post("/predict", json={"columns": names, "rows": [[1] * len(names)]})
        assert reply.status_code == 422 and any(says in p["problem"] for p in reply.json()["problems"])

    def test_lists_of_another_length(self, client):
        reply = client("growth").post("/predict", json={"columns": list(ROW), "rows": [list(ROW.values()), [1], {}]})
        assert [problem["row"] for problem in reply.json()["problems"]] == [2, 3]

    @pytest.mark.parametrize(
        "body",
        ["null", "3", '"x"', "[]", "{}", '{"rows": []}', '{"rows": {}}', '{"rows": [{}], "columns": {}}',
         '{"rows": [{}], "more": 1}'],
    )  # fmt: skip
    def test_other_bodies(self, client, body):
        reply = client("growth").post("/predict", content=body)
        assert reply.status_code == 422 and "list of rows" in reply.json()["error"]

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            (b"", "isn't JSON"),
            (b"[{]", "isn't JSON"),
            (b'[{"age": NaN}]', "NaN isn't a JSON value"),
            (b'[{"age": -Infinity}]', "Infinity isn't a JSON value"),
            (b'[{"age": 1, "age": 2}]', "'age' more than once"),
            (b"\xff", "'utf-8' codec can't decode byte"),
            (b"[" * 200_000, "nested too deeply"),
            (b'{"a":' * 100_000, "nested too deeply"),
            (b"[" + b"9" * 5000 + b"]", "5000 digits"),
        ],
    )
    def test_what_is_not_json(self, client, body, says):
        reply = client("growth").post("/predict", content=body)
        assert reply.status_code == 400 and says in reply.json()["error"]

    @pytest.mark.parametrize("level", ["0", "1", "-0.5", "nan", "inf", "x", ""])
    def test_levels(self, client, level):
        assert client("growth").post(f"/predict?level={level}", json=[ROW]).status_code == 422

    @pytest.mark.parametrize("level", [0, 1, True, "0.9", None, [0.9]])
    def test_levels_in_the_body(self, client, level):
        reply = client("growth").post("/predict", json={"rows": [ROW], "level": level})
        assert reply.status_code == 422 and "level" in reply.json()["error"]

    def test_too_many_rows_or_bytes(self, client):
        http = client("growth", max_rows=3, max_bytes=2000)
        assert http.post("/predict", json=[ROW] * 3).status_code == 200
        assert "the maximum is 3" in http.post("/predict", json=[ROW] * 4).json()["error"]
        assert http.post("/predict", json=[ROW] * 4).status_code == 413
        assert http.post("/predict", content=b" " * 2001).status_code == 413

    def test_paths_methods_and_hosts(self, client):
        http = client("growth")
        assert http.get("/nothing").json() == {"error": "Not Found"}
        assert http.get("/predict").status_code == 405
        assert http.post("/predict", json=[ROW], headers={"host": "evil.example"}).status_code == 403
        assert http.post("/predict", json=[ROW], headers={"origin": "http://evil.example"}).status_code == 403

    def test_the_token(self, client):
        http = client("growth", token="s3cret")
        assert http.get("/v2/health/live").status_code == 200
        assert http.get("/health").json() == {"status": "ok"}
        assert http.post("/predict", json=[ROW]).status_code == 401
        assert http.post("/predict", json=[ROW], headers={"authorization": "Bearer s3cret"}).status_code == 200


def test_a_prediction_that_takes_too_long(client, served, monkeypatch):
    wait = threading.Event()
    monkeypatch.setattr(type(served["growth"]), "predict", lambda *args: wait.wait(20))
    reply = client("growth", seconds=0.2).post("/predict", json=[ROW])
    wait.set()
    assert reply.status_code == 504 and "0.2 seconds" in reply.json()["error"]


def test_a_full_queue(client, monkeypatch):
    monkeypatch.setattr("credo.app.serve.model.Worker.__init__.__defaults__", (-1,))
    reply = client("growth").post("/predict", json=[ROW])
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1") and "waiting" in reply.json()["error"]


def test_an_error_of_the_server_is_answered_without_details(client, served, monkeypatch, caplog):
    def fail(*args):
        raise RuntimeError("a secret")

    monkeypatch.setattr(type(served["growth"]), "predict", fail)
    reply = client("growth", raising=False).post("/predict", json=[ROW])
    assert reply.status_code == 500 and "secret" not in reply.text and "a secret" in caplog.text


def test_metrics_count_requests_and_rows(client):
    http = client("growth")
    http.post("/predict", json=[ROW, ROW])
    http.post("/predict", json=[])
    http.get("/secret/../../etc/passwd")
    text = http.get("/metrics").text
    assert 'credo_requests_total{method="POST",path="/predict",status="200"} 1.0' in text
    assert 'credo_requests_total{method="POST",path="/predict",status="422"} 1.0' in text
    assert "credo_rows_predicted_total 2.0" in text and "credo_requests_in_flight 1.0" in text
    assert 'credo_request_seconds_count{path="/predict"} 2.0' in text
    assert "passwd" not in text and 'path="other"' in text


class _Addresses(HTMLParser):
    """Collects what a page loads, and whether it has anything inline."""

    def __init__(self, page):
        super().__init__()
        self.found, self.inline, self.tags = [], [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.found += [value for name, value in attrs if name in ("src", "href")]
        self.inline += [name for name, _ in attrs if name.startswith("on") or name == "style"]
        self.inline += ["script"] if tag == "script" and "src" not in dict(attrs) else []


@pytest.mark.parametrize("name", ["growth", "size", "plain"])
def test_the_page_loads_everything_from_the_server(client, name):
    http = client(name)
    reply = http.get("/")
    page = _Addresses(reply.text)
    assert reply.status_code == 200 and set(page.found) == {"data:,", "docs.css", "docs.js", "openapi.json"}
    assert page.inline == [] and "img" not in page.tags
    for address in set(page.found) - {"data:,"}:
        loaded = http.get(f"/{address}")
        assert loaded.status_code == 200 and not re.search(r"https?://", loaded.text)
    assert "'unsafe-inline'" not in reply.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["growth", "size", "plain"])
def test_the_examples_of_the_description_work(client, name):
    http = client(name)
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            assert http.request(method, path, json=body).status_code == 200, path


class TestKnownUnits:
    """A model of several rows for each plant, which knows some plants."""

    ROWS = (
        {"age": 30.0, "plant_id": 1000},
        {"age": 30.0, "plant_id": "7"},
        {"age": 30.0, "plant_id": None},
        {"age": 30.0},
    )

    def test_a_known_one_is_predicted_from_its_other_rows(self, client, served):
        found = client("visits").post("/predict", json=list(self.ROWS)).json()["predictions"]
        assert [row["known plant_id"] for row in found] == [True, False, False, False]
        table = pd.DataFrame({"age": [30.0] * 3, "plant_id": [1000, 7, None]})
        means = served["visits"].estimator.predict(table)
        assert [row["mean"] for row in found] == pytest.approx([*means, means[1]])
        assert found[0]["mean"] > found[1]["mean"] == found[3]["mean"]
        assert found[1]["lower"] == pytest.approx(found[1]["new_lower"])
        assert found[0]["new_lower"] == pytest.approx(found[1]["new_lower"]) < found[0]["lower"]
        lists = {"columns": ["plant_id", "age"], "rows": [[1000, 30.0]]}
        assert client("visits").post("/predict", json=lists).json()["predictions"] == [found[0]]
        assert client("visits").post("/predict", json=[{"age": 3.0, "plant": 1}]).status_code == 422

    def test_tensors_and_the_description_have_it(self, client):
        http = client("visits")
        meta = http.get("/v2/models/visits").json()
        assert meta["inputs"][-1] == {
            "name": "plant_id", "datatype": "BYTES", "shape": [-1], "parameters": {"optional": True}
        }  # fmt: skip
        age = {"name": "age", "shape": [2], "datatype": "FP64", "data": [30.0, 30.0]}
        unit = {"name": "plant_id", "shape": [2], "datatype": "BYTES", "data": ["1000", None]}
        for inputs, known in (([age, unit], [True, False]), ([age], [False, False])):
            reply = http.post("/v2/models/visits/infer", json={"inputs": inputs}).json()
            assert {one["name"]: one["data"] for one in reply["outputs"]}["known plant_id"] == known
        assert "A known one is predicted" in http.get("/docs").text
