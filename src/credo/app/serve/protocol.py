"""The OpenAPI description of a model, the Open Inference Protocol v2, and the documentation page of the server.

Rows are tensors, one for each column, or one matrix of numbers (https://github.com/kserve/open-inference-protocol, REST
part; versions of a model and binary tensors are not supported). The page loads nothing from elsewhere.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader, select_autoescape
from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr, model_validator
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from credo.app.serve.inputs import MAX_TEXT_CHARACTERS, Input, Refused
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


def documented(request: Schema, example: Any, answer: Schema, description: str) -> dict[str, Any]:
    """FastAPI's arguments for a route that answers a body: what both are, and the answers with an error."""
    texts = {
        200: description,
        400: "The body isn't JSON.", 408: "The body didn't arrive in time.", 413: "The body or the table is too large.",
        422: "Unknown columns, values of a wrong type or missing cells; the answer names them.",
        503: "Too many requests are waiting.", 504: "The prediction takes too long.",
    }  # fmt: skip
    body = {"required": True, "content": {"application/json": {"schema": request, "example": example}}}
    answers = {
        status: {"description": text, "content": {"application/json": {"schema": answer if status == 200 else ERROR}}}
        for status, text in texts.items()
    }
    return {"response_class": Response, "responses": answers, "openapi_extra": {"requestBody": body}}


def cell(column: Input) -> Schema:
    """A cell of a column."""
    kinds = {
        "number": ["number"], "truth": ["boolean", "string"], "category": ["string", "number", "boolean"],
        "date": ["string"], "text": ["string"], "any": ["string", "number", "boolean"],
    }  # fmt: skip
    found: Schema = {"type": kinds[column.kind] + ["null"] * column.nullable}
    if "string" in found["type"]:
        found |= {"maxLength": MAX_TEXT_CHARACTERS} | (
            {} if column.kind == "text" or column.nullable else {"pattern": r"\S"}
        )
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
    ignored |= {
        column.name: cell(column) | {"description": "Optional. A known one is predicted from its other rows as well."}
        for column in model.inputs.optional
    }
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
        "description": "Values outside the training data, where a prediction is an extrapolation; otherwise null.",
    }
    if model.classes is None:
        parts: Schema = dict.fromkeys(_numbers(model), _NUMBER)
    else:
        probabilities = _object({str(label): {"type": "number"} for label in model.classes})
        parts = {"predicted": {"description": "The most probable class."}, "probabilities": probabilities}
    parts |= {f"known {column.name}": {"type": "boolean"} for column in model.inputs.optional}
    parts |= {"outside": outside} if model.has_range else {}
    whole: Schema = {"model": _TEXT, "predictions": _list(_object(parts)), "notes": _list(_TEXT)}
    return _object(whole, {"level": _LEVEL} if model.classes is None else {})


def _numbers(model: ServedModel) -> tuple[str, ...]:
    """The names of predicted numbers; new_lower and new_upper are the interval of a new unit, such as a patient."""
    return "mean", "std", "lower", "upper", *(("new_lower", "new_upper") if model.inputs.optional else ())


def infer_body(model: ServedModel) -> tuple[Schema, Any]:
    """The body of an inference request, and an example."""
    request = InferenceRequest.model_json_schema()
    parts = request.pop("$defs")
    parts["Output"]["properties"]["name"]["enum"] = list(outputs_of(model))
    request["properties"]["inputs"]["items"] = parts["Tensor"]
    request["properties"]["outputs"] = _list(parts["Output"])
    request["properties"]["id"] = _TEXT
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
    shape, datatype = _list({"type": "integer"}), {**_TEXT, "enum": list(get_args(Datatype))}
    outputs = _list(_object({"name": _TEXT, "shape": shape, "datatype": datatype, "data": {"type": "array"}}))
    return _object({"model_name": _TEXT, "outputs": outputs}, {"id": _TEXT, "parameters": _PARAMETERS})


Datatype = Literal[
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES",
]  # fmt: skip
# The name of the matrix that holds all columns of a model of numbers.
MATRIX = "input"


