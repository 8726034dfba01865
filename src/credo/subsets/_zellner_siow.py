"""Zellner & Siow's prior of g: the evidence and the shrinkage by exact quadrature.

    g ~ InvGamma(½, n/2),    BF(k, R²) = ∫ (1+g)^((n−1−k)/2) (1 + g(1−R²))^(−(n−1)/2) p(g) dg

(Liang, Paulo, Molina, Clyde & Berger 2008, eq. 6 and 12.) In t = ln g the integrand has one peak; Gauss–Legendre rules
on either side of it are accurate to rounding. With x = −ln(1−R²), ln BF − x(n−1)/2 is close to a line of slope
−(k+1)/2 for every n: compiled code evaluates splines of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.special import expit

from credo.subsets._slabs_jit import CELLS

Array = NDArray[np.float64]

# Beyond this the integrand is below e^-50 of its peak.
_DEPTH = 50.0
_STEPS = 60
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def moments(n: float, k: float, x: Array) -> Array:
    """ln BF − x(n−1)/2, E[s] and E[s²] of the shrinkage s = g/(1+g), shape (3, len(x)), by quadrature."""
    t, log_weight = posterior(n, k, x)
    peak = log_weight.max(axis=0)
    weight = np.exp(log_weight - peak)
    total = weight.sum(axis=0)
    s = expit(t)
    return np.stack([peak + np.log(total), (weight * s).sum(axis=0) / total, (weight * s * s).sum(axis=0) / total])


def posterior(n: float, k: float | Array, x: Array) -> tuple[Array, Array]:
    """Nodes t = ln g and the logs of their masses, each of shape (n_nodes, len(x)).

    The masses sum to BF·e^(−x(n−1)/2).
    """
    mode = _crossing(lambda t: _slope(t, n, k, x), np.full_like(x, -40.0), np.full_like(x, 120.0))
    level = _log_integrand(mode, n, k, x) - _DEPTH
    below = _crossing(lambda t: level - _log_integrand(t, n, k, x), mode - 80.0, mode)
    above = _crossing(lambda t: _log_integrand(t, n, k, x) - level, mode, mode + 200.0)
    t = np.concatenate([_between(below, mode), _between(mode, above)])
    rule = np.log(_WEIGHTS)[:, None]
    width = np.concatenate([rule + np.log((mode - below) / 2), rule + np.log((above - mode) / 2)])
    return t, _log_integrand(t, n, k, x) + width


@lru_cache(maxsize=4096)
def spline(n: float, k: int, reach: int) -> Array:
    """Spline coefficients of `moments` on 0 ≤ x ≤ reach: shape (3, cells, 6), for `_slabs_jit.spline`."""
    x = np.linspace(0.0, reach, CELLS * reach + 1)
    values = moments(n, k, x)
    pieces = make_interp_spline(CELLS * x, values.T, k=5)
    nodes = np.arange(CELLS * reach, dtype=np.float64)
    # Four derivatives are continuous at the nodes, the fifth is constant between them.
    coefs = [pieces(nodes, nu=order) for order in range(5)] + [pieces(nodes + 0.5, nu=5)]
    scale = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])
    return np.ascontiguousarray(np.stack(coefs, axis=-1).transpose(1, 0, 2) / scale)


def reach_of(x: float) -> int:
    """The power of two up to which a spline reaches, so that few are needed."""
    return int(2 ** np.ceil(np.log2(max(x, 1.0))))


def _log_integrand(t: Array, n: float, k: float | Array, x: Array) -> Array:
    """In t, with the Jacobian of g = eᵗ, and less x(n−1)/2."""
    grown, kept = np.logaddexp(0.0, t), np.logaddexp(0.0, t - x)
    prior = 0.5 * np.log(n / (2 * np.pi)) - 0.5 * t - 0.5 * n * np.exp(-np.maximum(t, -50.0))
    return 0.5 * (n - 1) * (grown - x - kept) - 0.5 * k * grown + prior


def _slope(t: Array, n: float, k: float | Array, x: Array) -> Array:
    g_share = expit(t)
    return 0.5 * (n - 1) * (g_share - expit(t - x)) - 0.5 * k * g_share - 0.5 + 0.5 * n * np.exp(-t)


def _crossing(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where f falls through zero between low and high, by bisection."""
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        up = f(middle) > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return 0.5 * (low + high)


def _between(low: Array, high: Array) -> Array:
    """Gauss-Legendre nodes of each interval, shape (64, len(low))."""
    return 0.5 * (low + high) + 0.5 * (high - low) * _NODES[:, None]


def rule(n: float, k: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
    """Three values of u = 1 − s = 1/(1+g), with weights, that have the first five posterior moments of u.

    Each of shape (len(x), 3). The Gauss rule of the discrete distribution on the nodes of the quadrature, from its
    Jacobi matrix (Golub & Welsch 1969), in units of the mean of u, which is tiny for a close fit.
    """
    t, log_weight = posterior(n, np.asarray(k, dtype=np.float64), x)
    u, weight = expit(-t), np.exp(log_weight - log_weight.max(axis=0))
    weight /= weight.sum(axis=0)
    mean = (weight * u).sum(axis=0)
    v = u / mean
    jacobi = np.zeros((len(x), 3, 3))
    before, now, norm, ratio = np.zeros_like(v), np.ones_like(v), np.ones(len(x)), np.zeros(len(x))
    for i in range(3):
        # Where u hardly varies, fewer nodes suffice.
        spread = norm > 1e-280
        safe = np.where(spread, norm, 1.0)
        jacobi[:, i, i] = np.where(spread, (weight * v * now * now).sum(axis=0) / safe, jacobi[:, 0, 0])
        before, now = now, (v - jacobi[:, i, i]) * now - ratio * before
        length = (weight * now * now).sum(axis=0)
        ratio, norm = np.where(spread, length / safe, 0.0), length
        if i < 2:
            jacobi[:, i, i + 1] = jacobi[:, i + 1, i] = np.sqrt(ratio)
    nodes, vectors = np.linalg.eigh(jacobi)
    return np.clip(mean[:, None] * nodes, 0.0, 1.0), np.square(vectors[:, 0, :])
