"""The definitions, integrated with scipy: slow, and independent of the closed forms under test."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import quad


def crps(cdf: Callable[[float], float], y: float, *, points: Sequence[float] = ()) -> float:
    """∫ (F(x) − 1{y ≤ x})² dx, split at y and at the points where F is steep or jumps."""
    points = np.unique(points)
    below = [-np.inf, *points[points < y], y]
    above = [y, *points[points > y], np.inf]
    left = sum(_integral(lambda x: cdf(x) ** 2, a, b) for a, b in pairwise(below))
    right = sum(_integral(lambda x: (1 - cdf(x)) ** 2, a, b) for a, b in pairwise(above))
    return left + right


def _integral(f: Callable[[float], float], a: float, b: float) -> float:
    return quad(f, a, b, limit=200, epsabs=1e-11, epsrel=1e-11)[0]
