"""The parts of the OpenAPI description that depend on the model.

The Open Inference Protocol v2: rows as tensors, one for each column, or one matrix of numbers.

https://github.com/kserve/open-inference-protocol, REST part. Not supported: versions of a model, and tensors as binary
data.

The documentation of the server as one page, made from its OpenAPI description; it loads nothing from elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from credo.app.serve.inputs import MAX_TEXT, Input, Refused
from credo.app.serve.model import LEVEL, Predictions, ServedModel

Schema = dict[str, Any]

_NUMBER: Schema = {"type": ["number", "null"]}
_PARAMETERS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
_LEVEL: Schema = {
    "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": LEVEL,
    "description": "Probability of the interval from lower to upper.",
}  # fmt: skip
_TEXT: Schema = {"type": "string"}


def _list(items: Schema, **limits: Any) -> Schema:
    return {"type": "array", "items": items, **limits}


def _object(required: Schema, optional: Schema | None = None, **more: Any) -> Schema:
    return {"type": "object", "required": list(required), "properties": required | (optional or {}), **more}


PROBLEM = _object({
    "row": {"type": ["integer", "null"], "description": "1 is the first row."},
    "column": {"type": ["string", "null"]},
    "problem": _TEXT,
})  # fmt: skip
ERROR = _object({"error": _TEXT}, {"problems": _list(PROBLEM)})


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers with an error, for FastAPI's `responses`."""
    texts = {
        400: "The body isn't JSON.", 408: "The body didn't arrive in time.", 413: "The body or the table is too large.",
        422: "Unknown columns, values of a wrong type or missing cells; the answer names them.",
        503: "Too many requests are waiting.", 504: "The prediction takes too long.",
    }  # fmt: skip
    return {
        status: {"description": texts[status], "content": {"application/json": {"schema": ERROR}}}
        for status in statuses
    }


