"""The Open Inference Protocol v2; the oracle is /predict on the same rows."""

import pytest
from tests.app.serve.conftest import ROW

KINDS = {"age": "FP64", "soil": "BYTES", "wet": "BYTES", "day": "BYTES", "dose": "FP32"}


def tensors(*rows):
    return [
        {"name": name, "shape": [len(rows)], "datatype": kind, "data": [row[name] for row in rows]}
        for name, kind in KINDS.items()
    ]


def outputs(reply):
    assert reply.status_code == 200, reply.text
    return {tensor["name"]: tensor for tensor in reply.json()["outputs"]}


class TestMetadata:
    def test_of_the_server_and_its_health(self, client):
        http = client("growth")
        assert http.get("/v2").json()["name"] == "credo"
        assert http.get("/v2/health/live").json() == {"live": True}
        assert http.get("/v2/health/ready").json() == {"ready": True}
        assert http.get("/v2/models/growth/ready").json() == {"name": "growth", "ready": True}
        assert http.get("/v2/models/other").status_code == http.get("/v2/models/other/ready").status_code == 404

    def test_names_what_infer_takes_and_gives(self, client):
        http = client("size")
        found = http.get("/v2/models/size").json()
        assert [tensor["name"] for tensor in found["inputs"]] == list(KINDS)
        given = outputs(http.post("/v2/models/size/infer", json={"inputs": tensors(ROW)}))
        assert {tensor["name"]: tensor["datatype"] for tensor in found["outputs"]} == {
            name: tensor["datatype"] for name, tensor in given.items()
        }
        assert found["parameters"]["classes"] == ["<img onerror=alert(1)>", "tall"]


