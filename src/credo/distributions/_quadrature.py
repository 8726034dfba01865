"""Integrals over the outcomes of a distribution, on panels adapted to the scales of its components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
# A panel at the distance d of a knot is at most _ACROSS grains wide, or _BEYOND·d where that is more: fourteen nodes
# reach about 1e-11 there, and the panels grow like the powers of 1 + _BEYOND.
_ACROSS, _BEYOND = 4.0, 3.0
_LARGEST = np.finfo(np.float64).max / 4
# How many numbers one block may hold.
_BLOCK = 2**18


def disagreement(parts: Sequence[Any], weights: Array) -> Array:
    """∫ Σ_k w_k (F_k − F)² dx of each row, where F = Σ_k w_k F_k: the disagreement of the components.

    `weights` has the shape (n_rows, k).
    """
    edges = mesh(np.concatenate([part._knots() for part in parts]), *grains(parts, weights))

    def variance(x: Array, rows: NDArray[np.intp]) -> Array:
        upper = x > edges[0, rows] / 2 + edges[-1, rows] / 2
        return _variance([part[rows] for part in parts], weights[rows], x, upper)

    return integral(edges, variance)


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


def _sum(values: Array, half: Array) -> Array:
    """Node after node and panel after panel, so that a row comes out the same whichever rows are beside it."""
    total = np.zeros((*values.shape[:-3], values.shape[-1]))
    for node, weight in enumerate(_WEIGHTS):
        for panel, width in enumerate(half):
            total += weight * width * values[..., node, panel, :]
    return total


def mesh(knots: Array, grain: Array, reach: Array) -> Array:
    """The edges of panels, of shape (m, n_rows); where a row needs fewer, it repeats its last.

    All arguments have the shape (k, n_rows). Around a knot the integrand is smooth over a length of `grain`, and
    farther away over a share of the distance; a grain of zero is a jump, and one of infinity is no knot at all. Beyond
    `reach` from all knots there is nothing to integrate.
    """
    with np.errstate(all="ignore"):
        low = np.clip((knots - reach).min(axis=0), -_LARGEST, _LARGEST)
        high = np.clip((knots + reach).max(axis=0), -_LARGEST, _LARGEST)
    return panels(low, high, knots, grain)


def panels(
    low: Array,
    high: Array,
    knots: Array,
    grain: Array,
    *,
    beyond: float = _BEYOND,
    widest: Callable[[Array], Array] | None = None,
) -> Array:
    """The edges of panels from `low` to `high`, as in `mesh`; `widest` bounds a panel by where it starts."""
    with np.errstate(all="ignore"):
        ends, smooth = [low], np.where(grain > 0, grain, np.inf)
        while (ends[-1] < high).any():
            x = ends[-1]
            gap = x - knots
            # The end of the panel that is nearer to the knot counts: before it, that is the one to come.
            share = np.where(gap < 0, beyond / (1 + beyond), beyond)
            step = np.maximum(_ACROSS * smooth, share * np.abs(gap)).min(axis=0)
            if widest is not None:
                step = np.minimum(step, widest(x))
            ends.append(np.minimum(np.maximum(x + step, np.nextafter(x, np.inf)), high))
        jumps = np.where(grain > 0, low, np.clip(knots, low, high))
    edges = np.sort(np.concatenate([np.array(ends), jumps[(grain == 0).any(axis=1)]]), axis=0)
    edges[:-1] = np.where(np.diff(edges, axis=0) > 0, edges[:-1], high)
    return np.sort(edges, axis=0)


def grains(parts: Sequence[Any], weights: Array) -> tuple[Array, Array]:
    """Grain and reach of all knots; components without weight have none."""
    grains, reaches = [], []
    for part, weight in zip(parts, weights.T, strict=True):
        grain, reach = part._grain()
        grains.append(np.where(weight > 0, grain, np.inf))
        reaches.append(np.where(weight > 0, reach, -np.inf))
    return np.concatenate(grains), np.concatenate(reaches)


def _variance(parts: Sequence[Any], weights: Array, x: Array, upper: NDArray[np.bool_]) -> Array:
    """Σ_k w_k (F_k − F)² at x, by updates that lose no digits (West 1979)."""
    mean, total, mass = np.zeros(x.shape), np.zeros(x.shape), np.zeros(len(weights))
    for part, weight in zip(parts, weights.T, strict=True):
        gap = part._tail(x, upper) - mean
        mass = mass + weight
        step = gap * np.where(weight > 0, weight / np.where(mass > 0, mass, 1.0), 0.0)
        total += weight * gap * (gap - step)
        mean += step
    return total


def _blocks(n_panels: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Rows of like numbers of panels, as many as one block holds."""
    order, start = np.argsort(n_panels, kind="stable"), 0
    while start < len(order):
        # The last row of a block has the most panels, and its number doesn't fall from row to row.
        size = np.arange(1, len(order) - start + 1) * n_panels[order[start:]] * len(_NODES)
        stop = start + max(1, int(np.searchsorted(size, _BLOCK, side="right")))
        yield order[start:stop]
        start = stop