def answer(schema: Schema, description: str) -> dict[int | str, dict[str, Any]]:
    """The successful answer, for FastAPI's `responses`."""
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def body(schema: Schema, example: Any) -> dict[str, Any]:
    """The body of a request, for FastAPI's `openapi_extra`."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}}


def cell(column: Input) -> Schema:
    """A cell of a column."""
    kinds = {
        "number": ["number"], "truth": ["boolean", "string"], "category": ["string", "number", "boolean"],
        "date": ["string"], "text": ["string"], "any": ["string", "number", "boolean"],
    }  # fmt: skip
    found: Schema = {"type": kinds[column.kind] + ["null"] * column.nullable}
    if "string" in found["type"]:
        found |= {"maxLength": MAX_TEXT} | ({} if column.kind == "text" or column.nullable else {"pattern": r"\S"})
    described = {
        "truth": f"One of {', '.join(sorted(column.words))}.",
        "category": f"In the training data: {', '.join(column.levels[:30])}." if column.levels else "",
        "date": f"A date written like {column.example}.",
    }
    return found | ({"description": described[column.kind]} if described.get(column.kind) else {})


def predict_body(model: ServedModel, max_rows: int) -> tuple[Schema, Any]:
    """The body of /predict, and an example."""
    columns = {column.name: cell(column) for column in model.inputs.columns}
    ignored: Schema = {name: {"description": "Not used by the model."} for name in sorted(model.inputs.ignored)}
    closed: Schema = {"additionalProperties": False}
    rows = _list(_object(columns, ignored, **closed), minItems=1, maxItems=max_rows)
    lists = _list({"type": "array"}, minItems=1, maxItems=max_rows)
    names = _list({**_TEXT, "enum": [*columns, *ignored]}, uniqueItems=True)
    forms: list[Schema] = [
        rows,
        _object({"rows": rows}, {"level": _LEVEL}, **closed),
        _object({"columns": names, "rows": lists}, {"level": _LEVEL}, **closed),
    ]
    level = {"level": LEVEL} if model.classes is None else {}
    return {"anyOf": forms}, {"rows": [model.example()], **level}


def predict_answer(model: ServedModel) -> Schema:
    """The answer of /predict."""
    outside: Schema = {
        "type": ["string", "null"],
        "description": "Values outside the training data, where a prediction is an extrapolation; null without any.",
    }
    if model.classes is None:
        parts: Schema = dict.fromkeys(("mean", "std", "lower", "upper"), _NUMBER)
    else:
        probabilities = _object({str(label): {"type": "number"} for label in model.classes})
        parts = {"predicted": {"description": "The most probable class."}, "probabilities": probabilities}
    parts |= {"outside": outside} if model.has_range else {}
    whole: Schema = {"model": _TEXT, "predictions": _list(_object(parts)), "notes": _list(_TEXT)}
    return _object(whole, {"level": _LEVEL} if model.classes is None else {})


def infer_body(model: ServedModel) -> tuple[Schema, Any]:
    """The body of an inference request, and an example."""
    shape = _list({"type": "integer", "minimum": 0}, minItems=1, maxItems=4)
    inputs = _list(_object(_tensor(shape), {"parameters": _PARAMETERS}), minItems=1)
    outputs = _list(_object({"name": {**_TEXT, "enum": list(outputs_of(model))}}))
    request = _object({"inputs": inputs}, {"id": _TEXT, "parameters": _PARAMETERS, "outputs": outputs})
    example = [
        {"name": name, "shape": [1], "datatype": "FP64" if isinstance(value, float) else "BYTES", "data": [value]}
        for name, value in model.example().items()
    ]
    if model.inputs.numeric and not model.inputs.named:
        cells = list(model.example().values())
        example = [{"name": MATRIX, "shape": [1, len(cells)], "datatype": "FP64", "data": cells}]
    return request, {"id": "1", "inputs": example}


def infer_answer() -> Schema:
    """The answer to an inference request."""
    outputs = _list(_object(_tensor(_list({"type": "integer"}))))
    return _object({"model_name": _TEXT, "outputs": outputs}, {"id": _TEXT, "parameters": _PARAMETERS})


def _tensor(shape: Schema) -> Schema:
    return {"name": _TEXT, "shape": shape, "datatype": {**_TEXT, "enum": list(DATATYPES)}, "data": {"type": "array"}}


DATATYPES = (
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES",
)  # fmt: skip
# The name of the matrix that holds all columns of a model of numbers.
MATRIX = "input"
_LONGEST_ID = _LONGEST_NAME = 1000


def model_metadata(model: ServedModel) -> dict[str, Any]:
    """The answer to GET /v2/models/NAME."""
    tensors = [{"name": column.name, "datatype": _datatype(column), "shape": [-1]} for column in model.inputs.columns]
    if model.inputs.numeric and not model.inputs.named:
        tensors = [{"name": MATRIX, "datatype": "FP64", "shape": [-1, len(model.inputs.columns)]}]
    metadata = {
        "name": model.name,
        "platform": f"credo {model.manifest.class_name}",
        "inputs": tensors,
        "outputs": [
            {"name": name, "datatype": datatype, "shape": shape}
            for name, (datatype, shape) in outputs_of(model).items()
        ],
    }
    return metadata if model.classes is None else {**metadata, "parameters": {"classes": model.classes}}


def outputs_of(model: ServedModel) -> dict[str, tuple[str, list[int]]]:
    """The datatype and the shape of every output."""
    found: dict[str, tuple[str, list[int]]] = {}
    if model.classes is None:
        found |= {name: ("FP64", [-1]) for name in ("mean", "std", "lower", "upper")}
    else:
        found |= {"label": ("BYTES", [-1]), "probabilities": ("FP64", [-1, len(model.classes)])}
    return found | ({"outside": ("BYTES", [-1])} if model.has_range else {})


def _datatype(column: Input) -> str:
    return "FP64" if column.kind == "number" else "BYTES"


class InferenceRequest:
    """A parsed request: the columns of the rows, the level of the interval, and which outputs are wanted."""

    def __init__(self, model: ServedModel, value: Any, *, max_rows: int) -> None:
        _require(isinstance(value, dict), "the request must be an object")
        self.id = value.get("id")
        _require(
            self.id is None or (isinstance(self.id, str) and len(self.id) <= _LONGEST_ID),
            f"id must be a text of at most {_LONGEST_ID} characters",
        )
        self.parameters = _parameters(value)
        level = self.parameters.get("level", LEVEL)
        _require(_is_number(level) and 0 < level < 1, "parameters.level must be a number strictly between 0 and 1")
        self.level = float(level)
        self.outputs = _wanted(value.get("outputs"), list(outputs_of(model)))
        inputs = value.get("inputs")
        _require(isinstance(inputs, list) and len(inputs) > 0, "inputs must be a list of at least one tensor")
        limit = len(model.inputs.names) + len(model.inputs.ignored)
        _require(len(inputs) <= limit, f"there are {len(inputs)} tensors, and the model has {limit} columns")
        tensors = [_Tensor(tensor, f"inputs[{k}]") for k, tensor in enumerate(inputs)]
        lengths = {tensor.shape[0] for tensor in tensors}
        _require(len(lengths) == 1, f"the tensors have different numbers of rows: {sorted(lengths)}")
        self.n_rows = lengths.pop()
        _require(self.n_rows > 0, "there are no rows")
        if self.n_rows > max_rows:
            error = f"there are {self.n_rows} rows; the most are {max_rows}"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error)
        self.columns = _columns(model, tensors)


def _columns(model: ServedModel, tensors: list[_Tensor]) -> dict[str, list[Any]]:
    """The cells of each column."""
    names, matrix = model.inputs.names, tensors[0]
    if len(tensors) == 1 and len(matrix.shape) == 2 and (matrix.shape[1] > 1 or matrix.name not in names):
        _require(model.inputs.numeric, "the model has columns that aren't numbers; send one tensor for each column")
        _require(
            matrix.shape[1] == len(names),
            f"the tensor {matrix.name!r} has {matrix.shape[1]} columns, and the model {len(names)}",
        )
        return {name: matrix.data[j :: len(names)] for j, name in enumerate(names)}
    columns: dict[str, list[Any]] = {}
    for tensor in tensors:
        single = math.prod(tensor.shape[1:]) == 1
        _require(
            single, f"the tensor {tensor.name!r} has shape {tensor.shape}; that of a column is [rows] or [rows, 1]"
        )
        _require(tensor.name not in columns, f"there are two tensors named {tensor.name!r}")
        columns[tensor.name] = tensor.data
    return columns


class _Tensor:
    """An input tensor with its data in row-major order."""

    def __init__(self, value: Any, where: str) -> None:
        _require(isinstance(value, dict), f"{where} must be an object")
        _require(isinstance(value.get("name"), str), f"{where}.name must be a text")
        _require(len(value["name"]) <= _LONGEST_NAME, f"{where}.name has more than {_LONGEST_NAME} characters")
        self.name: str = value["name"]
        shape = value.get("shape")
        sizes = isinstance(shape, list) and all(type(size) is int and 0 <= size <= 2**31 for size in shape)
        _require(sizes and 1 <= len(shape) <= 4, f"{where}.shape must be a list of 1 to 4 sizes")
        self.shape: list[int] = shape
        datatype = value.get("datatype")
        _require(datatype in DATATYPES, f"{where}.datatype must be one of {', '.join(DATATYPES)}")
        _require("binary_data_size" not in _parameters(value), f"{where}: binary data isn't supported; use data")
        data = value.get("data")
        _require(isinstance(data, list), f"{where}.data must be a list")
        self.data = list(_flat(data, len(shape), where))
        count = math.prod(shape)
        _require(len(self.data) == count, f"{where}.data has {len(self.data)} elements, and its shape says {count}")
        self._check_elements(str(datatype), where)

    def _check_elements(self, datatype: str, where: str) -> None:
        allowed: tuple[type, ...] = (int, float)
        if datatype in {"BOOL", "BYTES"}:
            allowed = (bool,) if datatype == "BOOL" else (str,)
        elif "INT" in datatype:
            allowed = (int,)
        wrong = next((i for i, x in enumerate(self.data) if x is not None and type(x) not in allowed), None)
        _require(wrong is None, f"{where}.data: element {wrong} isn't of datatype {datatype}")


def _flat(data: list[Any], depth: int, where: str) -> Iterator[Any]:
    """The elements of a list that may be nested as deeply as the tensor has dimensions."""
    for element in data:
        if isinstance(element, list):
            _require(depth > 1, f"{where}.data is nested more deeply than its shape")
            yield from _flat(element, depth - 1, where)
        else:
            _require(not isinstance(element, dict), f"{where}.data must not contain objects")
            yield element


def _parameters(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get("parameters", {})
    plain = isinstance(found, dict) and all(isinstance(item, bool | int | float | str) for item in found.values())
    _require(plain, "parameters must be an object of texts, numbers and truth values")
    finite = all(math.isfinite(item) for item in found.values() if isinstance(item, float))
    _require(finite, "parameters must be finite numbers")
    result: dict[str, Any] = found
    return result


def _wanted(value: Any, known: list[str]) -> list[str]:
    """The names of the outputs that are asked for, by default all."""
    if value is None:
        return known
    tensors = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    _require(tensors, "outputs must be a list of objects with a name")
    names = [item.get("name") for item in value]
    for name in names:
        _require(isinstance(name, str) and name in known, f"the outputs are {', '.join(known)}")
    return list(dict.fromkeys(names)) or known


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _require(condition: Any, error: str) -> None:
    if not condition:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, error)


def inference_response(model: ServedModel, request: InferenceRequest, found: Predictions) -> dict[str, Any]:
    """The answer: one tensor for each output; numbers that aren't finite are null."""
    frame = found.frame
    values = {name: frame[name].tolist() if name == "outside" else frame[name].to_numpy() for name in frame}
    if model.classes is not None:
        values["label"] = [str(label) for label in frame.iloc[:, 0].tolist()]
        values["probabilities"] = frame.iloc[:, 1 : 1 + len(model.classes)].to_numpy(np.float64).ravel()
    known = outputs_of(model)
    tensors = []
    for name in request.outputs:
        datatype, shape = known[name]
        sizes = [len(found) if size == -1 else size for size in shape]
        tensors.append({"name": name, "datatype": datatype, "shape": sizes, "data": values[name]})
    identity = {} if request.id is None else {"id": request.id}
    parameters = {"parameters": request.parameters} if request.parameters else {}
    return {"model_name": model.name, **identity, **parameters, "outputs": tensors}


