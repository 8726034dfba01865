"""The inverse of distribution functions, for many rows and levels at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
_SIGN = np.uint64(1 << 63)
_LARGEST = np.finfo(np.float64).max
_EPS = np.finfo(np.float64).eps
_CYCLES = 16


def invert(cdf: Callable[[Array], Array], q: Array, low: Array, high: Array, *, smooth: NDArray[np.bool_]) -> Array:
    """The smallest x with cdf(x) ≥ q, where low ≤ x ≤ high, for 0 < q < 1.

    Where `smooth`, the search may end as soon as cdf(x) equals q up to rounding. Elsewhere the distribution
    function may jump, and the search ends at the very float at which it does.
    """
    low, high = np.clip(low, -_LARGEST, _LARGEST), np.clip(high, -_LARGEST, _LARGEST)
    high = np.where(cdf(low) >= q, low, high)
    if smooth.any():
        low, high = _interpolate(cdf, q, low, high, smooth)
    return _bisect(cdf, q, low, high)


def _interpolate(
    cdf: Callable[[Array], Array], q: Array, low: Array, high: Array, smooth: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Shrink the brackets by a secant step, one of double length, and halving, in turn.

    The double step of Alefeld, Potra & Shi (1995) lands just beyond the root, so that both ends close in on
    it. Secants are drawn on the probit scale, where the distribution function of a normal is a straight line.
    """
    target = ndtri(q)
    g_low, g_high = ndtri(cdf(low)) - target, ndtri(cdf(high)) - target
    for step in range(3 * _CYCLES):
        x = low / 2 + high / 2
        if step % 3 < 2:
            secant = _secant(low, high, g_low, g_high, length=step % 3 + 1)
            x = np.where((low < secant) & (secant < high), secant, x)
        value = cdf(x)
        g, reached = ndtri(value) - target, value >= q
        close = smooth & (np.abs(value - q) <= 2 * _EPS * q)
        low, g_low = np.where(~reached | close, x, low), np.where(~reached | close, g, g_low)
        high, g_high = np.where(reached | close, x, high), np.where(reached | close, g, g_high)
        narrow = high - low <= 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        low = np.where(smooth & narrow, high, low)
        if (low == high).all():
            break
    return low, high


def _secant(low: Array, high: Array, g_low: Array, g_high: Array, *, length: int) -> Array:
    """The secant step from the end nearer to the root, `length` times as long, and of at least two floats."""
    nearer = np.abs(g_low) < np.abs(g_high)
    best, g_best = np.where(nearer, low, high), np.where(nearer, g_low, g_high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = length * np.abs(g_best * ((high - low) / (g_high - g_low)))
    step = np.maximum(step, 2 * np.spacing(np.abs(best)))
    return np.where(nearer, best + step, best - step)


def _bisect(cdf: Callable[[Array], Array], q: Array, low: Array, high: Array) -> Array:
    """Halve the number of floats between the ends: at most 64 steps, whatever the scales are."""
    a, b = _position(low), _position(high)
    while (b - a > 1).any():
        middle = a + (b - a) // np.uint64(2)
        reached = cdf(_float(middle)) >= q
        searching = b - a > 1
        a, b = np.where(searching & ~reached, middle, a), np.where(searching & reached, middle, b)
    return _float(b) + 0.0


def _position(x: Array) -> NDArray[np.uint64]:
    """The place of a float among all floats: an order-preserving map to integers."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _float(position: NDArray[np.uint64]) -> Array:
    bits = np.where(position & _SIGN, position ^ _SIGN, ~position)
    return bits.view(np.float64)
