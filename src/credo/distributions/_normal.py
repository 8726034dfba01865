"""The normal distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, ndtr, ndtri

from credo.distributions import _point
from credo.distributions import _validation as valid
from credo.distributions._distribution import Distribution

_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


class Normal(Distribution):
    """N(y | mean, std²) for each row.

    Parameters
    ----------
    mean : float or array of shape (n_rows,)
    std : float or array of shape (n_rows,), default 1.0
        A standard deviation of exactly zero is a point mass.

    Examples
    --------
    >>> dist = Normal([0.0, 5.0], 2.0)
    >>> dist.quantile(0.5)
    array([0., 5.])
    >>> dist.crps([0.0, 5.0]).round(4)
    array([0.4674, 0.4674])
    """

    _shown = ("mean", "std")
    _mean: NDArray[np.float64]
    _std: NDArray[np.float64]

    def __init__(self, mean: ArrayLike, std: ArrayLike = 1.0) -> None:
        mean, std = valid.rows(mean=mean, std=std)
        valid.refuse(std < 0, std, "std must not be negative")
        vars(self).update(_mean=mean, _std=std)

    @property
    def mean(self) -> NDArray[np.float64]:
        return self._mean

    @property
    def std(self) -> NDArray[np.float64]:
        return self._std

    def __len__(self) -> int:
        return self._mean.size

    def _cdf(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return ndtr(_point.standardize(y, self._mean, self._std))

    def _tail(self, y: NDArray[np.float64], upper: NDArray[np.bool_]) -> NDArray[np.float64]:
        z = _point.standardize(y, self._mean, self._std)
        return ndtr(np.where(upper, -z, z))

    def _log_prob(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        z = _point.standardize(y, self._mean, self._std)
        with np.errstate(all="ignore"):
            density = -0.5 * z * z - np.log(self._std) - _HALF_LOG_TAU
        return _point.log_prob(density, y, self._mean, self._std)

    def _crps(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        # Gneiting & Raftery (2007), section 4.2, with σz kept as y − mean: nothing is lost when z overflows.
        z = _point.standardize(y, self._mean, self._std)
        with np.errstate(all="ignore"):
            peak = np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z) - 1 / np.sqrt(np.pi)
            return np.abs(y - self._mean) * erf(np.abs(z) / np.sqrt(2)) + self._std * peak

    def _quantile(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return _point.quantile(ndtri(q)[None, :], self._mean, self._std)

    def _exceeded(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return _point.quantile(-ndtri(p)[None, :], self._mean, self._std)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._mean + self._std * rng.standard_normal((n, len(self)))

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self._mean[rows], self._std[rows])

    def _atoms(self) -> NDArray[np.bool_]:
        return self._std == 0

    def _knots(self) -> NDArray[np.float64]:
        return self._mean[None]

    def _grain(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Beyond eight standard deviations the square of the tail is below 1e-30.
        with np.errstate(over="ignore"):
            return self._std[None], 8 * self._std[None]
