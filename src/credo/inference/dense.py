"""The exact representation: every covariance between the training rows, in one n×n matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.inference.dense_observed import DensePosterior
from credo.inference.dense_sites import DenseSites
from credo.inference.protocols import Basis, Representation, no_basis
from credo.kernels import Kernel
from credo.linalg import Factor, Workspace, factorize

Array = NDArray[np.float64]

# The square of the number of rows has to fit into memory.
_LARGEST = 40_000
# Entries of the kernel between new and training rows that are held at a time.
_BLOCK = 2**23


class Dense(Representation):
    """All covariances between the rows of X: O(n³) time, and the memory of one n×n matrix.

    Matrices that posteriors no longer need are used again, so that a search doesn't allocate one in each evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Dense
    >>> from credo.kernels import RBF
    >>> posterior = Dense(np.array([[0.0], [1.0]])).prior(RBF()).observe(np.array([[1.0], [0.0]]), noise=0.1)
    >>> round(posterior.log_evidence, 6)
    -2.405074
    """

    pilot_scale = 1

    def __init__(self, X: Array) -> None:
        if len(X) > _LARGEST:
            raise ValueError(
                f"exact inference needs an n×n matrix, and n = {len(X)} is too large; use at most {_LARGEST} rows, or "
                'method="inducing"'
            )
        self.X = np.ascontiguousarray(X)
        self._unused: list[Workspace] = []

    def __reduce__(self) -> tuple[type, tuple[Array]]:
        return Dense, (self.X,)

    def search_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """The rows at random."""
        return rng.permutation(len(self.X))

    def subset(self, rows: NDArray[np.intp]) -> Dense:
        """The same for some of the rows."""
        return Dense(self.X[rows])

    def extended(self, rows: Array) -> Dense:
        """The same with further rows."""
        return Dense(np.vstack([self.X, rows]))

    def prior(self, kernel: Kernel) -> DensePrior:
        """f ~ N(0, K) at the rows."""
        return DensePrior(self, kernel)

    def lend(self) -> Workspace:
        """Memory for one matrix, which belongs to the caller until it is given back."""
        try:
            return self._unused.pop()
        except IndexError:
            return Workspace(len(self.X))

    def give_back(self, workspace: Workspace) -> None:
        """Take memory back."""
        self._unused.append(workspace)


@dataclass(frozen=True, eq=False)
class DensePrior:
    """f ~ N(0, K) at the rows of a `Dense`."""

    representation: Dense
    kernel: Kernel

    @property
    def X(self) -> Array:
        return self.representation.X

    @cached_property
    def gram(self) -> Array:
        """K."""
        return self.kernel.gram(self.X)

    @cached_property
    def _factor(self) -> Factor:
        return factorize(self.gram, assume_symmetric=True)

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> DensePosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return DensePosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> DenseSites:
        """f given one Gaussian site for each row."""
        return DenseSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """K v."""
        return self.gram @ v

    def color(self, white: Array) -> Array:
        """L z, for K = LLᵀ."""
        return self._factor.L @ white

    def whiten(self, f: Array) -> Array:
        """L⁻¹f."""
        return self._factor.half_solve(f)

    def cross(self, rows: Array) -> Array:
        """The kernel between new and training rows."""
        return self.kernel.cross(np.ascontiguousarray(rows), self.X)

    def blocks(self, rows: Array) -> Iterator[tuple[slice, Array, Array]]:
        """The kernel with the training rows, and its diagonal, for some new rows at a time."""
        size = max(1, _BLOCK // len(self.X))
        for start in range(0, len(rows), size):
            part = np.ascontiguousarray(rows[start : start + size])
            yield slice(start, start + len(part)), self.cross(part), self.kernel.diagonal(part)
