"""A fitted model as a tree of JSON, with its arrays beside it.

JSON's null, true, false, strings, small whole numbers, finite numbers and lists stand for themselves;
everything else is an object with one key, its tag. `credo.io.files.decode` reads the same tags.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from io import BytesIO
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from credo.io.errors import ModelFileError
from credo.io.files.classes import Serializable, class_name, fitted_state
from credo.io.files.state import check

# Deeper than any model, and far from Python's own limit.
MAX_DEPTH = 100
# Kinds of array that .npy holds without pickle: bool, int, unsigned, float, text, dates, spans of time.
ARRAY_KINDS = "biufUMm"
SPARSE = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "coo_matrix")
# Types that appear as values, as in `dtype=float`.
TYPES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "str": str, "object": object,
    "numpy.bool": np.bool_, "numpy.int32": np.int32, "numpy.int64": np.int64, "numpy.uint8": np.uint8,
    "numpy.float32": np.float32, "numpy.float64": np.float64,
}  # fmt: skip
_SAFE_INTEGER = 2**53


class Encoder:
    """Turns values into JSON nodes and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        # How many values the records hold that are not in the JSON.
        self.n_cells = 0
        self._numbers: dict[int, int] = {}
        self._open: list[int] = []

    def encode(self, value: Any, *, where: str) -> Any:
        """The JSON node of a value; `where` is how error messages call it."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < _SAFE_INTEGER else {"int": f"{value:x}"}
        if kind is float:
            return value if np.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if kind is np.str_:
            return {"text": str(value)}
        if isinstance(value, np.generic):
            return _scalar(value, where=where)
        if kind is np.ndarray or kind is np.memmap:
            return self._array(value, where=where)
        if isinstance(value, np.dtype):
            return {"dtype": _plain_dtype(value, where=where).str}
        if isinstance(value, type):
            return {"type": _type_name(value, where=where)}
        return self._nested(value, where=where)

    def _nested(self, value: Any, *, where: str) -> Any:
        """The node of a value that holds others."""
        if id(value) in self._open:
            raise ModelFileError(f"{where} contains itself; model files hold trees, not cycles")
        if len(self._open) >= MAX_DEPTH:
            raise ModelFileError(f"{where} is nested more than {MAX_DEPTH} levels deep")
        self._open.append(id(value))
        try:
            return self._container(value, where=where)
        finally:
            self._open.pop()

    def _container(self, value: Any, *, where: str) -> Any:
        kind = type(value)
        if kind is list and _are_records(value):
            return self._records(value, where=where)
        if kind is list:
            return [self.encode(item, where=f"{where}[{i}]") for i, item in enumerate(value)]
        if kind is tuple:
            return {"tuple": [self.encode(item, where=f"{where}[{i}]") for i, item in enumerate(value)]}
        if kind is slice:
            return {"slice": [self.encode(item, where=where) for item in (value.start, value.stop, value.step)]}
        if kind is dict:
            return self._dict(value, where=where)
        if kind.__name__ in SPARSE and kind is getattr(sparse, kind.__name__):
            return self._sparse(value, where=where)
        if isinstance(value, BaseEstimator):
            return self._estimator(value, where=where)
        if is_dataclass(kind):
            return self._value(value, {f.name: getattr(value, f.name) for f in fields(value)}, where=where)
        if isinstance(value, Serializable):
            return self._value(value, value.to_fields(), where=where)
        raise ModelFileError(f"{where} can't be saved in a model file: {_reason(value)}")

    def _dict(self, value: dict[Any, Any], *, where: str) -> Any:
        if all(type(key) is str for key in value):
            if _are_records(items := list(value.values())):
                return {"named": [list(value), self._records(items, where=where)]}
            return {"dict": {key: self.encode(item, where=f"{where}[{key!r}]") for key, item in value.items()}}
        keys = [self.encode(key, where=f"a key of {where}") for key in value]
        items = [self.encode(item, where=f"{where}[{key!r}]") for key, item in value.items()]
        return {"pairs": [list(pair) for pair in zip(keys, items, strict=True)]}

    def _records(self, values: list[Any], *, where: str) -> Any:
        """Dataclasses column by column: a wide table has thousands, whose fields as JSON would be too many values."""
        places: dict[type, list[int]] = {}
        for place, value in enumerate(values):
            places.setdefault(type(value), []).append(place)
        groups = []
        for kind, own in places.items():
            columns = {
                field.name: self._column([getattr(values[place], field.name) for place in own], where=where)
                for field in fields(kind)
            }
            self.n_cells += n_cells(len(own), columns)
            for place in own:
                _check(values[place], where=f"{where}[{place}]")
            order = self._array(np.array(own, dtype=np.int64), where=where)
            groups.append([_class_name(values[own[0]], where=where), order, columns])
        return {"records": groups}

    def _column(self, values: list[Any], *, where: str) -> Any:
        """The node of one field: {"same": …} for equal simple values, an array of numbers, or a list."""
        first, kinds = values[0], set(map(type, values))
        simple = first is None or type(first) in (bool, int, str) or (type(first) is tuple and not first)
        if len(kinds) == 1 and simple and all(value == first for value in values):
            return {"same": self.encode(first, where=where)}
        if kinds in ({float}, {bool}) or (kinds == {int} and max(map(abs, values)) < _SAFE_INTEGER):
            return self._array(np.array(values), where=where)
        return [self.encode(value, where=f"{where}[{i}]") for i, value in enumerate(values)]

    def _estimator(self, value: BaseEstimator, *, where: str) -> Any:
        name = _class_name(value, where=where)
        parameters = value.get_params(deep=False)
        if parameters.get("memory") is not None:
            raise ModelFileError(f"{where}.memory can't be saved in a model file: a cache belongs to one machine")
        state = fitted_state(value, parameters=parameters)
        node = {"estimator": [name, self._members(parameters, where=where), self._members(state, where=where)]}
        if state:
            _check(value, where=where)
        return node

    def _value(self, value: Any, members: dict[str, Any], *, where: str) -> Any:
        node = {"value": [_class_name(value, where=where), self._members(members, where=where)]}
        _check(value, where=where)
        return node

    def _members(self, members: dict[str, Any], *, where: str) -> dict[str, Any]:
        return {name: self.encode(member, where=f"{where}.{name}") for name, member in members.items()}

    def _sparse(self, value: Any, *, where: str) -> Any:
        index = value.coords if value.format == "coo" else (value.indices, value.indptr)
        shape = [int(length) for length in value.shape]
        return {
            "sparse": [type(value).__name__, shape, [self._array(part, where=where) for part in (value.data, *index)]]
        }

    def _array(self, value: NDArray[Any], *, where: str) -> Any:
        if value.dtype == object:
            return {"objects": [list(value.shape), [_object(item, where=where) for item in value.ravel().tolist()]]}
        _plain_dtype(value.dtype, where=where)
        # The list keeps every array alive, so that an id stays the name of one array.
        number = self._numbers.setdefault(id(value), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(value)
        return {"array": number}


def _check(value: Any, *, where: str) -> None:
    """Raise an error for a state that `load` would refuse."""
    try:
        check(value)
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{where} can't be saved, because its file could not be loaded: {error}") from None


def n_cells(count: int, columns: dict[str, Any]) -> int:
    """How many values records take as much memory as: four for itself, and those of its fields that differ."""
    return count * (4 + sum(not (isinstance(column, dict) and "same" in column) for column in columns.values()))


def _are_records(values: list[Any]) -> bool:
    kinds = set(map(type, values))
    return len(values) > 1 and all(is_dataclass(kind) and not issubclass(kind, BaseEstimator) for kind in kinds)


def npy(array: NDArray[Any]) -> bytes:
    """The `.npy` bytes of an array: dtype, byte order, shape and memory order included."""
    buffer = BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def _class_name(value: Any, *, where: str) -> str:
    try:
        return class_name(type(value))
    except ModelFileError as error:
        raise ModelFileError(f"{where} can't be saved in a model file: {error}") from None


def _scalar(value: Any, *, where: str) -> Any:
    """Byte by byte, so that NaNs keep their payload."""
    dtype = _plain_dtype(value.dtype, where=where).newbyteorder("<")
    return {"scalar": [dtype.str, np.asarray(value, dtype=dtype).tobytes().hex()]}


def _object(item: Any, *, where: str) -> Any:
    if item is None or isinstance(item, np.generic) or type(item) in (bool, int, float, str):
        return Encoder().encode(item, where=where)
    raise ModelFileError(
        f"{where} can't be saved in a model file: it is an array of objects, one of them a "
        f"{type(item).__name__}; such an array may hold only text, numbers and None"
    )


def _plain_dtype(dtype: np.dtype[Any], *, where: str) -> np.dtype[Any]:
    if dtype.kind in ARRAY_KINDS and dtype.fields is None and not dtype.hasobject:
        return dtype
    raise ModelFileError(f"{where} can't be saved in a model file: it has the data type {dtype}")


def _type_name(kind: type, *, where: str) -> str:
    name = next((name for name, known in TYPES.items() if known is kind), None)
    if name is not None:
        return name
    raise ModelFileError(f"{where} can't be saved in a model file: it is the class {kind.__qualname__} itself")


def _reason(value: Any) -> str:
    """The reason why a value can't be saved."""
    if isinstance(value, FunctionType | BuiltinFunctionType | MethodType | np.ufunc) or (
        isinstance(value, Callable) and not hasattr(value, "get_params")  # type: ignore[arg-type]
    ):
        name = getattr(value, "__qualname__", type(value).__name__)
        return f"it is the function {name}, and model files hold data only, never code"
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return "it is a random generator, whose state moves with every draw; give a whole number as random_state"
    return f"it is a {type(value).__module__}.{type(value).__qualname__}"
