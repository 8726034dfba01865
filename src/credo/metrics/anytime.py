"""Anytime-valid tests of calibration: e-values, which may be computed again whenever new rows arrive.

    e = Σ_θ w_θ Π p_θ(yᵢ | xᵢ) / p(yᵢ | xᵢ)

compares the predictive distributions p with distorted ones p_θ. If p is right, each ratio has mean 1 whatever came
before, so e is a nonnegative martingale, and the probability that it ever exceeds 1/α is at most α (Ville's
inequality). So one may look after each batch and stop at will, and the e-values of different rows may be multiplied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

Vector = NDArray[np.float64]

# A prior with equal weights: shifts of standard normal scores (or log odds) and the log of the factor by which their
# spread (or the slope of the log odds) is off, from a twentieth to one and a half, each twice the one before.
_SIZES = 0.05 * 2.0 ** np.arange(6)
_GRID = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
_SHIFTS, _LOG_FACTORS = (part.ravel() for part in np.meshgrid(_GRID, _GRID))
# Normal scores and log odds beyond which the values of double precision end.
_FARTHEST, _LARGEST_LOG_ODDS = 8.0, 500.0


def log_e_value(pit: Vector) -> float:
    """The log of the e-value of PIT values, against a bias and distributions that are too wide or too narrow.

    With normal scores z = Φ⁻¹(u), the ratio for a shift μ and a factor τ is N(z; μ, τ²)/N(z; 0, 1).

    >>> grid = (np.arange(100) + 0.5) / 100
    >>> print(log_e_value(grid) > np.log(100), log_e_value(0.25 + grid / 2) > np.log(100))
    False True
    """
    z = np.clip(ndtri(pit), -_FARTHEST, _FARTHEST)
    factor = np.exp(_LOG_FACTORS)
    n, total, square = len(z), z.sum(), (z**2).sum()
    quadratic = (square - 2 * _SHIFTS * total + n * _SHIFTS**2) / factor**2
    return float(logsumexp(square / 2 - quadratic / 2 - n * _LOG_FACTORS) - np.log(len(_SHIFTS)))


def log_e_value_of_events(probability: Vector, happened: NDArray[np.bool_]) -> float:
    """The log of the e-value of events, against log odds a + b ln(p/(1 − p)) instead of ln(p/(1 − p)).

    >>> p, rows = np.full(100, 0.5), np.arange(100)
    >>> print(*(log_e_value_of_events(p, happened) > np.log(100) for happened in (rows < 50, rows < 80)))
    False True
    """
    with np.errstate(divide="ignore"):
        odds = np.clip(np.log(probability) - np.log1p(-probability), -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
    sign = np.where(happened, 1.0, -1.0)

    def log_likelihood(log_odds: Vector) -> float:
        return float(-np.logaddexp(0.0, -sign * log_odds).sum())

    base = log_likelihood(odds)
    ratios = [log_likelihood(a + np.exp(b) * odds) - base for a, b in zip(_SHIFTS, _LOG_FACTORS, strict=True)]
    return float(logsumexp(ratios) - np.log(len(ratios)))
