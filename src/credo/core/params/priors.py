"""Priors of parameters: normalized log densities in natural units and their gradients, elementwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class Prior(ABC):
    """A density over a parameter's natural value; for a vector, over each entry independently.

    A subclass writes `_log_prob` and `_gradient`, for values inside its support.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> from credo.core.params import LogNormal, Prior
    >>> isinstance(LogNormal(), Prior)
    True
    >>> RBF(1.0).with_prior("lengthscale", LogNormal(median=2.0, sigma=0.5)).names
    ['lengthscale', 'variance']
    """

    lower: float
    upper: float
    # Whether the ends of the support belong to it.
    _closed: ClassVar[bool] = False

    def log_prob(self, x: ArrayLike) -> Array:
        """log p(x); −inf outside the support."""
        values, inside = self._split(x)
        with np.errstate(over="ignore"):
            return np.where(inside, self._log_prob(values), np.where(np.isnan(x), np.nan, -np.inf))

    def gradient(self, x: ArrayLike) -> Array:
        """d/dx log p(x); 0 outside the support, where the log density is −inf all around."""
        values, inside = self._split(x)
        with np.errstate(over="ignore"):
            return np.where(inside, self._gradient(values), np.where(np.isnan(x), np.nan, 0.0))

    def _split(self, x: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
        """The values, with those outside the support replaced by a valid one, and a mask of those inside."""
        values = np.asarray(x, dtype=np.float64)
        inside = (values > self.lower) & (values < self.upper)
        if self._closed:
            inside |= (values == self.lower) | (values == self.upper)
        return np.where(inside, values, 1.0), inside

    @abstractmethod
    def _log_prob(self, x: Array) -> Array: ...

    @abstractmethod
    def _gradient(self, x: Array) -> Array: ...


@dataclass(frozen=True)
class Normal(Prior):
    """x ~ N(mean, std²).

    Examples
    --------
    >>> from credo.core.params import Normal
    >>> Normal(1.0, 2.0).log_prob([1.0, 3.0]).round(3), Normal(1.0, 2.0).gradient(3.0).item()
    (array([-1.612, -2.112]), -0.5)
    """

    mean: float = 0.0
    std: float = 1.0

    lower = -np.inf
    upper = np.inf

    def __post_init__(self) -> None:
        if not np.isfinite(self.mean):
            raise ValueError(f"mean of a prior must be finite; got {self.mean!r}")
        _positive("std", self.std)

    def _log_prob(self, x: Array) -> Array:
        z = (x - self.mean) / self.std
        return -0.5 * z**2 - _HALF_LOG_2PI - np.log(self.std)

    def _gradient(self, x: Array) -> Array:
        return -(x - self.mean) / self.std / self.std


class _PositivePrior(Prior):
    """A prior of positive values, whose parameters are positive too."""

    lower = 0.0
    upper = np.inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _positive(name, value)


@dataclass(frozen=True)
class HalfNormal(_PositivePrior):
    """The positive half of N(0, scale²).

    Examples
    --------
    >>> from credo.core.params import HalfNormal
    >>> HalfNormal(2.0).log_prob([1.0, -1.0]).round(3)
    array([-1.044,   -inf])
    """

    scale: float = 1.0

    _closed: ClassVar[bool] = True

    def _log_prob(self, x: Array) -> Array:
        return np.log(2.0) - 0.5 * (x / self.scale) ** 2 - _HALF_LOG_2PI - np.log(self.scale)

    def _gradient(self, x: Array) -> Array:
        return -x / self.scale / self.scale


@dataclass(frozen=True)
class LogNormal(_PositivePrior):
    """log x ~ N(log median, sigma²): a factor of exp(sigma) either way is one standard deviation.

    Examples
    --------
    >>> from credo.core.params import LogNormal
    >>> LogNormal(median=2.0, sigma=0.5).gradient(2.0).item()
    -0.5
    """

    median: float = 1.0
    sigma: float = 1.0

    def _log_prob(self, x: Array) -> Array:
        z = (np.log(x) - np.log(self.median)) / self.sigma
        return -0.5 * z**2 - _HALF_LOG_2PI - np.log(self.sigma) - np.log(x)

    def _gradient(self, x: Array) -> Array:
        z = (np.log(x) - np.log(self.median)) / self.sigma
        return -(1.0 + z / self.sigma) / x


@dataclass(frozen=True)
class Gamma(_PositivePrior):
    """p(x) = rateˢ xˢ⁻¹ exp(−rate·x) / Γ(s), s the shape; the mean is shape / rate.

    Examples
    --------
    >>> from credo.core.params import Gamma
    >>> Gamma(2.0, 4.0).log_prob([0.25, 0.5]).round(3)  # the mode is at (shape − 1)/rate
    array([0.386, 0.079])
    >>> Gamma(2.0, 4.0).gradient(0.25).item()
    0.0
    """

    shape: float
    rate: float = 1.0

    def _log_prob(self, x: Array) -> Array:
        s = self.shape
        return s * np.log(self.rate) - gammaln(s) + (s - 1.0) * np.log(x) - self.rate * x

    def _gradient(self, x: Array) -> Array:
        return (self.shape - 1.0) / x - self.rate


@dataclass(frozen=True)
class InverseGamma(_PositivePrior):
    """p(x) = scaleˢ x⁻ˢ⁻¹ exp(−scale/x) / Γ(s), s the shape; useful to keep a length scale away from zero.

    Examples
    --------
    >>> from credo.core.params import InverseGamma
    >>> InverseGamma(3.0, 2.0).log_prob([0.05, 0.5, 5.0]).round(1)
    array([-26.6,   0.2,  -5.5])
    """

    shape: float
    scale: float = 1.0

    def _log_prob(self, x: Array) -> Array:
        s = self.shape
        return s * np.log(self.scale) - gammaln(s) - (s + 1.0) * np.log(x) - self.scale / x

    def _gradient(self, x: Array) -> Array:
        return (self.scale / x - (self.shape + 1.0)) / x


@dataclass(frozen=True)
class Uniform(Prior):
    """The uniform density between lower and upper.

    Examples
    --------
    >>> from credo.core.params import Uniform
    >>> Uniform(0.0, 4.0).log_prob([1.0, 5.0]).round(3)
    array([-1.386,   -inf])
    """

    lower: float
    upper: float

    _closed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.upper - self.lower) and self.lower < self.upper):
            raise ValueError(f"Uniform needs finite lower < upper; got {self.lower!r} and {self.upper!r}")

    def _log_prob(self, x: Array) -> Array:
        return np.full_like(x, -np.log(self.upper - self.lower))

    def _gradient(self, x: Array) -> Array:
        return np.zeros_like(x)


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} of a prior must be positive and finite; got {value!r}")
