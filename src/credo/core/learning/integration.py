"""Integrating a posterior density over a few points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import logsumexp, ndtri
from scipy.stats.qmc import Sobol

from credo.core.deadlines import check

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Integral:
    """Points, the mode first, with weights that sum to one, and ln ∫ exp(log density).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import integrate
    >>> found = integrate(lambda z: -0.5 * float(z @ z), np.zeros(2), np.eye(2), 16)
    >>> found.points.shape, round(float(found.log_value), 4), round(float(np.log(2 * np.pi)), 4)
    ((16, 2), 1.8379, 1.8379)
    """

    points: Array
    weights: Array
    log_value: float


def integrate(
    log_density: Callable[[Array], float], mode: Array, curvature: Array, n: int, *, skewed: bool = False
) -> Integral:
    """Importance sampling from the normal approximation N(mode, curvature⁻¹) of a density, by a Sobol sequence.

    The importance weights are truncated at √n times their mean (Ionides 2008), so that no point outweighs all others.
    The sequence is always the same, and the points depend continuously on mode and curvature.

    Parameters
    ----------
    log_density : callable(vector) -> float
        −inf if it can't be evaluated.
    curvature : array of shape (p, p)
        The matrix of second derivatives of −log_density at the mode.
    n : int
        Number of points, the mode included; a power of two is best.
    skewed : bool
        Sample from normal distributions with different standard deviations on the two sides of the mode along each
        principal axis (Rue, Martino & Chopin 2009, 6.5), from the density at two more points for each.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import integrate
    >>> def log_density(z):  # of the logarithm of a gamma variable; the integral is Γ(3)
    ...     return 3.0 * float(z[0]) - np.exp(float(z[0]))
    >>> found = integrate(log_density, np.array([np.log(3.0)]), np.array([[3.0]]), 64)
    >>> round(float(np.exp(found.log_value)), 1)
    2.0
    """
    p = len(mode)
    values, axes = np.linalg.eigh(0.5 * (curvature + curvature.T))
    # With less curvature a direction is nearly flat; this bounds the distance of the points, in e-foldings.
    std = 1.0 / np.sqrt(np.maximum(values, 0.3))
    below, above = _sides(log_density, mode, axes * std) if skewed else (np.ones(p), np.ones(p))
    u = np.clip(Sobol(p, rng=0).random(n), 1e-6, 1 - 1e-6)
    share = below / (below + above)
    left = u < share
    z = ndtri(np.where(left, 0.5 * u / share, 0.5 + 0.5 * (u - share) / (1 - share)))
    z[0] = 0.0
    points = mode + (np.where(left, below, above) * z) @ (axes * std).T
    logs = np.empty(n)
    for i, point in enumerate(points):
        check()
        logs[i] = log_density(point)
    proposal = -0.5 * (z**2).sum(axis=1) - float(np.log(math.sqrt(2 * math.pi) * std * 0.5 * (below + above)).sum())
    ratios = np.where(np.isfinite(logs), logs - proposal, -np.inf)
    # The mode isn't a draw of the proposal.
    total = float(logsumexp(ratios[1:])) - math.log(n - 1)
    ratios = np.minimum(ratios, float(logsumexp(ratios)) - 0.5 * math.log(n))
    weights = np.exp(ratios - logsumexp(ratios))
    kept = weights >= 1e-3
    kept[0] = True
    return Integral(points[kept], weights[kept] / weights[kept].sum(), total)


def few_points(values: Array, weights: Array, most: int, tolerance: float) -> tuple[NDArray[np.intp], Array]:
    """At most `most` of the points, including the first, with weights that give nearly the same average.

    Points are added one at a time, each the one that brings the average closest, until half the squared distance is
    below the tolerance. Weights are nonnegative and sum to one; that of the first may be zero.

    Parameters
    ----------
    values : array of shape (n_points, n_values)
        What is averaged.
    """
    gaps = values - weights @ values
    squares, axes = np.linalg.eigh(gaps @ gaps.T)
    # Columns with the inner products of the gaps, scaled so that the row that keeps the sum at one outweighs them.
    root = np.sqrt(np.maximum(squares, 0.0))[:, None] * axes.T
    root /= max(float(np.abs(root).max()), 1e-300) * 1e3
    columns, target = np.vstack([root, np.ones(len(weights))]), np.append(np.zeros(len(weights)), 1.0)
    kept, own = [0], np.ones(1)
    while len(kept) < min(most, len(weights)) and 0.5 * float(np.sum((own @ gaps[kept]) ** 2)) > tolerance:
        others = [j for j in range(len(weights)) if j not in kept]
        solved = [nnls(columns[:, [*kept, j]], target) for j in others]
        best = int(np.argmin([distance for _, distance in solved]))
        kept, own = [*kept, others[best]], solved[best][0] / solved[best][0].sum()
    used = own > 0
    used[0] = True
    return np.array(kept)[used], own[used]


def gauss_nodes(points: Array, weights: Array, n: int) -> tuple[Array, Array]:
    """The n-point Gauss rule of a distribution on many points: it has the same moments up to order 2n − 1.

    By Lanczos' iteration, whose tridiagonal matrix has the nodes as eigenvalues (Golub & Welsch 1969). Fewer than n
    points are their own rule. In a table each row is a distribution; some nodes may then have no weight.
    """
    center = (weights * points).sum(axis=-1, keepdims=True)
    spread = np.sqrt((weights * (points - center) ** 2).sum(axis=-1, keepdims=True))
    x = (points - center) / np.where(spread > 0, spread, 1.0)
    basis = np.sqrt(weights)[..., None, :]
    jacobi = np.zeros((*center.shape[:-1], n, n))
    for i in range(n):
        step = x * basis[..., -1, :]
        jacobi[..., i, i] = (step * basis[..., -1, :]).sum(axis=-1)
        if i + 1 == n:
            break
        for _ in range(2):
            step = step - np.einsum("...ij,...i->...j", basis, np.einsum("...ij,...j->...i", basis, step))
        length = np.linalg.norm(step, axis=-1, keepdims=True)
        more = length > 1e-8
        jacobi[..., i, i + 1] = jacobi[..., i + 1, i] = np.where(more, length, 0.0)[..., 0]
        basis = np.concatenate([basis, np.where(more, step / np.where(more, length, 1.0), 0.0)[..., None, :]], axis=-2)
    nodes, vectors = np.linalg.eigh(jacobi)
    found = vectors[..., 0, :] ** 2
    nodes, found = center + spread * nodes, found / found.sum(axis=-1, keepdims=True)
    used = found > 1e-20
    return (nodes[used], found[used]) if points.ndim == 1 else (nodes, found)


def _sides(log_density: Callable[[Array], float], mode: Array, roots: Array) -> tuple[Array, Array]:
    """Factors of the standard deviations below and above the mode along each axis, the columns of `roots`.

    At two of these standard deviations, the normal density has decreased as much as the density.
    """
    top = log_density(mode)
    factors, reach = np.empty((2, len(mode))), 2.0
    for side, sign in enumerate((-1.0, 1.0)):
        for j, root in enumerate(roots.T):
            check()
            drop = top - log_density(mode + sign * reach * root)
            factors[side, j] = np.clip(reach / math.sqrt(2.0 * max(drop, 1e-3)), 0.4, 3.0)
    return factors[0], factors[1]
