"""The mode of a logistic model, compiled; plain twins: `tests/reference/logistic_models.py`."""

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Newton's steps to a mode, and when it is near enough: after the last step the mode is off by the square of this.
_NEWTON, _NEAR = 100, 1e-8
# Differences of log posteriors that are rounding, as a share.
_HIDDEN = 1e-12
# e^600 is still a number, and so is the sum of as many as there are columns.
STEEPEST = 600.0


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
    k, n = len(theta), len(y)
    rest, bend, slope = np.empty(n), np.empty(n), np.empty((k, n))
    gradient, step, trial = np.empty(k), np.empty(k), np.empty(k)
    prior = np.empty(k)
    for a in range(k):
        prior[a] = precision if a else level_precision
    height, gap = _log_posterior(ZT, members, y, weight, prior, theta, rest, bend), np.inf
    for _ in range(_NEWTON):
        _curvature(ZT, members, prior, theta, rest, bend, slope, gradient, L)
        _factor(L)
        _solve(L, gradient, step)
        square = max(_dot(gradient, step), 0.0)
        gap = np.sqrt(square)
        if gap < _NEAR:
            # The last step adds half of its squared length to ln p, and nothing that could be seen to the curvature.
            _add(1.0, step, theta)
            height += 0.5 * square
            break
        # ln p is concave: a step that is short enough climbs, but for what rounding hides.
        share, floor = 1.0, height - _HIDDEN * (1.0 + abs(height))
        while True:
            for a in range(k):
                trial[a] = theta[a] + share * step[a]
            there = _log_posterior(ZT, members, y, weight, prior, trial, rest, bend)
            if there >= floor or share < 1e-9:
                break
            share *= 0.5
        for a in range(k):
            theta[a] = trial[a]
        height = there
    evidence = height
    for a in range(k):
        evidence += 0.5 * np.log(prior[a]) - np.log(L[a, a])
    return evidence, gap


@njit(cache=True, nogil=True)
def flip_odds(
    ZT: Array, members: Places, y: Array, weight: Array, precision: float, theta: Array, L: Array, log_prior: Array,
    out: Array,
) -> None:  # fmt: skip
    """p(γ with column j flipped | y) / p(γ | y) for all columns, about, from the mode `theta` of γ alone.

    A column that enters takes one Newton step, in which the others follow: a score test with a prior. With g its slope
    and c its curvature it adds ½g²/(c + 1/v) − ½ ln(1 + vc) to the log evidence. One that leaves adds
    ½ ln(v/s²) − ½θ²/s², with s² the variance of its weight: Savage and Dickey's ratio under the Gaussian.
    """
    k, n, d = len(theta), len(y), len(ZT)
    rest, bend, slope = np.empty(n), np.empty(n), np.empty((k + 1, n))
    _log_posterior(ZT, members, y, weight, np.zeros(k), theta, rest, bend)
    _weigh(ZT, members, bend, slope)
    # L⁻¹ΦᵀW: the others' share of a column's curvature is then a sum of squares.
    for a in range(k):
        for b in range(a):
            _add(-L[a, b], slope[b], slope[a])
        for i in range(n):
            slope[a, i] /= L[a, a]
    for i in range(n):
        slope[k, i] = rest[i]
    common = np.dot(slope, ZT.T)
    for j in range(d):
        out[j] = _square(ZT[j], bend)
    for a in range(k):
        for j in range(d):
            out[j] -= common[a, j] * common[a, j]
    enters = log_prior[k] - log_prior[k - 1] if k < len(log_prior) else -np.inf
    for j in range(d):
        own, g = max(out[j], 0.0), common[k, j]
        gain = enters + 0.5 * g * g / (own + precision) - 0.5 * np.log1p(own / precision)
        out[j] = np.exp(min(max(gain, -STEEPEST), STEEPEST))
    column = np.zeros(k)
    for m in range(1, k):
        # (H⁻¹)_mm is the squared length of column m of L⁻¹.
        square = 0.0
        for a in range(m, k):
            total = 1.0 if a == m else 0.0
            for b in range(m, a):
                total -= L[a, b] * column[b]
            column[a] = total / L[a, a]
            square += column[a] * column[a]
        gain = log_prior[k - 2] - log_prior[k - 1]
        gain -= 0.5 * np.log(precision * square) + 0.5 * theta[m] * theta[m] / square
        out[members[m - 1]] = np.exp(min(max(gain, -STEEPEST), STEEPEST))


