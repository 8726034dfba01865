"""Checks of what a file holds, when it is saved and loaded: types by annotations, the rest by `_check_state`.

Compiled code doesn't check bounds, so a file must not give an object a state that `fit` never produces. A class
that relies on shapes and ranges has a method `_check_state`, which raises a ValueError; it is called once all of the
object is there.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from credo.io.errors import ModelFileError
from credo.io.files.classes import is_state_name

# What a number of a type may be in a file.
_NUMBERS: dict[type, tuple[type, ...]] = {float: (float, int, np.floating, np.integer), int: (int, np.integer)}


def check(value: Any) -> None:
    """Raise an error unless the attributes of an object of Credo's have the types and sizes that its class needs."""
    kind: Any = type(value)
    if not kind.__module__.startswith("credo."):
        return
    held = vars(value)
    parameters = parameter_types(kind)
    for name, hint in (field_types(kind) | parameters).items():
        if name not in held or is_a(held[name], hint):
            continue
        # Where a parameter is a number, users may give true or false.
        if not (name in parameters and isinstance(held[name], bool) and is_a(int(held[name]), hint)):
            found = f"{held[name]!r:.40}".replace("\n", " ")
            raise ModelFileError(f"its {kind.__name__} has {found} for {name}, which is of another type than it needs")
    if hasattr(value, "_check_state"):
        value._check_state()


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The types of what a file holds of a class: all fields, or of an estimator its fitted attributes."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}
    if issubclass(kind, BaseEstimator):
        return {name: hint for name, hint in hints.items() if is_state_name(name)}
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
