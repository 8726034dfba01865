"""Which pairs of columns do something together that the sum of their own terms doesn't: a screen of residuals.

For each pair, the rows fall into a few cells. With the slopes g and curvatures h of the log likelihood summed over each
cell, the effects of the cells are u ~ N(0, s BBᵀ), where the columns of B are products of smooth contrasts of both
sides, and the gain is the log evidence of that, averaged over s, beside the main effects of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.additive.terms import TrainingColumns

Array = NDArray[np.float64]

# Pairs are looked for among so many columns, in so many cells of each.
_MAX_COLUMNS, _N_CELLS = 30, 6
# Prior variances of the contrasts, relative to that of the estimate of an average one.
_SCALES = 10.0 ** np.arange(-1.0, 5.0)


def promising(
    columns: TrainingColumns, candidates: Sequence[int], slope: Array, curvature: Array
) -> list[tuple[float, int, int]]:
    """The gain of each pair of candidates, and their positions; the largest gain first.

    `slope` and `curvature` have a column for each latent value.
    """
    usable = list(dict.fromkeys(candidates))[:_MAX_COLUMNS]
    cells = {j: _cells(columns.values(j), columns.rows[:, j]) for j in usable}
    found = []
    for i, j in combinations(usable, 2):
        shape = int(cells[i].max()) + 1, int(cells[j].max()) + 1
        place = cells[i] * shape[1] + cells[j]
        total = 0.0
        for parts in zip(slope.T, curvature.T, strict=True):
            g, h = (np.bincount(place, part, minlength=shape[0] * shape[1]) for part in parts)
            total += gain(g.reshape(shape).astype(np.float64), h.reshape(shape).astype(np.float64))
        found.append((total, i, j))
    return sorted(found, reverse=True)


def gain(g: Array, h: Array) -> float:
    """The log evidence of effects of the cells that aren't sums of effects of rows and columns."""
    if min(g.shape) < 2 or not h.any():
        return -np.inf
    first, second = (_contrasts(n) for n in g.shape)
    one, other = np.ones((len(first), 1)), np.ones((len(second), 1))
    A = np.hstack([np.kron(one, other), np.kron(first, other), np.kron(one, second)])
    B, H = np.kron(first, second), h.ravel()[:, None]
    across = A.T @ (H * B)
    P = np.linalg.pinv(A.T @ (H * A), hermitian=True) @ across
    information, axes = np.linalg.eigh(B.T @ (H * B) - across.T @ P)
    information = np.maximum(information, 0.0)
    if not information.any():
        return -np.inf
    score = axes.T @ (B.T @ g.ravel() - P.T @ (A.T @ g.ravel()))
    s = _SCALES[:, None] / information.mean()
    logs = 0.5 * (score**2 * s / (1.0 + s * information) - np.log1p(s * information)).sum(axis=1)
    return float(logsumexp(logs) - np.log(len(logs)))


def _contrasts(n: int) -> Array:
    """Cosines without their constant, whose prior deviations fall like 1/k², (n, n − 1)."""
    k = np.arange(1, n)
    return np.cos(np.pi * k * (np.arange(n)[:, None] + 0.5) / n) / k**2


def _cells(values: Array, x: Array) -> NDArray[np.intp]:
    """Cells of similar numbers of distinct values."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _N_CELLS + 1))[1:-1])
    return np.searchsorted(edges, x, side="right")
