"""A batch of rows in the coordinates that sequential learning works in, and what is kept between batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, ldexp
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Memory:
    """What is kept of the rows seen: O(p) numbers."""

    n_seen: float
    x_mean: Array
    x_scale: Array
    last: Array
    average: Array
    noise: float

    def joined(self, rows: Array, weight: Array, *, center: bool, first: bool) -> Self:
        """The memory with the moments of further rows, and its levels moved to the new mean."""
        total = float(weight.sum())
        mean = np.average(rows, axis=0, weights=weight) if center else np.zeros(rows.shape[1])
        scale = _root_mean_square(rows - mean, weight)
        if not first:
            # Chan, Golub & LeVeque (1979): moments of the union from the moments of its parts.
            part = total / (self.n_seen + total)
            shift = mean - self.x_mean
            mean = self.x_mean + part * shift
            parts = np.stack([self.x_scale, scale, np.sqrt(part) * np.abs(shift)])
            scale = _root_mean_square(parts, np.array([1 - part, part, 1 - part]), total=1.0)
        move = mean - self.x_mean
        last, average = self.last.copy(), self.average.copy()
        last[-1] += move @ last[:-1]
        average[-1] += move @ average[:-1]
        return replace(self, x_mean=mean, x_scale=scale, last=last, average=average)


@dataclass(frozen=True)
class Batch:
    """Rows in the coordinates that the rule works in: z = (x − mean)/spread, y in a unit near its size."""

    Z: Array
    y: Array
    weight: Array
    visits: Order
    spread: Array
    unit: float
    bias: float
    n_active: int

    @classmethod
    def of(cls, memory: Memory, rows: Array, target: Array, weight: Array, *, bias: float) -> Self:
        # A column that is constant to rounding error has no direction to learn.
        varies = memory.x_scale > 8 * _EPS * np.abs(memory.x_mean)
        spread = np.where(varies, memory.x_scale, 1.0)
        Z = np.ascontiguousarray((rows - memory.x_mean) / spread)
        Z[:, ~varies] = 0.0
        size = max(float(np.abs(target).max()), abs(float(memory.last[-1])), float(np.nan_to_num(memory.noise)))
        unit = ldexp(1.0, min(frexp(size or 1.0)[1], 1023))
        return cls(Z, target / unit, weight, np.arange(len(target)), spread, unit, bias, int(varies.sum()))

    def merged(self) -> Self:
        """The same rows in an order of their own, equal ones as one with the sum of their weights."""
        # Any fixed direction in general position tells different rows apart; equal rows stay equal.
        direction = np.cos(np.arange(1.0, self.Z.shape[1] + 1) ** 2)
        order = np.lexsort((self.y, np.einsum("ij,j->i", self.Z, direction)))
        same = (self.y[order[1:]] == self.y[order[:-1]]) & (self.Z[order[1:]] == self.Z[order[:-1]]).all(axis=1)
        starts = np.flatnonzero(np.append(True, ~same))
        weight = np.zeros_like(self.weight)
        weight[order[starts]] = np.add.reduceat(self.weight[order], starts)
        return replace(self, weight=weight, visits=order[starts])

    def scaled(self, memory: Memory) -> Memory:
        """A memory in natural units, in those of the batch."""
        factor = np.append(self.spread, 1.0) / self.unit
        return replace(
            memory, last=memory.last * factor, average=memory.average * factor, noise=memory.noise / self.unit
        )

    def natural(self, memory: Memory) -> Memory:
        """A memory in the batch's units, in natural ones."""
        factor = self.unit / np.append(self.spread, 1.0)
        return replace(
            memory, last=memory.last * factor, average=memory.average * factor, noise=memory.noise * self.unit
        )

    def total(self) -> float:
        """Number of observations."""
        return float(self.weight.sum())

    def n_weights(self) -> float:
        """Number of weights that the rows can tell something about, the level among them."""
        return self.bias + self.n_active

    def power(self) -> float:
        """Mean of ‖φ‖² over all rows seen, whose columns have unit variance by construction."""
        return max(self.n_weights(), 1.0)

    def squares(self) -> Array:
        """‖φ‖² of each row."""
        return self.bias + np.einsum("ij,ij->i", self.Z, self.Z)

    def residual(self, w: Array) -> Array:
        return self.y - self.Z @ w[:-1] - self.bias * w[-1]

    def rss(self, residual: Array) -> float:
        return float(self.weight @ np.square(residual))

    def gradient(self, residual: Array) -> Array:
        """Σ ω r φ, half the downward slope of the sum of squares."""
        pull = self.weight * residual
        return np.append(pull @ self.Z, self.bias * pull.sum())

    def correlation(self, gradient: Array) -> float:
        """Largest inner product of residuals and a column, relative to the lengths of column and target."""
        columns, target, rounding = self._lengths
        slope = float((np.abs(gradient) / columns).max())
        # What is left below the rounding error of the targets is no correlation.
        return max(slope - rounding, 0.0) / target if target > 0 else 0.0

    @cached_property
    def _lengths(self) -> tuple[Array, float, float]:
        """Lengths of the columns (1 for zero), of the centred target, and of the target's rounding error."""
        columns = np.sqrt(np.append(np.einsum("i,ij,ij->j", self.weight, self.Z, self.Z), self.bias * self.total()))
        center = np.average(self.y, weights=self.weight) if self.bias else 0.0
        target = np.sqrt(self.weight @ np.square(self.y - center))
        rounding = 8 * _EPS * np.sqrt(self.weight @ np.square(self.y))
        return np.where(columns > 0, columns, 1.0), float(target), float(rounding)


def _root_mean_square(values: Array, weight: Array, *, total: float | None = None) -> Array:
    """√(Σ ω v²/Σ ω) of each column, without overflow."""
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return unit * np.sqrt(weight @ np.square(values / unit) / (weight.sum() if total is None else total))
