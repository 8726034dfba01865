"""Locally weighted means and their variances.

    m(x) = Σ pᵢ yᵢ,    pᵢ = wᵢ k(x, xᵢ) / Σ wⱼ k(x, xⱼ)

The weights are normalised in logs. Where even the largest log is −∞, the nearest rows share the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_positive, check_shapes
from credo.kernel_machines._log_weights import log_weights
from credo.kernel_machines._rows import blocks, distances
from credo.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Log weights this far below the largest are negligible; the limit keeps squares from becoming slow denormals.
_LEAST_LOG_WEIGHT = -350.0
# Rows as near as the nearest, up to rounding, are as near.
_TIE = 1.0 + 1e-12
# Few neighbours may agree by luck: the residuals of all rows count as much as this many of them.
_PRIOR_RESIDUALS = 2.0
# The unit of the kernel mass: this fraction of this quantile over the training rows.
_QUANTILE, _UNIT_FRACTION = 0.05, 0.1


@dataclass(frozen=True)
class Neighbours:
    """Training rows, their targets, and how many observations each stands for."""

    rows: Array
    target: Array
    weight: Array

    def _check_state(self) -> None:
        check_shapes(self, rows="n d", target="n", weight="n")
        check_positive(self, "weight")

    @property
    def alone(self) -> bool:
        """Whether there is no other observation to predict from."""
        return len(self.rows) == 1 and self.weight[0] <= 1

    @property
    def y_mean(self) -> float:
        """The mean of all observations."""
        return float(np.average(self.target, weights=self.weight))

    def mean(self, shares: Array) -> Array:
        """Σ pᵢ yᵢ, computed about the overall mean for accuracy."""
        return self.y_mean + shares @ (self.target - self.y_mean)

    def shares(self, kernel: Kernel, X: Array, *, own: Index | None = None) -> tuple[Array, Array]:
        """pᵢ for each row of X, and the log of its kernel mass Σ wᵢ k(x, xᵢ).

        `own` says where the rows of X stand among the training rows; one observation is then left out there.
        """
        logs = log_weights(kernel, X, self.rows)
        self._count(logs, own)
        top = logs.max(axis=1)
        lost = np.isneginf(top)
        if lost.any():
            logs[lost] = self._nearest(X[lost], None if own is None else own[lost])
            top = np.where(lost, 0.0, top)
        logs -= top[:, None]
        shares = np.exp(np.maximum(logs, _LEAST_LOG_WEIGHT, out=logs), out=logs)
        total = shares.sum(axis=1)
        shares /= total[:, None]
        return shares, np.where(lost, -np.inf, top + np.log(total))

    def left_out(self, kernel: Kernel, place: Index) -> tuple[Array, Array, Array]:
        """For the training rows at these places, each without one of its observations: error, Σp², log mass."""
        error, square, mass = (np.empty(len(place)) for _ in range(3))
        for part in blocks(len(place), len(self.rows)):
            own = place[part]
            shares, mass[part] = self.shares(kernel, self.rows[own], own=own)
            error[part] = self.target[own] - self.mean(shares)
            square[part] = self.square(shares, own=own)
        return error, square, mass

    def square_error(self, kernel: Kernel, place: Index) -> float:
        """The mean squared error of predicting these rows, each without one of its observations."""
        return float(np.average(self.left_out(kernel, place)[0] ** 2, weights=self.weight[place]))

    def square(self, shares: Array, *, own: Index | None = None) -> Array:
        """Σp² over observations, of which w share what a row of weight w has; its inverse is their effective number."""
        square = np.einsum("ij,ij->i", shares, shares / self.weight)
        if own is None:
            return square
        mine, count, left = shares[np.arange(len(own)), own] ** 2, self.weight[own], self._left(own)
        return square + np.divide(mine, left, out=np.zeros_like(mine), where=left > 0) - mine / count

    def _left(self, own: Index) -> Array:
        """What is left without an observation of one's own: a weight of k stands for k, one below 1 goes as a whole."""
        return np.maximum(self.weight[own] - 1.0, 0.0)

    def _count(self, logs: Array, own: Index | None) -> None:
        """Add ln w to log weights, without one's own."""
        if (self.weight != 1.0).any():
            logs += np.log(self.weight)
        if own is not None:
            with np.errstate(divide="ignore"):
                logs[np.arange(len(own)), own] += np.log(self._left(own) / self.weight[own])

    def _nearest(self, X: Array, own: Index | None) -> Array:
        """Log weights that leave the nearest rows only."""
        counts = np.zeros((len(X), len(self.rows)))
        self._count(counts, own)
        away = np.where(np.isneginf(counts), np.inf, distances(X, self.rows))
        return np.where(away <= _TIE * away.min(axis=1, keepdims=True), counts, -np.inf)


@dataclass(frozen=True)
class Spread:
    """How observations scatter about the locally weighted mean.

    With eᵢ the leave-one-out residuals, whose variance is σ²(xᵢ)(1 + Σp²), the noise is the locally weighted mean of

        vᵢ = eᵢ² / (1 + Σp²)

    (smoothed squared residuals: Fan & Yao 1998, Biometrika 85:645), to which the mean of all vᵢ is added with the
    weight of two residuals; the variance of m(x) is σ²(x) Σp². Where the kernel mass is small, the local variance is
    replaced by that of all observations about m(x) with weight exp(−N), N being the kernel mass in units of a tenth of
    its 5 % quantile over the training rows.
    """

    variances: Array
    pooled: float
    log_unit: float
    y_mean: float
    y_variance: float

    @classmethod
    def of(cls, neighbours: Neighbours, kernel: Kernel) -> Spread:
        """Measured by leaving out each observation in turn."""
        error, square, mass = neighbours.left_out(kernel, np.arange(len(neighbours.rows)))
        variances, weight, y_mean = error**2 / (1.0 + square), neighbours.weight, neighbours.y_mean
        order = np.argsort(mass, kind="stable")
        reached = np.cumsum(weight[order]) >= _QUANTILE * weight.sum()
        return cls(
            variances=variances,
            pooled=float(np.average(variances, weights=weight)),
            log_unit=float(mass[order][np.argmax(reached)] + np.log(_UNIT_FRACTION)),
            y_mean=y_mean,
            y_variance=float(np.average((neighbours.target - y_mean) ** 2, weights=weight)),
        )

    def squares(self, shares: Array, square: Array, mass: Array, mean: Array) -> tuple[Array, Array]:
        """Variances of f and of the noise at rows with these shares, Σp², log masses and means."""
        count = 1.0 / square
        noise = (count * (shares @ self.variances) + _PRIOR_RESIDUALS * self.pooled) / (count + _PRIOR_RESIDUALS)
        unreached = self.unreached(mass)
        overall = self.y_variance + (mean - self.y_mean) ** 2
        elsewhere = np.minimum(self.pooled, overall)
        latent = (1.0 - unreached) * noise * square + unreached * (overall - elsewhere)
        return latent, (1.0 - unreached) * noise + unreached * elsewhere

    def unreached(self, mass: Array) -> Array:
        """The weight exp(−N) of the overall variance at a row with this log kernel mass."""
        with np.errstate(invalid="ignore"):
            count = np.exp(np.minimum(mass - self.log_unit, 700.0))
        return np.where(np.isneginf(mass), 1.0, np.exp(-count))
