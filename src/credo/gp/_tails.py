"""The tails of a process's predictions: a Student-t distribution of its standardised leave-one-out residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.distributions import Distribution, Normal, StudentT

Array = NDArray[np.float64]

_DEGREES = (2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0)
# Iterations for the scale, each of which reduces the error at least by a constant factor, and when they end.
_ITERATIONS, _CONVERGED = 60, 1e-12


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


def fitted_tails(residuals: Array) -> Tails:
    """The tails of standardised residuals: normal of variance one, unless a Student-t is better by BIC."""
    n, squares = len(residuals), residuals**2
    normal = -0.5 * float(squares.sum()) - 0.5 * n * math.log(2 * math.pi)
    best, found = normal, Tails()
    if not (n and squares.any()):
        return found
    for df in _DEGREES:
        variance = float(squares.mean())
        for _ in range(_ITERATIONS):
            # EM for the scale of a Student-t (Liu & Rubin 1995).
            before, variance = variance, float(np.mean((df + 1) * squares / (df + squares / variance)))
            if abs(variance - before) <= _CONVERGED * before:
                break
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * math.log(df * math.pi * variance)
        value = n * float(constant) - 0.5 * (df + 1) * float(np.log1p(squares / (df * variance)).sum())
        # Two parameters more than the normal.
        if value - math.log(n) > best:
            best, found = value - math.log(n), Tails(df, math.sqrt(variance))
    return found
