"""The tail of Student's t from a table, for very many values with one number of degrees of freedom.

ln P(|t| > z) is nearly a parabola of z. On cells of width 1/64, the polynomial of degree five that has its value, slope
and curvature at both ends is off by less than 1e-14 from 5 degrees of freedom on; an incomplete beta function costs
several times as much.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from credo.distributions._t_tail import gamma_step, two_sided

Array = NDArray[np.float64]
# From so many values on a table pays, since it is kept; and from so many degrees of freedom on it is exact.
WORTH, LEAST = 256, 5.0
_CELLS, _END = 64, 16


def read(z: Array, df: float) -> Array:
    """P(|t| > z) for z ≥ 0."""
    place = np.minimum(z, float(_END)) * _CELLS
    cell = np.minimum(place.astype(np.intp), _CELLS * _END - 1)
    rest = place - cell
    coefs = _table(df)
    power = coefs[5].take(cell)
    for order in range(4, -1, -1):
        power *= rest
        power += coefs[order].take(cell)
    values = np.exp(power, out=power)
    beyond = ~(z <= _END)
    if beyond.any():
        values[beyond] = two_sided(z[beyond], np.array([df]))
    return values


@lru_cache(maxsize=64)
def _table(df: float) -> Array:
    """The coefficients of each cell's polynomial in z·64 − cell, lowest first: shape (6, cells)."""
    z = np.arange(_CELLS * _END + 1) / _CELLS
    value = two_sided(z, np.array([df]))
    log_peak = gamma_step(np.array(df / 2)) - 0.5 * np.log(df * np.pi)
    density = np.exp(log_peak - (df + 1) / 2 * np.log1p(z * z / df))
    # With r = 2f/P, where f is the density: (ln P)' = −r and (ln P)'' = −r (f'/f + r).
    rate = 2 * density / value
    slope = -rate / _CELLS
    curve = -rate * (rate - (df + 1) * z / (df + z * z)) / _CELLS**2
    level = np.log(value)
    a, b, c = level[:-1], slope[:-1], curve[:-1] / 2
    # What value, slope and curvature at the cell's end leave for the three highest powers.
    up, steep, bent = level[1:] - a - b - c, slope[1:] - b - 2 * c, curve[1:] - 2 * c
    return np.array(
        [a, b, c, 10 * up - 4 * steep + bent / 2, 7 * steep - 15 * up - bent, 6 * up - 3 * steep + bent / 2]
    )
