"""Times until an event, of which some are only known to be longer than they were observed (right-censored).

    ln y = f + scale·ε

with a standard normal ε (log-normal) or ε the logarithm of an exponential variable (Weibull): accelerated failure time
models. A row whose event was observed has the density of y, another the probability S(y | f) of a longer time.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, log_ndtr, ndtr

from credo.likelihoods._likelihood import ByParameter, Likelihood
from credo.likelihoods.dispersed import bounded_exp

Array = NDArray[np.float64]
# ln of a density or of a survival function of ε, and its first three derivatives.
Logs = tuple[Array, Array, Array, Array]


@dataclass(frozen=True, eq=False)
class _Time(Likelihood):
    """ln y = f + scale·ε; without `observed`, every event was observed."""

    scale: float = 1.0
    observed: NDArray[np.bool_] | None = None

    _breakpoints: ClassVar[Array] = np.array([-20.0, -10.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 10.0, 20.0])
    _parameters: ClassVar[tuple[str, ...]] = ("scale",)
    is_discrete: ClassVar[bool] = False
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @abstractmethod
    def _density(self, z: Array) -> Logs:
        """Of ε."""

    @abstractmethod
    def _survival(self, z: Array) -> Logs:
        """P(ε > z)."""

    def _logs(self, y: Array, f: Array) -> tuple[Array, Array, Logs]:
        """z, which rows have an event, and the logs of their density or of the probability of a longer time."""
        z = (np.log(y) - f) / self.scale
        if self.observed is None:
            return z, np.ones_like(z), self._density(z)
        happened = np.broadcast_to(self.observed, z.shape)
        pairs = zip(self._density(z), self._survival(z), strict=True)
        value, first, second, third = (np.where(happened, *pair) for pair in pairs)
        return z, happened.astype(np.float64), (value, first, second, third)

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln p(y | f) if the event was observed, else ln P(Y > y | f)."""
        _, happened, logs = self._logs(y, f)
        return logs[0] - happened * (np.log(self.scale) + np.log(y))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """With ∂z/∂f = −1/scale."""
        _, _, (_, first, second, third) = self._logs(y, f)
        s = self.scale
        return -first / s, second / s**2, -third / s**3

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the log of the scale, with ∂z/∂ ln scale = −z."""
        z, happened, (_, first, second, third) = self._logs(y, f)
        s = self.scale
        return [(-z * first - happened, (first + z * second) / s, -(2.0 * second + z * third) / s**2)]

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return replace(self, scale=float(np.exp(np.clip(logs[0], -15.0, 15.0))))


@dataclass(frozen=True, eq=False)
class LogNormal(_Time):
    """Positive numbers whose logarithm is N(f, scale²); rows that aren't `observed` are right-censored.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import LogNormal
    >>> likelihood = LogNormal(0.5, observed=np.array([True, False]))
    >>> np.exp(likelihood.log_prob(np.array([2.0, 2.0]), np.log([2.0, 2.0]))).round(3)  # density, and P(Y > 2)
    array([0.399, 0.5  ])
    """

    def _density(self, z: Array) -> Logs:
        return -0.5 * z**2 - 0.5 * np.log(2 * np.pi), -z, np.full_like(z, -1.0), np.zeros_like(z)

    def _survival(self, z: Array) -> Logs:
        log = log_ndtr(-z)
        # h is the hazard of a standard normal distribution, with h′ = h(h − z); h − z is a series for a large z.
        far = np.maximum(z, 200.0)
        gap = np.where(z > 200.0, 1.0 / far - 2.0 / far**3, np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log) - z)
        h = z + gap
        slope = h * gap
        return log, -h, -slope, -(slope * gap + h * (slope - 1.0))

    def mean(self, f: Array) -> Array:
        """e^(f + scale²/2)."""
        return bounded_exp(f + 0.5 * self.scale**2)

    def variance(self, f: Array) -> Array:
        """mean²·(e^(scale²) − 1)."""
        return self.mean(f) ** 2 * np.expm1(np.minimum(self.scale**2, 100.0))

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        with np.errstate(divide="ignore"):
            z = (np.log(np.maximum(y, 0.0)) - f) / self.scale
        return ndtr(np.where(upper, -z, z))

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value."""
        return bounded_exp(f + self.scale * rng.standard_normal(np.shape(f)))


@dataclass(frozen=True, eq=False)
class Weibull(_Time):
    """Positive numbers with P(Y > y) = exp(−(y/e^f)^(1/scale)); rows that aren't `observed` are right-censored.

    Its hazard grows with time if the scale is below 1 and falls if it is above; with 1 it is the exponential
    distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Weibull
    >>> np.exp(Weibull(1.0, observed=np.array([False])).log_prob(np.array([2.0]), np.array([0.0]))).round(3)
    array([0.135])
    """

    def _density(self, z: Array) -> Logs:
        e = bounded_exp(z)
        return z - e, 1.0 - e, -e, -e

    def _survival(self, z: Array) -> Logs:
        e = -bounded_exp(z)
        return e, e, e, e

    def mean(self, f: Array) -> Array:
        """e^f Γ(1 + scale)."""
        return bounded_exp(f) * gamma(1.0 + min(self.scale, 100.0))

    def variance(self, f: Array) -> Array:
        """e^(2f) (Γ(1 + 2·scale) − Γ(1 + scale)²)."""
        s = min(self.scale, 50.0)
        return bounded_exp(2.0 * f) * (gamma(1.0 + 2.0 * s) - gamma(1.0 + s) ** 2)

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        with np.errstate(divide="ignore", over="ignore"):
            hazard = np.exp((np.log(np.maximum(y, 0.0)) - f) / self.scale)
        return np.where(upper, np.exp(-hazard), -np.expm1(-hazard))

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value."""
        return bounded_exp(f + self.scale * np.log(rng.exponential(size=np.shape(f))))
