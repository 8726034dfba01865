"""Location-scale families with a scale of exactly zero: point masses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def standardize(y: NDArray[np.float64], loc: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """(y − loc) / scale; a scale of zero gives ±∞, and +∞ at y = loc, so that the cdf is the step there."""
    with np.errstate(all="ignore"):
        z = (y - loc) / scale
    return np.where((scale == 0) & (y == loc), np.inf, z)


def log_prob(
    density: NDArray[np.float64], y: NDArray[np.float64], loc: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The log density where the scale is positive; +∞ on the point and −∞ off it where the scale is zero."""
    return np.where(scale > 0, density, np.where(y == loc, np.inf, -np.inf))


def quantile(
    standard: NDArray[np.float64], loc: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """loc + scale × the standard quantiles (n_rows or 1, k); a point has one quantile, the ends included."""
    with np.errstate(all="ignore"):
        values = loc[:, None] + scale[:, None] * standard
    return np.where(scale[:, None] > 0, values, loc[:, None])
