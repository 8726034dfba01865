"""Types, shapes and ranges of fields, stated in their annotations; `check` checks a value that came from a file.

    @dataclass(frozen=True)
    class Line:
        coef: Annotated[Array, Axes("d")]
        noise: Annotated[float, Positive]

A file may hold any state, and compiled code doesn't check its indices. So each field says what it must be: `Axes` the
shape of an array, whose letters stand for the same length in all fields; `Size` a number that is such a length; `Inner`
the lengths that values inside must share; `Indices` whole numbers below a length; `Where` any condition, and `Finite`,
`Positive`, `NonNegative`, `Increasing`, `Sorted`, `NotEmpty`, `Several`, `Probabilities` the usual ones. `If` and
`Sometimes` mark what some fits don't set.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

Sizes = dict[str, int]

# What a number of a type may be in a file.
_NUMBERS: dict[type, tuple[type, ...]] = {float: (float, int, np.floating, np.integer), int: (int, np.integer)}


@dataclass(frozen=True)
class Axes:
    """An array with a letter or number for each axis, such as "n d+1" or "k 2"; "" is a number, "k d | k d d" either.

    Lengths are above zero, except those of capital letters. Floats must be finite unless stated otherwise. A list or a
    tuple has one axis.
    """

    text: str
    finite: bool = True

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError for another shape; new letters are added to the sizes."""
        options = [option.split() for option in self.text.split("|")]
        array = np.asarray(value) if options == [[]] else value
        if isinstance(value, list | tuple):
            array = np.empty(len(value), dtype=object)
        shape = array.shape if isinstance(array, np.ndarray) else None
        if not any(
            shape is not None and len(one) == len(shape) and all(map(_agrees, one, shape, [sizes] * len(one)))
            for one in options
        ):
            known = ", ".join(f"{letter} = {length}" for letter, length in sizes.items())
            wanted = " or ".join(f"({', '.join(option)})" for option in options)
            raise ValueError(f"{name} has shape {np.shape(array)}, where {wanted} is needed with {known}")
        if self.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")


def _agree(axes: list[str], shape: tuple[int, ...], sizes: Sizes) -> bool:
    return len(axes) == len(shape) and all(map(_agrees, axes, shape, [sizes] * len(axes)))


def _agrees(axis: str, length: int, sizes: Sizes) -> bool:
    if axis.isdecimal():
        return length == int(axis)
    letter, _, more = axis.partition("+")
    rest = length - int(more or 0)
    return rest == sizes.setdefault(letter, rest) and (rest > 0 or letter.isupper())


@dataclass(frozen=True)
class Size:
    """A number that is the length which a letter stands for."""

    letter: str
    most: int = 2**31

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError for a length that no table has."""
        if not 0 < value <= self.most or sizes.setdefault(self.letter, int(value)) != value:
            raise ValueError(f"{name} is {value}")


@dataclass(frozen=True)
class Indices:
    """Whole numbers from 0 up to, and without, a number or a length such as "d" or "d+1".

    They are those of an array, of nested tuples, or of the attribute `of` of a value or of each in a list. The smallest
    is `least`.
    """

    stop: str | int
    of: str = ""
    least: int = 0

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError for another number."""
        letter, _, more = str(self.stop).partition("+")
        stop = (int(letter) if letter.isdecimal() else sizes[letter]) + int(more or 0)
        if self.of:
            value = [getattr(one, self.of) for one in (value if isinstance(value, list | tuple) else [value])]
        found = _numbers(value)
        if found.size and not (found.min() >= self.least and found.max() < stop and (found == np.floor(found)).all()):
            what = f"{self.of} of {name}" if self.of else name
            raise ValueError(f"{what} must contain whole numbers from {self.least} to {stop - 1}")


def _numbers(value: Any) -> NDArray[Any]:
    """The numbers of an array, or of all in nested lists and tuples."""
    if isinstance(value, list | tuple) and any(isinstance(one, list | tuple | np.ndarray) for one in value):
        return np.concatenate([_numbers(one) for one in value])
    return np.ravel(value)


class Inner:
    """Annotated fields of a value or of each in a list, whose letters stand for lengths of this one: Inner(k="c")."""

    def __init__(self, **letters: str) -> None:
        self.letters = letters

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError if the lengths differ."""
        for inside in map(check_fields, value if isinstance(value, list) else [value]):
            for inner, outer in self.letters.items():
                # A field that may be None doesn't always have its letters.
                if inner in inside and sizes.setdefault(outer, inside[inner]) != inside[inner]:
                    raise ValueError(f"{name} is of size {inside[inner]}, where {sizes[outer]} is needed")


@dataclass(frozen=True)
class Where:
    """A condition, and how an error message ends: "… must be positive".

    A lambda in an annotation doesn't see the names of its module; a function does.
    """

    holds: Callable[[Any], Any]
    says: str

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless the condition holds."""
        if not self.holds(value):
            raise ValueError(f"{name} must be {self.says}")


