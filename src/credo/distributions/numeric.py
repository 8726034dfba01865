"""Inverse distribution functions, and Gauss–Legendre quadrature over the outcomes, for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from credo.core.linalg import EPS

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_SIGN = np.uint64(1 << 63)
_MAX_FLOAT = np.finfo(np.float64).max


class InverseCdf:
    """The smallest x with F(x) ≥ q, for 0 < q < 1.

    Parameters
    ----------
    tail : callable
        `tail(x, upper)` is 1 − F where `upper`, and F elsewhere; x is of shape (k, n_rows).
    q, complement : arrays of shape (k, 1)
        complement is 1 − q, accurate for q near 1.
    smooth : array of shape (n_rows,)
        If F is smooth, the search may end as soon as F(x) equals q up to rounding. Otherwise F may jump, and the
        search ends at exactly the float at which it does.
    """

    def __init__(self, tail: Callable[[Array, Bools], Array], q: Array, complement: Array, *, smooth: Bools) -> None:
        # 1 − F keeps the digits of a smooth upper tail. Jumps are searched in F itself, so that quantile(cdf(y)) is
        # y at a jump.
        self.tail, self.smooth = tail, smooth
        self.upper = (q > 0.5) & smooth
        self.level = np.where(self.upper, complement, q)
        self.probit = ndtri(self.level)

    def between(self, low: Array, high: Array) -> Array:
        """The solution between the ends, which must bracket it."""
        low, high = np.clip(low, -_MAX_FLOAT, _MAX_FLOAT), np.clip(high, -_MAX_FLOAT, _MAX_FLOAT)
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
        for step in range(48):
            if step % 3 == 0:
                width = high / 2 - low / 2
            secant = _secant(low, high, g_low, g_high, length=step % 3 % 2 + 1)
            good = (low < secant) & (secant < high) & ((step % 3 < 2) | (high / 2 - low / 2 < width / 2))
            x = np.where(good, secant, low / 2 + high / 2)
            value = self._value(x)
            g, reached = self._excess(value), self._reached(value)
            close = self.smooth & (np.abs(value - self.level) <= 8 * EPS * self.level)
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


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
# A panel at distance d from a knot is at most _PANEL_WIDTHS of the knot's widths wide, or _PANEL_GROWTH·d if that is
# more: fourteen nodes are accurate to about 1e-11 there, and panels grow like the powers of 1 + _PANEL_GROWTH.
_PANEL_WIDTHS, _PANEL_GROWTH = 4.0, 3.0
# Differences between the ends of an integral must not overflow.
_MAX_END = np.finfo(np.float64).max / 4
# The integrand is evaluated at no more than this many points at once.
_BLOCK_POINTS = 2**18


def integral(edges: Array, integrand: Callable[[Array, NDArray[np.intp]], Array]) -> Array:
    """The integrals of each row over its panels.

    `edges` comes from `mesh` or `panels`; `integrand(x, rows)` has the shape of x, which is (nodes, panels, rows), or
    that of a stack (k, nodes, panels, rows) of several. The integrals are of shape (n_rows,) or (k, n_rows).
    """
    n_panels = (np.diff(edges, axis=0) > 0).sum(axis=0)
    blocks, found = list(_blocks(n_panels)), []
    for rows in blocks:
        most = n_panels[rows].max(initial=0)
        low, high = edges[:most, rows], edges[1 : most + 1, rows]
        half = high / 2 - low / 2
        x = low + half * (1 + _NODES[:, None, None])
        found.append(_sum(integrand(x, rows), half))
    total = np.empty((*found[0].shape[:-1], edges.shape[1])) if found else np.zeros(edges.shape[1])
    for rows, values in zip(blocks, found, strict=True):
        total[..., rows] = values
    return total


def mesh(knots: Array, width: Array, reach: Array) -> Array:
    """The edges of panels, of shape (m, n_rows); a row that needs fewer repeats its last.

    All arguments have the shape (k, n_rows). Around a knot the integrand is smooth over a length of `width`, and
    farther away over a fraction of the distance. A width of zero is a jump; knots of infinite width are ignored. The
    integral ends where all knots are farther away than their `reach`.
    """
    with np.errstate(all="ignore"):
        low = np.clip((knots - reach).min(axis=0), -_MAX_END, _MAX_END)
        high = np.clip((knots + reach).max(axis=0), -_MAX_END, _MAX_END)
    return panels(low, high, knots, width)


def panels(
    low: Array,
    high: Array,
    knots: Array,
    width: Array,
    *,
    growth: float = _PANEL_GROWTH,
    widest: Callable[[Array], Array] | None = None,
) -> Array:
    """The edges of panels from `low` to `high`, as in `mesh`; `widest` bounds a panel by where it starts."""
    with np.errstate(all="ignore"):
        ends, smooth = [low], np.where(width > 0, width, np.inf)
        while (ends[-1] < high).any():
            x = ends[-1]
            gap = x - knots
            # What counts is the distance from the end of the panel that is nearer to the knot: before it, the far end.
            factor = np.where(gap < 0, growth / (1 + growth), growth)
            step = np.maximum(_PANEL_WIDTHS * smooth, factor * np.abs(gap)).min(axis=0)
            if widest is not None:
                step = np.minimum(step, widest(x))
            ends.append(np.minimum(np.maximum(x + step, np.nextafter(x, np.inf)), high))
        jumps = np.where(width > 0, low, np.clip(knots, low, high))
    edges = np.sort(np.concatenate([np.array(ends), jumps[(width == 0).any(axis=1)]]), axis=0)
    edges[:-1] = np.where(np.diff(edges, axis=0) > 0, edges[:-1], high)
    return np.sort(edges, axis=0)


def _sum(values: Array, half: Array) -> Array:
    """Node by node and panel by panel, so that a row's integral doesn't depend on the other rows."""
    total = np.zeros((*values.shape[:-3], values.shape[-1]))
    for node, weight in enumerate(_WEIGHTS):
        for panel, width in enumerate(half):
            total += weight * width * values[..., node, panel, :]
    return total


def _blocks(n_panels: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Rows with similar numbers of panels, as many as one block holds."""
    order, start = np.argsort(n_panels, kind="stable"), 0
    while start < len(order):
        # Rows are in the order of their number of panels, so the last of a block has the most.
        size = np.arange(1, len(order) - start + 1) * n_panels[order[start:]] * len(_NODES)
        stop = start + max(1, int(np.searchsorted(size, _BLOCK_POINTS, side="right")))
        yield order[start:stop]
        start = stop
