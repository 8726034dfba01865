"""Whether fitted state is there and fits together: a file may hold any, and compiled code reads it unchecked."""

from __future__ import annotations

from inspect import get_annotations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError


class FittedState:
    """Attributes that end in an underscore are set by `fit`; a declared one that is missing raises a NotFittedError.

    It is an AttributeError too, so that `hasattr` is False. A file may leave out one attribute of many.

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
    """Whether the class or a base of it annotates the attribute, as it does for all that `fit` may set."""
    return any(name in get_annotations(base) for base in kind.__mro__)


def check_shapes(owner: Any, sizes: dict[str, int] | None = None, **shapes: str) -> dict[str, int]:
    """Raise a ValueError unless attributes are finite arrays of the given shapes; returns the length of each letter.

    A shape has a letter for each axis, such as "n d", or a letter plus a number, such as "n d+1". A letter stands for
    the same length everywhere; only "r", a rank, may be zero. An empty shape is a number. "?" at the end allows None,
    and "~" allows NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.estimator import check_shapes
    >>> from types import SimpleNamespace
    >>> check_shapes(SimpleNamespace(X=np.zeros((3, 2)), w=np.zeros(3)), X="n d", w="n")
    {'n': 3, 'd': 2}
    >>> check_shapes(SimpleNamespace(X=np.zeros((3, 2)), w=np.zeros(4)), X="n d", w="n")
    Traceback (most recent call last):
    ...
    ValueError: w has shape (4,), where (n) is needed with n = 3, d = 2
    """
    known = dict(sizes or {})
    for name, text in shapes.items():
        array, axes = getattr(owner, name), text.strip("?~").split()
        if array is None and "?" in text:
            continue
        array = np.asarray(array) if not axes else array
        fits = isinstance(array, np.ndarray) and array.ndim == len(axes)
        for axis, length in zip(axes, array.shape if fits else (), strict=False):
            letter, _, more = axis.partition("+")
            rest = length - int(more or 0)
            fits = fits and rest == known.setdefault(letter, rest) and (rest > 0 or letter == "r")
        if not fits:
            shown = ", ".join(f"{letter} = {length}" for letter, length in known.items())
            wanted = text.strip("?~").replace(" ", ", ")
            raise ValueError(f"{name} has shape {np.shape(array)}, where ({wanted}) is needed with {shown}")
        if array.dtype.kind == "f" and "~" not in text and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
    return known


def check_places(owner: Any, name: str, stop: int) -> None:
    """Raise a ValueError unless the array contains whole numbers from 0 to stop − 1 only.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from credo.estimator import check_places
    >>> check_places(SimpleNamespace(group=np.array([0, 2])), "group", 2)
    Traceback (most recent call last):
    ...
    ValueError: group must contain whole numbers from 0 to 1
    """
    places = getattr(owner, name)
    if places.size and not (places.min() >= 0 and places.max() < stop and (places == np.floor(places)).all()):
        raise ValueError(f"{name} must contain whole numbers from 0 to {stop - 1}")


def check_positive(owner: Any, *names: str, zero: bool = False, square: bool = False) -> None:
    """Raise a ValueError unless the attributes contain positive numbers only, or with `zero` non-negative ones.

    With `square`, their squares must be within the range of double precision too.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from credo.estimator import check_positive
    >>> check_positive(SimpleNamespace(scale_=-1.0), "scale_")
    Traceback (most recent call last):
    ...
    ValueError: scale_ must be positive
    """
    for name in names:
        values = np.asarray(getattr(owner, name), dtype=np.float64)
        if not ((values >= 0) if zero else (values > 0)).all():
            raise ValueError(f"{name} must be {'at least 0' if zero else 'positive'}")
        if square and not ((values < 1e150) & ((values > 1e-150) | (values == 0))).all():
            raise ValueError(f"{name} is so large or small that its square overflows or underflows")
