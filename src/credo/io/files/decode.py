"""A tree of JSON back into a model; anything but the tags of `credo.io.files.encode` raises an error."""

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

from credo.io.errors import ModelFileError
from credo.io.files.archive import MAX_JSON_VALUES
from credo.io.files.classes import Serializable, class_named, is_state_name, private_state
from credo.io.files.encode import ARRAY_KINDS, MAX_DEPTH, SPARSE, TYPES, n_cells
from credo.io.files.state import check


class Decoder:
    """Turns JSON nodes into values; `member` gives the bytes of an array by its number."""

    def __init__(self, member: Callable[[int], bytes]) -> None:
        self._member = member
        self._arrays: dict[int, NDArray[Any]] = {}
        self._depth = self._n_cells = 0
        # Whether a class of scikit-learn's was met, whose attributes may change their meaning with its version.
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
            return getattr(self, f"_{tag}")(content) if tag in _TAGS else _unknown(tag)
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
        pairs = [(self.decode(key), self.decode(item)) for key, item in content]
        return dict(pairs)

    def _array(self, content: int) -> NDArray[Any]:
        if type(content) is not int or not 0 <= content < 10**6:
            raise ModelFileError(f"its state is damaged (array number {content!r})")
        if content not in self._arrays:
            self._arrays[content] = from_npy(self._member(content), name=f"arrays/{content}.npy")
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
        shape = _shape(shape)
        data, *index = (self.decode(node) for node in _list(nodes))
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, *index)):
            raise ModelFileError("its state is damaged (a sparse matrix without its arrays)")
        if not all(part.dtype.kind in "iu" for part in index):
            raise ModelFileError("its state is damaged (a sparse matrix whose indices aren't whole numbers)")
        return _sparse_matrix(name, shape, data, index)

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

    def _records(self, content: list[Any]) -> list[Any]:
        found: dict[int, Any] = {}
        count = 0
        for name, node, columns in _list(content):
            kind, places = class_named(_string(name)), _places(self.decode(node))
            if not is_dataclass(kind) or issubclass(kind, BaseEstimator):
                raise ModelFileError(f"its state is damaged ({name} is not a plain value)")
            count += len(places)
            self._n_cells += n_cells(len(places), columns)
            if self._n_cells > MAX_JSON_VALUES:
                raise ModelFileError(f"its state holds more than {MAX_JSON_VALUES:,} values, more than any model needs")
            cells = [self._cells(column, len(places)) for column in columns.values()]
            rows = zip(*cells, strict=True) if cells else [()] * len(places)
            for place, row in zip(places, rows, strict=True):
                found[place] = made = _dataclass(kind, dict(zip(columns, row, strict=True)), name=name)
                check(made)
        if sorted(found) != list(range(count)):
            raise ModelFileError("its state is damaged (records without a place)")
        return [found[place] for place in range(count)]

    def _cells(self, node: Any, count: int) -> list[Any]:
        """One field of each of the records."""
        if isinstance(node, dict) and "same" in node:
            return [self.decode(node["same"])] * count
        values = self.decode(node)
        return values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else _list(values)

    def _named(self, content: list[Any]) -> dict[str, Any]:
        names, node = content
        if len(set(_list(names))) < len(names) or not all(isinstance(name, str) for name in names):
            raise ModelFileError("its state is damaged (names that aren't distinct words)")
        return dict(zip(names, _list(self.decode(node)), strict=True))

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
    ("array", "dict", "dtype", "estimator", "float", "int", "named", "objects", "pairs", "records", "scalar",
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
    _plain(dtype, name=name)
    offset, count = stream.tell(), prod(shape)
    # Values of no size would let a short file declare an array that fills the memory.
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


def _sparse_matrix(name: str, shape: tuple[int, ...], data: NDArray[Any], index: list[NDArray[Any]]) -> Any:
    kind = getattr(sparse, name)
    if name.startswith("coo"):
        made = kind((data, tuple(index)), shape=shape)
        made.coords = tuple(index)
        return made
    indices, indptr = index
    made = kind((data, indices, indptr), shape=shape)
    # Compiled code doesn't check these indices: a wrong one would read other memory.
    made.check_format(full_check=True)
    made.indices, made.indptr = indices, indptr
    return made


def _dataclass(kind: Any, values: dict[str, Any], *, name: str) -> Any:
    """The value with these fields; one that came to the class after the file was written takes its default."""
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(values.keys() - known.keys())
    if unknown:
        raise ModelFileError(f"its {name} has fields that this version of Credo doesn't know: {unknown}")
    lost = [
        field.name
        for field in known.values()
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING
    ]
    if lost:
        raise ModelFileError(f"its {name} lacks fields that this version of Credo needs: {lost}")
    made = kind(**{field: value for field, value in values.items() if known[field].init})
    for field, value in values.items():
        if not known[field].init:
            object.__setattr__(made, field, value)
    return made


def _check_inner(name: str, parameters: dict[str, Any]) -> None:
    """Raise an error where an estimator is made of something else; its own checks need the tags of what it holds."""
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


def _plain(dtype: np.dtype[Any], *, name: str = "state.json") -> np.dtype[Any]:
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject or dtype.fields is not None:
        raise ModelFileError(f"its member {name} has the data type {dtype}, which Credo never writes")
    return dtype


def _shape(node: Any) -> tuple[int, ...]:
    if not isinstance(node, list) or not all(type(length) is int and 0 <= length < 2**62 for length in node):
        raise ModelFileError("its state is damaged (a shape is no list of lengths)")
    return tuple(node)


def _places(node: Any) -> list[int]:
    if not isinstance(node, np.ndarray) or node.ndim != 1 or node.dtype.kind not in "iu":
        raise ModelFileError("its state is damaged (records without places)")
    places: list[int] = node.tolist()
    return places


def _list(node: Any) -> list[Any]:
    if not isinstance(node, list):
        raise ModelFileError("its state is damaged (a list is missing)")
    return node


def _string(node: Any) -> str:
    if not isinstance(node, str) or len(node) > 200:
        raise ModelFileError("its state is damaged (a name is missing)")
    return node


def _unknown(tag: str) -> Any:
    raise ModelFileError(f"its state holds {tag[:40]!r}, which this version of Credo doesn't know")
