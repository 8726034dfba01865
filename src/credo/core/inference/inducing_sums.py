"""The features of inducing points, and the sums over rows that a posterior needs.

ψ(x) = L⁻¹k(Z, x) with K_uu = LLᵀ; see `inducing`. The sums can be taken over rows in any order and in parts, so that
rows needn't fit into memory or be on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from credo.core.fields import Axes, Finite, NonNegative, Positive
from credo.core.linalg import Factor, one_blas_thread, parallel_map, pivoted_factor
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Features of a chunk of rows, which stay in the cache (4 MB), and the fewest rows of a chunk.
_CHUNK_ENTRIES, _MIN_CHUNK_ROWS = 2**19, 512
# Sums are taken in a fixed number of groups of chunks, so that the digits are the same on every machine.
_N_GROUPS = 8


@dataclass(frozen=True, eq=False)
class InducingSummary:
    """Sums over rows with targets and mean columns b = (y, h), features ψ, residual variances e and noise λ.

    n, Σψψᵀ/λ, Σψbᵀ/λ, Σbbᵀ/λ, Σ ln λ and Σe/λ. Only the lower triangle of Σψψᵀ/λ is stored.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import InducingFeatures
    >>> from credo.kernels import RBF
    >>> features = InducingFeatures.of(RBF(1.0), np.array([[0.0], [1.0]]))
    >>> first = features.summarize(np.array([[0.2]]), np.array([[1.0]]), np.array([0.1]))
    >>> second = features.summarize(np.array([[0.7]]), np.array([[2.0]]), np.array([0.1]))
    >>> first.merge(second).n
    2
    """

    n: Annotated[int, Positive]
    gram: Annotated[Array, Axes("m m")]
    cross: Annotated[Array, Axes("m b")]
    square: Annotated[Array, Axes("b b")]
    log_noise: Annotated[float, Finite]
    residual: Annotated[float, Finite, NonNegative]

    def merge(self, other: InducingSummary) -> InducingSummary:
        """The summary of both parts of the rows."""
        if self.cross.shape != other.cross.shape:
            raise ValueError("the summaries are of different inducing points, targets or means")
        return InducingSummary(
            self.n + other.n,
            self.gram + other.gram,
            self.cross + other.cross,
            self.square + other.square,
            self.log_noise + other.log_noise,
            self.residual + other.residual,
        )


@dataclass(frozen=True, eq=False)
class InducingFeatures:
    """ψ(x) = L⁻¹k(Z, x), for points Z that are independent of each other under the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import InducingFeatures
    >>> from credo.kernels import RBF
    >>> features = InducingFeatures.of(RBF(1.0), np.array([[0.0], [1.0], [2.0]]))
    >>> _, psi = next(features.chunks(np.array([[0.5], [10.0]])))
    >>> (psi**2).sum(axis=1).round(3)  # how much of the prior variance the points explain
    array([0.982, 0.   ])
    """

    kernel: Kernel
    points: Array
    factor: Factor

    @classmethod
    def of(cls, kernel: Kernel, points: Array, tolerance: float = 1e-10) -> InducingFeatures:
        """Without points that the others determine up to this share of the variance, such as repeated ones."""
        index, factor = pivoted_factor(kernel.gram(points), tolerance)
        return cls(kernel, np.ascontiguousarray(points[index]), factor)

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether products with K_uu⁻¹ keep eight digits."""
        pivots = np.square(np.diagonal(self.factor.L))
        return bool(pivots.min() > 1e-7 * pivots.max())

    def __call__(self, rows: Array) -> Array:
        """(n_rows, m)."""
        cross = self.kernel.cross(np.ascontiguousarray(rows), self.points)
        return self.factor.half_solve(cross.T, overwrite=True).T

    def slices(self, rows: Array) -> Iterator[slice]:
        """The rows in parts, whose features take a bounded memory."""
        size = max(_MIN_CHUNK_ROWS, _CHUNK_ENTRIES // self.size)
        for start in range(0, len(rows), size):
            yield slice(start, min(start + size, len(rows)))

    def chunks(self, rows: Array) -> Iterator[tuple[slice, Array]]:
        """Some rows at a time, and their features."""
        for part in self.slices(rows):
            yield part, self(rows[part])

    def summarize(self, rows: Array, targets: Array, noise: Array) -> InducingSummary:
        """The sums over some rows.

        Parameters
        ----------
        targets : array of shape (n, n_targets + n_mean_columns)
        noise : array of shape (n,)
        """
        if not (noise > 0).all():
            raise ValueError(
                'inducing points need a noise variance above zero at every row; use method="exact" for targets '
                "without noise"
            )
        slices = list(self.slices(rows))
        groups = [slices[k::_N_GROUPS] for k in range(min(_N_GROUPS, len(slices)))]
        # Each thread works on its own chunks, so that no core waits for another.
        with one_blas_thread():
            parts = parallel_map(lambda group: self._sums(rows, targets, noise, group), groups)
        gram, cross, residual = parts[0]
        for own, more, rest in parts[1:]:
            gram += own
            cross += more
            residual += rest
        weighted = targets / noise[:, None]
        return InducingSummary(
            len(rows), gram, cross, targets.T @ weighted, float(np.log(noise).sum()), max(residual, 0.0)
        )

    def _sums(self, rows: Array, targets: Array, noise: Array, group: Sequence[slice]) -> tuple[Array, Array, float]:
        """Σψψᵀ/λ, Σψbᵀ/λ and Σe/λ over some chunks."""
        gram, cross = np.zeros((self.size, self.size), order="F"), np.zeros((self.size, targets.shape[1]))
        residual = 0.0
        for part in group:
            psi = self(rows[part])
            root = np.sqrt(noise[part])
            psi /= root[:, None]
            residual += float((self.kernel.diagonal(rows[part]) / noise[part]).sum()) - float(np.vdot(psi, psi))
            cross += psi.T @ (targets[part] / root[:, None])
            gram = dsyrk(1.0, psi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        return gram, cross, residual
