"""The Open Inference Protocol v2: rows as tensors, one for each column, or one matrix of numbers.

https://github.com/kserve/open-inference-protocol, REST part. Not supported: versions of a model, and tensors as binary
data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import numpy as np

from credo._version import __version__
from credo.serve.inputs import Input
from credo.serve.model import LEVEL, Predictions, ServedModel
from credo.serve.strict_json import Refused

DATATYPES = (
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES",
)  # fmt: skip
# The name of the matrix that holds all columns of a model of numbers.
MATRIX = "input"
_LONGEST_ID = _LONGEST_NAME = 1000


def server_metadata() -> dict[str, Any]:
    """The answer to GET /v2."""
    return {"name": "credo", "version": __version__, "extensions": []}


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
    values: dict[str, Any] = dict(found.numbers)
    if found.labels is not None and found.probabilities is not None:
        values["label"] = [str(label) for label in found.labels.tolist()]
        values["probabilities"] = found.probabilities.ravel()
    values["outside"] = found.outside
    known = outputs_of(model)
    tensors = []
    for name in request.outputs:
        datatype, shape = known[name]
        sizes = [len(found) if size == -1 else size for size in shape]
        data = np.asarray(values[name]) if datatype == "FP64" else values[name]
        tensors.append({"name": name, "datatype": datatype, "shape": sizes, "data": data})
    identity = {} if request.id is None else {"id": request.id}
    parameters = {"parameters": request.parameters} if request.parameters else {}
    return {"model_name": model.name, **identity, **parameters, "outputs": tensors}