def model_metadata(model: ServedModel) -> dict[str, Any]:
    """The answer to GET /v2/models/NAME."""
    columns = (*model.inputs.columns, *model.inputs.optional)
    types = {column.name: "FP64" if column.kind == "number" else "BYTES" for column in columns}
    tensors: list[dict[str, Any]] = [
        {"name": name, "datatype": datatype, "shape": [-1]} for name, datatype in types.items()
    ]
    for tensor in tensors[len(model.inputs.columns) :]:
        tensor["parameters"] = {"optional": True}
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
        found |= {name: ("FP64", [-1]) for name in _numbers(model)}
    else:
        found |= {"label": ("BYTES", [-1]), "probabilities": ("FP64", [-1, len(model.classes)])}
    found |= {f"known {column.name}": ("BOOL", [-1]) for column in model.inputs.optional}
    return found | ({"outside": ("BYTES", [-1])} if model.has_range else {})


Scalar = StrictBool | StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)] | StrictStr


class Tensor(BaseModel, strict=True):
    """An input tensor; after the checks its data are in row-major order."""

    name: str = Field(max_length=1000)
    shape: list[Annotated[int, Field(ge=0, le=2**31)]] = Field(min_length=1, max_length=4)
    datatype: Datatype
    data: list[Any]
    parameters: dict[str, Scalar] = {}

    @model_validator(mode="after")
    def _check_data(self) -> Self:
        _require("binary_data_size" not in self.parameters, "binary data isn't supported; use data")
        self.data = list(_flat(self.data, len(self.shape)))
        count = math.prod(self.shape)
        _require(len(self.data) == count, f"data has {len(self.data)} elements, but the shape says {count}")
        numbers = (int,) if "INT" in self.datatype else (int, float)
        allowed = {"BOOL": (bool,), "BYTES": (str,)}.get(self.datatype, numbers)
        wrong = next((i for i, x in enumerate(self.data) if x is not None and type(x) not in allowed), None)
        _require(wrong is None, f"element {wrong} isn't of datatype {self.datatype}")
        return self


class Output(BaseModel, strict=True):
    """A requested output."""

    name: str


class InferenceRequest(BaseModel, strict=True):
    """The body of an inference request; without outputs, all are returned."""

    id: str | None = Field(None, max_length=1000)
    parameters: dict[str, Scalar] = {}
    inputs: list[Tensor] = Field(min_length=1)
    outputs: list[Output] | None = None

    @property
    def level(self) -> float:
        """The probability of the interval."""
        level = self.parameters.get("level", LEVEL)
        number = isinstance(level, int | float) and not isinstance(level, bool) and 0 < level < 1
        _require(number, "parameters.level must be a number strictly between 0 and 1")
        return float(level)

    def wanted(self, model: ServedModel) -> list[str]:
        """The names of the requested outputs."""
        known = list(outputs_of(model))
        names = list(dict.fromkeys(output.name for output in self.outputs or ())) or known
        _require(set(names) <= set(known), f"the outputs are {', '.join(known)}")
        return names

    def columns(self, model: ServedModel, max_rows: int) -> dict[str, list[Any]]:
        """The cells of each column."""
        limit = len(model.inputs.names) + len(model.inputs.ignored) + len(model.inputs.optional)
        _require(len(self.inputs) <= limit, f"there are {len(self.inputs)} tensors, but the model has {limit} columns")
        lengths = {tensor.shape[0] for tensor in self.inputs}
        _require(len(lengths) == 1, f"the tensors have different numbers of rows: {sorted(lengths)}")
        _require(max(lengths) > 0, "there are no rows")
        check_rows(max(lengths), max_rows)
        names, matrix = model.inputs.names, self.inputs[0]
        if len(self.inputs) == 1 and len(matrix.shape) == 2 and (matrix.shape[1] > 1 or matrix.name not in names):
            _require(model.inputs.numeric, "the model has columns that aren't numbers; send one tensor for each column")
            width = f"the tensor {matrix.name!r} has {matrix.shape[1]} columns, but the model has {len(names)}"
            _require(matrix.shape[1] == len(names), width)
            return {name: matrix.data[j :: len(names)] for j, name in enumerate(names)}
        columns: dict[str, list[Any]] = {}
        for tensor in self.inputs:
            shape = f"the tensor {tensor.name!r} has shape {tensor.shape}; that of a column is [rows] or [rows, 1]"
            _require(math.prod(tensor.shape[1:]) == 1, shape)
            _require(tensor.name not in columns, f"there are two tensors named {tensor.name!r}")
            columns[tensor.name] = tensor.data
        return columns


def _flat(data: list[Any], depth: int) -> Iterator[Any]:
    """The elements of a list that may be nested as deeply as the tensor has dimensions."""
    for element in data:
        if isinstance(element, list):
            _require(depth > 1, "data is nested more deeply than its shape")
            yield from _flat(element, depth - 1)
        else:
            _require(not isinstance(element, dict), "data must not contain objects")
            yield element


