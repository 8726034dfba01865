"""A table in parts: hyperparameters and inducing points from a sample of its rows, the posterior from all of them.

A process with inducing points depends on its rows only by sums over them (`inference.InducingSummary`). So one pass
over the parts, with O(m²) memory besides one part, gives the same posterior as all rows in memory for the same kernel,
noise and points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import training_rows
from credo.core.fields import Finite, Inner, Positive
from credo.core.inference import InducingFeatures, InducingSummary, SummaryPosterior
from credo.core.linalg import factorize
from credo.core.parts import Chunk, Parts, RowSample
from credo.gp._observations import MeanBasis, TrainingData
from credo.kernels import Kernel

Array = NDArray[np.float64]


def row_sample(caller: str, parts: Parts) -> RowSample:
    """A sample of the rows with targets and weights, in one pass; messages name the caller."""
    found: RowSample = parts.map_reduce(partial(_sampled, caller), RowSample.merge)
    return found


def _sampled(caller: str, chunk: Chunk) -> RowSample:
    rows, y, weight, names = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    return RowSample.of(rows, y, np.ones(len(y)) if weight is None else weight, number=chunk.number, names=names)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all rows: those of the inducing points, the weights, and the logarithms of the weights."""

    summary: Annotated[InducingSummary, Inner(m="m", b="b")]
    weight: Annotated[float, Finite, Positive]
    log_weight: Annotated[float, Finite]

    def merge(self, other: RowSums) -> RowSums:
        return RowSums(
            self.summary.merge(other.summary), self.weight + other.weight, self.log_weight + other.log_weight
        )

    def posterior(self, kernel: Kernel, data: TrainingData) -> SummaryPosterior:
        """f given all rows."""
        return SummaryPosterior(_features(kernel, data), self.summary, 1, data.basis)

    def copies(self, noise: float) -> float:
        """The part of ln p(y) due to weights; see `Process.copies`."""
        return -0.5 * ((self.weight - self.summary.n) * math.log(2 * math.pi * noise) + self.log_weight)


def row_sums(caller: str, parts: Parts, kernel: Kernel, data: TrainingData, *, noise: float) -> RowSums:
    """The sums over all rows, in one pass; `data` says how targets are standardised, and the noise is theirs."""
    basis, center, scale = data.basis, float(data.center[0]), float(data.scale[0])
    one = partial(_summed, caller, _features(kernel, data), basis, center, scale, noise)
    found: RowSums = parts.map_reduce(one, RowSums.merge)
    return found


def _summed(
    caller: str, features: InducingFeatures, basis: MeanBasis, center: float, scale: float, noise: float, chunk: Chunk
) -> RowSums:
    rows, y, weight, _ = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    weight = np.ones(len(y)) if weight is None else weight
    targets = np.column_stack([(y - center) / scale, basis(rows)])
    summary = features.summarize(rows, targets, noise / weight)
    return RowSums(summary, float(weight.sum()), float(np.log(weight).sum()))


def _features(kernel: Kernel, data: TrainingData) -> InducingFeatures:
    """The features of the inducing points that don't depend on others, in the order of the sums."""
    assert data.points is not None
    return InducingFeatures(
        kernel, data.points, factorize(kernel.gram(data.points), overwrite=True, assume_symmetric=True)
    )