class TestInfer:
    def test_one_tensor_for_each_column(self, client):
        http, rows = client("growth"), [ROW, {**ROW, "age": 500, "dose": None}]
        request = {"id": "42", "parameters": {"level": 0.8, "who": "me"}, "inputs": tensors(*rows)}
        reply = http.post("/v2/models/growth/infer", json=request)
        found = outputs(reply)
        expected = http.post("/predict?level=0.8", json=rows).json()["predictions"]
        for name in ("mean", "std", "lower", "upper"):
            assert found[name]["data"] == [row[name] for row in expected]
            assert (found[name]["shape"], found[name]["datatype"]) == ([2], "FP64")
        assert found["outside"]["data"] == [row["outside"] or "" for row in expected]
        assert (reply.json()["id"], reply.json()["parameters"]) == ("42", {"level": 0.8, "who": "me"})
        assert reply.json()["model_name"] == "growth"

    def test_probabilities_are_a_matrix_in_row_major_order(self, client):
        http, rows = client("size"), [ROW, {**ROW, "age": 12}]
        found = outputs(http.post("/v2/models/size/infer", json={"inputs": tensors(*rows)}))
        expected = http.post("/predict", json=rows).json()["predictions"]
        assert found["probabilities"]["shape"] == [2, 2]
        assert found["probabilities"]["data"] == [p for row in expected for p in row["probabilities"].values()]
        assert found["label"]["data"] == [row["predicted"] for row in expected]

    @pytest.mark.parametrize("data", [[1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]]], ids=["flat", "nested"])
    @pytest.mark.parametrize("datatype", ["FP64", "INT32"])
    def test_a_matrix_for_a_model_of_numbers(self, client, data, datatype):
        http = client("plain")
        tensor = {"name": "any", "shape": [2, 3], "datatype": datatype, "data": data}
        found = outputs(http.post("/v2/models/plain/infer", json={"inputs": [tensor], "outputs": [{"name": "mean"}]}))
        rows = [{"x0": 1, "x1": 2, "x2": 3}, {"x0": 4, "x1": 5, "x2": 6}]
        expected = http.post("/predict", json=rows).json()["predictions"]
        assert list(found) == ["mean"] and found["mean"]["data"] == [row["mean"] for row in expected]

    def test_a_column_may_be_a_matrix_of_one_column(self, client):
        flat = tensors(ROW)
        tall = [{**tensor, "shape": [1, 1], "data": [tensor["data"]]} for tensor in flat]
        http = client("growth")
        answers = [outputs(http.post("/v2/models/growth/infer", json={"inputs": t})) for t in (flat, tall)]
        assert answers[0] == answers[1]

    def test_refusals_name_the_row_and_the_column(self, client):
        rows = [ROW, {**ROW, "age": None}]
        reply = client("growth").post("/v2/models/growth/infer", json={"inputs": tensors(*rows)})
        (problem,) = reply.json()["problems"]
        assert reply.status_code == 422 and (problem["row"], problem["column"]) == (2, "age")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shape": [2]}, "has 1 elements"),
        ({"shape": []}, "shape"),
        ({"shape": [-1]}, "shape"),
        ({"shape": [True]}, "shape"),
        ({"shape": [10**9, 10**9]}, "elements"),
        ({"shape": "x"}, "shape"),
        ({"datatype": "FP128"}, "datatype"),
        ({"datatype": None}, "datatype"),
        ({"datatype": []}, "datatype"),
        ({"datatype": "BYTES"}, "element 0 isn't of datatype BYTES"),
        ({"datatype": "INT8"}, "element 0 isn't of datatype INT8"),
        ({"data": {}}, "data: Input should be a valid list"),
        ({"data": [[1.0]]}, "nested"),
        ({"data": [{}]}, "objects"),
        ({"name": 3}, "name"),
        ({"name": "ages"}, "did you mean 'age'"),
        ({"name": "soil"}, "two tensors named 'soil'"),
        ({"parameters": {"binary_data_size": 8}}, "binary"),
        ({"parameters": {"x": []}}, "parameters"),
        ({"shape": [1, 2], "data": [1.0, 2.0]}, "shape"),
    ],
)
def test_tensors_that_are_refused(client, change, says):
    first, *others = tensors(ROW)
    reply = client("growth").post("/v2/models/growth/infer", json={"inputs": [{**first, **change}, *others]})
    assert reply.status_code == 422 and says in reply.json()["error"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": 3}, "id"),
        ({"parameters": []}, "parameters"),
        ({"parameters": {"level": 2}}, "level"),
        ({"parameters": {"level": True}}, "level"),
        ({"outputs": [{"name": "median"}]}, "mean, std, lower, upper, outside"),
        ({"outputs": "mean"}, "outputs"),
        ({"outputs": [{"name": []}]}, "outputs.0.name"),
        ({"inputs": []}, "at least 1 item"),
        ({"inputs": None}, "inputs: Input should be a valid list"),
        ({"inputs": [3]}, "inputs.0: Input should be a valid dictionary"),
        ({"inputs": tensors(ROW) * 3}, "15 tensors"),
        ({"inputs": [*tensors(ROW)[:-1], *tensors(ROW, ROW)[-1:]]}, "different numbers of rows"),
        ({"inputs": tensors()}, "no rows"),
        ({"inputs": tensors(ROW)[:-1]}, "'dose': the column is missing"),
        ({"inputs": [{"name": "m", "shape": [1, 5], "datatype": "FP64", "data": [1] * 5}]}, "aren't numbers"),
    ],
)
def test_requests_that_are_refused(client, change, says):
    reply = client("growth").post("/v2/models/growth/infer", json={"inputs": tensors(ROW), **change})
    assert reply.status_code == 422 and says in reply.json()["error"]


def test_a_matrix_of_another_width(client):
    tensor = {"name": "m", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}
    reply = client("plain").post("/v2/models/plain/infer", json={"inputs": [tensor]})
    assert "has 2 columns, but the model has 3" in reply.json()["error"]


def test_too_many_rows(client):
    reply = client("growth", max_rows=2).post("/v2/models/growth/infer", json={"inputs": tensors(ROW, ROW, ROW)})
    assert reply.status_code == 413
