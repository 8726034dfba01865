"""The CRPS by its definition, for distributions without a closed form."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)


def crps(tail: Callable[[Array, NDArray[np.bool_]], Array], knots: Array, y: Array) -> Array:
    """∫ F² below y plus ∫ (1−F)² above it, by Gauss–Legendre between the knots of each row.

    `tail(x, upper)` is 1−F where `upper` and F elsewhere. `knots` has the shape (m, n_rows); F must be smooth
    between two of them and its tails negligible beyond.
    """
    edges = knots.reshape(knots.shape[:1] + (1,) * (y.ndim - 1) + knots.shape[1:])
    edges = np.sort(np.concatenate([np.broadcast_to(edges, knots.shape[:1] + y.shape), y[None]]), axis=0)
    half, above = np.diff(edges, axis=0) / 2, edges[1:] > y
    score = np.zeros(y.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = edges[:-1] + half * (1 + node)
        score += weight * (half * tail(x, above) ** 2).sum(axis=0)
    return score
