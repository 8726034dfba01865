"""The normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, ndtr, ndtri

from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, LocationScale, standardize


class Normal(LocationScale):
    """N(y | mean, std²) for each row.

    Parameters
    ----------
    mean : float or array of shape (n_rows,)
    std : float or array of shape (n_rows,), default 1.0
        A standard deviation of exactly zero is a point mass.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> dist = Normal([0.0, 5.0], 2.0)
    >>> dist.quantile(0.5)
    array([0., 5.])
    >>> dist.crps([0.0, 5.0]).round(4)
    array([0.4674, 0.4674])
    """

    _shown = ("mean", "std")

    def __init__(self, mean: ArrayLike, std: ArrayLike = 1.0) -> None:
        scalar = valid.are_scalars(mean, std)
        mean, std = valid.rows(mean=mean, std=std)
        valid.reject(std < 0, std, "std must not be negative")
        vars(self).update(_loc=mean, _scale=std, _scalar=scalar)

    @property
    def _mean(self) -> Array:
        return self._loc

    @property
    def _std(self) -> Array:
        return self._scale

    def _standard_cdf(self, z: Array) -> Array:
        return ndtr(z)

    def _standard_quantile(self, q: Array) -> Array:
        return ndtri(q)[None, :]

    def _log_density(self, y: Array) -> Array:
        z = standardize(y, self._loc, self._scale)
        return -0.5 * z * z - np.log(self._scale) - 0.5 * np.log(2 * np.pi)

    def _crps(self, y: Array) -> Array:
        # Gneiting & Raftery (2007), section 4.2, with σz kept as y − mean: nothing is lost when z overflows.
        z = standardize(y, self._loc, self._scale)
        with np.errstate(all="ignore"):
            peak = np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z) - 1 / np.sqrt(np.pi)
            return np.abs(y - self._loc) * erf(np.abs(z) / np.sqrt(2)) + self._scale * peak

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._loc + self._scale * rng.standard_normal((n, len(self)))

    def _widths(self) -> tuple[Array, Array]:
        # Beyond eight standard deviations the square of the tail is below 1e-30.
        with np.errstate(over="ignore"):
            return self._scale[None], 8 * self._scale[None]
