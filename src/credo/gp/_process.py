"""A Gaussian process given data, at one setting of its hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.gp._data import Group, MeanBasis, groups
from credo.inference import Conditioned, condition
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Entries of the kernel between new and training rows that are held at a time.
_BLOCK = 2**23
# A left-out target whose precision is less than this share of what it would be under a known mean has none.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Process:
    """f ~ GP given the targets Y, in units in which the kernel is that of every column.

    `noise` is the variance of each training observation.
    """

    kernel: Kernel
    noise: Array
    X: Array
    Y: Array
    basis: MeanBasis
    parts: tuple[tuple[Group, Conditioned], ...]

    @classmethod
    def of(cls, kernel: Kernel, noise: Array, X: Array, Y: Array, basis: MeanBasis) -> Process:
        """Condition: one factor for each pattern of missing entries."""
        parts = []
        for group in groups(Y):
            part = X if len(group.rows) == len(X) else np.ascontiguousarray(X[group.rows])
            targets = Y[np.ix_(group.rows, group.columns)]
            given = condition(kernel.gram(part), targets, noise=noise[group.rows], basis=basis(part))
            parts.append((group, given))
        return cls(kernel, noise, X, Y, basis, tuple(parts))

    def extended(self, rows: Array, Y: Array, noise: Array, basis: MeanBasis) -> Process:
        """With further rows: the factor grows, and is made again where something is missing or the mean has slopes."""
        X, every_Y, every_noise = np.vstack([self.X, rows]), np.vstack([self.Y, Y]), np.append(self.noise, noise)
        if len(self.parts) > 1 or np.isnan(every_Y).any() or basis.kind == "linear":
            return Process.of(self.kernel, every_noise, X, every_Y, basis)
        group, given = self.parts[0]
        own = self.kernel.gram(rows)
        own.flat[:: len(own) + 1] += noise
        factor = given.factor.extend(self.kernel.cross(self.X, rows), own)
        grown = Conditioned.of(factor, every_Y, self.basis(X))
        everywhere = Group(np.arange(len(X)), group.columns)
        return Process(self.kernel, every_noise, X, every_Y, self.basis, ((everywhere, grown),))

    def log_evidence(self) -> float:
        """ln p(Y)."""
        return sum(given.log_evidence(self.Y[np.ix_(group.rows, group.columns)]) for group, given in self.parts)

    def mean(self, rows: Array) -> Array:
        """E f at new rows: (n_new, n_targets)."""
        mean = np.empty((len(rows), self.Y.shape[1]))
        for block, cross, basis in self._blocks(rows):
            for group, given in self.parts:
                mean[block, group.columns] = given.mean(cross[:, group.rows], basis)
        return mean

    def moments(self, rows: Array) -> tuple[Array, Array]:
        """E f and var f at new rows, each (n_new, n_targets)."""
        mean, variance = (np.empty((len(rows), self.Y.shape[1])) for _ in range(2))
        for block, cross, basis in self._blocks(rows):
            prior = self.kernel.diagonal(rows[block.ravel()])
            for group, given in self.parts:
                part = cross if len(group.rows) == len(self.X) else cross[:, group.rows]
                mean[block, group.columns] = given.mean(part, basis)
                variance[block, group.columns] = given.variance(prior, part, basis)[:, None]
        return mean, variance

    def covariance(self, rows: Array, *, target: int = 0) -> Array:
        """cov f between new rows, of one target."""
        group, given = self._part(target)
        cross = self._cross(rows)[:, group.rows]
        cov = given.covariance(self.kernel.gram(rows), cross, self.basis(rows))
        return 0.5 * (cov + cov.T)

    def cross_covariance(self, rows: Array, others: Array, *, target: int = 0) -> Array:
        """cov(f(rows), f(others)) of one target."""
        group, given = self._part(target)
        crosses = [self._cross(part)[:, group.rows] for part in (rows, others)]
        a, b = (given.half(cross) for cross in crosses)
        slacks = (
            given.mean_slack(cross, self.basis(part)) for cross, part in zip(crosses, (rows, others), strict=True)
        )
        slack_a, slack_b = slacks
        return self.kernel.cross(rows, others) - a.T @ b + slack_a.T @ slack_b

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance of each training target given all others (Rasmussen & Williams 5.10–5.12).

        A missing target is predicted from all that are there.
        """
        mean, variance = self.moments(self.X)
        variance += self.noise[:, None]
        for group, given in self.parts:
            slack = given.mean_root()
            whole = given.factor.inverse_diagonal()
            precision = whole - np.einsum("ij,ij->i", slack, slack)
            if (precision <= _NOTHING * whole).any():
                row = int(group.rows[np.argmin(precision / whole)])
                raise ValueError(
                    f"training row {row} can't be left out: without it the others don't determine the mean; "
                    'take mean="zero", or more rows'
                )
            place = np.ix_(group.rows, group.columns)
            mean[place] = self.Y[place] - given.alpha / precision[:, None]
            variance[place] = 1.0 / precision[:, None]
        return mean, variance

    def _part(self, target: int) -> tuple[Group, Conditioned]:
        return next(part for part in self.parts if target in part[0].columns)

    def _cross(self, rows: Array) -> Array:
        return self.kernel.cross(np.ascontiguousarray(rows), self.X)

    def _blocks(self, rows: Array) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
        """Row numbers as a column, kernel to the training rows and mean basis, some rows at a time."""
        size = max(1, _BLOCK // len(self.X))
        for start in range(0, len(rows), size):
            block = np.arange(start, min(start + size, len(rows)))
            yield block[:, None], self._cross(rows[block]), self.basis(rows[block])