@dataclass(frozen=True)
class If:
    """A field that a fit sets only if another attribute is true, or false."""

    name: str
    value: bool = True

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Nothing to check."""


def each(holds: Callable[[Any], Any], says: str) -> Where:
    """A condition on each number of an array, or on one."""
    return Where(lambda value: np.all(holds(np.asarray(value, dtype=np.float64))), says)


Finite = each(np.isfinite, "finite")
Positive = each(lambda x: x > 0, "positive")
NonNegative = each(lambda x: x >= 0, "at least 0")
Increasing = each(lambda x: np.diff(x) > 0, "increasing")
NotEmpty = Where(len, "one or more")
Several = Where(lambda values: len(values) > 1, "two or more")
Sorted = Where(lambda values: np.array_equal(np.unique(values), values), "different values in order")
# A scale whose square is within the range of double precision, or NaN.
Squarable = each(lambda x: np.isnan(x) | (x == 0) | ((x > 1e-150) & (x < 1e150)), "of a size that can be squared")
Probabilities = Where(lambda p: np.min(p) >= 0 and abs(np.sum(p) - 1) <= 1e-6, "probabilities that sum to one")
Sometimes = If("")


def check(value: Any) -> None:
    """Raise a ValueError unless an object's attributes have the types, shapes and ranges that its class annotates.

    A method `_check_state` checks what annotations can't express, such as that a tree has no cycles.
    """
    kind: Any = type(value)
    if not kind.__module__.startswith("credo."):
        return
    held, parameters = vars(value), parameter_types(kind)
    for name, hint in (field_types(kind) | parameters).items():
        if name not in held or is_a(held[name], hint):
            continue
        # Booleans are accepted as numbers.
        if not (name in parameters and isinstance(held[name], bool) and is_a(int(held[name]), hint)):
            found = f"{held[name]!r:.40}".replace("\n", " ")
            raise ValueError(f"its {kind.__name__} has {found} for {name}, which is of another type than it needs")
    check_fields(value)
    if hasattr(value, "_check_state"):
        value._check_state()


def check_fields(value: Any) -> Sizes:
    """Raise a ValueError unless the fields satisfy what their annotations say; returns the length of each letter.

    None is left to the type of the field. A method `_sizes` may give lengths that no field has.
    """
    kind: Any = type(value)
    held, sizes = vars(value), dict(value._sizes()) if hasattr(value, "_sizes") else {}
    present = []
    for name, marks in _marked(kind).items():
        if name in held:
            present += [(name, mark) for mark in marks if held[name] is not None]
        elif isinstance(marks[0], Size):
            # No array has this length.
            sizes[marks[0].letter] = 0
        elif all(bool(getattr(value, mark.name, False)) is mark.value for mark in marks if isinstance(mark, If)):
            raise ValueError(f"{name} is missing")
    # Lengths before the numbers that must be below them.
    for order in (Size, Axes | Inner, If | Indices | Where):
        for name, mark in present:
            if isinstance(mark, order):
                mark.check(name, held[name], sizes)
    return sizes


@cache
def _marked(kind: Any) -> dict[str, tuple[Any, ...]]:
    """The conditions of each field that has some."""
    hints = get_type_hints(kind, include_extras=True).items()
    return {name: get_args(hint)[1:] for name, hint in hints if get_origin(hint) is Annotated}


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The types of what a file stores for a class: all fields, or the fitted attributes of an estimator."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}
    if issubclass(kind, BaseEstimator):
        return {name: hint for name, hint in hints.items() if name.endswith("_") and not name.startswith("_")}
    return hints


@cache
def parameter_types(kind: Any) -> dict[str, Any]:
    """The types of an estimator's constructor; nothing of other classes, whose fields are their parameters."""
    if not issubclass(kind, BaseEstimator):
        return {}
    hints = get_type_hints(kind.__init__)
    return {name: hints[name] for name in kind._get_param_names() if name in hints}


def is_a(value: Any, hint: Any) -> bool:
    """Whether a value has an annotated type; true for types that can't be checked."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(is_a(value, part) for part in inner)
    if origin is Literal:
        return value in inner
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_kind(value.dtype, get_args(inner[1])[0] if inner[1:] else Any)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))
    if origin in (list, set, frozenset):
        return isinstance(value, origin) and all(is_a(item, inner[0]) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and _are(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(
            is_a(key, inner[0]) and is_a(item, inner[1]) for key, item in value.items()
        )
    return not isinstance(hint, type) or getattr(hint, "_is_protocol", False) or isinstance(value, hint)


def _are(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(is_a(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(is_a, values, hints))


def _has_kind(dtype: np.dtype[Any], scalar: Any) -> bool:
    if not isinstance(scalar, type) or not issubclass(scalar, np.generic):
        return True
    kinds = (
        "iu" if issubclass(scalar, np.integer) else np.dtype(scalar).kind if scalar is not np.generic else dtype.kind
    )
    return dtype.kind in kinds
