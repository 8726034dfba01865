"""The mode of a logistic model and the change of its evidence if a column flips, compiled.

Plain twins: `tests/reference/logistic_models.py`.
"""

import numpy as np
from numpy.typing import NDArray

from credo.core.numba import njit

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Larger log odds of a score test are not trusted: a chain whose proposals are always rejected has no weight.
MAX_LOG_ODDS = 4.0
# Allows sums in any order, so that the compiler can use vector instructions.
_ORDER_FREE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def laplace(
    ZT: Array, members: Places, y: Array, weight: Array, level_precision: float, precision: float, theta: Array,
    L: Array,
) -> tuple[float, float]:  # fmt: skip
    """ln p(y | γ) by Laplace's approximation, and the length of the last Newton step in standard deviations.

    Labels y are 0 and 1, log odds are θ₀ + Σ θ_m z_m over the member rows of `ZT`, with independent normal priors.
    `theta` is the start, and the mode on return; `L` becomes the factor of the curvature H = LLᵀ there (Bishop 4.132,
    4.137).
    """
    phi, prior = _rows(ZT, members), np.empty(len(theta))
    prior[0], prior[1:] = level_precision, precision
    gap, (height, slope, row_curvature) = np.inf, _log_posterior(phi, y, weight, prior, theta)
    for _ in range(100):
        gradient = np.dot(phi, slope) - prior * theta
        np.dot(phi * row_curvature, phi.T, L)
        for a in range(len(prior)):
            L[a, a] += prior[a]
        _factor(L)
        step = np.linalg.solve(L.T, np.linalg.solve(L, gradient))
        square = max(np.dot(gradient, step), 0.0)
        gap = np.sqrt(square)
        if gap < 1e-8:
            # The last step adds half its squared length to ln p, and its effect on the curvature is negligible.
            theta += step
            height += 0.5 * square
            break
        # ln p is concave: a short enough step increases it, up to rounding.
        share, floor = 1.0, height - 1e-12 * (1.0 + abs(height))
        while True:
            trial = theta + share * step
            height, slope, row_curvature = _log_posterior(phi, y, weight, prior, trial)
            if height >= floor or share < 1e-9:
                break
            share *= 0.5
        for a in range(len(theta)):
            theta[a] = trial[a]
    return height + 0.5 * np.log(prior).sum() - np.log(np.diag(L)).sum(), gap


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def log_flip_odds(
    ZT: Array, members: Places, y: Array, weight: Array, precision: float, theta: Array, L: Array, log_prior: Array,
    out: Array,
) -> None:  # fmt: skip
    """Approximate ln p(γ with column j flipped | y) − ln p(γ | y) for all columns, from the mode `theta` of γ alone.

    For a column that enters, one joint Newton step with the others is taken: a score test with a prior. With g its
    slope and c its curvature it adds ½g²/(c + 1/v) − ½ ln(1 + vc) to the log evidence. One that leaves adds ½ ln(v/s²)
    − ½θ²/s², with s² the variance of its weight: the Savage–Dickey ratio under the Gaussian.
    """
    k, phi = len(theta), _rows(ZT, members)
    _, slope, row_curvature = _log_posterior(phi, y, weight, np.zeros(k), theta)
    inverse = np.linalg.inv(L)
    # L⁻¹ΦWZ: the part of a column's curvature that the others explain is a sum of its squares.
    shared, gradient = np.dot(inverse, np.dot(phi * row_curvature, ZT.T)), np.dot(ZT, slope)
    enters = log_prior[k] - log_prior[k - 1] if k < len(log_prior) else -np.inf
    for j in range(len(ZT)):
        curvature = 0.0
        for i in range(len(row_curvature)):
            curvature += row_curvature[i] * ZT[j, i] * ZT[j, i]
        for a in range(k):
            curvature -= shared[a, j] * shared[a, j]
        curvature = max(curvature, 0.0)
        out[j] = enters + 0.5 * gradient[j] ** 2 / (curvature + precision) - 0.5 * np.log1p(curvature / precision)
    for m in range(1, k):
        variance = np.square(inverse[:, m]).sum()
        gain = log_prior[k - 2] - log_prior[k - 1] - 0.5 * np.log(precision * variance)
        out[members[m - 1]] = gain - 0.5 * theta[m] * theta[m] / variance
    for j in range(len(out)):
        out[j] = min(out[j], MAX_LOG_ODDS)


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _factor(H: Array) -> None:
    """L with LLᵀ = H, in place; H contains the precision of a proper prior, so that it is regular."""
    for a in range(len(H)):
        for b in range(a + 1):
            total = H[a, b]
            for i in range(b):
                total -= H[a, i] * H[b, i]
            H[a, b] = np.sqrt(total) if a == b else total / H[b, b]
        H[a, a + 1 :] = 0.0


@njit(cache=True, nogil=True)
def _rows(ZT: Array, members: Places) -> Array:
    """A row of ones and the columns of a model, shape (k + 1, n)."""
    phi = np.empty((len(members) + 1, ZT.shape[1]))
    phi[0] = 1.0
    for m in range(len(members)):
        for i in range(ZT.shape[1]):
            phi[m + 1, i] = ZT[members[m], i]
    return phi


@njit(cache=True, nogil=True)
def _log_posterior(phi: Array, y: Array, weight: Array, prior: Array, theta: Array) -> tuple[float, Array, Array]:
    """ln p(y | θ)p(θ) up to a constant; slopes and negative curvatures by the log odds of each row."""
    total, eta = -0.5 * np.dot(prior * theta, theta), np.dot(theta, phi)
    slope, row_curvature = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        # With e = exp(−|η|): ln σ(±η) = min(±η, 0) − ln(1 + e), σ(|η|) = 1/(1 + e), σ(η)σ(−η) = e/(1 + e)².
        e = np.exp(-abs(eta[i]))
        share = 1.0 / (1.0 + e)
        side = eta[i] if y[i] > 0.5 else -eta[i]
        total += weight[i] * (min(side, 0.0) - np.log1p(e))
        slope[i] = weight[i] * (y[i] - (share if eta[i] >= 0.0 else e * share))
        row_curvature[i] = weight[i] * e * share * share
    return total, slope, row_curvature
