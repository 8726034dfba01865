"""A fitted model as a tree of JSON with separate arrays, and back.

JSON's null, true, false, strings, small whole numbers, finite numbers and lists stand for themselves;
everything else is an object with one key, its tag. An unknown tag raises an error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from io import BytesIO
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from credo.core.fields import check
from credo.tables.errors import ModelFileError
from credo.tables.files.classes import Serializable, class_name, class_named, fitted_state, is_state_name, private_state

# Deeper than any model, and far from Python's own limit.
MAX_DEPTH = 100
# Kinds of array that .npy holds without pickle: bool, int, unsigned, float, text, dates, durations.
ARRAY_KINDS = "biufUMm"
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
# Types that appear as values, as in `dtype=float`.
TYPES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "str": str, "object": object,
    "numpy.bool": np.bool_, "numpy.int32": np.int32, "numpy.int64": np.int64, "numpy.uint8": np.uint8,
    "numpy.float32": np.float32, "numpy.float64": np.float64,
}  # fmt: skip
_MAX_JSON_INTEGER = 2**53


class _Unsavable(Exception):
    """Why a value can't be saved."""


class Encoder:
    """Turns values into JSON nodes and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def encode(self, value: Any, *, where: str) -> Any:
        """The JSON node of a value; `where` is its name in error messages."""
        try:
            return self._node(value, where)
        except _Unsavable as error:
            raise ModelFileError(f"{where} can't be saved in a model file: {error}") from None

    def _node(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < _MAX_JSON_INTEGER else {"int": f"{value:x}"}
        if kind is float:
            return value if np.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if kind is np.str_:
            return {"text": str(value)}
        if isinstance(value, np.generic):
            # As bytes, so that NaNs keep their payload.
            dtype = _plain(value.dtype, _Unsavable).newbyteorder("<")
            return {"scalar": [dtype.str, np.asarray(value, dtype=dtype).tobytes().hex()]}
        if kind is np.ndarray or kind is np.memmap:
            return self._array(value)
        if isinstance(value, np.dtype):
            return {"dtype": _plain(value, _Unsavable).str}
        if isinstance(value, type):
            if value not in TYPES.values():
                raise _Unsavable(f"it is the class {value.__qualname__} itself")
            return {"type": next(name for name, known in TYPES.items() if known is value)}
        if self._depth >= MAX_DEPTH:
            raise _Unsavable(f"it is nested more than {MAX_DEPTH} levels deep, or contains itself")
        self._depth += 1
        node = self._container(value, where)
        self._depth -= 1
        return node

    def _container(self, value: Any, where: str) -> Any:
        """The node of a value that holds others."""
        kind = type(value)
        if kind is list or kind is tuple:
            items = [self.encode(item, where=f"{where}[{i}]") for i, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind is slice:
            return {"slice": [self.encode(item, where=where) for item in (value.start, value.stop, value.step)]}
        if kind is dict:
            items = [self.encode(item, where=f"{where}[{key!r}]") for key, item in value.items()]
            if all(type(key) is str for key in value):
                return {"dict": dict(zip(value, items, strict=True))}
            keys = [self.encode(key, where=f"a key of {where}") for key in value]
            return {"pairs": [list(pair) for pair in zip(keys, items, strict=True)]}
        if kind.__name__ in SPARSE and kind is getattr(sparse, kind.__name__):
            arrays = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [kind.__name__, [int(length) for length in value.shape], arrays]}
        if isinstance(value, BaseEstimator):
            return self._estimator(value, where)
        if is_dataclass(kind):
            # Defaults are left out: a wide table has thousands of columns, each with several values.
            members = {f.name: held for f in fields(value) if not _is_same(held := getattr(value, f.name), f.default)}
        elif isinstance(value, Serializable):
            members = value.to_fields()
        else:
            raise _Unsavable(_reason(value))
        node = {"value": [_class_name(value), self._members(members, where)]}
        _check(value)
        return node

    def _estimator(self, value: BaseEstimator, where: str) -> Any:
        name, parameters = _class_name(value), value.get_params(deep=False)
        if parameters.get("memory") is not None:
            raise _Unsavable("its memory is a cache on this machine")
        state = fitted_state(value, parameters=parameters)
        node = {"estimator": [name, self._members(parameters, where), self._members(state, where)]}
        if state:
            _check(value)
        return node

    def _members(self, members: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self.encode(member, where=f"{where}.{name}") for name, member in members.items()}

    def _array(self, value: NDArray[Any]) -> Any:
        if value.dtype == object:
            items = value.ravel().tolist()
            for item in items:
                if not (item is None or isinstance(item, np.generic) or type(item) in (bool, int, float, str)):
                    allowed = "an array of objects may hold only text, numbers and None"
                    raise _Unsavable(f"one of its items is a {type(item).__name__}; {allowed}")
            return {"objects": [list(value.shape), [self._node(item, "") for item in items]]}
        _plain(value.dtype, _Unsavable)
        # The list keeps every array alive, so that ids stay unique.
        number = self._numbers.setdefault(id(value), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(value)
        return {"array": number}


def _check(value: Any) -> None:
    """Raise an error for a state that `load` would reject."""
    try:
        check(value)
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise _Unsavable(f"its file could not be loaded: {error}") from None


def _class_name(value: Any) -> str:
    try:
        return class_name(type(value))
    except ModelFileError as error:
        raise _Unsavable(str(error)) from None


def _is_same(value: Any, default: Any) -> bool:
    """Whether a value is the default of a field, bit for bit."""
    simple = value is None or type(value) in (bool, int, str) or (type(value) is tuple and not value)
    return simple and type(value) is type(default) and bool(value == default)


def npy(array: NDArray[Any]) -> bytes:
    """The `.npy` bytes of an array: dtype, byte order, shape and memory order included."""
    buffer = BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def _reason(value: Any) -> str:
    """The reason why a value can't be saved."""
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return "it is a random generator, whose state changes with every draw; give a whole number as random_state"
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__qualname__", type(value).__name__)
        return f"it is the function {name}, but model files hold only data, never code"
    return f"it is a {type(value).__module__}.{type(value).__qualname__}"


