"""The bandwidth of a kernel: one factor on all its free length scales, chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.estimator import positive
from credo.kernel_machines._log_weights import leaves
from credo.kernel_machines._neighbours import Index, Neighbours
from credo.kernel_machines._rows import distances, sample
from credo.kernels import Kernel
from credo.params import Parameter

Array = NDArray[np.float64]
# The mean loss of predicting the training rows at these places, each without one of its observations.
Loss = Callable[[Kernel, Index], float]

# A first look over the whole range, and a closer one around its best.
_FIRST, _CLOSER = 30, 10
# From where only the nearest row counts to where all rows count alike.
_NARROW, _WIDE = 0.1, 30.0
_SAMPLE = 200
# Pairs of rows that are weighed for each candidate; of larger tables an even sample of rows is left out.
_MAX_PAIRS = 4_000_000


@dataclass(frozen=True)
class Choice:
    """Candidates, largest first, their mean leave-one-out losses, and which of them won."""

    bandwidths: Array
    losses: Array
    best: int
    place: Index

    def message(self, n_rows: int) -> str:
        """How the choice among so many rows ended."""
        if self.best == 0:
            return "the largest bandwidth tried was best: under this kernel the inputs say little about the target"
        if self.best == len(self.bandwidths) - 1:
            return "the smallest bandwidth tried was best: predictions are those of the nearest rows"
        of = "" if len(self.place) == n_rows else f" of {len(self.place)} of the {n_rows} rows"
        return f"bandwidth chosen by exact leave-one-out{of}"


def has_bandwidth(kernel: Kernel) -> bool:
    """Whether there is a length scale to multiply."""
    return bool(_paths(kernel))


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its free length scales multiplied."""
    return kernel.with_params(**{path.replace(".", "__"): kernel.params[path] * factor for path in _paths(kernel)})


def choose(kernel: Kernel, neighbours: Neighbours, loss: Loss) -> Choice | None:
    """The best bandwidth for leaving observations out one at a time; None where rows don't differ."""
    ends = _range(kernel, np.unique(neighbours.rows, axis=0))
    if ends is None or neighbours.alone:
        return None
    n_rows = len(neighbours.rows)
    place = sample(np.arange(n_rows), max(500, _MAX_PAIRS // n_rows))
    bandwidths = np.geomspace(*ends, _FIRST)
    losses = _losses(kernel, loss, place, bandwidths)
    best = _winner(losses)
    around = float(bandwidths[max(best - 1, 0)]), float(bandwidths[min(best + 1, _FIRST - 1)])
    closer = np.setdiff1d(np.geomspace(*around, _CLOSER + 1), bandwidths)
    losses = np.concatenate([losses, _losses(kernel, loss, place, closer)])
    bandwidths = np.concatenate([bandwidths, closer])
    order = np.argsort(-bandwidths)
    return Choice(bandwidths[order], losses[order], _winner(losses[order]), place)


def given(kernel: Kernel, bandwidth: Any) -> float:
    """The bandwidth as a factor on length scales, which must be there if it is to change anything."""
    factor = positive("bandwidth", bandwidth)
    if factor != 1.0 and not has_bandwidth(kernel):
        raise ValueError(
            f"bandwidth={bandwidth!r} multiplies length scales, and {kernel!r} has no free one: leave it at 1"
        )
    return factor


def no_choice_message(kernel: Kernel) -> str:
    """Why the bandwidth wasn't chosen."""
    if not has_bandwidth(kernel):
        return "the kernel has no free length scale and was used as it is"
    return "all rows are equal, so the bandwidth has no effect"


def _paths(kernel: Kernel) -> list[str]:
    """The length scales that may be changed."""
    found = []
    for path in kernel.tree.paths:
        leaf = kernel.tree[path]
        if path.rpartition(".")[2] == "lengthscale" and isinstance(leaf, Parameter) and not leaf.fixed:
            found.append(path)
    return found


def _range(kernel: Kernel, rows: Array) -> tuple[float, float] | None:
    """The largest and smallest bandwidth worth trying, from distances between rows in units of the length scales."""
    nearest, farthest = [], []
    for leaf, coordinates in leaves(kernel, rows):
        if not _paths(leaf):
            continue
        apart = distances(sample(coordinates, _SAMPLE), coordinates)
        to_next = np.where(apart > 0, apart, np.inf).min(axis=1)
        to_next = to_next[np.isfinite(to_next)]
        if len(to_next):
            nearest.append(float(np.median(to_next)))
            farthest.append(float(apart.max()))
    return (_WIDE * max(farthest), _NARROW * min(nearest)) if nearest else None


def _losses(kernel: Kernel, loss: Loss, place: Index, bandwidths: Array) -> Array:

    def checked(h: float) -> float:
        check()
        return loss(scaled(kernel, h), place)

    return np.array([checked(h) for h in bandwidths])


def _winner(losses: Array) -> int:
    """The first, that is the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + 1e-10))[0])
