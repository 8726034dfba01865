"""The tails of Student's t, accurate to rounding error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammaln

Array = NDArray[np.float64]
# From here on the power law of the tail is exact to rounding error (its next term is of order 1/r²).
FAR = 1e12
# Above so many degrees of freedom the tail feels how 1/(1 + z²/ν) is rounded, and above so many that can't be mended.
_ROUGH, NORMAL = 50.0, 1e8


def two_sided(z: Array, df: Array) -> Array:
    """P(|t| > z) for z ≥ 0, by the incomplete beta function that is small."""
    with np.errstate(all="ignore"):
        ratio = z / np.sqrt(df)
        square = np.square(ratio)
        inner, far, light = z < 1, ratio >= FAR, (df > NORMAL) & (ratio < 1)
        outer = ~(inner | far | light)
        tail = betainc(df / 2, 0.5, 1 / (1 + square), out=np.zeros(ratio.shape), where=outer)
        if (df > _ROUGH).any():
            tail = np.where(outer & (df > _ROUGH) & (ratio < 1), tail * _slip(df, square, tail), tail)
        rest = square / (1 + square)
        share = betainc(0.5, df / 2, rest, out=np.zeros(ratio.shape), where=inner)
        tail = np.where(inner, 1 - share, tail)
        if light.any():
            # Some ten times slower than the other.
            betaincc(0.5, df / 2, rest, out=tail, where=light & ~inner)
        if far.any():
            tail = np.where(far, np.exp(-df * np.log(ratio) - log_tail(df)), tail)
    return tail


def log_tail(df: Array) -> Array:
    """ln((ν/2) B(ν/2, 1/2)), the constant of the tail's power law: ln P(|t| > √ν r) is −ν ln r less this."""
    return np.log(df / 2) + 0.5 * np.log(np.pi) - gamma_step(df / 2)


def gamma_step(x: Array) -> Array:
    """ln Γ(x+1/2) − ln Γ(x); by its asymptotic series where the two would cancel."""
    u = 1 / np.maximum(x, 30.0)
    series = -0.5 * np.log(u) + u * (
        -1 / 8 + u**2 * (1 / 192 + u**2 * (-1 / 640 + u**2 * (17 / 14336 - u**2 * 31 / 18432)))
    )
    return np.where(x > 30, series, gammaln(x + 0.5) - gammaln(x))


def _slip(df: Array, square: Array, tail: Array) -> Array:
    """The correction factor of a tail for the rounding of x = 1/(1+square) in I_x(ν/2, ½).

    ln I changes by I'/I times what x has lost, and 1 − x, exact in floats, says how much that was.
    """
    rest = square / (1 + square)
    lost = (1 - 1 / (1 + square)) - rest
    density = (df / 2 - 1) * np.log1p(-rest) - 0.5 * np.log(rest) - 0.5 * np.log(np.pi) + gamma_step(df / 2)
    return np.exp(np.where(tail > 0, lost * np.exp(density) / tail, 0.0))
