"""Checks of constructor arguments, run at the start of `fit`; each error names the argument and its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


def positive(name: str, value: Any, *, words: Sequence[str] = ()) -> float:
    """The value as a float, which must be finite and above zero; `words` are what the argument may be instead.

    Examples
    --------
    >>> from credo.estimator import positive
    >>> positive("alpha", 2)
    2.0
    >>> positive("alpha", 0.0, words=["loo"])
    Traceback (most recent call last):
    ...
    ValueError: alpha must be a positive finite number or 'loo'; got 0.0
    """
    if not _is_real(value) or not 0 < value < math.inf:
        instead = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name} must be a positive finite number{instead}; got {value!r}")
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """The value as a float, which must be finite and not below zero.

    Examples
    --------
    >>> from credo.estimator import nonnegative
    >>> nonnegative("alpha", 0)
    0.0
    >>> nonnegative("alpha", -1)
    Traceback (most recent call last):
    ...
    ValueError: alpha must be a finite number that is not negative; got -1
    """
    if not _is_real(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a finite number that is not negative; got {value!r}")
    return float(value)


def positive_integer(name: str, value: Any, *, words: Sequence[str] = ()) -> int:
    """The value as an int, which must be at least one; `words` are what the argument may be instead.

    Examples
    --------
    >>> from credo.estimator import positive_integer
    >>> positive_integer("n_restarts", 3)
    3
    >>> positive_integer("n_restarts", 0)
    Traceback (most recent call last):
    ...
    ValueError: n_restarts must be a whole number of at least 1; got 0
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        instead = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name} must be a whole number of at least 1{instead}; got {value!r}")
    return int(value)


def nonnegative_integer(name: str, value: Any) -> int:
    """The value as an int, which must not be negative.

    Examples
    --------
    >>> from credo.estimator import nonnegative_integer
    >>> nonnegative_integer("n_tune", 0)
    0
    >>> nonnegative_integer("n_tune", 1.5)
    Traceback (most recent call last):
    ...
    ValueError: n_tune must be a whole number that is not negative; got 1.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number that is not negative; got {value!r}")
    return int(value)


def choice(name: str, value: Any, options: Sequence[Any]) -> Any:
    """The value, which must be one of the options.

    Examples
    --------
    >>> from credo.estimator import choice
    >>> choice("method", "vi", ("laplace", "ep", "vi"))
    'vi'
    >>> choice("method", "vb", ("laplace", "ep", "vi"))
    Traceback (most recent call last):
    ...
    ValueError: method must be one of 'laplace', 'ep', 'vi'; got 'vb'
    """
    if not any(type(value) is type(option) and value == option for option in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def interval_level(value: Any, name: str = "level") -> float:
    """A probability strictly between 0 and 1, as interval levels are.

    Examples
    --------
    >>> from credo.estimator import interval_level
    >>> interval_level(0.9)
    0.9
    >>> interval_level(90)
    Traceback (most recent call last):
    ...
    ValueError: level must lie strictly between 0 and 1, as in 0.95; got 90
    """
    if not _is_real(value) or not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, as in 0.95; got {value!r}")
    return float(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
