"""Symmetric location-scale families: what `Normal` and `StudentT` share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from credo.distributions._distribution import Array, Distribution


class LocationScale(Distribution):
    """loc + scale·z for each row, where z is symmetric about zero; a scale of exactly zero is a point mass."""

    _loc: Array
    _scale: Array

    @abstractmethod
    def _standard_cdf(self, z: Array) -> Array:
        """The cdf of z."""

    @abstractmethod
    def _standard_quantile(self, q: Array) -> Array:
        """The quantiles of z, of shape (n_rows, k) or (1, k)."""

    @abstractmethod
    def _log_density(self, y: Array) -> Array:
        """The log density of y where the scale is positive; any value elsewhere."""

    def __len__(self) -> int:
        return self._loc.size

    def _cdf(self, y: Array) -> Array:
        return self._standard_cdf(standardize(y, self._loc, self._scale))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        z = standardize(y, self._loc, self._scale)
        return self._standard_cdf(np.where(upper, -z, z))

    def _log_prob(self, y: Array) -> Array:
        with np.errstate(all="ignore"):
            density = self._log_density(y)
        return np.where(self._scale > 0, density, np.where(y == self._loc, np.inf, -np.inf))

    def _quantile(self, q: Array) -> Array:
        return self._located(self._standard_quantile(q))

    def _isf(self, p: Array) -> Array:
        return self._located(-self._standard_quantile(p))

    def _located(self, z: Array) -> Array:
        loc, scale = self._loc[:, None], self._scale[:, None]
        with np.errstate(all="ignore"):
            return np.where(scale > 0, loc + scale * z, loc)

    def _atoms(self) -> NDArray[np.bool_]:
        return self._scale == 0

    def _knots(self) -> Array:
        return self._loc[None]


def standardize(y: Array, loc: Array, scale: Array) -> Array:
    """(y − loc) / scale; a scale of zero gives ±∞, and +∞ at y = loc, so that the cdf is the step there."""
    with np.errstate(all="ignore"):
        z = (y - loc) / scale
    return np.where((scale == 0) & (y == loc), np.inf, z)