class Decoder:
    """Turns JSON nodes into values; `member` gives the bytes of an array by its name in the file."""

    def __init__(self, member: Callable[[str], bytes]) -> None:
        self._member = member
        self._arrays: dict[int, NDArray[Any]] = {}
        self._depth = 0
        # Whether there is a scikit-learn class, whose attributes may change meaning between versions.
        self.met_sklearn = False

    def decode(self, node: Any) -> Any:
        """The value of a JSON node."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if self._depth > MAX_DEPTH:
            raise ModelFileError("its state is nested deeper than any model")
        self._depth += 1
        try:
            if isinstance(node, list):
                return [self.decode(item) for item in node]
            ((tag, content),) = node.items()
            if tag not in _TAGS:
                raise ModelFileError(f"its state holds {tag[:40]!r}, which this version of Credo doesn't know")
            return getattr(self, f"_{tag}")(content)
        except ModelFileError:
            raise
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
            raise ModelFileError(f"its state is damaged ({str(error)[:200]})") from None
        finally:
            self._depth -= 1

    def _int(self, content: str) -> int:
        return int(content, 16)

    def _float(self, content: str) -> float:
        (value,) = struct.unpack(">d", bytes.fromhex(content))
        return float(value)

    def _scalar(self, content: list[str]) -> Any:
        text, digits = content
        dtype = _plain(np.dtype(_string(text)))
        if dtype.kind == "U" or 2 * dtype.itemsize != len(digits):
            raise ModelFileError("its state is damaged (a scalar of the wrong size)")
        return np.frombuffer(bytes.fromhex(digits), dtype=dtype)[0]

    def _text(self, content: str) -> np.str_:
        return np.str_(content)

    def _dtype(self, content: str) -> np.dtype[Any]:
        return _plain(np.dtype(_string(content)))

    def _type(self, content: str) -> type:
        return TYPES[content]

    def _tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in _list(content))

    def _slice(self, content: list[Any]) -> slice:
        start, stop, step = (self.decode(item) for item in _list(content))
        return slice(start, stop, step)

    def _dict(self, content: dict[str, Any]) -> dict[str, Any]:
        return {key: self.decode(item) for key, item in content.items()}

    def _pairs(self, content: list[list[Any]]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in content}

    def _array(self, content: int) -> NDArray[Any]:
        if type(content) is not int or not 0 <= content < 10**6:
            raise ModelFileError(f"its state is damaged (array number {content!r})")
        if content not in self._arrays:
            name = f"arrays/{content}.npy"
            self._arrays[content] = from_npy(self._member(name), name=name)
        return self._arrays[content]

    def _objects(self, content: list[Any]) -> NDArray[Any]:
        shape, items = content
        if prod(_shape(shape)) != len(_list(items)):
            raise ModelFileError("its state is damaged (an array of words of the wrong length)")
        array = np.empty(len(items), dtype=object)
        array[:] = [self.decode(item) for item in items]
        return array.reshape(shape)

    def _sparse(self, content: list[Any]) -> Any:
        name, shape, nodes = content
        if name not in SPARSE:
            raise ModelFileError(f"its state is damaged (unknown sparse format {name!r})")
        data, indices, indptr = (self.decode(node) for node in _list(nodes))
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
            raise ModelFileError("its state is damaged (a sparse matrix without its arrays)")
        if not all(part.dtype.kind in "iu" for part in (indices, indptr)):
            raise ModelFileError("its state is damaged (a sparse matrix whose indices aren't whole numbers)")
        made = getattr(sparse, name)((data, indices, indptr), shape=_shape(shape))
        # Compiled code doesn't check these indices: a wrong one would read other memory.
        made.check_format(full_check=True)
        made.indices, made.indptr = indices, indptr
        return made

    def _value(self, content: list[Any]) -> Any:
        name, members = content
        kind = class_named(_string(name))
        values = {field: self.decode(member) for field, member in members.items()}
        if is_dataclass(kind) and not issubclass(kind, BaseEstimator):
            made = _dataclass(kind, values, name=name)
        elif issubclass(kind, Serializable):
            made = kind.from_fields(values)
        else:
            raise ModelFileError(f"its state is damaged ({name} is not a plain value)")
        check(made)
        return made

    def _estimator(self, content: list[Any]) -> BaseEstimator:
        name, parameters, state = content
        kind = class_named(_string(name))
        if not issubclass(kind, BaseEstimator):
            raise ModelFileError(f"its state is damaged ({name} is not an estimator)")
        self.met_sklearn |= name.startswith("sklearn.")
        if parameters.get("memory") is not None:
            raise ModelFileError("it names a cache folder, which Credo never writes")
        unknown = parameters.keys() - _parameters(kind)
        if unknown:
            raise ModelFileError(f"its {name} has parameters that this version doesn't know: {sorted(unknown)}")
        values = {key: self.decode(node) for key, node in parameters.items()}
        _check_inner(name, values)
        estimator = kind(**values)
        private = private_state(kind)
        for key, node in state.items():
            # A file must not replace a property or method of the class.
            if not (is_state_name(key) or key in private) or _is_property(kind, key):
                raise ModelFileError(f"its {name} sets {key!r}, which is not a fitted attribute")
            setattr(estimator, key, self.decode(node))
        if state:
            check(estimator)
        return estimator


_TAGS = frozenset(
    ("array", "dict", "dtype", "estimator", "float", "int", "objects", "pairs", "scalar",
     "slice", "sparse", "text", "tuple", "type", "value")
)  # fmt: skip


def from_npy(payload: bytes, *, name: str) -> NDArray[Any]:
    """The array of `.npy` bytes; objects raise an error, and sizes are checked before memory is allocated."""
    stream = BytesIO(payload)
    try:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, dtype = header(stream)
    # NumPy reads the header with Python's tokenizer and parser, which raise errors of many types.
    except Exception as error:
        raise ModelFileError(f"its member {name} is not an array ({str(error)[:100]})") from None
    _plain(dtype)
    offset, count = stream.tell(), prod(shape)
    # With items of size zero, a short file could declare an array that fills the memory.
    sized = count == 0 or dtype.itemsize > 0
    if count < 0 or not sized or count * dtype.itemsize != len(payload) - offset:
        raise ModelFileError(f"its member {name} doesn't hold as many numbers as it says")
    order: Literal["C", "F"] = "F" if fortran else "C"
    try:
        if count == 0:
            return np.empty(shape, dtype=dtype, order=order)
        flat = np.frombuffer(payload, dtype=dtype, offset=offset, count=count)
        return flat.reshape(shape, order=order).copy(order="K")
    except (ValueError, MemoryError) as error:
        raise ModelFileError(f"its member {name} is not an array ({str(error)[:100]})") from None


def _dataclass(kind: Any, values: dict[str, Any], *, name: str) -> Any:
    """The value with these fields; a field added after the file was written takes its default."""
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(values.keys() - known.keys())
    if unknown:
        raise ModelFileError(f"its {name} has fields that this version of Credo doesn't know: {unknown}")
    needed = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING]
    lost = [name for name in needed if name not in values]
    if lost:
        raise ModelFileError(f"its {name} lacks fields that this version of Credo needs: {lost}")
    made = kind(**{field: value for field, value in values.items() if known[field].init})
    for field, value in values.items():
        if not known[field].init:
            object.__setattr__(made, field, value)
    return made


def _check_inner(name: str, parameters: dict[str, Any]) -> None:
    """Raise an error if an inner estimator isn't one; the outer one's checks use its tags."""
    given = [(key, parameters[key]) for key in ("estimator", "expert") if parameters.get(key) is not None]
    pairs = parameters.get("estimators") or ()
    given += [("estimators", value) for _, value in (pairs.items() if isinstance(pairs, dict) else pairs)]
    for key, value in given:
        if not isinstance(value, BaseEstimator):
            raise ModelFileError(f"its {name} has {value!r:.40} for {key}, which is not an estimator")


@cache
def _parameters(kind: Any) -> frozenset[str]:
    return frozenset(kind._get_param_names())


def _is_property(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), property) or callable(getattr(kind, name, None))


def _plain(dtype: np.dtype[Any], error: type[Exception] = ModelFileError) -> np.dtype[Any]:
    """The data type, if arrays of it can be saved."""
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject or dtype.fields is not None:
        raise error(f"it has the data type {dtype}, which model files can't hold")
    return dtype


def _shape(node: Any) -> tuple[int, ...]:
    if not isinstance(node, list) or not all(type(length) is int and 0 <= length < 2**62 for length in node):
        raise ModelFileError("its state is damaged (a shape is not a list of lengths)")
    return tuple(node)


def _list(node: Any) -> list[Any]:
    if not isinstance(node, list):
        raise ModelFileError("its state is damaged (a list is missing)")
    return node


def _string(node: Any) -> str:
    if not isinstance(node, str) or len(node) > 200:
        raise ModelFileError("its state is damaged (a name is missing)")
    return node
