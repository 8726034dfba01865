"""Gaussian integrals over one latent value, for all rows at once.

    ∫ g(f) N(f | mean, var) df  by Gauss–Legendre between edges

The edges are those of the normal distribution (every few standard deviations) and the points where the likelihood
bends, so that both wide and narrow distributions are resolved.
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
# Newton's steps to the mode of a log-concave integrand; each is cut to a few standard deviations.
_STEPS, _LONGEST = 40, 4.0


def tilted_moments(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, bends: Array
) -> tuple[Array, Array, Array]:
    """ln Z and its first two derivatives by the mean."""
    mode, scale = _mode(derivatives, y, mean, var)
    std = np.sqrt(var)
    edges = np.concatenate([_around(mode, scale), _around(mode, std), _inside(bends, mode, 9.0 * std)])
    f, log_weights = _panels(edges)
    logs = log_prob(y, f) - 0.5 * (f - mean) ** 2 / var + log_weights
    largest = logs.max(axis=0)
    share = np.exp(logs - largest)
    total = share.sum(axis=0)
    log_z = largest + np.log(total) - 0.5 * np.log(2 * np.pi * var)
    share /= total
    first, second, _ = derivatives(y, f)
    # Derivatives of ln Z as moments of those of ln p: no difference of nearly equal numbers where var is small.
    slope = (share * first).sum(axis=0)
    curvature = (share * (second + (first - slope) ** 2)).sum(axis=0)
    return log_z, slope, np.minimum(curvature, 0.0)


def expectation(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, bends: Array
) -> tuple[Array, Array, Array]:
    """E ln p(y | f), and its derivatives by mean (E of the first derivative) and by variance (half E of the second)."""
    std = np.sqrt(var)
    f, log_weights = _panels(np.concatenate([_around(mean, std), _inside(bends, mean, 9.0 * std)]))
    weights = np.exp(log_weights - 0.5 * (f - mean) ** 2 / var) / np.sqrt(2 * np.pi * var)
    first, second, _ = derivatives(y, f)
    return (
        (weights * log_prob(y, f)).sum(axis=0),
        (weights * first).sum(axis=0),
        0.5 * (weights * second).sum(axis=0),
    )


def _around(center: Array, std: Array) -> Array:
    return center + _SPANS[:, None] * std


def _inside(points: Array, center: Array, reach: Array) -> Array:
    """The points for each row, those out of reach moved to its border, where they make empty panels."""
    return np.clip(points[:, None], center - reach, center + reach)


def _panels(edges: Array) -> tuple[Array, Array]:
    """Nodes of shape (n_nodes, n_rows) between the sorted edges of each row, and the logs of their weights."""
    edges = np.sort(edges, axis=0)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges, axis=0)
    nodes = middle[:, None] + half[:, None] * _NODES[None, :, None]
    with np.errstate(divide="ignore"):
        log_weights = np.log(half[:, None] * _WEIGHTS[None, :, None])
    return nodes.reshape(-1, edges.shape[1]), log_weights.reshape(-1, edges.shape[1])


def _mode(derivatives: Derivatives, y: Array, mean: Array, var: Array) -> tuple[Array, Array]:
    """Where p(y | f) N(f | mean, var) is largest, and the width of the normal distribution with its curvature there."""
    f = np.broadcast_to(mean, np.broadcast_shapes(y.shape, mean.shape, var.shape)).astype(np.float64).copy()
    std = np.sqrt(var)
    for _ in range(_STEPS):
        first, second, _ = derivatives(y, f)
        step = (first - (f - mean) / var) / (1.0 / var - second)
        f += np.clip(step, -_LONGEST * std, _LONGEST * std)
        if (np.abs(step) <= 1e-3 * std).all():
            break
    return f, 1.0 / np.sqrt(1.0 / var - derivatives(y, f)[1])
