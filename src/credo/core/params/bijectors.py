"""Increasing maps from the real line onto the domain of a parameter.

Each saturates just inside its domain before float64 overflows, so that any step of an optimizer gives a finite, valid
parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

Array = NDArray[np.float64]

# Positive values saturate short of float64's limits, which leaves some room for products.
_MIN_POSITIVE, _MAX_POSITIVE = 1e-299, 1e299
_LOG_MAX_POSITIVE = float(np.log(_MAX_POSITIVE))
_POSITIVE = f"positive (between {_MIN_POSITIVE:g} and {_MAX_POSITIVE:g})"


class Bijector(ABC):
    """A smooth increasing map x = forward(u) from the real line onto an open interval, entry by entry.

    A subclass defines the ends of the interval and four methods.

    Examples
    --------
    >>> from credo.core.params import Bijector, Positive
    >>> isinstance(Positive(), Bijector)
    True
    >>> Positive().forward([-1.0, 0.0, 1.0]).round(3), Positive().contains([-1.0, 1.0])
    (array([0.368, 1.   , 2.718]), array([False,  True]))
    """

    lower: float
    upper: float

    @property
    def domain(self) -> str:
        """The domain in words, as error messages use it: "the value must be …"."""
        return f"strictly between {self.lower:g} and {self.upper:g}"

    def contains(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Which entries lie in the domain."""
        values = np.asarray(x, dtype=np.float64)
        return np.isfinite(values) & (values > self.lower) & (values < self.upper)

    def forward(self, u: ArrayLike) -> Array:
        """The natural value x of the unconstrained u."""
        first, last = np.nextafter(self.lower, self.upper), np.nextafter(self.upper, self.lower)
        return np.clip(self._forward(np.asarray(u, dtype=np.float64)), first, last)

    def derivative(self, u: ArrayLike) -> Array:
        """dx/du."""
        return np.exp(np.minimum(self.log_derivative(u), _LOG_MAX_POSITIVE))

    @abstractmethod
    def _forward(self, u: Array) -> Array:
        """The map itself; `forward` moves values on or beyond an end, due to rounding, back inside."""

    @abstractmethod
    def inverse(self, x: ArrayLike) -> Array:
        """The unconstrained u of the natural value x."""

    @abstractmethod
    def log_derivative(self, u: ArrayLike) -> Array:
        """log dx/du, the log Jacobian of a change of variables from x to u."""

    @abstractmethod
    def log_derivative_slope(self, u: ArrayLike) -> Array:
        """d/du log dx/du."""


@dataclass(frozen=True)
class Identity(Bijector):
    """x = u, for parameters without constraint.

    Examples
    --------
    >>> from credo.core.params import Identity
    >>> Identity().forward([-2.0, 3.0])
    array([-2.,  3.])
    """

    lower = -np.inf
    upper = np.inf

    @property
    def domain(self) -> str:
        return "finite"

    def _forward(self, u: Array) -> Array:
        return u

    def inverse(self, x: ArrayLike) -> Array:
        return np.array(x, dtype=np.float64)

    def log_derivative(self, u: ArrayLike) -> Array:
        return np.zeros_like(u, dtype=np.float64)

    def log_derivative_slope(self, u: ArrayLike) -> Array:
        return np.zeros_like(u, dtype=np.float64)


@dataclass(frozen=True)
class Positive(Bijector):
    """x = exp(u), for scales: a step in u is a factor in x.

    Examples
    --------
    >>> from credo.core.params import Positive
    >>> Positive().inverse(1.0).item()
    0.0
    """

    lower = _MIN_POSITIVE
    upper = _MAX_POSITIVE

    @property
    def domain(self) -> str:
        return _POSITIVE

    def _forward(self, u: Array) -> Array:
        return np.exp(np.minimum(u, _LOG_MAX_POSITIVE))

    def inverse(self, x: ArrayLike) -> Array:
        return np.log(np.asarray(x, dtype=np.float64))

    def log_derivative(self, u: ArrayLike) -> Array:
        return np.array(u, dtype=np.float64)

    def log_derivative_slope(self, u: ArrayLike) -> Array:
        return np.ones_like(u, dtype=np.float64)


@dataclass(frozen=True)
class Interval(Bijector):
    """x = lower + (upper − lower)·σ(u), σ the logistic function.

    Examples
    --------
    >>> from credo.core.params import Interval
    >>> Interval(-1.0, 3.0).forward(0.0).item()
    1.0
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.upper - self.lower) and self.lower < self.upper):
            raise ValueError(f"Interval needs finite lower < upper; got lower={self.lower!r}, upper={self.upper!r}")

    def _forward(self, u: Array) -> Array:
        # A weighted mean is exact at both ends, where lower + (upper − lower)·σ(u) is off by rounding.
        return self.lower * expit(-u) + self.upper * expit(u)

    def inverse(self, x: ArrayLike) -> Array:
        values = np.asarray(x, dtype=np.float64)
        return np.log(values - self.lower) - np.log(self.upper - values)

    def log_derivative(self, u: ArrayLike) -> Array:
        values = np.asarray(u, dtype=np.float64)
        return np.log(self.upper - self.lower) + log_expit(values) + log_expit(-values)

    def log_derivative_slope(self, u: ArrayLike) -> Array:
        return -np.tanh(0.5 * np.asarray(u, dtype=np.float64))


@dataclass(frozen=True)
class LogInterval(Bijector):
    """log x = log lower + log(upper / lower)·σ(u), for positive parameters whose bounds are decades apart.

    Examples
    --------
    >>> from credo.core.params import LogInterval
    >>> LogInterval(0.01, 100.0).forward(0.0).round(12).item()
    1.0
    """

    lower: float
    upper: float
    _logs: Interval = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.lower < self.upper < np.inf:
            raise ValueError(
                f"LogInterval needs 0 < lower < upper < inf; got lower={self.lower!r}, upper={self.upper!r}"
            )
        object.__setattr__(self, "_logs", Interval(float(np.log(self.lower)), float(np.log(self.upper))))

    def _forward(self, u: Array) -> Array:
        return np.exp(self._logs.forward(u))

    def inverse(self, x: ArrayLike) -> Array:
        values = np.asarray(x, dtype=np.float64)
        # log1p keeps the digits of values next to either bound.
        above = np.log1p((values - self.lower) / self.lower)
        below = np.log1p((self.upper - values) / values)
        return np.log(above) - np.log(below)

    def log_derivative(self, u: ArrayLike) -> Array:
        return self._logs.forward(u) + self._logs.log_derivative(u)

    def log_derivative_slope(self, u: ArrayLike) -> Array:
        return self._logs.derivative(u) + self._logs.log_derivative_slope(u)