@njit(cache=True, nogil=True)
def _log_posterior(
    ZT: Array, members: Places, y: Array, weight: Array, prior: Array, theta: Array, rest: Array, bend: Array
) -> float:  # fmt: skip
    """Log likelihood and log prior, without the latter's constant; `rest` and `bend` become its slopes and curvatures
    by the log odds of each row.
    """
    total = 0.0
    for a in range(len(theta)):
        total -= 0.5 * prior[a] * theta[a] * theta[a]
    for i in range(len(rest)):
        rest[i] = theta[0]
    for m in range(len(members)):
        _add(theta[m + 1], ZT[members[m]], rest)
    for i in range(len(rest)):
        # With e = exp(−|η|): ln σ(±η) = min(±η, 0) − ln(1 + e), σ(|η|) = 1/(1 + e), σ(η)σ(−η) = e/(1 + e)².
        eta = rest[i]
        e = np.exp(-abs(eta))
        share = 1.0 / (1.0 + e)
        p = share if eta >= 0.0 else e * share
        side = eta if y[i] > 0.5 else -eta
        total += weight[i] * (min(side, 0.0) - np.log1p(e))
        rest[i], bend[i] = weight[i] * (y[i] - p), weight[i] * e * share * share
    return total


@njit(cache=True, nogil=True)
def _curvature(
    ZT: Array, members: Places, prior: Array, theta: Array, rest: Array, bend: Array, slope: Array, gradient: Array,
    H: Array,
) -> None:  # fmt: skip
    """Gradient and negative Hessian of the log posterior, the latter in the lower triangle of `H`."""
    _weigh(ZT, members, bend, slope)
    gradient[0], H[0, 0] = -prior[0] * theta[0], prior[0]
    for i in range(len(rest)):
        gradient[0] += rest[i]
        H[0, 0] += bend[i]
    for a in range(1, len(theta)):
        z = ZT[members[a - 1]]
        gradient[a] = _dot(z, rest) - prior[a] * theta[a]
        for b in range(a + 1):
            H[a, b] = _dot(z, slope[b])
        H[a, a] += prior[a]


@njit(cache=True, nogil=True)
def _weigh(ZT: Array, members: Places, bend: Array, slope: Array) -> None:
    """The columns of a model, a one before them, times the curvatures of the rows."""
    for i in range(len(bend)):
        slope[0, i] = bend[i]
    for m in range(len(members)):
        z = ZT[members[m]]
        for i in range(len(bend)):
            slope[m + 1, i] = bend[i] * z[i]


# Sums may be taken in any order, which lets the compiler take several terms at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _square(z: Array, weight: Array) -> float:
    total = 0.0
    for i in range(len(z)):
        total += weight[i] * z[i] * z[i]
    return total


@njit(cache=True, nogil=True)
def _add(factor: float, a: Array, total: Array) -> None:
    for i in range(len(a)):
        total[i] += factor * a[i]


@njit(cache=True, nogil=True)
def _factor(H: Array) -> None:
    """L with LLᵀ = H, in place of its lower triangle; H holds a proper prior's precision, so that it is regular."""
    for a in range(len(H)):
        for b in range(a + 1):
            total = H[a, b]
            for c in range(b):
                total -= H[a, c] * H[b, c]
            H[a, b] = np.sqrt(total) if a == b else total / H[b, b]
        for b in range(a + 1, len(H)):
            H[a, b] = 0.0


@njit(cache=True, nogil=True)
def _solve(L: Array, b: Array, x: Array) -> None:
    """x with LLᵀx = b."""
    k = len(b)
    for a in range(k):
        x[a] = b[a]
        for c in range(a):
            x[a] -= L[a, c] * x[c]
        x[a] /= L[a, a]
    for a in range(k - 1, -1, -1):
        for c in range(a + 1, k):
            x[a] -= L[c, a] * x[c]
        x[a] /= L[a, a]
