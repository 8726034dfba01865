"""ln p(Y | kernel, noise of each row) for targets that may have gaps, weights and several columns."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.gp._data import Group, groups
from credo.inference import Evidence, log_evidence
from credo.kernels import Kernel
from credo.linalg import Workspace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Marginal:
    """Rows X with targets Y (NaN where one is missing), the mean's basis and a weight for each row.

    A row of weight k stands for k observations of mean Y, whose squares about that mean sum to `scatter` over all
    columns. Several threads may use it at once: each has its own memory for the matrix.
    """

    X: Array
    Y: Array
    basis: Array
    weight: Array
    scatter: Array
    _memory: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    def __reduce__(self) -> tuple[type, tuple[Array, ...]]:
        """Without the memory, which belongs to threads."""
        return Marginal, (self.X, self.Y, self.basis, self.weight, self.scatter)

    def subset(self, rows: NDArray[np.intp]) -> Marginal:
        """The same for some of the rows."""
        return Marginal(self.X[rows], self.Y[rows], self.basis[rows], self.weight[rows], self.scatter[rows])

    def evidence(self, kernel: Kernel, noise: Array, *, gradient: bool = True) -> Evidence:
        """The log evidence, with its derivatives by the kernel's parameters and by each row's noise variance.

        `noise` is the variance of one observation.
        """
        value, by_kernel = 0.0, np.zeros(0)
        by_noise = np.zeros(len(self.X))
        for group, X, Y, basis in self._parts:
            shared = noise[group.rows] / self.weight[group.rows]
            found = log_evidence(
                kernel, X, Y, noise=shared, basis=basis, workspace=self._workspace(len(X)), gradient=gradient
            )
            value += found.value
            if gradient:
                by_kernel = by_kernel + found.by_kernel if by_kernel.size else found.by_kernel
                by_noise[group.rows] += found.by_noise / self.weight[group.rows]
        copies, by_copies = self.copies(noise)
        return Evidence(value + copies, by_kernel, by_noise + by_copies)

    @cached_property
    def count(self) -> Array:
        """Observations of each row, over all columns and copies."""
        return self.weight * (~np.isnan(self.Y)).sum(axis=1)

    @cached_property
    def _parts(self) -> tuple[tuple[Group, Array, Array, Array], ...]:
        return tuple(
            (
                group,
                np.ascontiguousarray(self.X[group.rows]),
                np.ascontiguousarray(self.Y[np.ix_(group.rows, group.columns)]),
                self.basis[group.rows],
            )
            for group in groups(self.Y)
        )

    def copies(self, noise: Array) -> tuple[float, Array | float]:
        """What k observations of scatter S add beside their mean of variance σ²/k, and its slope.

        −½(k−1) ln 2πσ² − ½ ln k − S/2σ²
        """
        if (self.weight == 1.0).all() and not self.scatter.any():
            return 0.0, 0.0
        columns = self.count / self.weight
        # Without noise copies are one observation, and say nothing more.
        noisy = noise > 0
        columns, weight, noise = np.where(noisy, columns, 0.0), self.weight, np.where(noisy, noise, 1.0)
        more = columns * (weight - 1.0)
        scatter = np.where(noisy, self.scatter, 0.0) / noise
        value = -0.5 * float((more * np.log(2 * math.pi * noise) + columns * np.log(weight) + scatter).sum())
        return value, 0.5 * (scatter - more) / noise

    def _workspace(self, n: int) -> Workspace:
        """Memory for the one matrix that every evaluation needs."""
        held: dict[int, Workspace] = self._memory.__dict__.setdefault("held", {})
        if n not in held:
            held[n] = Workspace(n)
        return held[n]
