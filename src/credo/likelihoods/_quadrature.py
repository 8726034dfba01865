"""Gaussian integrals over one latent value, for all rows at once.

    ∫ g(f) N(f | mean, var) df  by Gauss–Legendre between edges

The edges are those of the normal distribution (every few standard deviations) and the points where the likelihood
bends, so that both wide and narrow distributions are resolved. They are relative to the centre of each row, so that
they stay apart however large the mean is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LogProb = Callable[[Array, Array], Array]
Derivatives = Callable[[Array, Array], tuple[Array, Array, Array]]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(11)
# Beyond nine standard deviations there is 10⁻¹⁹ of a normal distribution; a likelihood that falls by e^a a unit of f
# moves the mass by a·var, which the edges around the integrand's mode follow.
_SPANS = np.array([-9.0, -6.0, -3.5, -1.5, 0.0, 1.5, 3.5, 6.0, 9.0])
# Steps to the mode of a log-concave integrand, of Newton's method or of bisection.
_STEPS = 100


def tilted_moments(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, breakpoints: Array
) -> tuple[Array, Array, Array]:
    """ln Z and its first two derivatives by the mean."""
    mode, scale = _mode(derivatives, y, mean, var)
    std = np.sqrt(var)
    spans = _SPANS[:, None]
    offset, log_weights = _panels(np.concatenate([spans * scale, spans * std, _edges(breakpoints, mode, std)]))
    f = mode + offset
    logs = log_prob(y, f) - 0.5 * ((mode - mean + offset) / std) ** 2 + log_weights
    largest = logs.max(axis=0)
    share = np.exp(logs - largest)
    total = share.sum(axis=0)
    log_z = largest + np.log(total) - 0.5 * np.log(2 * np.pi * var)
    share /= total
    first, second, _ = derivatives(y, f)
    # Derivatives of ln Z as moments of those of ln p, or as moments of f: each subtracts nearly equal numbers where the
    # other doesn't, the first where the likelihood dominates, the second where it hardly matters.
    slope = (share * first).sum(axis=0)
    curvature = (share * (second + (first - slope) ** 2)).sum(axis=0)
    center = (share * offset).sum(axis=0)
    ratio = (share * ((offset - center) / std) ** 2).sum(axis=0)
    narrow = ratio < 0.5
    slope = np.where(narrow, (mode - mean + center) / var, slope)
    curvature = np.where(narrow, (ratio - 1.0) / var, curvature)
    return log_z, slope, np.minimum(curvature, 0.0)


def expectation(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, breakpoints: Array
) -> tuple[Array, Array, Array]:
    """E ln p(y | f), and its derivatives by mean (E of the first derivative) and by variance (half E of the second)."""
    std = np.sqrt(var)
    offset, log_weights = _panels(np.concatenate([_SPANS[:, None] * std, _edges(breakpoints, mean, std)]))
    f = mean + offset
    weights = np.exp(log_weights - 0.5 * offset**2 / var) / np.sqrt(2 * np.pi * var)
    first, second, _ = derivatives(y, f)
    return (
        (weights * log_prob(y, f)).sum(axis=0),
        (weights * first).sum(axis=0),
        0.5 * (weights * second).sum(axis=0),
    )


def _edges(breakpoints: Array, center: Array, std: Array) -> Array:
    """The breakpoints relative to each row's centre; those out of reach at its border, where they make empty panels.

    `breakpoints` has shape (k,), or (k, n_rows) where rows have their own.
    """
    reach = 9.0 * std
    return np.clip((breakpoints if breakpoints.ndim == 2 else breakpoints[:, None]) - center, -reach, reach)


def _panels(edges: Array) -> tuple[Array, Array]:
    """Nodes of shape (n_nodes, n_rows) between the sorted edges of each row, and the logs of their weights."""
    edges = np.sort(edges, axis=0)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges, axis=0)
    nodes = middle[:, None] + half[:, None] * _NODES[None, :, None]
    with np.errstate(divide="ignore"):
        log_weights = np.log(half[:, None] * _WEIGHTS[None, :, None])
    return nodes.reshape(-1, edges.shape[1]), log_weights.reshape(-1, edges.shape[1])


def _mode(derivatives: Derivatives, y: Array, mean: Array, var: Array) -> tuple[Array, Array]:
    """Where p(y | f) N(f | mean, var) is largest, and the width of the normal distribution with its curvature there.

    The slope of ln p falls as f rises, so that the mode, where f = mean + var·slope(f), is between the mean and mean +
    var·slope(mean). Where Newton's step would leave this bracket, or isn't half as long as the one before, bisection
    takes its place.
    """
    f = np.broadcast_to(mean, np.broadcast_shapes(y.shape, mean.shape, var.shape)).astype(np.float64).copy()
    first, second, _ = derivatives(y, f)
    lower, upper = np.minimum(f, mean + var * first), np.maximum(f, mean + var * first)
    length = np.full_like(f, np.inf)
    for _ in range(_STEPS):
        slope = first - (f - mean) / var
        lower, upper = np.where(slope > 0, f, lower), np.where(slope < 0, f, upper)
        precision = 1.0 / var - second
        newton = slope / precision
        arrived = np.abs(newton) <= 1e-3 / np.sqrt(precision)
        inside = (f + newton > lower) & (f + newton < upper) & (np.abs(newton) <= 0.5 * length)
        step = np.where(inside | arrived, newton, 0.5 * (lower + upper) - f)
        f, length = f + step, np.abs(step)
        first, second, _ = derivatives(y, f)
        if arrived.all():
            break
    return f, 1.0 / np.sqrt(1.0 / var - second)
