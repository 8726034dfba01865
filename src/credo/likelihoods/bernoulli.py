"""Two classes, −1 and +1, from one latent value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr, ndtr

from credo.likelihoods._likelihood import Likelihood
from credo.likelihoods.moderated import expected_sigmoid

Array = NDArray[np.float64]

_ROOT_HALF = np.sqrt(0.5)
# The trapezoidal rule for normal distributions up to these standard deviations. Singularities of ln s have a distance
# of 2.8 or more from the real line, so that steps of 0.65 make an error of e^(−2π·2.8/0.65).
_RULES = [
    (width, steps, np.exp(-0.5 * steps**2) / np.exp(-0.5 * steps**2).sum())
    for width, steps in ((1.0, 0.65 * np.arange(-13, 14)), (3.0, 0.65 / 3 * np.arange(-39, 40)))
]
_ROOT_TWO_OVER_PI = np.sqrt(2.0 / np.pi)


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """p(y = ±1 | f) = s(y·f) with s the logistic function ("logit") or the normal distribution function ("probit").

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Bernoulli
    >>> Bernoulli("probit").probability(np.array([0.0]), np.array([3.0]))
    array([0.5])
    """

    link: str = "probit"

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -4.0, 0.0, 4.0, 10.0, 20.0, 40.0])

    def __post_init__(self) -> None:
        if self.link not in ("logit", "probit"):
            raise ValueError(f'link must be "logit" or "probit"; got {self.link!r}')

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln s(y·f)."""
        z = y * f
        return log_ndtr(z) if self.link == "probit" else -np.logaddexp(0.0, -z)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """With respect to f (Rasmussen & Williams 3.15, 3.16), and the third derivative."""
        z = y * f
        if self.link == "logit":
            up, down = expit(z), expit(-z)
            second = -up * down
            return y * down, second, y * second * (down - up)
        r = _hazard(z)
        return y * r, -r * (z + r), y * r * ((z + r) * (z + 2.0 * r) - 1.0)

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """In closed form for the probit (Rasmussen & Williams 3.80–3.82), by quadrature for the logit."""
        if self.link == "logit":
            return super().tilted(y, mean, var)
        width = 1.0 + var
        z = y * mean / np.sqrt(width)
        r = _hazard(z)
        return log_ndtr(z), y * r / np.sqrt(width), -r * (z + r) / width

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """By the trapezoidal rule, where its steps are short compared to how fast ln s bends; to eleven digits."""
        y, mean, var = np.broadcast_arrays(y, mean, var)
        found, left = np.empty((3, *y.shape)), np.ones(y.shape, dtype=bool)
        for width, steps, weights in _RULES:
            rows = left & (var <= width**2)
            f = mean[rows] + np.sqrt(var[rows]) * steps[:, None]
            first, second, _ = self.derivatives(y[rows], f)
            found[:, rows] = weights @ self.log_prob(y[rows], f), weights @ first, 0.5 * (weights @ second)
            left &= ~rows
        if left.any():
            found[:, left] = super().expected(y[left], mean[left], var[left])
        return found[0], found[1], found[2]

    def log_odds(self, mean: Array, var: Array) -> Array:
        """ln P(y = +1) − ln P(y = −1) where f ~ N(mean, var), accurate in both tails."""
        if self.link == "probit":
            z = mean / np.sqrt(1.0 + var)
            return log_ndtr(z) - log_ndtr(-z)
        # A variance of zero is a latent value that is known.
        width, ones = np.maximum(var, 1e-12), np.ones_like(mean)
        return self.tilted(ones, mean, width)[0] - self.tilted(-ones, mean, width)[0]

    def probability(self, mean: Array, var: Array) -> Array:
        """P(y = +1) where f ~ N(mean, var)."""
        return ndtr(mean / np.sqrt(1.0 + var)) if self.link == "probit" else expected_sigmoid(mean, var)[:, 1]


def _hazard(z: Array) -> Array:
    """N(z)/Φ(z), which grows like −z on the left, where both underflow."""
    return _ROOT_TWO_OVER_PI / erfcx(-z * _ROOT_HALF)
