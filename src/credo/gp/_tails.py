"""The tails of a process's predictions: a Student-t distribution of its standardised leave-one-out residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.distributions import Distribution, Normal, StudentT

Array = NDArray[np.float64]

_DEGREES = (2.1, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0)
# Most iterations for the scale; each reduces the error at least by a constant factor.
_ITERATIONS = 60


@dataclass(frozen=True)
class Tails:
    """Residuals divided by their standard deviations are scale·t, with df degrees of freedom; infinite is normal."""

    df: float = math.inf
    scale: float = 1.0

    @property
    def variance_factor(self) -> float:
        """The variance of a standardised residual."""
        return 1.0 if math.isinf(self.df) else self.scale**2 * self.df / (self.df - 2.0)

    def distribution(self, mean: Array, std: Array) -> Distribution:
        """The distribution of targets with these means and standard deviations under normal tails."""
        return Normal(mean, std) if math.isinf(self.df) else StudentT(self.df, mean, self.scale * std)


def fitted_tails(residuals: Array, log_weights: Array | None = None) -> Tails:
    """The tails of standardised residuals: normal of variance one, unless a Student-t is better by BIC.

    Parameters
    ----------
    residuals : array of shape (n,) or (n_points, n)
        For each component of a mixture.
    log_weights : array of shape (n_points, n), optional
        Logarithms of the components' weights divided by their standard deviations.
    """
    z = np.atleast_2d(residuals)
    weights = np.exp(np.zeros_like(z) if log_weights is None else log_weights)
    n, squares = z.shape[1], z**2
    found = Tails()
    # Smaller variances would be rounding error of the largest residual; without any residual there are no tails.
    smallest = np.finfo(np.float64).eps ** 2 * float(squares.max(initial=0.0))
    if not smallest > 0:
        return found
    best = float(np.log(_floor((weights * np.exp(-0.5 * squares)).sum(axis=0))).sum()) - 0.5 * n * math.log(2 * math.pi)
    variance = max(float(np.average(squares, weights=weights)), smallest)
    for df in reversed(_DEGREES):
        constant = float(gammaln(0.5 * (df + 1)) - gammaln(0.5 * df)) - 0.5 * math.log(df * math.pi)
        for _ in range(_ITERATIONS):
            # EM for the scale of a mixture of Student-t distributions (Liu & Rubin 1995).
            density = weights * (1.0 + squares / (df * variance)) ** (-0.5 * (df + 1))
            share = density / _floor(density.sum(axis=0))
            step = float((share * (df + 1) * squares / (df + squares / variance)).sum() / share.sum())
            if abs(step - variance) <= 1e-5 * variance:
                break
            variance = max(step, smallest)
        value = n * (constant - 0.5 * math.log(variance)) + float(np.log(_floor(density.sum(axis=0))).sum())
        # Two parameters more than the normal.
        if value - math.log(n) > best:
            best, found = value - math.log(n), Tails(df, math.sqrt(variance))
    return found


def _floor(density: Array) -> Array:
    return np.maximum(density, 1e-300)
