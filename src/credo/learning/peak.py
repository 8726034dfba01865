"""The global maximum of a function of one variable with a known derivative.

A scan finds every local maximum that is wider than the grid spacing, root finding of the derivative refines it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]

# Values with a smaller relative difference count as equal.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Peak:
    """The position of the maximum, the number of iterations, and the `kind` of maximum.

    "inner": the only local maximum. "several": the highest of several. "low" and "high": an end of the range. "flat":
    the range is a single point.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import highest
    >>> highest(np.sin, np.cos, np.linspace(0.0, 7.0, 12)).kind
    'inner'
    >>> highest(np.sin, np.cos, np.linspace(0.0, 9.0, 12)).kind
    'several'
    """

    place: float
    n_iter: int
    kind: str


def highest(
    value: Callable[[Array], Array], slope: Callable[[float], float], grid: Array, *, precision: float = 1e-14
) -> Peak:  # fmt: skip
    """The maximum between the ends of an increasing grid.

    Parameters
    ----------
    value : callable, the function at an array of points
    slope : callable, its derivative at one point
    grid : array of increasing points to scan
    precision : float
        Accuracy of the maximum's position.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import highest
    >>> highest(np.sin, np.cos, np.linspace(0.0, 7.0, 12)).place  # π/2
    1.5707963267948966
    """
    if grid[-1] <= grid[0]:
        return Peak(float(grid[-1]), 0, "flat")
    heights, slope = value(grid), cache(slope)
    tops = []
    for i in 1 + np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])):
        left, right = grid[i : i + 2].tolist() if slope(float(grid[i])) > 0 else grid[i - 1 : i + 1].tolist()
        # Otherwise the local maximum is a rounding error on a plateau.
        if slope(left) > 0 > slope(right):
            root, outcome = brentq(slope, left, right, xtol=precision, rtol=8.9e-16, full_output=True)
            tops.append((float(root), int(outcome.iterations)))
    ends = max(heights[0], heights[-1])
    found = value(np.array([root for root, _ in tops]))
    if len(tops) and found.max() >= ends:
        root, n_iter = tops[int(np.argmax(found))]
        return Peak(root, n_iter, "several" if len(tops) > 1 else "inner")
    best = int(np.argmax(heights))
    if heights[best] - ends > _ROUNDING * abs(heights[best]):
        # The derivative changes its sign more than once between grid points, so the grid point itself is the result.
        return Peak(float(grid[best]), 0, "inner")
    # The function is monotone, or constant towards the end of the range.
    return Peak(float(grid[0]), 0, "low") if heights[0] > heights[-1] else Peak(float(grid[-1]), 0, "high")


def refined_maximum(grid: Array, heights: Array) -> float:
    """The position of the maximum on an even grid, by a parabola through the largest height and its neighbours.

    >>> x = np.linspace(0.0, 3.0, 7)
    >>> refined_maximum(x, -((x - 1.2) ** 2))
    1.2
    """
    i = int(np.argmax(heights))
    if i in (0, len(heights) - 1):
        return float(grid[i])
    before, here, after = heights[i - 1 : i + 2]
    curvature = before - 2 * here + after
    shift = 0.5 * (before - after) / curvature if curvature < 0 else 0.0
    return float(grid[i] + shift * (grid[1] - grid[0]))
