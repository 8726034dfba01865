"""Symmetric matrices that are given by their triangle i ≤ j."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.kernels import _jit
from credo.kernels._jit import ADD, SET
from credo.linalg import parallel_rows

Array = NDArray[np.float64]


def combine(K: Array, values: Any, mode: int) -> None:
    """Set, add to or multiply K by values, for kernels that have no compiled loop."""
    if mode == SET:
        K[...] = values
        return
    # The other triangle may hold anything, and is never read.
    with np.errstate(all="ignore"):
        if mode == ADD:
            K += values
        else:
            K *= values


def triangle_total(W: Array) -> float:
    """The sum of all entries of the whole matrix."""
    return float(sum(parallel_rows(_jit.triangle_total, len(W), W)))


def times_others(W: Array, factors: list[Array]) -> Iterator[Array]:
    """For each factor, W times all the others."""
    return (reduce(mul, factors[:i] + factors[i + 1 :], W) for i in range(len(factors)))