_STATIC = Path(__file__).parent / "static"
_TEMPLATES = Environment(loader=FileSystemLoader(_STATIC), autoescape=select_autoescape(["html"]))


def add_page(app: FastAPI) -> None:
    """Add /docs with its style and script, and a redirection from / to it."""

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("docs")

    @app.get("/docs", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(render(app.openapi()))

    add_files(app, _STATIC, {"/docs.css": "docs.css", "/docs.js": "docs.js"})


def add_files(app: FastAPI, folder: Path, names: Mapping[str, str]) -> None:
    """Answer these paths by files of a folder."""

    def answer(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def send(request: Request) -> Response:
            return FileResponse(folder / name)

        return send

    for path, name in names.items():
        app.add_route(path, answer(name), include_in_schema=False)


def render(description: dict[str, Any]) -> str:
    """The page of an OpenAPI description; everything in it is escaped."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "summary": found.get("summary", ""),
            "parameters": found.get("parameters", []),
            "example": _example(found),
            "columns": _column_rows(found),
            "answers": {status: reply.get("description", "") for status, reply in found["responses"].items()},
        }
        for path, methods in description["paths"].items()
        for method, found in methods.items()
    ]
    return _TEMPLATES.get_template("docs.html").render(info=description["info"], operations=operations)


def _body(operation: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content


def _example(operation: dict[str, Any]) -> str | None:
    content = _body(operation)
    return json.dumps(content["example"], indent=2, ensure_ascii=False) if content else None


def _column_rows(operation: dict[str, Any]) -> list[dict[str, str]]:
    """The columns of a row, where the body is a table."""
    forms = _body(operation).get("schema", {}).get("anyOf", [{}])
    fields = forms[0].get("items", {}).get("properties", {})
    return [
        {"name": name, "type": " or ".join(cell.get("type", ["anything"])), "text": cell.get("description", "")}
        for name, cell in fields.items()
    ]
