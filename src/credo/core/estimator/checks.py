"""Checks of constructor arguments at the start of `fit`, and of fitted state that came from a file.

Each error names the argument and its value. A file may hold any state, and compiled code doesn't check it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from inspect import get_annotations
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError


def positive(name: str, value: Any, *, words: Sequence[str] = ()) -> float:
    """The value as a float, which must be finite and above zero; `words` are what the argument may be instead.

    Examples
    --------
    >>> from credo.core.estimator import positive
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
    >>> from credo.core.estimator import nonnegative
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
    >>> from credo.core.estimator import positive_integer
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
    >>> from credo.core.estimator import nonnegative_integer
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
    >>> from credo.core.estimator import choice
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
    >>> from credo.core.estimator import interval_level
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


class FittedState:
    """Attributes that end in an underscore are set by `fit`; a declared one that is missing raises a NotFittedError.

    It is an AttributeError too, so that `hasattr` is False. A file may lack some of the attributes.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> hasattr(LinearRegression(), "coef_")
    False
    >>> LinearRegression().coef_
    Traceback (most recent call last):
    ...
    sklearn.exceptions.NotFittedError: this LinearRegression is not fitted and has no coef_: call fit first
    >>> LinearRegression().alpha_
    Traceback (most recent call last):
    ...
    AttributeError: 'LinearRegression' object has no attribute 'alpha_'
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.endswith("_") and not hasattr(type(self), name) and _declares(type(self), name):
                fitted = any(one.endswith("_") and not one.startswith("_") for one in vars(self))
                raise NotFittedError(
                    f"this {type(self).__name__} was fitted with options that don't set {name}"
                    if fitted
                    else f"this {type(self).__name__} is not fitted and has no {name}: call fit first"
                )
            # A property that failed, or a name that no fit sets: Python's own error, with its suggestion.
            return object.__getattribute__(self, name)


def _declares(kind: type, name: str) -> bool:
    """Whether the class or one of its bases annotates the attribute, as for all that `fit` may set."""
    return any(name in get_annotations(base) for base in kind.__mro__)
