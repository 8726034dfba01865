"""The definitions, integrated with scipy: slow, and independent of the closed forms under test."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr, stdtr

from credo.distributions import Mixture, Normal, StudentT


def crps(
    cdf: Callable[[float], float],
    y: float,
    *,
    points: Sequence[float] = (),
    above: Callable[[float], float] | None = None,
    precision: float = 1e-11,
) -> float:
    """∫ (F(x) − 1{y ≤ x})² dx, split at y and at the points where F is steep or jumps; `above` is 1 − F."""
    upper = above or (lambda x: 1 - cdf(x))
    points = np.unique(points)
    lower_ends, upper_ends = [-np.inf, *points[points < y], y], [y, *points[points > y], np.inf]
    left = sum(_integral(lambda x: cdf(x) ** 2, a, b, precision) for a, b in pairwise(lower_ends))
    right = sum(_integral(lambda x: upper(x) ** 2, a, b, precision) for a, b in pairwise(upper_ends))
    return left + right


def mixture_crps(dist: Mixture, y: float) -> float:
    """The CRPS of a mixture of one row of normal and Student-t components, split finely around each of them."""
    parts = [(part, weight) for part, weight in zip(dist.components, dist.weights[0], strict=True) if weight > 0]
    steps = np.append(0.0, [sign * 4.0**j for sign in (-1, 1) for j in (-1, 0, 1, 2, 3, 5, 7, 9, 12, 15, 20, 26)])
    points = np.concatenate([_place(part)[0] + _place(part)[1] * steps for part, _ in parts])
    return crps(
        lambda x: sum(weight * _below(part, x) for part, weight in parts),
        y,
        points=points,
        above=lambda x: sum(weight * _below(part, x, sign=-1) for part, weight in parts),
        precision=1e-13,
    )


def _place(part: object) -> tuple[float, float]:
    assert isinstance(part, Normal | StudentT)
    return (part.loc[0], part.scale[0]) if isinstance(part, StudentT) else (part.mean[0], part.std[0])


def _below(part: object, x: float, *, sign: int = 1) -> float:
    """F(x), and 1 − F(x) for the sign −1."""
    loc, scale = _place(part)
    z = sign * (x - loc) / scale
    return float(stdtr(part.df[0], z) if isinstance(part, StudentT) else ndtr(z))


def _integral(f: Callable[[float], float], a: float, b: float, precision: float) -> float:
    return quad(f, a, b, limit=200, epsabs=precision, epsrel=precision)[0]
