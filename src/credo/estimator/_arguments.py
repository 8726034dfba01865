"""Checks of constructor arguments, run at the start of `fit`; each error names the argument and its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


def positive(name: str, value: Any, *, words: Sequence[str] = ()) -> float:
    """The value as a float, which must be finite and above zero; `words` are what the argument may be instead."""
    if not _is_real(value) or not 0 < value < math.inf:
        instead = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name} must be a positive finite number{instead}; got {value!r}")
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """The value as a float, which must be finite and not below zero."""
    if not _is_real(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a finite number that is not negative; got {value!r}")
    return float(value)


def positive_integer(name: str, value: Any) -> int:
    """The value as an int, which must be at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def nonnegative_integer(name: str, value: Any) -> int:
    """The value as an int, which must not be negative."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number that is not negative; got {value!r}")
    return int(value)


def choice(name: str, value: Any, options: Sequence[Any]) -> Any:
    """The value, which must be one of the options."""
    if not any(type(value) is type(option) and value == option for option in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def interval_level(value: Any, name: str = "level") -> float:
    """A probability strictly between 0 and 1, as interval levels are."""
    if not _is_real(value) or not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, as in 0.95; got {value!r}")
    return float(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
