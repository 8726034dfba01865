"""Roots of a function of one variable."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a continuous function between two points at which it has different signs (Brent 1973).

    >>> round(crossing(lambda x: x * x - 2.0, 0.0, 2.0), 9)  # √2
    1.414213562
    """
    return float(brentq(function, low, high))