def _require(condition: Any, error: str) -> None:
    if not condition:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, error)


def check_rows(count: int, most: int) -> None:
    """Raise `Refused` for too many rows."""
    if count > most:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"there are {count} rows; the maximum is {most}")


def inference_response(model: ServedModel, request: InferenceRequest, found: Predictions) -> dict[str, Any]:
    """The answer: one tensor for each output; numbers that aren't finite are null."""
    frame = found.frame
    values = {name: frame[name].tolist() if name == "outside" else frame[name].to_numpy() for name in frame}
    if model.classes is not None:
        values["label"] = [str(label) for label in frame.iloc[:, 0].tolist()]
        values["probabilities"] = frame.iloc[:, 1 : 1 + len(model.classes)].to_numpy(np.float64).ravel()
    known = outputs_of(model)
    tensors = []
    for name in request.wanted(model):
        datatype, shape = known[name]
        sizes = [len(found) if size == -1 else size for size in shape]
        tensors.append({"name": name, "datatype": datatype, "shape": sizes, "data": values[name]})
    identity = {} if request.id is None else {"id": request.id}
    parameters = {"parameters": request.parameters} if request.parameters else {}
    return {"model_name": model.name, **identity, **parameters, "outputs": tensors}


_STATIC = Path(__file__).parent / "static"
_TEMPLATES = Environment(loader=FileSystemLoader(_STATIC), autoescape=select_autoescape(["html"]))


def snippets(model: ServedModel, address: str, *, has_token: bool) -> dict[str, str]:
    """Programs that ask a server at this address for a prediction, by language."""
    place, rows = f"{address.rstrip('/')}/predict", [model.example()]
    curl, fields = f"curl {shlex.quote(place)}", {"content-type": "application/json"}
    if has_token:
        curl += ' -H "Authorization: Bearer $CREDO_TOKEN"'
    head = f"fields = {fields!r}\n"
    if has_token:
        head = f"import os\n\n{head}fields['authorization'] = 'Bearer ' + os.environ['CREDO_TOKEN']\n"
    body = shlex.quote(json.dumps(rows, ensure_ascii=False))
    return {
        "Shell": f"{curl} -H 'content-type: application/json' -d {body}\n",
        "Shell, a CSV file": f"{curl} -H 'content-type: text/csv' --data-binary @rows.csv -o predictions.csv\n",
        "Python": "import json\nimport urllib.request\n"
        + head
        + f"rows = {rows!r}\n"
        + f"request = urllib.request.Request({place!r}, json.dumps(rows).encode(), fields)\n"
        + "answer = json.load(urllib.request.urlopen(request))\n"
        + "print(answer['predictions'])\n",
    }


def add_page(app: FastAPI, model: ServedModel, *, has_token: bool = False) -> None:
    """Add /docs with its style and script, and a redirection from / to it."""

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("docs")

    @app.get("/docs", include_in_schema=False)
    async def page(request: Request) -> Response:
        programs = snippets(model, str(request.base_url), has_token=has_token)
        return HTMLResponse(render(app.openapi(), programs))

    add_files(app, _STATIC, {"/docs.css": "docs.css", "/docs.js": "docs.js"})


def add_files(app: FastAPI, folder: Path, names: Mapping[str, str]) -> None:
    """Serve files of a folder at these paths."""

    def answer(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def send(request: Request) -> Response:
            return FileResponse(folder / name)

        return send

    for path, name in names.items():
        app.add_route(path, answer(name), include_in_schema=False)


def render(description: dict[str, Any], programs: Mapping[str, str] | None = None) -> str:
    """The page of an OpenAPI description, below programs by language; everything in it is escaped."""
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
    return _TEMPLATES.get_template("docs.html").render(
        info=description["info"], operations=operations, programs=programs or {}
    )


def _body(operation: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content


def _example(operation: dict[str, Any]) -> str | None:
    content = _body(operation)
    return json.dumps(content["example"], indent=2, ensure_ascii=False) if content else None


def _column_rows(operation: dict[str, Any]) -> list[dict[str, str]]:
    """The columns of a row, if the body is a table."""
    forms = _body(operation).get("schema", {}).get("anyOf", [{}])
    fields = forms[0].get("items", {}).get("properties", {})
    return [
        {"name": name, "type": " or ".join(cell.get("type", ["anything"])), "text": cell.get("description", "")}
        for name, cell in fields.items()
    ]
