"""Validation of outcomes, which must match the rows of a distribution, and of sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import Bernoulli, Categorical, Distribution


def outcomes(y: ArrayLike, dist: Distribution) -> NDArray[Any]:
    """The outcomes as an array with one entry for each row of the distribution."""
    if not isinstance(dist, Distribution):
        raise TypeError(
            "dist must be a distribution with one row for each outcome, as predict_dist returns; "
            f"got {type(dist).__name__}"
        )
    # Class labels may be strings; the distribution checks them.
    values = np.asarray(y) if isinstance(dist, Bernoulli | Categorical) else numbers(y, name="y")
    _one_dimension(values, name="y")
    if len(values) != len(dist):
        raise ValueError(f"y has {len(values)} values and dist has {len(dist)} rows; they must match")
    if len(values) == 0:
        raise ValueError("y is empty: a score needs at least one outcome")
    return values


def numbers(values: ArrayLike, *, name: str) -> NDArray[np.float64]:
    """The values as finite floats in one dimension."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None
    _one_dimension(array, name=name)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        first = f"the first is {array[bad[0]]} at index {bad[0]}"
        raise ValueError(f"{name} has {bad.size} values that are not finite, {first}; remove those rows")
    return array


def average(values: NDArray[Any], sample_weight: ArrayLike | None) -> float:
    """The mean of the values, weighted when weights are given."""
    if sample_weight is None:
        return float(np.mean(values))
    weight = numbers(sample_weight, name="sample_weight")
    if len(weight) != len(values):
        raise ValueError(f"sample_weight has {len(weight)} values and y has {len(values)}; they must match")
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative; got {weight.min()} at index {weight.argmin()}")
    used = weight > 0
    if not used.any():
        raise ValueError("all sample weights are zero")
    # Rows of weight zero are removed first, as 0 · (−∞) is NaN.
    return float(np.average(values[used], weights=weight[used]))


def _one_dimension(array: NDArray[Any], *, name: str) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}. Use ravel() for a single column")
