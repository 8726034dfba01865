"""Gauss–Legendre quadrature over the outcomes of many rows at once, on panels adapted to where their cdfs rise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from credo.distributions._distribution import Array

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
# A panel at the distance d from a knot is at most _ACROSS of its widths wide, or _GROWTH·d where that is more: fourteen
# nodes are accurate to about 1e-11 there, and the panels grow like the powers of 1 + _GROWTH.
_ACROSS, _GROWTH = 4.0, 3.0
_LARGEST = np.finfo(np.float64).max / 4
# The integrand is evaluated at no more than this many points at once.
_BLOCK = 2**18


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
        low = np.clip((knots - reach).min(axis=0), -_LARGEST, _LARGEST)
        high = np.clip((knots + reach).max(axis=0), -_LARGEST, _LARGEST)
    return panels(low, high, knots, width)


def panels(
    low: Array,
    high: Array,
    knots: Array,
    width: Array,
    *,
    growth: float = _GROWTH,
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
            step = np.maximum(_ACROSS * smooth, factor * np.abs(gap)).min(axis=0)
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
        stop = start + max(1, int(np.searchsorted(size, _BLOCK, side="right")))
        yield order[start:stop]
        start = stop
