"""The inverse of distribution functions, for many rows and levels at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_SIGN = np.uint64(1 << 63)
_LARGEST = np.finfo(np.float64).max
_EPS = np.finfo(np.float64).eps
_CYCLES = 16


class InverseCdf:
    """The smallest x with F(x) ≥ q, for 0 < q < 1.

    Parameters
    ----------
    tail : callable
        `tail(x, upper)` is 1 − F where `upper`, and F elsewhere; x is of shape (k, n_rows).
    q, rest : arrays of shape (k, 1)
        rest is 1 − q, accurate for q near 1.
    smooth : array of shape (n_rows,)
        Where F is smooth, the search may end as soon as F(x) equals q up to rounding. Elsewhere F may jump, and
        the search ends at exactly the float at which it does.
    """

    def __init__(self, tail: Callable[[Array, Bools], Array], q: Array, rest: Array, *, smooth: Bools) -> None:
        # 1 − F keeps the digits of a smooth upper tail. Jumps are searched in F itself, so that quantile(cdf(y)) is
        # y at a jump.
        self.tail, self.smooth = tail, smooth
        self.upper = (q > 0.5) & smooth
        self.level = np.where(self.upper, rest, q)
        self.probit = ndtri(self.level)

    def between(self, low: Array, high: Array) -> Array:
        """The solution between the ends, which must bracket it."""
        low, high = np.clip(low, -_LARGEST, _LARGEST), np.clip(high, -_LARGEST, _LARGEST)
        value = self._value(low)
        high = np.where(self._reached(value), low, high)
        if self.smooth.any():
            low, high = self._interpolate(low, high, value)
        return self._bisect(low, high)

    def _value(self, x: Array) -> Array:
        return self.tail(x, np.broadcast_to(self.upper, x.shape))

    def _reached(self, value: Array) -> Bools:
        return np.where(self.upper, value <= self.level, value >= self.level)

    def _excess(self, value: Array) -> Array:
        """How far F is beyond q on the probit scale, where the F of a normal is a straight line."""
        return np.where(self.upper, self.probit - ndtri(value), ndtri(value) - self.probit)

    def _interpolate(self, low: Array, high: Array, below: Array) -> tuple[Array, Array]:
        """Shrink the brackets by cycles of a secant step, a double secant step and, if these halved less, bisection.

        The double step of Alefeld, Potra & Shi (1995) ends just beyond the root, so that both ends approach it.
        `below` is F at the lower ends.
        """
        g_low, g_high = self._excess(below), self._excess(self._value(high))
        for step in range(3 * _CYCLES):
            if step % 3 == 0:
                width = high / 2 - low / 2
            secant = _secant(low, high, g_low, g_high, length=step % 3 % 2 + 1)
            good = (low < secant) & (secant < high) & ((step % 3 < 2) | (high / 2 - low / 2 < width / 2))
            x = np.where(good, secant, low / 2 + high / 2)
            value = self._value(x)
            g, reached = self._excess(value), self._reached(value)
            close = self.smooth & (np.abs(value - self.level) <= 8 * _EPS * self.level)
            low, g_low = np.where(~reached | close, x, low), np.where(~reached | close, g, g_low)
            high, g_high = np.where(reached | close, x, high), np.where(reached | close, g, g_high)
            low = np.where(self.smooth & (_position(high) - _position(low) <= 4), high, low)
            if (low == high).all():
                break
        return low, high

    def _bisect(self, low: Array, high: Array) -> Array:
        """Halve the number of floats between the ends: at most 64 steps, whatever the scales are."""
        a, b = _position(low), _position(high)
        while (b - a > 1).any():
            middle, searching = a + (b - a) // np.uint64(2), b - a > 1
            reached = self._reached(self._value(_float(middle)))
            a, b = np.where(searching & ~reached, middle, a), np.where(searching & reached, middle, b)
        return _float(b) + 0.0


def _secant(low: Array, high: Array, g_low: Array, g_high: Array, *, length: int) -> Array:
    """The secant step from the end nearer to the root, `length` times as long, and of at least two floats."""
    nearer = np.abs(g_low) < np.abs(g_high)
    best, g_best = np.where(nearer, low, high), np.where(nearer, g_low, g_high)
    with np.errstate(all="ignore"):
        step = length * np.abs(g_best * ((high - low) / (g_high - g_low)))
        step = np.maximum(step, 2 * np.spacing(np.abs(best)))
        return np.where(nearer, best + step, best - step)


def _position(x: Array) -> NDArray[np.uint64]:
    """The rank of a float among all floats: an order-preserving map to integers."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _float(position: NDArray[np.uint64]) -> Array:
    return np.where(position & _SIGN, position ^ _SIGN, ~position).view(np.float64)
