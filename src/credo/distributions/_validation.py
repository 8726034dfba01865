"""Validation of arguments; every error names the argument, the index and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Probabilities that come out of a softmax in single precision sum to one within this.
SUM_TOLERANCE = 1e-6


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values as float64 without NaN; infinities pass."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex")
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be real numbers; got {_short(values)}") from None
    refuse(np.isnan(array), array, f"{name} must not contain NaN")
    return array


def rows(**columns: ArrayLike) -> list[NDArray[np.float64]]:
    """Finite read-only columns of one common length; scalars and length-one columns are repeated."""
    arrays = []
    for name, values in columns.items():
        array = np.atleast_1d(numbers(name, values))
        if array.ndim != 1:
            raise ValueError(f"{name} must be a number or one-dimensional; got shape {array.shape}")
        refuse(np.isinf(array), array, f"{name} must be finite")
        arrays.append(array)
    lengths = {array.size for array in arrays} - {1}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} has {array.size}" for name, array in zip(columns, arrays, strict=True))
        raise ValueError(f"the parameters must have equal lengths (or length 1): {sizes}")
    length = lengths.pop() if lengths else 1
    return [frozen(np.broadcast_to(array, length)) for array in arrays]


def are_scalars(*values: ArrayLike) -> bool:
    """Whether all values are single numbers."""
    return all(np.ndim(value) == 0 for value in values)


def probabilities(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-negative numbers whose last axis sums to one, normalized to do so exactly (up to rounding)."""
    refuse((values < 0) | (values > 1 + SUM_TOLERANCE), values, f"{name} must be between 0 and 1")
    total = values.sum(axis=-1, keepdims=True)
    off = np.abs(total - 1) > SUM_TOLERANCE
    if off.any():
        where = tuple(int(i) for i in np.argwhere(off)[0][:-1])
        row = f" of row {where[0]}" if where else ""
        raise ValueError(f"{name}{row} must sum to 1; they sum to {float(total[off][0]):.6g}")
    return frozen(values / total)


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    array = numbers(name, value)
    if array.ndim or not 0 < array < 1:
        raise ValueError(f"{name} must be one number strictly between 0 and 1, as in 0.95; got {value!r}")
    return float(array)


def count(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be a whole number that is not negative; got {value!r}")
    return int(value)


def refuse(bad: NDArray[np.bool_], values: NDArray[Any], message: str) -> None:
    """Raise if any value is bad, with the index and value of the first."""
    if not bad.any():
        return
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    place = f" at index {where[0] if len(where) == 1 else where}" if where else ""
    raise ValueError(f"{message}; got {values[where]}{place}")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def text(values: NDArray[Any]) -> str:
    """An array in few characters, for a repr."""
    lines = np.array2string(values, precision=4, threshold=6, edgeitems=2, separator=", ").splitlines()
    return " ".join(line.strip() for line in lines)


def _short(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 80 else text[:77] + "..."
