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
PROBLEM: Schema = {
    "type": "object",
    "required": ["row", "column", "problem"],
    "properties": {
        "row": {"type": ["integer", "null"], "description": "1 is the first row."},
        "column": {"type": ["string", "null"]},
        "problem": {"type": "string"},
    },
}
ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}, "problems": {"type": "array", "items": PROBLEM}},
}


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
    row: Schema = {
        "type": "object",
        "required": list(columns),
        "properties": columns | ignored,
        "additionalProperties": False,
    }
    rows: Schema = {"type": "array", "items": row, "minItems": 1, "maxItems": max_rows}
    lists: Schema = {"type": "array", "items": {"type": "array"}, "minItems": 1, "maxItems": max_rows}
    names: Schema = {"type": "array", "items": {"type": "string", "enum": [*columns, *ignored]}, "uniqueItems": True}
    forms: list[Schema] = [
        rows,
        _closed({"rows": rows, "level": _LEVEL}, ["rows"]),
        _closed({"columns": names, "rows": lists, "level": _LEVEL}, ["columns", "rows"]),
    ]
    level = {"level": LEVEL} if model.classes is None else {}
    return {"anyOf": forms}, {"rows": [model.example()], **level}


def _closed(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def predict_answer(model: ServedModel) -> Schema:
    """The answer of /predict."""
    outside: Schema = {
        "type": ["string", "null"],
        "description": "Values outside the training data, where a prediction is an extrapolation; null without any.",
    }
    if model.classes is None:
        parts: Schema = dict.fromkeys(("mean", "std", "lower", "upper"), _NUMBER)
    else:
        probabilities = {str(label): {"type": "number"} for label in model.classes}
        parts = {
            "predicted": {"description": "The most probable class."},
            "probabilities": {"type": "object", "properties": probabilities, "required": list(probabilities)},
        }
    parts |= {"outside": outside} if model.has_range else {}
    prediction: Schema = {"type": "object", "required": list(parts), "properties": parts}
    whole: Schema = {
        "model": {"type": "string"},
        "predictions": {"type": "array", "items": prediction},
        "notes": {"type": "array", "items": {"type": "string"}},
    }
    required = list(whole)
    return {
        "type": "object",
        "required": required,
        "properties": whole | ({"level": _LEVEL} if model.classes is None else {}),
    }


def infer_body(model: ServedModel) -> tuple[Schema, Any]:
    """The body of an inference request, and an example."""
    tensor: Schema = {
        "type": "object",
        "required": ["name", "shape", "datatype", "data"],
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "maxItems": 4},
            "datatype": {"type": "string", "enum": list(DATATYPES)},
            "parameters": _PARAMETERS,
            "data": {"type": "array"},
        },
    }
    request: Schema = {
        "type": "object",
        "required": ["inputs"],
        "properties": {
            "id": {"type": "string"},
            "parameters": _PARAMETERS,
            "inputs": {"type": "array", "items": tensor, "minItems": 1},
            "outputs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string", "enum": list(outputs_of(model))}},
                },
            },
        },
    }
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
    tensor: Schema = {
        "type": "object",
        "required": ["name", "shape", "datatype", "data"],
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer"}},
            "datatype": {"type": "string", "enum": list(DATATYPES)},
            "data": {"type": "array"},
        },
    }
    return {
        "type": "object",
        "required": ["model_name", "outputs"],
        "properties": {
            "model_name": {"type": "string"},
            "id": {"type": "string"},
            "parameters": _PARAMETERS,
            "outputs": {"type": "array", "items": tensor},
        },
    }
