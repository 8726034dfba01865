"""The parts of the OpenAPI description that depend on the model."""

from __future__ import annotations

from typing import Any

from credo.serve.infer import DATATYPES, MATRIX, outputs_of
from credo.serve.inputs import MAX_TEXT, Input
from credo.serve.model import LEVEL, ServedModel

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
